"""The first screen: five figures that matter, and two plots."""

from collections.abc import Iterator

from benchmarks.figures import crossings as by
from benchmarks.figures import money, peers
from benchmarks.figures.figure import Panel, ratios, span
from benchmarks.figures.headlines import All
from benchmarks.figures.lines import Source, smallest_epoch
from benchmarks.figures.plot import Lines
from benchmarks.figures.tables import picture, table

CURVES = {
    by.AUTO: "Fencepost",
    by.CEI: "DiffRMQ on CEI",
    by.IS_LIST: "DiffRMQ on IS-list",
    by.PRINTED: "RS list as printed",
}


def screen(drawn: All) -> Iterator[str]:
    """A table of five figures, then the plots."""
    found = [*_rival(drawn), *_queries(), *_engine(), *_lake(), *_latency()]
    yield table(("", "what it is", "where"), found)
    if panels(drawn):
        yield picture(
            "evidence", "Time of a step as queries and streams grow: Fencepost and its rivals"
        )


def panels(drawn: All) -> list[tuple[Panel, Lines]]:
    """The time a tuple as queries grow, and that of all as streams do."""
    found: list[tuple[Panel, Lines]] = []
    if "s1-10" in drawn:
        panel = Panel("Time a tuple, ns", "standing queries", "", "y")
        found.append((panel, _known(drawn["s1-10"]["b"])))
    if "s1-15" in drawn:
        panel = Panel("One tuple of each stream, ms", "streams", "", "xy")
        found.append((panel, _known(drawn["s1-15"]["a"])))
    return found


def _known(curves: Lines) -> Lines:
    return {shown: curves[name] for name, shown in CURVES.items() if name in curves}


def _rival(drawn: All) -> Iterator[tuple[str, str, str]]:
    if "s1-15" not in drawn:
        return
    faster = [ratios(drawn["s1-15"], "a", name, by.AUTO) for name in (by.CEI, by.IS_LIST)]
    least = [min(both) for both in zip(*faster, strict=True)]
    yield (
        f"**{span(least)}**",
        (
            "as fast at finding crossings as looking each value up twice and comparing "
            "(DiffRMQ, its quickest form, compiled), from 1 K to 128 K streams over 100 K "
            "queries; the paper says 6.8 ×"
        ),
        "[S1 Fig. 15](#s1-fig-15-the-number-of-streams)",
    )


def _queries() -> Iterator[tuple[str, str, str]]:
    source = Source("engine", "queries", "first pass, N = 10 K → 1 M")
    if row := source.row():
        yield (
            f"**{row.figure}**",
            (
                "the time of a step over a million standing queries, of that over ten thousand "
                f"({row.facts} a tuple)"
            ),
            source.link,
        )


def _engine() -> Iterator[tuple[str, str, str]]:
    near = [peers.fastest("bands", f"{many} K bands") for many in (10, 100)]
    if all(near):
        names, times = zip(*filter(None, near), strict=True)
        yield (
            f"**{' and '.join(f'{time:.2g}' for time in times)} ×**",
            (
                f"as fast as the closest general engine ({' and '.join(dict.fromkeys(names))}, by "
                "its best formulation, as many threads) over 10 K and 100 K price bands"
            ),
            "[engines](#against-the-engines-one-would-otherwise-use)",
        )
        return
    source = Source("regions", "duckdb", "DuckDB spatial")
    if row := source.row():
        yield (
            f"**{row.figure}**",
            (
                "as fast as DuckDB's spatial join at 10 K polygons and a million fixes, two "
                "threads each"
            ),
            source.link,
        )


def _lake() -> Iterator[tuple[str, str, str]]:
    rate = money.pipeline_rate()
    if rate:
        near = peers.fastest("epochs")
        beside = f"; {near[1]:.1f} × as fast as {near[0]}'s best form" if near else ""
        yield (
            f"**{rate / 1e6:.1f} M tuples/s**",
            (
                "through the whole pipeline on two cores, from files to Delta tables: "
                f"checked, numbered, evaluated, committed exactly once{beside}; "
                f"{money.cheapest(rate)} a billion tuples"
            ),
            "[money](#money-and-machines)",
        )


def _latency() -> Iterator[tuple[str, str, str]]:
    found = smallest_epoch()
    if found:
        took, source = found
        yield (
            f"**{took * 1e3:.0f} ms**",
            (
                "and no less, for the smallest epoch: where milliseconds count, "
                "[a server in memory wins](#where-fencepost-loses-and-why)"
            ),
            source.link,
        )
