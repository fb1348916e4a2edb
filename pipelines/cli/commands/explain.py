"""`fencepost explain`: which index serves the queries, what it costs, and why not another.

Law: nothing in the lake changes, no lock is acquired, no JVM is started.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fencepost.errors import refuse_unknown
from fencepost.text import counted, escaped, size_in_words
from pipelines.cli import completion
from pipelines.cli.options import AsJson, Config, LakeFolder, print_json

if TYPE_CHECKING:  # Arrow and the engine are imported where they are needed
    from pipelines.serve.explain import FeedPlan, JoinPlan, MatchIndexPlan, NearPlan
    from pipelines.serve.unseen import Unseen


def explain(  # noqa: PLR0913  options are many
    lane: Annotated[
        str | None,
        typer.Argument(
            metavar="[LANE]",
            help="Only this feed, or this pair of joined feeds: left~right.",
            autocompletion=completion.lanes,
        ),
    ] = None,
    *,
    queries: Annotated[
        list[str] | None,
        typer.Option(
            "--queries",
            "-q",
            metavar="FILE",
            help="Explain the queries of this file instead of those in the lake. Repeatable.",
        ),
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Tuples per batch; default 10,000."),
    ] = None,
    index: Annotated[
        str,
        typer.Option(metavar="NAME", help="Use this index for matches, whatever is cheapest."),
    ] = "auto",
    as_json: AsJson = False,
    config: Config = None,
    lake: LakeFolder = None,
) -> None:
    """Explain how the queries of each feed are evaluated: the index, its cost, and why.

    Crossings are found by walking the borders between one tuple and the next. If steps are long and
    queries narrow, it is cheaper to look up the queries at both ends and compare them: each epoch
    estimates both and records its choice, which is shown here.

    Matches use an index. `auto` picks the one with the lowest expected cost for this number of
    boxes, axes and results; costs are nanoseconds per tuple, measured on one machine, and good for
    comparison. Indexes: scan, ladder, sci, lci, lci_bv, dlist (one axis), grid, vcr_sd, vcr_od
    (two), packed, bitmaps, spatial_join (any number).

    Band joins are grouped by a shared point, and an update probes each group once: the fewer
    groups, the faster. Window joins choose again for each delivery, by the size of the window.

    Rules are named whose streams no tuple ever came of, or whose patterns of streams fit none.

    \b
    Examples:
      fencepost explain
      fencepost explain ticks --batch 1
      fencepost explain ticks --queries rules.jsonl --index lci_bv
      fencepost explain bids~asks
      fencepost explain --json | jq '.lanes[].parts'
    """  # noqa: D301  \b is a character: the lines after it stay lines
    from pipelines.project.settings import load

    settings = load(config, lake=lake)
    from pipelines.lanes import lane_named
    from pipelines.serve import explain

    plans = []
    lanes = None if lane is None else [lane_named(settings, lane)]
    for wanted in lanes or ():
        pairs = [wanted.name] if wanted.joins and not wanted.missing else []
        refuse_unknown(lane, [*settings.feeds, *pairs], "lane" if wanted.joins else "feed")
    for each in explain.explain(settings, queries or [], lanes, batch, index):
        plans.append(each)
        if not as_json:
            for line in lines(each) if isinstance(each, explain.FeedPlan) else joins(each):
                typer.echo(line)
    if as_json:
        print_json({"lanes": [explain.as_json(each) for each in plans]})


def lines(explained: "FeedPlan") -> Iterator[str]:
    """Describe a feed's plan, line by line."""
    axes = ", ".join(explained.axes)
    yield f"{explained.feed}  ({axes})"
    yield _line(
        "crossings",
        f"{counted(explained.crossings, 'query', 'queries')}, "
        f"{counted(explained.posts, 'post')}, "
        f"{size_in_words(explained.crossing_bytes)}"
        if explained.crossings
        else "no query",
    )
    regions = explained.regions
    if regions is not None:
        yield _line(
            "regions",
            f"{counted(regions.queries, 'query', 'queries')} in {counted(regions.cells, 'cell')}: "
            f"{regions.whole:,} times whole, {regions.tested:,} times along a border; "
            f"{size_in_words(regions.bytes)}",
        )
    for epoch in explained.epochs:
        yield from _epoch(epoch)
    yield _line(
        "matches",
        f"{counted(explained.matches, 'query', 'queries')}, {size_in_words(explained.match_bytes)}"
        if explained.matches
        else "no query",
    )
    for part in explained.parts:
        yield from _index(part)
    yield from _unseen(explained.unseen)


def _unseen(unseen: "Unseen") -> Iterator[str]:
    """Name the rules that watch what never came."""
    if not unseen.rules:
        return
    rules = "1 rule names" if unseen.rules == 1 else f"{unseen.rules:,} rules name"
    yield _line("unseen", f"{rules} a stream without any tuple, or a pattern that fits none:")
    for rule, stream in unseen.first:
        yield _line("", f"  {escaped(rule, 60)}: '{escaped(stream, 60)}'")
    if unseen.rules > len({rule for rule, _ in unseen.first}):
        yield _line("", "  …")


def joins(explained: "JoinPlan") -> Iterator[str]:
    """Describe the plan of a pair of feeds, line by line."""
    yield explained.lane
    many, size = explained.windows, explained.window_bytes
    windows = f"{counted(many, 'window join')}, {size_in_words(size)}" if many else "no join"
    yield _line("windows", windows)
    if explained.method:
        yield _line("", f"  {explained.method}")
    for plane in explained.planes:
        groups = counted(plane.groups, "group")
        summary = f"{counted(plane.bands, 'band join')} in {groups}"
        summary += f" (minimum {plane.fewest:,}), {size_in_words(plane.bytes)}"
        yield _line("bands", f"{plane.left_axis} - {plane.right_axis}: {summary}")
    for near in explained.nears:
        yield _line("near", _near(near))


def _near(plan: "NearPlan") -> str:
    """Describe the near joins of one plane, which share cells."""
    left, right = (" and ".join(axes) for axes in (plan.left, plan.right))
    unit = " m" if plan.earth else ""
    least, largest = (f"{distance:,.6g}{unit}" for distance in (plan.least, plan.largest))
    reach = largest if plan.least == plan.largest else f"{least} to {largest}"
    where = left if left == right else f"{left} - {right}"
    some = f", {plan.some:,} of them of some streams only" if plan.some else ""
    return f"{where}: {counted(plan.joins, 'near join')} of {reach}{some}, in cells of {largest}"


def _epoch(epoch: Mapping[str, Any]) -> Iterator[str]:
    for method, how in epoch["crossings"].items():
        levels = [f"FL {how['fl']:.3%}"] if "fl" in how else []
        levels += [f"W {how['w']:.3%}"] if "w" in how else []
        choice = ", ".join([method, *levels])
        yield _line("", f"epoch {epoch['epoch']:,}: {choice}: {how['why']}")
    for index, how in epoch["matches"].items():
        yield _line("", f"epoch {epoch['epoch']:,}: matches by {index}: {how['why']}")


def _index(plan: "MatchIndexPlan") -> Iterator[str]:
    boxes = counted(plan.boxes, "box", "boxes")
    axes = counted(plan.axes, "axis", "axes")
    streams = "named streams, with the stream as one more axis" if plan.named else "all streams"
    summary = f"{plan.index}: {boxes} over {axes}, for {streams}"
    if plan.hits is not None:
        summary += f"; about {plan.hits:,.3g} match a tuple"
    yield _line("", summary)
    yield _line("", f"  {plan.layout}")
    yield _line("", f"  {plan.why}")


def _line(label: str, text: str) -> str:
    return f"  {label:<10}  {text}".rstrip()
