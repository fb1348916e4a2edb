"""A standing query, registered once and evaluated until removed, and its form in JSON.

Law: an object is taken iff every field of it is what semantics says, and then nothing in it was
guessed: an unknown field, a wrong type or a second meaning is a fault. All faults of an object are
told at once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from fencepost.errors import QueryFault
from fencepost.queries.columns import CROSSING, MATCH
from fencepost.queries.condition import Box, Tests
from fencepost.queries.where import parse_match, parse_where, read_where
from fencepost.queries.wording import did_you_mean, shortened, wrong_with_id
from fencepost.times import parse_duration, parse_instant

OnFirst = Literal["silent", "enter"]

KINDS = ("crossing", "match", "window_join", "band_join")
EVALUATED = (CROSSING, MATCH)
ON_FIRST: tuple[OnFirst, ...] = ("silent", "enter")
NO_EVENTS = "it looks at each tuple by itself, so there is no I and no O to time or to begin with"


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingQuery:
    """One version of one query, times in µs. Without the axes of its feed, its boxes are ().

    `tests` is () or has one tuple for each box: a match holds for what is in a box and passes all
    of the box's tests. A crossing has none.
    """

    id: str
    feed: str
    kind: str = "crossing"
    where: str
    boxes: tuple[Box, ...]
    tests: tuple[Tests, ...] = ()
    streams: tuple[str, ...] | None = None
    within: int | None = None
    on_first: OnFirst = "silent"
    valid_from: int | None = None
    valid_to: int | None = None
    owner: str | None = None
    tags: tuple[str, ...] = ()
    note: str | None = None
    version: int = 1


def query_from_json(obj: object, axes_of: Mapping[str, Sequence[str]]) -> StandingQuery:
    """Take a query as JSON gave it; raise the first fault. check_query tells all of them."""
    query, faults = check_query(obj, axes_of)
    if query is None:
        raise faults[0]
    return query


def check_query(
    obj: object, axes_of: Mapping[str, Sequence[str]], *, feeds_may_be_absent: bool = False
) -> tuple[StandingQuery | None, list[QueryFault]]:
    """Take a query as JSON gave it: (query, []), or (None, all that is wrong with it).

    `axes_of` gives the axes of every feed known. Where feeds may be absent, a query of another feed
    is taken too: of its `where` the syntax is checked, any name is an axis, and its boxes are left
    empty.
    """
    if not isinstance(obj, dict):
        fault = QueryFault(f"a query is a JSON object, not {_kind_of(obj)}")
        return None, [fault]
    fields = _Fields(obj)
    fields.refuse_unknown()
    query_id = fields.name("id")
    kind = fields.kind()
    if kind not in EVALUATED:
        return None, fields.faults
    if kind == MATCH:
        fields.refuse_events()
    feed = fields.feed(axes_of, feeds_may_be_absent=feeds_may_be_absent)
    where, (boxes, tests) = fields.where(feed, kind, axes_of)
    valid_from, valid_to = fields.validity()
    query = StandingQuery(
        id=query_id,
        feed=feed,
        kind=kind,
        where=where,
        boxes=boxes,
        tests=tests,
        streams=fields.streams(),
        within=fields.parsed("within", parse_duration),
        on_first=fields.on_first(),
        valid_from=valid_from,
        valid_to=valid_to,
        owner=fields.free("owner"),
        tags=fields.tags(),
        note=fields.free("note"),
    )
    return (None, fields.faults) if fields.faults else (query, [])


_OPTIONAL = ("streams", "within", "on_first", "valid_from", "valid_to", "owner", "tags", "note")
_FIELDS = frozenset(("id", "feed", "kind", "where", *_OPTIONAL))
_OF_JOINS = frozenset(("left", "right", "on", "window", "between"))


class _Fields:
    """The fields of one object, and the faults found in them so far.

    Each method reads one field. Where it is at fault it notes so and returns some value of the
    right type, which nobody sees: with a fault there is no query. An optional field that is null is
    absent.
    """

    def __init__(self, obj: dict[str, object]) -> None:
        self.obj = obj
        self.faults: list[QueryFault] = []

    def note(self, message: str, hint: str | None = None) -> None:
        self.faults.append(QueryFault(message, hint=hint))

    def refuse_unknown(self) -> None:
        if self.obj.keys() <= _FIELDS:
            return
        joins = str(self.obj.get("kind")) in ("window_join", "band_join")
        for name in self.obj:
            if name not in _FIELDS and not (joins and name in _OF_JOINS):
                near = did_you_mean(name, _FIELDS).strip()
                self.note(f"unknown field `{shortened(name)}`", near or f"a query has: {_listed()}")

    def text(self, field: str) -> str | None:
        """Read an optional field that is text."""
        value = self.obj.get(field)
        if value is None or isinstance(value, str):
            return value
        self.note(f"`{field}` must be text, not {_kind_of(value)}")
        return None

    def required(self, field: str) -> str:
        if self.obj.get(field) is None:
            self.note(f"`{field}` is missing")
            return ""
        return self.text(field) or ""

    def name(self, field: str) -> str:
        """Read a required field that follows the rule of ids."""
        count = len(self.faults)
        value = self.required(field)
        wrong = wrong_with_id(value)
        if wrong is not None and len(self.faults) == count:
            self.note(f"`{field}` {wrong}")
        return value

    def kind(self) -> str:
        kind = self.text("kind")
        if kind is None:
            return "crossing"
        if kind not in KINDS:
            near = did_you_mean(kind, KINDS)
            self.note(f"unknown `kind` '{shortened(kind)}'", f"one of {', '.join(KINDS)}.{near}")
        elif kind not in EVALUATED:
            evaluated = " and ".join(f"`{each}`" for each in EVALUATED)
            self.note(f"`kind` is '{kind}': this version evaluates {evaluated} queries only")
        return kind

    def refuse_events(self) -> None:
        """Refuse what only crossings have."""
        for field in ("within", "on_first"):
            if self.obj.get(field) is not None:
                self.note(f"a `match` has no `{field}`", NO_EVENTS)

    def feed(self, axes_of: Mapping[str, Sequence[str]], *, feeds_may_be_absent: bool) -> str:
        count = len(self.faults)
        feed = self.name("feed")
        if len(self.faults) == count and feed not in axes_of and not feeds_may_be_absent:
            known = f"the feeds are: {', '.join(axes_of)}" if axes_of else "no feed is known"
            self.note(f"unknown feed '{shortened(feed)}'", f"{known}.{did_you_mean(feed, axes_of)}")
        return feed

    def where(
        self, feed: str, kind: str, axes_of: Mapping[str, Sequence[str]]
    ) -> tuple[str, tuple[tuple[Box, ...], tuple[Tests, ...]]]:
        """Read the condition into boxes and their tests; of an unknown feed, its syntax."""
        where = self.obj.get("where")
        if where is None:
            self.note("`where` is missing", "write ALL for no condition")
        elif not isinstance(where, str):
            self.note(f"`where` must be text, not {_kind_of(where)}")
        elif _half_a_pair(where):
            self.note("`where` holds half a surrogate pair")
        else:
            try:
                if feed not in axes_of:
                    read_where(where, None, feed, compares_axes=kind == MATCH)
                elif kind == MATCH:
                    return where, parse_match(where, axes_of[feed], feed)
                else:
                    return where, (parse_where(where, axes_of[feed], feed), ())
            except QueryFault as fault:
                self.faults.append(fault)
            return where, ((), ())
        return "", ((), ())

    def streams(self) -> tuple[str, ...] | None:
        """Read the list of streams; what stands twice counts once."""
        value = self.obj.get("streams")
        if value is None:
            return None
        if not isinstance(value, list):
            self.note(f"`streams` must be a list of stream ids, not {_kind_of(value)}")
            return None
        if not value:
            self.note("`streams` is an empty list", "leave it out to watch all streams")
        for place, stream in enumerate(value, 1):
            if not isinstance(stream, str):
                self.note(f"stream {place} of `streams` must be text, not {_kind_of(stream)}")
            elif wrong := wrong_with_id(stream):
                self.note(f"stream {place} of `streams` {wrong}")
        return tuple(dict.fromkeys(s for s in value if isinstance(s, str)))

    def parsed(self, field: str, parse: Callable[[str], int]) -> int | None:
        """Read an optional duration or instant."""
        value = self.text(field)
        if value is None:
            return None
        try:
            return parse(value)
        except ValueError as why:
            self.note(f"`{field}`: {why}")
            return None

    def on_first(self) -> OnFirst:
        value = self.text("on_first")
        if value is None:
            return "silent"
        if value not in ON_FIRST:
            self.note(f"`on_first` is '{shortened(value)}': 'silent' or 'enter' was expected")
        return cast("OnFirst", value)

    def validity(self) -> tuple[int | None, int | None]:
        begin = self.parsed("valid_from", parse_instant)
        end = self.parsed("valid_to", parse_instant)
        if begin is not None and end is not None and begin >= end:
            given = f"'{self.obj['valid_from']}' is not before `valid_to` '{self.obj['valid_to']}'"
            self.note(f"`valid_from` {given}")
        return begin, end

    def free(self, field: str) -> str | None:
        """Read text that nothing depends on; it must be fit for a table all the same."""
        value = self.text(field)
        if value is not None and _half_a_pair(value):
            self.note(f"`{field}` holds half a surrogate pair")
        return value

    def tags(self) -> tuple[str, ...]:
        value = self.obj.get("tags")
        if value is None:
            return ()
        if not isinstance(value, list):
            self.note(f"`tags` must be a list of texts, not {_kind_of(value)}")
            return ()
        for place, tag in enumerate(value, 1):
            if not isinstance(tag, str):
                self.note(f"tag {place} of `tags` must be text, not {_kind_of(tag)}")
            elif _half_a_pair(tag):
                self.note(f"tag {place} of `tags` holds half a surrogate pair")
        return tuple(tag for tag in value if isinstance(tag, str))


def _listed() -> str:
    return ", ".join(("id", "feed", "kind", "where", *_OPTIONAL))


def _half_a_pair(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text)


def _kind_of(value: object) -> str:
    """Name a JSON value by its kind."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "text"
    return "a list" if isinstance(value, list) else "an object"
