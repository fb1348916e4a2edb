"""How the files of a feed are to be read: its keys, as the readers take them."""

from collections.abc import Mapping

from pipelines.files.read.content import Form
from pipelines.files.read.rows import Declared
from pipelines.project.settings import Feed

FORMS = {"csv": Form.CSV, "json": Form.JSON, "parquet": Form.PARQUET, "delta": Form.PARQUET}
UNIT_BY_KEY = 'ts_unit = "s", "ms", "us" or "ns" in fencepost.toml'
AXES_BY_KEY = 'axes = ["price", "volume"] in fencepost.toml'
NOTHING: Mapping[str, str | None] = {}


def declared_by(
    feed: Feed, path: str | None = None, fixed: Mapping[str, str | None] = NOTHING
) -> Declared:
    """Say how a file of a feed is read; `path` is the one below its landing folder."""
    return Declared(
        feed.axes,
        feed.clock_column,
        feed.ts_unit,
        feed.stream_column,
        feed.ts_column,
        FORMS.get(feed.form or ""),
        fixed,
        feed.deleted,
        unit_by=UNIT_BY_KEY,
        axes_by=AXES_BY_KEY,
        timezone=feed.timezone,
        ts_format=feed.ts_format,
        date=feed.date,
        date_from_path=feed.date_from_path,
        columns=feed.columns,
        skip_lines=feed.skip_lines,
        delimiter=feed.delimiter,
        decimal=feed.decimal,
        encoding=feed.encoding,
        stream=feed.stream,
        stream_from_path=feed.stream_from_path,
        wide=feed.wide,
        payload=feed.payload,
        sequence=feed.sequence_column,
        sequence_is=feed.sequence_is,
        position=feed.position,
        position_in=feed.position_in,
        path=path,
    )
