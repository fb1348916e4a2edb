"""The second pass, compiled: count, then write into arrays of exactly that size.

Each list and each thread has its own stretch of the output, so events stand by list, and within a list by place.
"""

from collections.abc import Callable

import numpy as np

from fencepost.crossings import confirm_kernels, kernels, twins
from fencepost.crossings.columns import Events
from fencepost.crossings.layer import Layer, as_posts
from fencepost.crossings.path import Path
from fencepost.crossings.walk import (
    Standing,
    Suspect,
    Walk,
    in_parallel,
    named_first_sight,
    run_parts,
)
from fencepost.tuples import Int32s

NOWHERE = Events(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int8))
Fill = Callable[[Events, int, int], None]


def counts(walked: Walk) -> Int32s:
    """Count the events of every place, without writing any."""
    per_place = np.zeros(len(walked.path), np.int32)
    _stretches(walked, per_place)
    return per_place


def examined(walked: Walk) -> int:
    """Count the posts passed and the candidates met: what the walk touched to find its events."""
    per_place = np.zeros(len(walked.path), np.int32)
    parts = [(0, len(walked.path.stream))]
    met = sum(_confirm(walked.path, s, parts[0], per_place)[1] for s in walked.suspects)
    return walked.passed + int(met)


def events(walked: Walk) -> Events:
    """Write the events out."""
    stretches = _stretches(walked, np.zeros(len(walked.path), np.int32))
    edges = np.cumsum([0, *(size for size, _ in stretches)])
    total = int(edges[-1])
    out = Events(np.empty(total, np.int32), np.empty(total, np.int32), np.empty(total, np.int8))
    places = list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
    share = -(-len(stretches) // walked.threads) if stretches else 1
    _ = share

    def write(k: int, _end: int) -> None:
        start, stop = places[k]
        stretches[k][1](out, start, stop)

    for first in range(0, len(stretches), walked.threads):
        turn = range(first, min(first + walked.threads, len(stretches)))
        in_parallel(write, [(k, k) for k in turn])
    return out


def _stretches(walked: Walk, per_place: Int32s) -> list[tuple[int, Fill]]:
    """Count each list's events part by part; return how many there are, and how to write them."""
    path = walked.path
    parts = run_parts(path, walked.threads)
    stretches: list[tuple[int, Fill]] = []
    for standing in walked.standings:
        stretches += in_parallel(lambda a, b, s=standing: _plain(path, s, a, b, per_place), parts)
    for suspect in walked.suspects:
        stretches += in_parallel(lambda a, b, s=suspect: _checked(path, s, a, b, per_place), parts)
    if path.fresh.any():
        for layer in walked.index.layers:
            if layer.sighted:
                stretches += _sighted(path, layer, per_place)
    return stretches


def _plain(path: Path, s: Standing, first: int, last: int, per_place: Int32s) -> tuple[int, Fill]:
    posts, steps = as_posts(s.posts), path.steps
    total, _ = kernels.count(posts, steps, first, last, s.begun, s.ended, per_place)

    def fill(out: Events, start: int, stop: int) -> None:
        kernels.fill(posts, steps, first, last, s.begun, s.ended, out, start, stop)

    return int(total), fill


def _checked(path: Path, s: Suspect, first: int, last: int, per_place: Int32s) -> tuple[int, Fill]:
    total, _ = _confirm(path, s, (first, last), per_place)

    def fill(out: Events, start: int, _stop: int) -> None:
        confirm_kernels.confirm(
            as_posts(s.posts), s.stripes, s.layer.boxes, path.steps, s.segment,
            first, last, per_place, out, start, True,
        )  # fmt: skip

    return int(total), fill


def _confirm(path: Path, s: Suspect, part: tuple[int, int], per_place: Int32s) -> tuple[int, int]:
    found: tuple[int, int] = confirm_kernels.confirm(
        as_posts(s.posts), s.stripes, s.layer.boxes, path.steps, s.segment,
        *part, per_place, NOWHERE, 0, False,
    )  # fmt: skip
    return found


def _sighted(path: Path, layer: Layer, per_place: Int32s) -> list[tuple[int, Fill]]:
    sweep = layer.sighted
    places = path.starts[:-1][path.fresh]
    places = places[np.argsort(path.values[sweep.axis, places], kind="stable")]

    def look(out: Events, start: int, write: bool) -> int:
        return int(
            confirm_kernels.first_sight(
                sweep.begins, sweep.ends, sweep.axis, layer.boxes, path.steps,
                places, per_place, out, start, write,
            )  # fmt: skip
        )

    named = named_first_sight(layer, path)
    np.add.at(per_place, named.place, 1)

    def copy(out: Events, start: int, stop: int) -> None:
        for column, found in zip(out, named, strict=True):
            column[start:stop] = found

    return [
        (look(NOWHERE, 0, False), lambda out, start, _stop: _done(look(out, start, True))),
        (len(named.place), copy),
    ]


def _done(_count: int) -> None:
    """A fill returns nothing."""


__all__ = ["counts", "events", "examined", "twins"]
