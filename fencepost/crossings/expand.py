"""The second pass, compiled.

Where steps are shorter than boxes are wide, the ranks say how many events there are: they are
written at once into their stretch of arrays of exactly the size of all. Where candidates must be
tested, events are found in one pass into room that grows. Each list, or each thread, has a stretch
of its own.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from fencepost.crossings import confirm_kernels, kernels, region_kernels
from fencepost.crossings.columns import Events
from fencepost.crossings.layer import Layer, as_posts
from fencepost.crossings.path import Path
from fencepost.crossings.room import Room
from fencepost.crossings.walk import (
    Ranking,
    Shaped,
    Suspect,
    Walk,
    named_first_sight,
    run_parts,
)
from fencepost.parallel import in_parallel
from fencepost.tuples import Int32s

NO_COUNTS = np.empty(0, np.int32)  # where counts are not needed
NOWHERE = Events(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int8))
OFTEN = 0.1  # of the steps leap: then to test every post beats counting what is left first

Fill = Callable[[Events, int, int], None]


def events(walked: Walk) -> Events:
    """Write the events out."""
    leaping, counted = list[Ranking](), list[Ranking]()
    for ranking in walked.rankings:
        (leaping if leaps_often(walked.path, ranking) else counted).append(ranking)
    rooms = _rooms(walked, leaping)
    stretches = _stretches(walked, counted)
    if len(rooms) == 1 and not any(size for size, _ in stretches):
        return rooms[0].found
    stretches += [_copied(room.found) for room in rooms]
    edges = np.cumsum([0, *(size for size, _ in stretches)]).tolist()
    total = edges[-1]
    out = Events(np.empty(total, np.int32), np.empty(total, np.int32), np.empty(total, np.int8))
    for first in range(0, len(stretches), walked.threads):
        turn = range(first, min(first + walked.threads, len(stretches)))
        in_parallel(
            lambda k, _: stretches[k][1](out, edges[k], edges[k + 1]), [(k, k) for k in turn]
        )
    return out


def counts(walked: Walk) -> Int32s:
    """Count the events of every place of a walk past plain lists only, without writing any."""
    per_place = np.zeros(len(walked.path), np.int32)
    for ranking in walked.rankings:
        _counted(walked.path, ranking, per_place, 0, len(walked.path.stream))
    return per_place


def examined(walked: Walk) -> int:
    """Count the posts passed, candidates met and borders tested: what the walk touched."""
    return walked.passed + candidates(walked) + tested(walked)


def candidates(walked: Walk) -> int:
    """Count the candidates met in checked lists."""
    room = Room(len(walked.path))
    for suspect in walked.suspects:
        _confirm(room, walked.path, suspect, 0, len(walked.path.stream))
    return room.met


def tested(walked: Walk) -> int:
    """Count the places tested against a border that runs through their cell."""
    room = Room(len(walked.path))
    for each in walked.shaped:
        _cross(room, walked.path, each, 0, len(walked.path.stream))
    return room.met


def _rooms(walked: Walk, leaping: list[Ranking]) -> list[Room]:
    """Find what must be tested, part by part."""
    if not leaping and not walked.suspects and not walked.shaped:
        return []
    for each in walked.shaped:
        _ = each.queries.cells  # once, before threads want them

    def found(first: int, last: int) -> Room:
        starts = walked.path.starts
        room = Room(int(starts[last] - starts[first]))
        for ranking in leaping:
            _leap(room, walked.path, ranking, first, last)
        for suspect in walked.suspects:
            _confirm(room, walked.path, suspect, first, last)
        for each in walked.shaped:
            _cross(room, walked.path, each, first, last)
        return room

    return in_parallel(found, run_parts(walked.path, walked.threads))


def _stretches(walked: Walk, counted: list[Ranking]) -> list[tuple[int, Fill]]:
    """Say of each list that can be counted, part by part, how many events and how to write them."""
    path, parts = walked.path, run_parts(walked.path, walked.threads)
    found: list[tuple[int, Fill]] = []
    for ranking in counted:
        found += in_parallel(partial(_counted, path, ranking, NO_COUNTS), parts)
    if path.fresh.any():
        for layer in walked.index.layers:
            if layer.sighted:
                found += _sighted(path, layer)
    return found


def leaps_often(path: Path, ranking: Ranking) -> bool:
    """Sample some steps: are enough longer than the narrowest box that counting first is wasted?"""
    values, (p, c) = path.values[ranking.posts.axis], path.sample
    with np.errstate(over="ignore"):
        leaps = np.abs(values[c] - values[p]) >= ranking.posts.narrowest
    return bool(np.count_nonzero(leaps) > OFTEN * len(p))


def _counted(path: Path, s: Ranking, per_place: Int32s, first: int, last: int) -> tuple[int, Fill]:
    posts, steps = as_posts(s.posts), path.steps
    total, _ = kernels.count(posts, steps, first, last, s.begun, s.ended, per_place)

    def fill(out: Events, start: int, stop: int) -> None:
        kernels.fill(posts, steps, first, last, s.begun, s.ended, out, start, stop)

    return int(total), fill


def _leap(room: Room, path: Path, s: Ranking, first: int, last: int) -> None:
    posts, steps = as_posts(s.posts), path.steps

    def find(out: Events, used: int, run: int) -> tuple[int, int, int]:
        end, then, met = kernels.leap(posts, steps, first + run, last, s.begun, s.ended, out, used)
        return int(end), int(then) - first, int(met)

    room.gather(find, path.starts[first : last + 1].tolist())


def _confirm(room: Room, path: Path, s: Suspect, first: int, last: int) -> None:
    posts, boxes, steps = as_posts(s.posts), s.layer.boxes, path.steps

    def find(out: Events, used: int, run: int) -> tuple[int, int, int]:
        end, then, met = confirm_kernels.confirm(
            posts, s.stripes, boxes, steps, s.segment, first + run, last, out, used
        )
        return int(end), int(then) - first, int(met)

    room.gather(find, path.starts[first : last + 1].tolist())


def _cross(room: Room, path: Path, s: Shaped, first: int, last: int) -> None:
    cells, tests, ruled = s.queries.cells.columns, s.queries.tests, s.queries.ruled
    boxes, steps = s.layer.boxes, path.steps
    desk = region_kernels.desk(cells, len(ruled.shape))

    def find(out: Events, used: int, run: int) -> tuple[int, int, int]:
        end, then, met = region_kernels.cross(
            cells,
            tests,
            ruled,
            boxes,
            steps,
            s.segment,
            path.fresh,
            first + run,
            last,
            desk,
            out,
            used,
        )
        return int(end), int(then) - first, int(met)

    room.gather(find, path.starts[first : last + 1].tolist())


def _copied(found: Events) -> tuple[int, Fill]:
    def copy(out: Events, start: int, stop: int) -> None:
        out.place[start:stop] = found.place
        out.query[start:stop] = found.query
        out.type[start:stop] = found.type

    return len(found.place), copy


def _sighted(path: Path, layer: Layer) -> list[tuple[int, Fill]]:
    sweep, boxes, steps = layer.sighted, layer.boxes, path.steps
    places = path.starts[:-1][path.fresh]
    places = places[np.argsort(path.values[sweep.axis, places], kind="stable")]

    def look(out: Events, start: int, *, write: bool) -> int:
        found = confirm_kernels.first_sight(
            sweep.begins, sweep.ends, sweep.axis, boxes, steps, places, out, start, write
        )
        return int(found)

    def fill(out: Events, start: int, _stop: int) -> None:
        look(out, start, write=True)

    return [(look(NOWHERE, 0, write=False), fill), _copied(named_first_sight(layer, path))]
