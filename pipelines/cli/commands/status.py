"""`fencepost status`: how the lake stands, in a few lines.

Law: nothing is changed, no lock is taken, no JVM is started; it answers in a second.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from fencepost.text import counted
from pipelines.cli.options import AsJson, Config, LakeFolder, print_json

if TYPE_CHECKING:  # DuckDB is imported where it is needed: --help stays quick
    from pipelines.project.settings import Settings
    from pipelines.serve.status import LaneStatus, Status

LATEST = 5
"""Unanswered deliveries that are named; --json has all."""

REFUSED_SQL = 'fencepost sql "from refused_deliveries"'

WHOLE = ("plan", "prepare", "job", "commit")
"""Parts of a run's time that follow each other; the others are sums over tasks side by side."""


def status(
    *,
    as_json: AsJson = False,
    config: Config = None,
    lake: LakeFolder = None,
) -> None:
    """Say how the lake stands: feeds, queries, last run, quarantine.

    Nothing is changed and nobody is kept waiting: it may be asked while another command writes.

    \b
    Examples:
      fencepost status
      fencepost status --json | jq '.lanes[] | {lane, watermark, lag}'
    """  # noqa: D301  \b is a character: the lines after it stay lines
    from pipelines.project.settings import load
    from pipelines.serve.status import status_of

    settings = load(config, lake=lake)
    told = status_of(settings)
    if as_json:
        print_json(asdict(told))
        return
    for line in lines(settings, told):
        typer.echo(line)


def lines(settings: "Settings", told: "Status") -> Iterator[str]:
    """Write it in lines: a word, then what there is to say."""
    from pipelines.lanes import lane_named

    yield _line("lake", _lake(settings, told))
    names = max(len(each.lane) for each in told.lanes)
    for each in told.lanes:
        noun = lane_named(settings, each.lane).noun
        yield _line(noun, f"{each.lane:<{names}}  {_lane(each)}")
    yield _line("queries", _queries(told))
    if told.unseen["queries"]:
        yield from _unseen(told.unseen)
    if told.last_run is not None:
        joins = lane_named(settings, told.last_run["lane"]).joins
        yield _line("last run", _last_run(told.last_run, joins=joins))
    yield _line("quarantine", _quarantine(told.quarantine))
    if told.refused:
        yield from _refused(told)


def _line(word: str, said: str) -> str:
    return f"{word:<10}  {said}"


def _lake(settings: "Settings", told: "Status") -> str:
    root = settings.root
    here = Path.cwd()
    shown = f"./{root.relative_to(here)}" if root.is_relative_to(here) else str(root)
    writer = "free" if told.writer is None else f"held by {told.writer['words']}"
    return f"{shown}   (local disk, one writer: {writer})"


def _lane(lane: "LaneStatus") -> str:
    said = [
        f"epoch {lane.epoch:,}",
        f"watermark {_instant(lane.watermark)}" if lane.watermark else "no watermark yet",
        f"lag {counted(lane.lag, 'delivery', 'deliveries')}" if lane.lag else "lag 0",
        counted(lane.streams, "stream", "streams"),
    ]
    if lane.waiting:
        said.append(f"{counted(lane.waiting, 'tuple', 'tuples')} waiting")
    if lane.pending:
        said.append(f"{counted(lane.pending, 'crossing', 'crossings')} pending")
    if lane.arriving:
        said.append(f"{counted(lane.arriving, 'delivery', 'deliveries')} not wholly taken in")
    if lane.stale:
        said.append(f"{counted(lane.stale, 'epoch', 'epochs')} stale, to be evaluated anew")
    if lane.open:
        said.append(f"{counted(lane.open, 'epoch', 'epochs')} planned and not done")
    if lane.landed:
        landed = counted(lane.landed, "delivery", "deliveries")
        said.append(f"{landed} landed, not taken in")
    if lane.growing:
        growing = counted(lane.growing, "delivery", "deliveries")
        said.append(f"{growing} landed, not complete yet")
    if lane.missing:
        said.append(f"not evaluated: {' and '.join(lane.missing)} not in fencepost.toml")
    return " · ".join(said)


def _queries(told: "Status") -> str:
    total = sum(told.standing.values())
    if not told.registry_version:
        return "none registered yet: fencepost queries import FILE"
    kinds = " · ".join(f"{many:,} {kind}" for kind, many in told.standing.items())
    shown = f" ({kinds})" if kinds else ""
    return f"{total:,} standing{shown}, registry version {told.registry_version}"


def _last_run(run: Mapping[str, Any], *, joins: bool) -> str:
    first, last = run["first"], run["last"]
    epochs = f"epoch {last:,}" if first == last else f"epochs {first:,}–{last:,}"
    seconds: Mapping[str, float] = run["seconds"]
    took = sum(seconds.get(part, 0.0) for part in WHOLE)
    whole = " · ".join(f"{part} {seconds[part]:.2g}" for part in WHOLE if part in seconds)
    tasks = " · ".join(f"{part} {s:.2g}" for part, s in seconds.items() if part not in WHOLE)
    divided = whole + (f"; in tasks {tasks}" if tasks else "")
    return (
        f"{run['lane']} {epochs} at {_instant(run['at'])}: "
        f"{counted(run['rows'], 'row', 'rows')}, {_found(run, joins=joins)}"
        + (f" in {took:.1f} s  ({divided})" if seconds else "")
    )


def _found(run: Mapping[str, Any], *, joins: bool) -> str:
    if joins:
        changes = f"{counted(run['band_changes'], 'change', 'changes')} of bands"
        return f"{counted(run['pairs'], 'pair', 'pairs')}, {changes}"
    return (
        f"{counted(run['events'], 'event', 'events')}, "
        f"{counted(run['transitions'], 'transition', 'transitions')}"
        + (f", {counted(run['matches'], 'match', 'matches')}" if run["matches"] else "")
    )


def _quarantine(reasons: Mapping[str, int]) -> str:
    total = sum(reasons.values())
    if not total:
        return "0 rows"
    parts = " · ".join(f"{reason} {many:,}" for reason, many in reasons.items())
    return f"{counted(total, 'row', 'rows')}: {parts}      fencepost quarantine show"


def _unseen(unseen: Mapping[str, Any]) -> Iterator[str]:
    """Say which rules name streams that no tuple came of: a typing error, or a silent source."""
    from fencepost.text import escaped

    streams = counted(unseen["streams"], "stream")
    rules = "1 rule names" if unseen["queries"] == 1 else f"{unseen['queries']:,} rules name"
    yield _line("unseen", f"{rules} {streams} that no tuple came of:")
    for row in unseen["first"]:
        yield _line(
            "", f"{escaped(row['id'], 60)}: '{escaped(row['stream'], 60)}' of {row['feed']}"
        )
    if unseen["queries"] > len({row["id"] for row in unseen["first"]}):
        yield _line("", "…")


def _refused(told: "Status") -> Iterator[str]:
    """Name the refused deliveries that nobody has answered, the latest, and say what answers."""
    from fencepost.text import escaped
    from pipelines.cli.run_output import in_one_line

    refused, unanswered = counted(told.refused, "delivery", "deliveries"), len(told.unanswered)
    if not unanswered:
        yield _line("refused", f"{refused}, all answered      {REFUSED_SQL}")
        return
    yield _line("refused", f"{unanswered:,} unanswered of {refused}      {REFUSED_SQL}")
    for row in told.unanswered[: -LATEST - 1 : -1]:
        detail = in_one_line(row["detail"] or "")
        yield _line("", f"{row['feed']}/{escaped(row['path'])}: {row['reason']}: {detail}")
    if unanswered > LATEST:
        yield _line("", f"… and {unanswered - LATEST:,} more")
    yield _line("", "mend, then fencepost quarantine retry; or fencepost quarantine dismiss")


def _instant(iso: str) -> str:
    return f"{iso[:10]} {iso[11:19]}Z"
