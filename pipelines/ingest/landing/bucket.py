"""A landing folder on an object store, by one listing: a request per thousand files.

An object appears whole, so one at the top is complete as soon as it is listed. A sub-folder is
complete as on a disk: when no object in it has changed for the feed's settle time, or as far as its
`_SUCCESS` is no older than the objects. Names are skipped as on a disk. An empty object that is
called like a folder is what consoles make when somebody creates one, and no file.

Law: the result depends on the listing alone.
"""

from collections.abc import Iterable
from itertools import groupby

from fencepost.text import shortened
from pipelines.ingest.landing.contents import file_of
from pipelines.ingest.landing.folder import (
    DELTA_LOG,
    FOREVER,
    NEVER,
    SUCCESS,
    TEMPORARY,
    File,
    Landed,
    Walked,
    is_to_take,
    why_no_name,
)
from pipelines.places import Remote
from pipelines.places.objects import Found, listed


def walk(source: Remote, settle: int, now: int) -> Walked:
    """List a landing folder; `settle` and `now` in µs."""
    walked = Walked()
    objects = sorted(_below(source), key=lambda each: each[0].encode())
    if any(path.startswith(f"{DELTA_LOG}/") for path, _ in objects):
        why = 'is a Delta table: declare format = "delta" for this feed'
        walked.passed_over.append(f"{shortened(str(source), 200)}: {why}")
        return walked
    for top, group in groupby(objects, key=lambda each: each[0].partition("/")[0]):
        own = list(group)
        inside = [(path, what) for path, what in own if path != top]
        if not is_to_take(top):
            if not top.startswith(".") and top != SUCCESS:
                walked.unfinished.append(top)
            continue
        for path, what in own:
            if path == top and not _is_folder(path, what, has_any=bool(inside)):
                _take(walked, Landed(top, (file_of(path, what),)))
        if inside:
            _take_folder(walked, top, inside, now - settle)
    return walked


def _below(source: Remote) -> Iterable[tuple[str, Found]]:
    for each in listed(source.base, source.key):
        path = each.key[len(source.key) :].strip("/")
        if path:
            yield path, each


def _is_folder(path: str, what: Found, *, has_any: bool) -> bool:
    return what.size == 0 and (has_any or "." not in path.rpartition("/")[2])


def _take(walked: Walked, landed: Landed) -> None:
    """Add what is there, but for names that cannot be kept."""
    files = (*landed.complete, *landed.growing)
    for path, why in ((file.path, _why_not(file.path)) for file in files):
        if why is not None:
            walked.passed_over.append(f"{shortened(path, 200)}: {why}")
    complete, growing = (
        tuple(file for file in some if _why_not(file.path) is None)
        for some in (landed.complete, landed.growing)
    )
    if complete or growing:
        walked.landed.append(Landed(landed.path, complete, growing))


def _why_not(path: str) -> str | None:
    return next((why for name in path.split("/") if (why := why_no_name(name))), None)


def _take_folder(walked: Walked, top: str, inside: list[tuple[str, Found]], quiet: int) -> None:
    names = {name for path, _ in inside for name in path.split("/")[1:]}
    if DELTA_LOG in names:
        why = "holds a Delta table, which is no delivery"
        walked.passed_over.append(f"{shortened(top, 200)}: {why}")
        return
    if TEMPORARY in names:
        walked.unfinished.append(top)
        return
    marked = next((each.changed for path, each in inside if path == f"{top}/{SUCCESS}"), NEVER)
    changed = max(each.changed for _, each in inside)
    believed = FOREVER if changed <= quiet else marked
    complete: list[File] = []
    growing: list[File] = []
    folders = {path.rpartition("/")[0] for path, _ in inside}
    for path, what in inside:
        if not all(map(is_to_take, path.split("/")[1:])):
            continue
        if not _is_folder(path, what, has_any=path in folders):
            whose = complete if what.changed <= believed else growing
            whose.append(file_of(path, what))
    _take(walked, Landed(top, tuple(complete), tuple(growing)))
