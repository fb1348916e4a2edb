"""What the user said of a feed beforehand, under the names of the keys of fencepost.toml.

Law: a hint decides; the sample is consulted only for what no hint says.
"""

from dataclasses import dataclass
from typing import Any

from pipelines.files.read.content import Form


@dataclass(frozen=True)
class FeedHints:
    """None where nothing was said. `file_streams` takes a file's own name for its only stream."""

    form: Form | None = None
    columns: tuple[str, ...] | None = None
    skip_lines: int | None = None
    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    stream: str | None = None
    stream_column: str | None = None
    stream_from_path: str | None = None
    ts_column: tuple[str, ...] | None = None
    ts_unit: str | None = None
    ts_format: str | None = None
    timezone: str | None = None
    date: str | None = None
    date_from_path: str | None = None
    axes: tuple[str, ...] | None = None
    position: tuple[str, ...] | None = None
    position_in: str | None = None
    wide: bool | None = None
    payload: tuple[str, ...] | None = None
    sequence_column: str | None = None
    sequence_is: str | None = None
    file_streams: bool = False

    @property
    def names_streams(self) -> bool:
        """Whether it is said where the streams' names come from."""
        return any((self.stream, self.stream_column, self.stream_from_path, self.wide))

    def said(self) -> dict[str, Any]:
        """Give what was said, by key."""
        return {key: value for key, value in vars(self).items() if value not in (None, False)}
