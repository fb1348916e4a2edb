"""What a run did, as text and as JSON: the output of `run`, `watch` and `partitions`.

Law: output stays on its line, whatever a file is called or contains; --json is verbatim.
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
    from pipelines.files.losses import Loss
    from pipelines.ingest.deliveries import IngestReport
    from pipelines.lanes import Lane
    from pipelines.runs.run import RunReport

MOST_SHOWN = 5
"""Unanswered deliveries that a run prints; `status` and --json have them all."""


def lines(report: "RunReport") -> Iterator[str]:
    """Describe a run, line by line."""
    ingested = report.ingested
    yield from ingest_lines(ingested)
    for group in report.groups:
        yield group_line(group)
    yield from loss_lines(report.losses)
    if not (ingested.loaded or ingested.refused or report.groups):
        yield "nothing new"
    yield from still_refused(report.unanswered, ingested)
    yield f"done in {report.seconds:.1f} s"


def ingest_lines(report: "IngestReport") -> Iterator[str]:
    """Describe what was loaded, and what was refused."""
    if report.loaded:
        yield (
            f"ingest     {counted(len(report.loaded), 'delivery', 'deliveries')}: "
            f"{counted(report.rows, 'row')} read = {counted(report.tuples, 'tuple')} + "
            f"{report.malformed + report.future:,} quarantined"
        )
    yield from refusals(report)


def loss_lines(losses: Sequence["Loss"]) -> Iterator[str]:
    """Say what deliveries lost, why, and what would cure it."""
    from pipelines.files.losses import lines_of

    yield from (f"lost       {line}" for line in lines_of(losses))


def refusals(report: "IngestReport") -> Iterator[str]:
    """List what was refused, with every error."""
    for refused in report.refused:
        first, *more = refused.detail.splitlines() or [""]
        path = f"{refused.feed}/{escaped(refused.path)}"
        yield f"refused    {path}: {refused.reason}: {escaped(first)}"
        yield from (f"           {escaped(line)}" for line in more)


def still_refused(unanswered: Sequence[Unanswered], report: "IngestReport") -> Iterator[str]:
    """List the unanswered deliveries that earlier runs refused."""
    new = {refused.n for refused in report.refused}
    before = [each for each in unanswered if each.n not in new]
    for each in before[-MOST_SHOWN:]:
        yield (
            f"unanswered {each.feed}/{escaped(each.path)}: refused {each.found_at[:10]} "
            f"{each.found_at[11:19]}Z: {each.reason}: {in_one_line(each.detail)}"
        )
    if len(before) > MOST_SHOWN:
        yield f"unanswered and {len(before) - MOST_SHOWN:,} more: fencepost status --json"


def in_one_line(detail: str, most: int = 160) -> str:
    """Put the detail of a refusal on one line."""
    return escaped(" · ".join(line.strip() for line in detail.splitlines()), most)


def group_line(group: "GroupReport") -> str:
    """Describe the results of a group of epochs, and how long it took."""
    counts = group.counts
    first, last = group.epochs[0].epoch, group.epochs[-1].epoch
    which = f"epoch {first}" if first == last else f"epochs {first}–{last}"
    rejected = counts["late"] + counts["duplicate"] + counts["conflict"]
    spent = sum(group.seconds.get(name, 0.0) for name in ("plan", "prepare", "job", "commit"))
    text = f"evaluate   {group.lane} {which}: {findings(group.lane, counts)}"
    if rejected:
        text += f" · rejected {rejected:,}"
    if counts["waiting"]:
        text += f" · waiting {counts['waiting']:,}"
    return f"{text}   {spent:.1f} s"


def findings(lane: "Lane", counts: Mapping[str, int]) -> str:
    """Describe what a lane's epochs accepted, and their results."""
    return f"{counted(counts['accepted'], 'tuple')} → {lane.summary(counts)}"


def notes(report: "RunReport") -> Iterator[str]:
    """List what may need attention."""
    yield from ingest_notes(report.ingested)
    yield from rule_notes(report.unwatched)
    yield from catalog_notes(report.unpublished)
    yield from answer_notes(report.unanswered)


def ingest_notes(report: "IngestReport") -> Iterator[str]:
    """List what was skipped, and why."""
    for feed, paths in report.waiting.items():
        yield f"note: {feed}: {counted(len(paths), 'delivery', 'deliveries')} still growing"
    for feed, whys in report.passed_over.items():
        for why in whys:
            yield f"note: {feed}: {escaped(why)}"
    for each in report.loaded:
        if each.ignored:
            columns = escaped(", ".join(each.ignored))
            path = f"{each.feed}/{escaped(each.path)}"
            yield f"note: {path}: unknown columns ignored: {columns}"


def rule_notes(unwatched: Mapping[str, int]) -> Iterator[str]:
    """List the feeds whose tuples no rule watches."""
    for feed, many in unwatched.items():
        yield (
            f"note: {counted(many, 'tuple')} without a rule: none is registered for '{feed}'; "
            "fencepost queries import FILE registers some"
        )


def catalog_notes(unpublished: Sequence[str]) -> Iterator[str]:
    """List the catalogs that are not up to date."""
    return (f"note: {line}" for line in unpublished)


def answer_notes(unanswered: Sequence[Unanswered]) -> Iterator[str]:
    """Say what answers a refused delivery."""
    if unanswered:
        them = "it" if len(unanswered) == 1 else "them"
        many = counted(len(unanswered), "refused delivery", "refused deliveries")
        yield (
            f"note: {many} unanswered: "
            f"fix {them} and `fencepost quarantine retry`, or `fencepost quarantine dismiss`"
        )


def end(unanswered: Sequence[Unanswered]) -> None:
    """Exit with a code of its own while a refused delivery is unanswered."""
    if unanswered:
        raise typer.Exit(Code.UNANSWERED)


def report_json(report: "RunReport") -> dict[str, Any]:
    """Give a run as one JSON object."""
    return {
        **ingest_json(report.ingested),
        "unanswered": refusals_json(report.unanswered),
        "unwatched": report.unwatched,
        "unpublished": report.unpublished,
        "losses": losses_json(report.losses),
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


def refusals_json(unanswered: Sequence[Unanswered]) -> list[dict[str, Any]]:
    """Give unanswered deliveries, in full."""
    return [asdict(each) for each in unanswered]


def losses_json(losses: Sequence["Loss"]) -> list[dict[str, Any]]:
    """Give what deliveries lost, all of them."""
    return [loss.as_json() for loss in losses]


def ingest_json(report: "IngestReport") -> dict[str, Any]:
    """Give what was loaded, refused and left."""
    return {
        "deliveries": [vars(each) for each in report.loaded],
        "refused": [vars(each) for each in report.refused],
        "waiting": report.waiting,
        "passed_over": report.passed_over,
    }
