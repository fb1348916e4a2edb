"""The options that say how a feed's files are to be read, the same for every command.

Law: an option has the name of the key of fencepost.toml that it stands for, or is near to it, and
is read in one place.
"""

import functools
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipelines.cli.help import Command

if TYPE_CHECKING:  # Arrow is imported where it is needed: --help stays quick
    from pipelines.files.guess.hints import FeedHints

TABS = ("\\t", "tab")
UNITS = ("s", "ms", "us", "ns")


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


def _mark(text: str) -> str:
    mark = "\t" if text in TABS else text
    if len(mark) != 1:
        raise ValueError(f"'{text}' is no single character: write one, or tab")
    return mark


def _lines(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise ValueError(f"'{text}' is no number of lines")
    return int(text)


def _of_settings(name: str) -> Callable[[str], Any]:
    """Read a text as the key of fencepost.toml does."""

    def read(text: str) -> Any:  # noqa: ANN401  by key
        from pipelines.project.settings import values

        return getattr(values, name).take(text)

    return read


def _regex(group: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        from pipelines.project.settings.values import regex_with

        return regex_with(group).take(text)

    return read


def _one_of(*options: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in options:
            raise ValueError(f"'{text}' is none of {', '.join(options)}")
        return text

    return read


@dataclass(frozen=True)
class HintOption:
    """An option: the key that it gives, its name and help, and how its text is read.

    is_free  whether its text may have an equals sign of its own
    """

    key: str
    name: str
    metavar: str
    about: str
    read: Callable[[str], Any] = str
    is_free: bool = False


OPTIONS = (
    HintOption("axes", "--axes", "A,B", "The columns of numbers that rules can test.", _names),
    HintOption(
        "position",
        "--position",
        "LON,LAT",
        "The two axes that are a place: longitude first, or x and y.",
        _names,
    ),
    HintOption(
        "position_in",
        "--position-in",
        "degrees|plane",
        "What a place is in. Default: by the names of its axes.",
        _one_of("degrees", "plane"),
    ),
    HintOption("stream_column", "--stream-column", "COLUMN", "The column with the stream."),
    HintOption(
        "stream", "--stream", "NAME", "The stream of every row, for files of one.", is_free=True
    ),
    HintOption(
        "stream_from_path",
        "--stream-from-path",
        "REGEX",
        "Finds the stream in a file's path: '(?P<stream>[^/]+)[.]csv'.",
        _regex("stream"),
        is_free=True,
    ),
    HintOption(
        "ts_column",
        "--ts-column",
        "COLUMN",
        "The column with the time; of a date and a time in two columns, both: date,time.",
        _names,
    ),
    HintOption(
        "ts_unit",
        "--ts-unit",
        "s|ms|us|ns",
        "What a numeric time counts, since 1970 or, with --date, since midnight.",
        _one_of(*UNITS),
    ),
    HintOption(
        "ts_format",
        "--ts-format",
        "FORMAT",
        "How times are written: '%d/%m/%Y %H:%M' (strptime).",
        _of_settings("TIME_FORMAT"),
        is_free=True,
    ),
    HintOption(
        "timezone",
        "--timezone",
        "ZONE",
        "Where times without an offset are: Europe/Berlin, UTC.",
        _of_settings("ZONE"),
    ),
    HintOption(
        "date", "--date", "DAY", "The day of times of day: 2013-10-07.", _of_settings("DAY")
    ),
    HintOption(
        "date_from_path",
        "--date-from-path",
        "REGEX",
        "Finds that day in a file's path: '(?P<date>[0-9]{8})'.",
        _regex("date"),
        is_free=True,
    ),
    HintOption("columns", "--columns", "A,B,C", "Names of all columns, without a header.", _names),
    HintOption("skip_lines", "--skip-lines", "N", "Lines before the header or first row.", _lines),
    HintOption("delimiter", "--delimiter", "CHAR", "What parts fields; tab for a tab.", _mark),
    HintOption("decimal", "--decimal", ".|,", "What stands before decimals.", _one_of(".", ",")),
    HintOption(
        "encoding",
        "--encoding",
        "NAME",
        "utf-8 or latin-1, for text files.",
        _one_of("utf-8", "latin-1"),
    ),
    HintOption(
        "payload", "--payload", "A,B", "Columns that travel along onto events, as text.", _names
    ),
    HintOption(
        "sequence_column", "--sequence", "COLUMN", "The number that orders rows of one instant."
    ),
    HintOption(
        "sequence_is",
        "--sequence-is",
        "integer|text",
        "What the sequence is.",
        _one_of("integer", "text"),
    ),
)
"""Each takes one text; `--wide` is the flag beside them."""


def _duration(text: str) -> int:
    from fencepost.times import parse_duration

    return parse_duration(text)


ORDER_OPTIONS = (
    HintOption(
        "ties",
        "--ties",
        "all|first",
        "Of several rows of a stream at one instant: all (default), or the first only.",
        _one_of("all", "first"),
    ),
    HintOption(
        "lateness_by",
        "--lateness-by",
        "feed|stream",
        "Whose clock --allowed-lateness goes by: the feed's (default), or each stream's own.",
        _one_of("feed", "stream"),
    ),
    HintOption(
        "idle",
        "--idle",
        "DURATION",
        "With --lateness-by stream: how far behind the feed a stream is waited for; default 24h.",
        _duration,
    ),
)
"""How a feed's arrivals are ordered and judged; fencepost.toml has the same keys."""

WIDE = Annotated[
    bool | None,
    typer.Option("--wide/--not-wide", help="Every other column is a stream with one value."),
]


def takes_hints(command: Command) -> Command:
    """Give a command the options as parameters; it gets one `hints`."""

    def hints(given: dict[str, Any]) -> Any:  # noqa: ANN401  FeedHints, not imported yet
        from pipelines.files.guess.hints import FeedHints

        said = {option.key: read_hint(option, given.pop(option.key)) for option in OPTIONS}
        return FeedHints(**said, wide=given.pop("wide"))

    return _with(command, [_parameter(option) for option in OPTIONS], "hints", hints)


def takes_texts(command: Command) -> Command:
    """Give a command the options but --axes, repeatable; it gets their `texts`, by key."""
    options = [option for option in (*OPTIONS, *ORDER_OPTIONS) if option.key != "axes"]

    def texts(given: dict[str, Any]) -> dict[str, Any]:
        found = {option.key: given.pop(option.key) or [] for option in options}
        return {**found, "wide": given.pop("wide")}

    return _with(command, [_of_feeds(option) for option in options], "texts", texts)


def _with(
    command: Command,
    more: list[inspect.Parameter],
    name: str,
    gathered: Callable[[dict[str, Any]], Any],
) -> Command:
    """Replace one parameter of a command by several options, before those of all commands."""
    signature = inspect.signature(command)
    own = [each for each in signature.parameters.values() if each.name != name]
    last = [each for each in own if each.name in LAST]
    wide = inspect.Parameter("wide", _KEYWORD, default=None, annotation=WIDE)
    parameters = [*[each for each in own if each not in last], *more, wide, *last]

    @functools.wraps(command)
    def wrapper(**given: Any) -> Any:  # noqa: ANN401  whatever the command gives
        value = gathered(given)
        return command(**given, **{name: value})

    wrapper.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {each.name: each.annotation for each in parameters}
    return wrapper


LAST = ("yes", "guesses", "as_json", "config", "lake")
_KEYWORD = inspect.Parameter.KEYWORD_ONLY


def _parameter(option: HintOption) -> inspect.Parameter:
    said = typer.Option(option.name, metavar=option.metavar, help=option.about)
    kind = Annotated[str | None, said]
    return inspect.Parameter(option.key, _KEYWORD, default=None, annotation=kind)


def _of_feeds(option: HintOption) -> inspect.Parameter:
    said = typer.Option(option.name, metavar=f"[FEED=]{option.metavar}", help=option.about)
    kind = Annotated[list[str] | None, said]
    return inspect.Parameter(option.key, _KEYWORD, default=None, annotation=kind)


def read_hint(option: HintOption, text: str | None) -> Any:  # noqa: ANN401  by option
    """Read the text of an option."""
    if text is None:
        return None
    try:
        return option.read(text)
    except ValueError as why:
        raise typer.BadParameter(f"{option.name}: {why}") from None


def hints_by_feed(
    texts: Mapping[str, Any], feeds: Collection[str]
) -> "dict[str | None, FeedHints]":
    """Read every option, for all feeds (None) or for the one that FEED= names."""
    from pipelines.files.guess.hints import FeedHints

    said = _by_feed(OPTIONS, texts, feeds)
    said[None]["wide"] = texts["wide"]
    return {feed: FeedHints(**{**said[None], **of_feed}) for feed, of_feed in said.items()}


def order_by_feed(
    texts: Mapping[str, Any], feeds: Collection[str]
) -> dict[str | None, dict[str, Any]]:
    """Read the options of order and lateness, for all feeds (None) or for the one named."""
    said = _by_feed(ORDER_OPTIONS, texts, feeds)
    return {feed: {**said[None], **of_feed} for feed, of_feed in said.items()}


def _by_feed(
    options: Sequence[HintOption], texts: Mapping[str, Any], feeds: Collection[str]
) -> dict[str | None, dict[str, Any]]:
    said: dict[str | None, dict[str, Any]] = {None: {}}
    for option in options:
        for text in texts.get(option.key, ()):
            feed, value = _feed_of(option, text, feeds)
            of_feed = said.setdefault(feed, {})
            if option.key in of_feed:
                whose = "is" if feed is None else f"of the feed {feed} is"
                raise typer.BadParameter(f"{option.name} {whose} given twice: {text}")
            of_feed[option.key] = read_hint(option, value)
    return said


def _feed_of(option: HintOption, text: str, feeds: Collection[str]) -> tuple[str | None, str]:
    """Split off FEED=: before any equals sign, or in a free text before one that names a feed."""
    feed, equals, value = text.partition("=")
    if not equals or (option.is_free and feed not in feeds):
        return None, text
    if feed not in feeds:
        there = ", ".join(sorted(feeds)) or "none by name"
        raise typer.BadParameter(
            f"{option.name} {text}: '{feed}' is none of the feeds of --tuples: {there}"
        )
    return feed, value
