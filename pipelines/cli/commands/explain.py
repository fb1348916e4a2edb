"""`fencepost explain`: which index serves the queries, what it costs, and why not another.

Law: nothing in the lake changes, no lock is taken, no JVM is started.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fencepost.errors import refuse_unknown
from fencepost.text import counted, size_in_words
from pipelines.cli import completion
from pipelines.cli.options import AsJson, Config, LakeFolder, print_json

if TYPE_CHECKING:  # Arrow and the engine are imported where they are needed
    from pipelines.serve.explain import Explained, ExplainedJoins, Part


def explain(  # noqa: PLR0913  options are many
    lane: Annotated[
        str | None,
        typer.Argument(
            metavar="[LANE]",
            help="Only of this feed, or of this pair of feeds that are joined: left~right.",
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
            help="Explain the queries of this file, instead of those in the lake. May be given "
            "several times.",
        ),
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="How many tuples are matched together; else 10,000."),
    ] = None,
    index: Annotated[
        str,
        typer.Option(metavar="NAME", help="Take this index for the matches, whatever is cheaper."),
    ] = "auto",
    as_json: AsJson = False,
    config: Config = None,
    lake: LakeFolder = None,
) -> None:
    """Explain how the queries of each feed are evaluated: the index, its cost, and why.

    Crossings are found by walking past the borders between one tuple and the next. Where steps are
    long and queries narrow it is cheaper to ask which queries hold at either end and compare: each
    epoch measures both and records its choice, which is told here.

    Matches are looked up in an index. `auto` takes the one with the least expected cost for this
    many boxes, axes and results; the costs are nanoseconds a tuple, measured on one machine, and
    good for comparing. By name there are: scan, ladder, sci, lci, lci_bv, dlist (one axis), grid,
    vcr_sd, vcr_od (two), packed, bitmaps, spatial_join (any number).

    Band joins stand in groups that share a point, and an update looks into each group once: so the
    fewer groups, the quicker. Window joins choose anew for each delivery, by what is in the window.

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

    told = []
    lanes = None if lane is None else [lane_named(settings, lane)]
    for wanted in lanes or ():
        pairs = [wanted.name] if wanted.joins and not wanted.missing else []
        refuse_unknown(lane, [*settings.feeds, *pairs], "lane" if wanted.joins else "feed")
    for each in explain.explain(settings, queries or [], lanes, batch, index):
        told.append(each)
        if not as_json:
            for line in lines(each) if isinstance(each, explain.Explained) else joins(each):
                typer.echo(line)
    if as_json:
        print_json({"lanes": [explain.as_json(each) for each in told]})


def lines(explained: "Explained") -> Iterator[str]:
    """Tell it in lines."""
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
    for epoch in explained.epochs:
        yield from _epoch(epoch)
    yield _line(
        "matches",
        f"{counted(explained.matches, 'query', 'queries')}, {size_in_words(explained.match_bytes)}"
        if explained.matches
        else "no query",
    )
    for part in explained.parts:
        yield from _part(part)


def joins(explained: "ExplainedJoins") -> Iterator[str]:
    """Tell a pair of feeds in lines."""
    yield explained.lane
    many, size = explained.windows, explained.window_bytes
    said = f"{counted(many, 'window join')}, {size_in_words(size)}" if many else "no join"
    yield _line("windows", said)
    if explained.told:
        yield _line("", f"  {explained.told}")
    for plane in explained.planes:
        groups = counted(plane.groups, "group")
        said = f"{counted(plane.bands, 'band join')} in {groups}"
        said += f" ({plane.fewest:,} at the fewest), {size_in_words(plane.bytes)}"
        yield _line("bands", f"{plane.left_axis} - {plane.right_axis}: {said}")


def _epoch(epoch: Mapping[str, Any]) -> Iterator[str]:
    for method, how in epoch["crossings"].items():
        levels = [f"FL {how['fl']:.3%}"] if "fl" in how else []
        levels += [f"W {how['w']:.3%}"] if "w" in how else []
        said = ", ".join([method, *levels])
        yield _line("", f"epoch {epoch['epoch']:,}: {said}: {how['why']}")
    for index, how in epoch["matches"].items():
        yield _line("", f"epoch {epoch['epoch']:,}: matches by {index}: {how['why']}")


def _part(part: "Part") -> Iterator[str]:
    boxes = counted(part.boxes, "box", "boxes")
    axes = counted(part.axes, "axis", "axes")
    whom = "named streams, the stream one axis more" if part.named else "all streams"
    said = f"{part.index}: {boxes} over {axes}, for {whom}"
    yield _line("", said if part.held is None else f"{said}; about {part.held:,.3g} hold a tuple")
    yield _line("", f"  {part.told}")
    yield _line("", f"  {part.why}")


def _line(word: str, said: str) -> str:
    return f"  {word:<10}  {said}".rstrip()
