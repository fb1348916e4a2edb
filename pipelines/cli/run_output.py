"""What a run did, in words and as JSON: what `run`, `watch` and `partitions` print.

Law: what is printed stands on its line, whatever a file is called or holds; --json is verbatim.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from fencepost.text import counted, escaped
from pipelines.cli.exit_codes import Code
from pipelines.ingest.refusals import Unanswered

if TYPE_CHECKING:
    from pipelines.epochs.drive import GroupReport
    from pipelines.ingest.report import IngestReport
    from pipelines.lanes import Lane
    from pipelines.runs.run import RunReport

MOST_SHOWN = 5
"""Unanswered deliveries that a run prints; `status` and --json have them all."""


def lines(report: "RunReport") -> Iterator[str]:
    """Tell a run in lines."""
    got = report.ingested
    yield from ingested(got)
    for group in report.groups:
        yield group_line(group)
    if not (got.loaded or got.refused or report.groups):
        yield "nothing new"
    yield from still_refused(report.unanswered, got)
    yield f"done in {report.seconds:.1f} s"


def ingested(got: "IngestReport") -> Iterator[str]:
    """Say what was taken in, and what was refused."""
    if got.loaded:
        yield (
            f"ingest     {counted(len(got.loaded), 'delivery', 'deliveries')}: "
            f"{counted(got.rows, 'row')} read = {counted(got.tuples, 'tuple')} + "
            f"{got.malformed + got.future:,} quarantined"
        )
    yield from refusals(got)


def refusals(got: "IngestReport") -> Iterator[str]:
    """Say what was refused, and all that is wrong with it."""
    for refused in got.refused:
        first, *more = refused.detail.splitlines() or [""]
        path = f"{refused.feed}/{escaped(refused.path)}"
        yield f"refused    {path}: {refused.reason}: {escaped(first)}"
        yield from (f"           {escaped(line)}" for line in more)


def still_refused(found: Sequence[Unanswered], got: "IngestReport") -> Iterator[str]:
    """Name the deliveries that earlier runs refused and nobody has answered."""
    told = {refused.n for refused in got.refused}
    before = [each for each in found if each.n not in told]
    for each in before[-MOST_SHOWN:]:
        yield (
            f"unanswered {each.feed}/{escaped(each.path)}: refused {each.found_at[:10]} "
            f"{each.found_at[11:19]}Z: {each.reason}: {in_one_line(each.detail)}"
        )
    if len(before) > MOST_SHOWN:
        yield f"unanswered and {len(before) - MOST_SHOWN:,} more: fencepost status --json"


def in_one_line(detail: str, most: int = 160) -> str:
    """Put the words of a refusal into one line."""
    return escaped(" · ".join(line.strip() for line in detail.splitlines()), most)


def group_line(group: "GroupReport") -> str:
    """Say what a group of epochs found, and how long it took."""
    counts = group.counts
    first, last = group.epochs[0].epoch, group.epochs[-1].epoch
    which = f"epoch {first}" if first == last else f"epochs {first}–{last}"
    turned = counts["late"] + counts["duplicate"] + counts["conflict"]
    spent = sum(group.seconds.get(name, 0.0) for name in ("plan", "prepare", "job", "commit"))
    text = f"evaluate   {group.lane} {which}: {found(group.lane, counts)}"
    if turned:
        text += f" · turned away {turned:,}"
    if counts["waiting"]:
        text += f" · waiting {counts['waiting']:,}"
    return f"{text}   {spent:.1f} s"


def found(lane: "Lane", counts: Mapping[str, int]) -> str:
    """Say how many tuples a lane's epochs accepted, and what was found in them."""
    return f"{counted(counts['accepted'], 'tuple')} → {lane.summary(counts)}"


def notes(report: "RunReport") -> Iterator[str]:
    """Say what a person may want to do something about."""
    yield from ingest_notes(report.ingested)
    yield from rule_notes(report.unwatched)
    yield from answer_notes(report.unanswered)


def ingest_notes(got: "IngestReport") -> Iterator[str]:
    """Say what was not looked at, and why."""
    for feed, paths in got.waiting.items():
        yield f"note: {feed}: {counted(len(paths), 'delivery', 'deliveries')} not complete yet"
    for feed, whys in got.passed_over.items():
        for why in whys:
            yield f"note: {feed}: {escaped(why)}"
    for each in got.loaded:
        if each.ignored:
            columns = escaped(", ".join(each.ignored))
            path = f"{each.feed}/{escaped(each.path)}"
            yield f"note: {path}: columns nobody asked for, ignored: {columns}"


def rule_notes(unwatched: Mapping[str, int]) -> Iterator[str]:
    """Say which tuples nobody watches."""
    for feed, many in unwatched.items():
        yield (
            f"note: {counted(many, 'tuple')}, no rule is registered for '{feed}': "
            "fencepost queries import FILE"
        )


def answer_notes(found: Sequence[Unanswered]) -> Iterator[str]:
    """Say what answers a refused delivery."""
    if found:
        them = "it" if len(found) == 1 else "them"
        yield (
            f"note: {counted(len(found), 'refused delivery', 'refused deliveries')} unanswered: "
            f"mend {them} and `fencepost quarantine retry`, or `fencepost quarantine dismiss`"
        )


def end(found: Sequence[Unanswered]) -> None:
    """End with a code of its own while a refused delivery is unanswered."""
    if found:
        raise typer.Exit(Code.UNANSWERED)


def report_json(report: "RunReport") -> dict[str, Any]:
    """Give a run as one JSON object."""
    return {
        **ingest_json(report.ingested),
        "unanswered": refusals_json(report.unanswered),
        "unwatched": report.unwatched,
        "groups": [
            {
                "lane": group.lane.name,
                "first": group.epochs[0].epoch,
                "last": group.epochs[-1].epoch,
                "generation": group.epochs[0].generation,
                "counts": group.counts,
                "seconds": dict(group.seconds),
            }
            for group in report.groups
        ],
        "seconds": report.seconds,
    }


def refusals_json(found: Sequence[Unanswered]) -> list[dict[str, Any]]:
    """Give unanswered deliveries, whole."""
    return [asdict(each) for each in found]


def ingest_json(got: "IngestReport") -> dict[str, Any]:
    """Give what was taken in, refused and left."""
    return {
        "deliveries": [vars(each) for each in got.loaded],
        "refused": [vars(each) for each in got.refused],
        "waiting": got.waiting,
        "passed_over": got.passed_over,
    }
