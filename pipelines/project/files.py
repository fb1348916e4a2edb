"""How the files of a declared feed are read: its keys, as the readers of files take them."""

from collections.abc import Mapping

from pipelines.files.read.content import Form
from pipelines.files.read.rows import Declared
from pipelines.project.settings import Feed

FORMS = {"csv": Form.CSV, "json": Form.JSON, "parquet": Form.PARQUET, "delta": Form.PARQUET}
UNIT_BY_KEY = 'ts_unit = "s", "ms", "us" or "ns" in fencepost.toml'
AXES_BY_KEY = 'axes = ["price", "volume"] in fencepost.toml'
NOTHING: Mapping[str, str | None] = {}


def declared_of(feed: Feed, fixed: Mapping[str, str | None] = NOTHING) -> Declared:
    """Say how a file of a feed is read; `fixed` are columns that are stored outside it."""
    return Declared(
        axes=feed.axes,
        clock=feed.clock_column,
        ts_unit=feed.ts_unit,
        stream_id=feed.stream_column,
        ts=feed.ts_column,
        form=FORMS.get(feed.form or ""),
        fixed=fixed,
        deleted=feed.deleted,
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
    )
