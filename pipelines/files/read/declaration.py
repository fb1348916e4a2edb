"""The part of a feed's declaration that says how its files are to be read.

Law: what is in a file's path, and the same for all of its rows, is known before a row is read.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from fencepost.text import wrong_with_id
from fencepost.time_forms import UNIT_BY_OPTION, TimeForm
from fencepost.times import parse_day
from pipelines.files.read.content import Form, refusal

STREAM_ID = "stream_id"
TS = "ts"
VALUE = "value"
"""What the axis of a wide file is called where none is declared."""


@dataclass(frozen=True)
class Declared:
    """The part of a feed's declaration about its files.

    axes       their columns; None: all columns beside stream_id, ts, the clock and `deleted`
    clock      the column of the feed's clock, where it has one
    ts_unit    what an integer time counts: s, ms, us or ns; None: integers are no times
    stream_id  the column with the tuple's stream
    ts         the column with the tuple's time
    form       the format of its files; None: detected by content
    deleted    the column that marks rows that remove their streams from sets, if any
    fixed      columns with the same text, or null, in every row, stored outside the file
    unit_by, axes_by  how a user declares a unit and the axes, for messages: by option or by key

    Of times: `ts` may be two columns, a date and a time of day; `ts_format` has codes of strptime;
    `timezone` is where times without an offset are read; `date` is the day of every time.
    Of text: `columns` names those of a file without a header, `skip_lines` stand before it, the
    `delimiter` is found where it is None. `stream` is that of every row; `wide`: every column that
    nothing names is a stream. `payload` are columns that travel along, and their kinds;
    `sequence` is the column that orders tuples of one instant, an integer or a text.
    `position` names the two axes that are a place, `position_in` what it is in.
    …_from_path are regular expressions that find `date` and `stream` in the path of a file.

    path     what they look into; None: the file's own
    streams  of a wide file that is being read: its columns with values, and their places
    width    how many columns it has in all
    """

    axes: tuple[str, ...] | None = None
    clock: str | None = None
    ts_unit: str | None = None
    stream_id: str = STREAM_ID
    ts: str | tuple[str, str] = TS
    form: Form | None = None
    fixed: Mapping[str, str | None] = field(default_factory=dict)
    deleted: str | None = None
    unit_by: str = UNIT_BY_OPTION
    axes_by: str = "--axes price,volume"
    timezone: str | None = None
    ts_format: str | None = None
    date: str | None = None
    date_from_path: str | None = None
    columns: tuple[str, ...] = ()
    skip_lines: int = 0
    delimiter: str | None = None
    decimal: str = "."
    encoding: str = "utf-8"
    stream: str | None = None
    stream_from_path: str | None = None
    wide: bool = False
    payload: tuple[tuple[str, str], ...] = ()
    sequence: str | None = None
    sequence_is: str = "integer"
    position: tuple[str, ...] = ()
    position_in: str | None = None
    zone_by: str = 'timezone = "…"'
    path: str | None = None
    streams: Mapping[str, int] = field(default_factory=dict)
    width: int = 0

    @property
    def has_stream_column(self) -> bool:
        """Whether a column says the stream of a row."""
        return self.stream is None and self.stream_from_path is None and not self.wide

    @property
    def times(self) -> tuple[str, ...]:
        """The columns that say when a tuple was: one, or a date and a time of day."""
        return (self.ts,) if isinstance(self.ts, str) else self.ts

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns that every tuple needs, besides the axes and what orders an instant."""
        ids = (self.stream_id,) if self.has_stream_column else ()
        clocks = () if self.clock is None else (self.clock,)
        return (*ids, *self.times, *clocks)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns of numbers: the axes, or of a wide file its streams."""
        return tuple(self.streams) if self.wide else self.axes or ()

    @property
    def own(self) -> tuple[str, ...]:
        """The columns that are read besides numbers."""
        may = (self.deleted, self.sequence)
        others = (name for name in may if name is not None)
        return tuple(dict.fromkeys((*self.needed, *others, *(name for name, _ in self.payload))))

    @property
    def wanted(self) -> tuple[str, ...]:
        """All columns that are read, as far as the axes are known."""
        own = self.own
        after = (*self.needed, *self.numbers)
        return tuple(dict.fromkeys((*after, *own)))

    @property
    def may_lack(self) -> frozenset[str]:
        """The columns that a row of JSON may leave out: marks, what travels along, streams."""
        names = {name for name, _ in self.payload} | {self.deleted}
        names |= {*self.streams}
        must = {*self.needed, *(self.axes or ()), self.sequence}
        return frozenset(name for name in names if name is not None and name not in must)

    def axes_among(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Say which of a file's columns are axes: the declared ones, or all that remain."""
        if self.axes is not None:
            return self.axes
        return (VALUE,) if self.wide else self._others(columns)

    def over(self, columns: Sequence[str]) -> "Declared":
        """Say of a file with these columns which are axes, or of a wide one which are streams."""
        axes = self.axes_among(columns)
        if not self.wide:
            return replace(self, axes=axes)
        names = {*self._others(columns)}
        places = {name: place for place, name in enumerate(columns) if name in names}
        return replace(self, axes=axes, streams=places, width=len(columns))

    def ignored_among(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Name the columns of a file that are not used."""
        if self.wide:
            return ()
        wanted = {*self.wanted, *self.axes_among(columns)}
        return tuple(column for column in columns if column not in wanted)

    def _others(self, columns: Sequence[str]) -> tuple[str, ...]:
        own = {*self.own}
        return tuple(column for column in columns if column not in own)

    def of_path(self, source: str, member: str | None = None) -> "Declared":
        """Fill in what a file's path says: its stream, its day; Faults where it does not.

        In a zip the path goes on with that of the member.
        """
        path = self.path or source
        path = path if member is None else f"{path}/{member}"
        found = self
        if self.stream_from_path is not None:
            stream = _in_path(source, path, self.stream_from_path, "stream")
            why = wrong_with_id(stream)
            if why is not None:
                raise refusal(source, f"its path says the stream {stream!r}, which {why}")
            found = replace(found, stream=stream, stream_from_path=None)
        if self.date_from_path is not None:
            day = _in_path(source, path, self.date_from_path, "date")
            try:
                parse_day(day)
            except ValueError as why:
                raise refusal(source, f"its path says the date {why}") from None
            found = replace(found, date=day, date_from_path=None)
        return found

    @property
    def time_form(self) -> TimeForm:
        """How the times of tuples are written."""
        day = None if self.date is None else parse_day(self.date)
        return replace(self.clock_form, format=self.ts_format, day=day)

    @property
    def clock_form(self) -> TimeForm:
        """How the times of the clock are written: as those of tuples, where these are whole."""
        whole = self.date is None and isinstance(self.ts, str)
        written = self.ts_format if whole else None
        return TimeForm(
            self.ts_unit, self.timezone, written, unit_by=self.unit_by, zone_by=self.zone_by
        )


def _in_path(source: str, path: str, pattern: str, group: str) -> str:
    found = re.search(pattern, path)
    if found is None or found[group] is None:
        hint = f"{group}_from_path must match the path {path!r}, with a group (?P<{group}>…)."
        raise refusal(source, f"its path says no {group}: {pattern!r} is not in it", hint=hint)
    return found[group]
