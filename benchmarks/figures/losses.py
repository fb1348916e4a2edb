"""Where Fencepost loses, and why: from verdicts that fail, and from lines that miss their bars."""

from collections.abc import Iterator, Mapping

from benchmarks.figures.against import LEVEL, raced
from benchmarks.figures.figure import Verdict, ratios
from benchmarks.figures.headlines import All
from benchmarks.figures.lines import Source, seconds, smallest_epoch
from benchmarks.figures.s1_windows import OURS, TRAN_SEQ
from benchmarks.pages import DOCS, PAGES, sections_of


def losses(drawn: All, judged: Mapping[str, Verdict]) -> list[str]:
    """Sentences, the gravest first."""
    return [*_latency(), *_threads(), *_transitions(drawn), *_structures(drawn), *_bars(judged)]


def _latency() -> Iterator[str]:
    found = smallest_epoch()
    fence = Source("regions", "circles", "Tile38's SETs").row()
    served = seconds(fence.facts, "a SET takes") if fence else None
    if found and served:
        took, _ = found
        yield (
            f"**Latency.** The smallest epoch takes {took * 1e3:.0f} ms, since each commits Delta "
            "tables; a server in memory (Tile38, 10 K overlapping fences) answers one position "
            f"in {served * 1e3:.1f} ms, and keeps no rows. Who needs an answer to a single "
            "position within milliseconds is better served by such a server, or by `fp.Monitor` "
            "in their own process, which commits nothing."
        )


def _threads() -> Iterator[str]:
    row = Source("engine", "sparse", "two threads against one").row()
    if row and row.value and row.value < 1:
        yield (
            "**Two threads on one path.** The walk gains nothing from a second thread "
            f"({row.figure} its speed here): it is bound by memory. Cores are used by streams in "
            "tasks of their own."
        )


def _transitions(drawn: All) -> Iterator[str]:
    if "s1-transitions" in drawn:
        slower = ratios(drawn["s1-transitions"], "b", OURS, TRAN_SEQ)
        if max(slower) > 1:
            yield (
                "**Composing transitions.** S1's Tran-Seq, compiled, takes an event "
                f"{max(slower):.1f} times as fast as ours at best. It reads events one by one in "
                "order of time; ours sorts an epoch's, so that lateness and replays change no "
                "row."
            )


def _structures(drawn: All) -> Iterator[str]:
    slower = {
        name: [1 / x for x in values if x < 1 - LEVEL] for name, values in raced(drawn).items()
    }
    points = {name: len(values) for name, values in raced(drawn).items()}
    words = [
        f"{name} at {len(worse)} of {points[name]} points (by up to {max(worse):.2f} ×)"
        for name, worse in slower.items()
        if worse
    ]
    if words:
        yield (
            f"**Structures of the papers.** What Fencepost runs is slower than {'; '.join(words)}. "
            "`auto` estimates costs by sums of a few terms, and does not always pick the quickest."
        )


def _bars(judged: Mapping[str, Verdict]) -> Iterator[str]:
    failed = sum(each.holds is False for each in judged.values())
    missed, bars = 0, 0
    for page in PAGES.values():
        if page.raw.is_file():
            for section in sections_of(page.raw.read_text(encoding="utf-8")):
                bars += len(section.judged)
                missed += sum(row.verdict == "MISSED" for row in section.judged)
    pages = ", ".join(
        f"[{page.name}]({page.summary})"
        for page in PAGES.values()
        if (DOCS / page.summary).is_file()
    )
    yield (
        f"**Claims and bars.** {failed} of {len(judged)} figures below do not show what their "
        f"paper says; each says why. Of our own {bars} bars, {missed} are missed, each listed on "
        f"its page: {pages}."
    )
