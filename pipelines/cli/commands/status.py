"""`fencepost status`: the state of the lake in a few lines.

Law: nothing is changed, no lock is acquired, no JVM is started; it takes about a second.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from fencepost.text import counted
from pipelines.cli.options import AsJson, Config, LakeFolder, print_json, shown_place
from pipelines.places import Place, is_remote

if TYPE_CHECKING:  # DuckDB is imported where it is needed: --help stays quick
    from pipelines.project.settings import Settings
    from pipelines.serve.status import LaneStatus, Status

LATEST = 5
"""Unanswered deliveries that are listed; --json has all."""

REFUSED_SQL = 'fencepost sql "from refused_deliveries"'

WHOLE = ("plan", "prepare", "job", "commit")
"""Consecutive parts of a run's time; the others are sums over parallel tasks."""


def status(
    *,
    as_json: AsJson = False,
    config: Config = None,
    lake: LakeFolder = None,
) -> None:
    """Show lake status: feeds, queries, last run, quarantine.

    Read-only and without a lock: it works while another command writes.

    \b
    Examples:
      fencepost status
      fencepost status --json | jq '.lanes[] | {lane, watermark, lag}'
    """  # noqa: D301  \b is a character: the lines after it stay lines
    from pipelines.project.settings import load
    from pipelines.serve.status import status_of

    settings = load(config, lake=lake)
    current = status_of(settings)
    if as_json:
        print_json(asdict(current))
        return
    for line in lines(settings, current):
        typer.echo(line)


def lines(settings: "Settings", status: "Status") -> Iterator[str]:
    """Describe the lake, line by line: a label, and then the facts."""
    from pipelines.lanes import lane_named

    yield _line("lake", _lake(settings.root, status))
    names = max(len(each.lane) for each in status.lanes)
    for each in status.lanes:
        noun = lane_named(settings, each.lane).noun
        yield _line(noun, f"{each.lane:<{names}}  {_lane(each)}")
    yield _line("queries", _queries(status))
    yield from _unseen(status.unseen)
    if status.last_run is not None:
        joins = lane_named(settings, status.last_run["lane"]).joins
        yield _line("last run", _last_run(status.last_run, joins=joins))
    yield _line("quarantine", _quarantine(status.quarantine))
    if status.refused:
        yield from _refused(status)


def _line(label: str, text: str) -> str:
    return f"{label:<10}  {text}"


def _lake(root: Place, status: "Status") -> str:
    shown = shown_place(root)
    if not is_remote(root) and root.is_relative_to(Path.cwd()):
        shown = f"./{shown}"
    where = "object store" if is_remote(root) else "local disk"
    writer = "free" if status.writer is None else f"locked by {status.writer['words']}"
    return f"{shown}   ({where}, one writer: {writer})"


def _lane(lane: "LaneStatus") -> str:
    parts = [
        f"epoch {lane.epoch:,}",
        f"watermark {_instant(lane.watermark)}" if lane.watermark else "no watermark yet",
        f"lag {counted(lane.lag, 'delivery', 'deliveries')}" if lane.lag else "lag 0",
        counted(lane.streams, "stream", "streams"),
    ]
    if lane.waiting:
        parts.append(f"{counted(lane.waiting, 'tuple', 'tuples')} waiting")
    if lane.pending:
        parts.append(f"{counted(lane.pending, 'crossing', 'crossings')} pending")
    if lane.arriving:
        parts.append(f"{counted(lane.arriving, 'delivery', 'deliveries')} partly loaded")
    if lane.stale:
        parts.append(f"{counted(lane.stale, 'epoch', 'epochs')} stale, to be re-evaluated")
    if lane.open:
        parts.append(f"{counted(lane.open, 'epoch', 'epochs')} planned, not done")
    if lane.landed:
        landed = counted(lane.landed, "delivery", "deliveries")
        parts.append(f"{landed} landed, not loaded")
    if lane.growing:
        growing = counted(lane.growing, "delivery", "deliveries")
        parts.append(f"{growing} landed, still growing")
    if lane.missing:
        parts.append(f"not evaluated: {' and '.join(lane.missing)} not in fencepost.toml")
    return " · ".join(parts)


def _queries(status: "Status") -> str:
    total = sum(status.standing.values())
    if not status.registry_version:
        return "none registered yet: fencepost queries import FILE"
    kinds = " · ".join(f"{many:,} {kind}" for kind, many in status.standing.items())
    shown = f" ({kinds})" if kinds else ""
    return f"{total:,} standing{shown}, registry version {status.registry_version}"


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
        changes = f"{counted(run['band_changes'], 'band change')}"
        near = f", {counted(run['near_changes'], 'near change')}" if run["near_changes"] else ""
        return f"{counted(run['pairs'], 'pair', 'pairs')}, {changes}{near}"
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
    """List rules that name streams without any tuple: a typo, or a silent source."""
    from fencepost.text import escaped

    streams = counted(unseen["streams"], "stream")
    for rules, named, first, name in (
        (unseen["queries"], f"{streams} without any tuple", unseen["first"], "stream"),
        (unseen["patterns"], "a pattern that no stream fits", unseen["first_patterns"], "pattern"),
    ):
        if not rules:
            continue
        which = "1 rule names" if rules == 1 else f"{rules:,} rules name"
        yield _line("unseen", f"{which} {named}:")
        for row in first:
            yield _line(
                "", f"{escaped(row['id'], 60)}: '{escaped(row[name], 60)}' of {row['feed']}"
            )
        if rules > len({row["id"] for row in first}):
            yield _line("", "…")


def _refused(status: "Status") -> Iterator[str]:
    """List the latest refused deliveries that are unanswered, and say what answers them."""
    from fencepost.text import escaped
    from pipelines.cli.run_output import in_one_line

    refused, unanswered = counted(status.refused, "delivery", "deliveries"), len(status.unanswered)
    if not unanswered:
        yield _line("refused", f"{refused}, all answered      {REFUSED_SQL}")
        return
    yield _line("refused", f"{unanswered:,} unanswered of {refused}      {REFUSED_SQL}")
    for row in status.unanswered[: -LATEST - 1 : -1]:
        detail = in_one_line(row["detail"] or "")
        yield _line("", f"{row['feed']}/{escaped(row['path'])}: {row['reason']}: {detail}")
    if unanswered > LATEST:
        yield _line("", f"… and {unanswered - LATEST:,} more")
    yield _line("", "fix them and fencepost quarantine retry, or fencepost quarantine dismiss")


def _instant(iso: str) -> str:
    return f"{iso[:10]} {iso[11:19]}Z"
