"""How the files of each feed are to be read: by options, by a fencepost.toml, by what they show.

Law: an option decides; what it leaves open the feed of --config says, or with --guess the files
themselves; the rest are defaults. A guess never asks: what the files cannot show is a fault.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fencepost.api.tables import Axes
from fencepost.errors import Fault, Faults, refuse
from fencepost.order_rules import OrderRules
from fencepost.text import did_you_mean
from fencepost.times import SECOND
from pipelines.eval.sources import is_stored
from pipelines.files.guess.hints import FeedHints
from pipelines.files.read.rows import Declared

if TYPE_CHECKING:  # what a plain evaluation does not need is not imported for it
    from pipelines.files.guess.draft import Draft
    from pipelines.project.settings import Settings

NOTHING_WRITTEN = "nothing written"
IDLE = 86_400 * SECOND
NO_HINT = FeedHints()


@dataclass(frozen=True)
class FileShapes:
    """What is said of the files of all feeds; `axes` and `hints` under None are for every other."""

    axes: Mapping[str | None, Axes] = field(default_factory=dict)
    hints: Mapping[str | None, FeedHints] = field(default_factory=dict)
    order: Mapping[str | None, Mapping[str, Any]] = field(default_factory=dict)
    lateness: int | None = None
    clock: str | None = None
    settings: "Settings | None" = None
    guesses: bool = False

    def of(self, feed: str, sources: Sequence[str]) -> tuple[Declared, list[str]]:
        """Say how the files of a feed are read, and what to note of that; Faults if it is open."""
        axes = self.axes.get(feed, self.axes.get(None))
        hints = self.hints.get(feed, self.hints.get(None, NO_HINT))
        hints = replace(hints, axes=axes)
        base = self._base(feed)
        if hints != NO_HINT:
            faults = [Fault(f"--tuples {sources[0]}", why) for why in _contradictory(feed, hints)]
            refuse(faults, NOTHING_WRITTEN)
        return self._guessed(sources, hints) if self.guesses else (_said(base, hints), [])

    def _guessed(self, sources: Sequence[str], hints: FeedHints) -> tuple[Declared, list[str]]:
        """Find out from the files what no option says."""
        from pipelines.files.guess.check import declared_of
        from pipelines.files.guess.guess import guess
        from pipelines.files.guess.sample import files_of, sampled

        if far := next(filter(is_stored, sources), None):
            refuse([Fault(far, "--guess takes samples of files on a disk")], NOTHING_WRITTEN)
        samples = sampled(files_of([Path(source) for source in sources]), hints.form)
        draft = guess(samples, replace(hints, file_streams=True))
        unknown = [Fault(sources[0], str(question)) for question in draft.questions]
        refuse(unknown, NOTHING_WRITTEN)
        return replace(declared_of(draft), clock=self.clock), _notes(sources[0], draft)

    def rules(self, feed: str) -> OrderRules:
        """Say how a feed's arrivals are ordered and judged; Faults where options contradict."""
        said = self.order.get(feed, self.order.get(None, {}))
        declared = None if self.settings is None else self.settings.feeds.get(feed)
        if declared is None:
            ties, lateness, by, idle = "all", 0, "feed", IDLE
        else:
            ties, lateness = declared.ties or "all", declared.allowed_lateness
            by, idle = declared.lateness_by, declared.idle
        by = said.get("lateness_by", by)
        if "idle" in said and by != "stream":
            fault = Fault("--idle", "only a stream can be idle", hint="Add --lateness-by stream.")
            raise Faults([fault], NOTHING_WRITTEN)
        return OrderRules(
            said.get("ties", ties),
            lateness if self.lateness is None else self.lateness,
            said.get("idle", idle) if by == "stream" else None,
        )

    def _base(self, feed: str) -> Declared:
        if self.settings is None:
            return Declared(clock=self.clock)
        declared = self.settings.feeds.get(feed)
        if declared is None:
            there = ", ".join(self.settings.feeds)
            near = did_you_mean(feed, self.settings.feeds)
            message = f"has no feed '{feed}'; there are: {there}.{near}"
            raise Faults([Fault(str(self.settings.file), message)], NOTHING_WRITTEN)
        from pipelines.project.form import declared_by

        found = declared_by(declared)
        return found if self.clock is None else replace(found, clock=self.clock)


def _contradictory(feed: str, hints: FeedHints) -> Iterator[str]:
    """List the options that cannot both be meant, as fencepost.toml would."""
    from pipelines.project.settings import Feed
    from pipelines.project.settings.contradictions import contradictions

    given = {key: value for key, value in hints.said().items() if key not in OF_FILES}
    given |= {"payload": ()} if "payload" in given else {}
    if isinstance(given.get("ts_column"), tuple):
        columns = given["ts_column"]
        given["ts_column"] = columns[0] if len(columns) == 1 else columns
    yield from contradictions(Feed(feed, ("value",), Path(), **given), given)


OF_FILES = ("axes", "columns", "form", "position", "position_in")
"""What is checked against the files themselves."""

NAMES = {"stream_column": "stream_id", "ts_column": "ts", "sequence_column": "sequence"}


def _said(base: Declared, hints: FeedHints) -> Declared:
    """Put options in the place of what was declared."""
    said: dict[str, Any] = {NAMES.get(key, key): value for key, value in hints.said().items()}
    if hints.names_streams:
        said = {"stream": None, "stream_from_path": None, "wide": False, **said}
    if hints.ts_column is not None:
        columns = hints.ts_column
        said["ts"] = columns[0] if len(columns) == 1 else (columns[0], columns[1])
    if hints.payload is not None:
        said["payload"] = tuple((name, "text") for name in hints.payload)
    return replace(base, **said)


def _notes(source: str, draft: "Draft") -> list[str]:
    """Say what was guessed, a line a key."""
    notes = [f"guessed of {source}: {draft.form}"]
    notes += [f"  {key.name} = {key.value}  ({key.why})" for key in draft.keys]
    notes += [f"  not used: {name}, {why}" for name, why in draft.unused.items()]
    return [*notes, *(f"note: {note}" for note in draft.notes)]
