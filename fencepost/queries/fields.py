"""The fields of one query's object, read one by one; every fault in them is noted.

Law: a field is accepted iff it is what semantics says. What is wrong with one hides nothing of the
others: all faults of an object are reported at once.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Final

from fencepost.doubles import exactly, parse_number
from fencepost.errors import QueryFault
from fencepost.position import Position
from fencepost.queries.columns import CROSSING, MATCH
from fencepost.queries.joins.query import BAND_JOIN, JOINS, NEAR_JOIN, WINDOW_JOIN
from fencepost.shapes.parse import shape_of
from fencepost.shapes.shape import Shape
from fencepost.text import did_you_mean, shortened, wrong_with_id
from fencepost.times import parse_instant

KINDS = (CROSSING, MATCH, *JOINS)
NO_POSITION = (
    'say which two axes are its place: position = ["lon", "lat"], or ["x", "y"]; '
    "for eval --position lon,lat"
)
NO_EVENTS = "it matches each tuple alone, so there is no I and no O to time or to begin with"

_FREE = ("owner", "tags", "note")
_VALIDITY = ("valid_from", "valid_to")
_OF_CROSSINGS = (
    *("id", "feed", "kind", "where", "region", "leaps", "streams", "streams_like"),
    *("within", "on_first", *_VALIDITY, *_FREE),
)
_EVENTS = ("within", "on_first", "leaps")
FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    CROSSING: _OF_CROSSINGS,
    MATCH: tuple(name for name in _OF_CROSSINGS if name not in _EVENTS),
    WINDOW_JOIN: (
        "id",
        "kind",
        "left",
        "right",
        "on",
        "where",
        "region",
        "window",
        *_VALIDITY,
        *_FREE,
    ),
    BAND_JOIN: ("id", "kind", "left", "right", "between", *_FREE),
    NEAR_JOIN: ("id", "kind", "left", "right", "distance", "streams", "streams_like", *_FREE),
}
"""The fields that a query of each kind may have."""

_EVERY = frozenset(name for names in FIELDS.values() for name in names)
_OWN = {kind: frozenset(names) for kind, names in FIELDS.items()}
_ONLY_JOINS = _EVERY - set(_OF_CROSSINGS)
_NO_EVENTS_OF_PAIRS = "a pair is reported once: there is no I and no O to time or to begin with"
_NO_CONDITION = "its condition is `between`: the least and the largest left - right"
_NO_DISTANCE = "its condition is `distance`, and both feeds' positions"
_NO_WINDOW = "it joins the current values of the streams: nothing passes out of it"
_NO_VALIDITY = "its result is kept up from its registration to its removal"
_BY_SIDES = "a join names its feeds by `left` and `right`"
_WHY_NOT: Mapping[tuple[str, str], str] = {
    **{(MATCH, name): NO_EVENTS for name in _EVENTS},
    **{(kind, "feed"): _BY_SIDES for kind in JOINS},
    **dict.fromkeys(
        product((WINDOW_JOIN, BAND_JOIN), ("streams", "streams_like")),
        "it takes all streams of its feeds",
    ),
    **{(kind, name): _NO_EVENTS_OF_PAIRS for kind in JOINS for name in _EVENTS},
    (WINDOW_JOIN, "between"): "BETWEEN stands in `on`; a `band_join` has `between`",
    **{(BAND_JOIN, name): _NO_CONDITION for name in ("on", "where", "region")},
    (BAND_JOIN, "window"): _NO_WINDOW,
    **dict.fromkeys(product((BAND_JOIN, NEAR_JOIN), _VALIDITY), _NO_VALIDITY),
    **{(NEAR_JOIN, name): _NO_DISTANCE for name in ("on", "where", "region", "between")},
    (NEAR_JOIN, "window"): _NO_WINDOW,
}


class InexactNumber(float):
    """A number of JSON that has no exact double, and why."""

    why: str

    @classmethod
    def or_double(cls, literal: str) -> float:
        """Read the literal of a number that is no integer."""
        try:
            return parse_number(literal)
        except ValueError as why:
            unheld = cls("nan")
            unheld.why = str(why)
            return unheld


class Fields:
    """The fields of one object, and the faults found in them so far.

    Each method reads one field. Where it is at fault the method notes so and returns some value of
    the right type, which is never used: with a fault there is no query. An optional field that is
    null is absent.
    """

    def __init__(self, obj: Mapping[str, object]) -> None:
        """Begin with no fault."""
        self.obj = obj
        self.faults: list[QueryFault] = []

    def note(self, message: str, hint: str | None = None) -> None:
        """Note a fault that has no place in a text."""
        self.faults.append(QueryFault(message, hint=hint))

    def refuse_others(self, kind: str) -> None:
        """Refuse what a query of this kind does not have; of an unknown kind, what none has."""
        own = _OWN.get(kind, _EVERY)
        if self.obj.keys() <= own:
            return
        for name in self.obj:
            if name in own:
                continue
            why = _WHY_NOT.get((kind, name))
            if why is not None:
                if self.obj[name] is not None:
                    self.note(f"a `{kind}` has no `{name}`", why)
                continue
            hint = f"only joins have it: `kind` is {' or '.join(f'`{each}`' for each in JOINS)}"
            if name not in _ONLY_JOINS:
                near = did_you_mean(name, own).strip()
                hint = near or f"a query has: {', '.join(FIELDS.get(kind, _OF_CROSSINGS))}"
            self.note(f"unknown field `{shortened(name)}`", hint)

    def text(self, field: str) -> str | None:
        """Read an optional field that is text."""
        value = self.obj.get(field)
        if value is None or isinstance(value, str):
            return value
        self.note(f"`{field}` must be text, not {kind_of(value)}")
        return None

    def required(self, field: str, hint: str | None = None) -> str:
        """Read a required field that is text."""
        if self.obj.get(field) is None:
            self.note(f"`{field}` is missing", hint)
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

    def kind(self) -> str | None:
        """Read the kind; None where there is no such."""
        kind = self.text("kind")
        if kind is None:
            return CROSSING if self.obj.get("kind") is None else None
        if kind in KINDS:
            return kind
        near = did_you_mean(kind, KINDS)
        self.note(f"unknown `kind` '{shortened(kind)}'", f"one of {', '.join(KINDS)}.{near}")
        return None

    def feed(
        self, field: str, axes_of: Mapping[str, Sequence[str]], *, feeds_may_be_absent: bool
    ) -> str:
        """Read a required field that names a feed."""
        count = len(self.faults)
        feed = self.name(field)
        if len(self.faults) == count and not feeds_may_be_absent:
            self.is_feed(feed, axes_of)
        return feed

    def is_feed(self, feed: str, axes_of: Mapping[str, Sequence[str]]) -> bool:
        """Say whether there is such a feed; note a fault where there is none."""
        if feed in axes_of:
            return True
        known = f"the feeds are: {', '.join(axes_of)}" if axes_of else "no feed is known"
        hint = f"{known}.{did_you_mean(feed, axes_of)}"
        alone = feed.partition(".")[0]
        if alone in axes_of:
            hint = f"name the feed without an axis: '{alone}'"
        self.note(f"unknown feed '{shortened(feed)}'", hint)
        return False

    def condition(self, field: str, *, optional: bool = False) -> str | None:
        """Read a field that is the text of a condition; None where it is absent or at fault."""
        text = self.obj.get(field)
        if text is None:
            if not optional:
                self.note(f"`{field}` is missing", "write ALL for no condition")
        elif not isinstance(text, str):
            self.note(f"`{field}` must be text, not {kind_of(text)}")
        elif half_a_pair(text):
            self.note(f"`{field}` holds half a surrogate pair")
        else:
            return text
        return None

    def region(self, place: Position | None) -> Shape | None:
        """Read the shape that tuples must be in; None where there is none, or it is at fault."""
        return self.shape(self.obj.get("region"), place, "`region`")

    def shape(self, value: object, place: Position | None, what: str) -> Shape | None:
        """Read a shape on a feed's position."""
        if value is None:
            return None
        if place is None:
            self.note(f"{what}: the feed has no `position`", NO_POSITION)
            return None
        try:
            return shape_of(value, earth=place.earth)
        except QueryFault as fault:
            self.faults.append(fault)
            return None

    def flag(self, field: str) -> bool:
        """Read an optional field that is true or false; absent, it is false."""
        value = self.obj.get(field)
        if value is not None and not isinstance(value, bool):
            self.note(f"`{field}` must be true or false, not {kind_of(value)}")
        return value is True

    def streams(self) -> tuple[str, ...] | None:
        """Read the list of streams; what occurs twice counts once."""
        value = self.obj.get("streams")
        if value is None:
            return None
        if not isinstance(value, list):
            self.note(f"`streams` must be a list of stream ids, not {kind_of(value)}")
            return None
        if not value:
            self.note("`streams` is an empty list", "leave it out to watch all streams")
        for place, stream in enumerate(value, 1):
            if not isinstance(stream, str):
                self.note(f"stream {place} of `streams` must be text, not {kind_of(stream)}")
            elif wrong := wrong_with_id(stream):
                self.note(f"stream {place} of `streams` {wrong}")
        return tuple(dict.fromkeys(s for s in value if isinstance(s, str)))

    def patterns(self) -> tuple[str, ...] | None:
        """Read the pattern of the streams, or the list of them; what occurs twice counts once."""
        value = self.obj.get("streams_like")
        if value is None:
            return None
        if not isinstance(value, str | list):
            given = kind_of(value)
            self.note(f"`streams_like` must be a pattern or a list of patterns, not {given}")
            return None
        if not value and isinstance(value, list):
            self.note("`streams_like` is an empty list", "leave it out to watch all streams")
        patterns = [value] if isinstance(value, str) else value
        for place, pattern in enumerate(patterns, 1):
            if not isinstance(pattern, str):
                self.note(f"pattern {place} of `streams_like` must be text, not {kind_of(pattern)}")
            elif wrong := wrong_with_id(pattern):
                self.note(f"pattern {place} of `streams_like` {wrong}")
        return tuple(dict.fromkeys(p for p in patterns if isinstance(p, str)))

    def parsed(
        self, field: str, parse: Callable[[str], int], hint: str | None = None
    ) -> int | None:
        """Read an optional duration or instant."""
        value = self.text(field)
        if value is None:
            return None
        try:
            return parse(value)
        except ValueError as why:
            self.note(f"`{field}`: {why}", hint)
            return None

    def double(self, value: object, what: str) -> float:
        """Read a number of JSON as the double that it is."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.note(f"{what} must be a number, not {kind_of(value)}")
            return 0.0
        if isinstance(value, InexactNumber):
            self.note(f"{what}: {value.why}")
            return 0.0
        try:
            double = exactly(value) if isinstance(value, int) else value
        except ValueError as why:
            self.note(f"{what}: {why}")
            return 0.0
        if not abs(double) < float("inf"):
            self.note(f"{what} is {double}", "an open end is null")
            return 0.0
        return double + 0.0

    def validity(self) -> tuple[int | None, int | None]:
        """Read from when and until when."""
        begin = self.parsed("valid_from", parse_instant)
        end = self.parsed("valid_to", parse_instant)
        if begin is not None and end is not None and begin >= end:
            given = f"'{self.obj['valid_from']}' is not before `valid_to` '{self.obj['valid_to']}'"
            self.note(f"`valid_from` {given}")
        return begin, end

    def free(self, field: str) -> str | None:
        """Read text that nothing depends on; it must still fit into a table."""
        value = self.text(field)
        if value is not None and half_a_pair(value):
            self.note(f"`{field}` holds half a surrogate pair")
        return value

    def tags(self) -> tuple[str, ...]:
        """Read the list of tags."""
        value = self.obj.get("tags")
        if value is None:
            return ()
        if not isinstance(value, list):
            self.note(f"`tags` must be a list of texts, not {kind_of(value)}")
            return ()
        for place, tag in enumerate(value, 1):
            if not isinstance(tag, str):
                self.note(f"tag {place} of `tags` must be text, not {kind_of(tag)}")
            elif half_a_pair(tag):
                self.note(f"tag {place} of `tags` holds half a surrogate pair")
        return tuple(tag for tag in value if isinstance(tag, str))


def half_a_pair(text: str) -> bool:
    """Say whether a text has half a surrogate pair, which no table can store."""
    return not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text)


def kind_of(value: object) -> str:
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
