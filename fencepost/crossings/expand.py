"""The second pass, compiled.

A plain list is counted, then written into its stretch of arrays of exactly the size of all: each
list and each thread has a stretch of its own. A checked list finds its events in one pass, and they
are copied behind. So events stand by list, and within a list by place.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from fencepost.crossings import confirm_kernels, kernels
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
Fill = Callable[[Events, int, int], object]


def examined(walked: Walk) -> int:
    """Count the posts passed and the candidates met: what the walk touched to find its events."""
    everyone = (0, len(walked.path.stream))
    return walked.passed + sum(_confirmed(walked.path, s, *everyone)[1] for s in walked.suspects)


def counts(walked: Walk) -> Int32s:
    """Count the events of every place of a walk past plain lists only, without writing any."""
    per_place = np.zeros(len(walked.path), np.int32)
    for standing in walked.standings:
        _counted(walked.path, standing, per_place, 0, len(walked.path.stream))
    return per_place


def events(walked: Walk) -> Events:
    """Write the events out."""
    stretches = _stretches(walked)
    edges = np.cumsum([0, *(size for size, _ in stretches)]).tolist()
    total = edges[-1]
    out = Events(np.empty(total, np.int32), np.empty(total, np.int32), np.empty(total, np.int8))
    for first in range(0, len(stretches), walked.threads):
        turn = range(first, min(first + walked.threads, len(stretches)))
        in_parallel(
            lambda k, _: stretches[k][1](out, edges[k], edges[k + 1]), [(k, k) for k in turn]
        )
    return out


def _stretches(walked: Walk) -> list[tuple[int, Fill]]:
    """Say of each list, part by part, how many events it has and how to write them."""
    path, parts = walked.path, run_parts(walked.path, walked.threads)
    per_place = np.zeros(len(path), np.int32)
    found: list[tuple[int, Fill]] = []
    for standing in walked.standings:
        found += in_parallel(partial(_counted, path, standing, per_place), parts)
    for suspect in walked.suspects:
        done = in_parallel(partial(_confirmed, path, suspect), parts)
        found += [_copied(some) for some, _ in done]
    if path.fresh.any():
        for layer in walked.index.layers:
            if layer.sighted:
                found += _sighted(path, layer, per_place)
    return found


def _counted(path: Path, s: Standing, per_place: Int32s, first: int, last: int) -> tuple[int, Fill]:
    posts, steps = as_posts(s.posts), path.steps
    total, _ = kernels.count(posts, steps, first, last, s.begun, s.ended, per_place)

    def fill(out: Events, start: int, stop: int) -> None:
        kernels.fill(posts, steps, first, last, s.begun, s.ended, out, start, stop)

    return int(total), fill


def _confirmed(path: Path, s: Suspect, first: int, last: int) -> tuple[Events, int]:
    places, queries, types, met = confirm_kernels.confirm(
        as_posts(s.posts), s.stripes, s.layer.boxes, path.steps, s.segment, first, last
    )
    return Events(places, queries, types), int(met)


def _copied(found: Events) -> tuple[int, Fill]:
    def copy(out: Events, start: int, stop: int) -> None:
        out.place[start:stop] = found.place
        out.query[start:stop] = found.query
        out.type[start:stop] = found.type

    return len(found.place), copy


def _sighted(path: Path, layer: Layer, per_place: Int32s) -> list[tuple[int, Fill]]:
    sweep = layer.sighted
    places = path.starts[:-1][path.fresh]
    places = places[np.argsort(path.values[sweep.axis, places], kind="stable")]

    begins, ends, axis = sweep.begins, sweep.ends, sweep.axis
    boxes, steps = layer.boxes, path.steps

    def look(out: Events, start: int, write: bool) -> int:
        found = confirm_kernels.first_sight(
            begins, ends, axis, boxes, steps, places, per_place, out, start, write
        )
        return int(found)

    sweep_found = (look(NOWHERE, 0, False), lambda out, start, _stop: look(out, start, True))
    return [sweep_found, _copied(named_first_sight(layer, path))]
