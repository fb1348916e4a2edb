"""Deliveries from a Delta table that another system writes: a version that appends is one delivery.

The log alone says what a version added, and what its partition columns hold. A version that only
rewrites files (OPTIMIZE) is skipped. One that updates or deletes rows stops the feed: what
was loaded cannot be unloaded, and which version to trust is not ours to guess.

Law: versions are loaded in order, each once. Data files of a Delta table never change, so a file is
known by its entry in the log.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from fencepost.errors import LakeError
from fencepost.hashing import digest
from pipelines.ingest.deliveries import UNREADABLE, UPDATES, VANISHED, Planned, Rejection
from pipelines.ingest.landing import (
    Known,
    LandedDelivery,
    Looked,
    NewDelivery,
    Refusal,
    key_of_time,
)
from pipelines.ingest.landing.contents import BYTES, content_of
from pipelines.ingest.units import FilePart
from pipelines.lake.sequence import latest
from pipelines.places import Place, delta_options
from pipelines.project.settings import Feed
from schemas.arrivals import DELIVERY, OF_DELTA

FORM = "delta"
LOG = OF_DELTA.rstrip("/")
COMMIT = re.compile(r"[0-9]{20}\.json")
OUTSIDE = re.compile(r"/|[A-Za-z][A-Za-z0-9+.-]*:|(?:.*/)?\.\.(?:/|$)")
"""A path that does not lie in the table: one with a root or a scheme, or one that climbs."""


@dataclass(frozen=True)
class Version:
    """The content of a commit: the data files that it added, and whether it removed rows.

    added  by path below the table's folder, in bytewise order: size, time of change, ms, and what
           the partition columns hold
    """

    number: int
    added: Mapping[str, Mapping[str, Any]]
    takes_away: bool
    outside: str | None = None

    @classmethod
    def read(cls, source: Place, number: int) -> "Version | None":
        """Read a commit; None where it is not there whole."""
        try:
            lines = (source / path_of(number)).read_text().splitlines()
            actions = [json.loads(line) for line in lines if line.strip()]
        except (OSError, ValueError):
            return None
        added: dict[str, Mapping[str, Any]] = {}
        takes_away, outside = False, None
        for action in actions:
            if (add := action.get("add")) and add.get("dataChange", True):
                path = unquote(add["path"])
                outside = path if OUTSIDE.match(path) else outside
                added[path] = add
                takes_away |= bool(add.get("deletionVector"))
            remove = action.get("remove")
            takes_away |= bool(remove and remove.get("dataChange", True))
        ordered = {path: added[path] for path in sorted(added, key=str.encode)}
        return cls(number, ordered, takes_away, outside)

    def delivery(self, feed: Feed, key: str) -> LandedDelivery:
        """Describe the version as a delivery; a file's hash is that of its entry."""
        entries = [(path, add["size"], add["modificationTime"]) for path, add in self.added.items()]
        hashes = tuple(digest(json.dumps(entry), BYTES) for entry in entries)
        return LandedDelivery(
            feed.name,
            path_of(self.number),
            tuple(path for path, _, _ in entries),
            tuple(size for _, size, _ in entries),
            tuple(ms * 1_000_000 for _, _, ms in entries),
            hashes,
            content_of(hashes),
            key,
        )


def path_of(number: int) -> str:
    """Name a version's delivery by its commit, so that paths sort as versions do."""
    return f"{LOG}/{number:020d}.json"


def number_of(path: str) -> int:
    """Read the version from the name of its delivery."""
    return int(path.removeprefix(f"{LOG}/").removesuffix(".json"))


def look(feed: Feed, arrivals: pa.Table, now: int) -> Looked:
    """Find the versions that append and were not loaded yet; reads each new commit, no data."""
    looked = Looked()
    table = _table(feed, looked)
    rows = _known_versions(arrivals, feed)
    if table is None or _stopped(rows, feed, looked):
        return looked
    known = [number_of(row["path"]) for row in rows]
    there = {int(p.stem) for p in (feed.source / LOG).iterdir() if COMMIT.fullmatch(p.name)}
    newest = max(there, default=-1)
    number = max(known) + 1 if known else min(there, default=0)
    key = max(Known.of(arrivals, feed.name).newest_key, key_of_time(now, feed.partition))
    while number <= newest:
        version = Version.read(feed.source, number)
        if version is None:
            _cannot_go_on(feed, number, looked, is_there=number in there)
            break
        delivery = version.delivery(feed, key)
        if version.takes_away:
            looked.refused.append(_refusal(delivery, UPDATES, _why_stopped(feed, number)))
            break
        if version.outside is not None:
            detail = f"version {number} names a file outside of the table: '{version.outside}'"
            looked.refused.append(_refusal(delivery, UNREADABLE, detail))
        elif version.added:
            looked.found.append(NewDelivery(**vars(delivery)))
        number += 1
    return looked


def judged_again(
    feed: Feed, arrivals: pa.Table, found: Sequence[LandedDelivery], now: int
) -> list[LandedDelivery]:
    """Give what a look has found and the ledger does not name by now."""
    known = {row["path"] for row in _known_versions(arrivals, feed)}
    key = max(Known.of(arrivals, feed.name).newest_key, key_of_time(now, feed.partition))
    return [
        each if isinstance(each, Refusal) else replace(each, partition_key=key)
        for each in found
        if each.path not in known
    ]


def _refusal(delivery: LandedDelivery, reason: str, detail: str) -> Refusal:
    fields = {**vars(delivery), "partition_key": "", "reason": reason, "detail": detail}
    return Refusal(**fields)


def parts(feed: Feed, delivery: Planned) -> tuple[FilePart, ...]:
    """List the files of a version to read, with the constant columns from its log."""
    number = number_of(delivery.path)
    version = Version.read(feed.source, number)
    if version is None:
        raise Rejection(VANISHED, f"'{delivery.path}' was found and is not there any more")
    try:
        kinds = {field.name: str(field.type) for field in _opened(feed).schema().fields}
    except DeltaError as why:
        raise Rejection(VANISHED, f"the table {feed.source} cannot be opened: {why}") from None
    files = []
    for place, path in enumerate(delivery.files):
        lines = delivery.lines_of(place)
        if lines == []:
            continue
        if path not in version.added:
            raise Rejection(VANISHED, f"version {number} does not name '{path}' any more")
        values = version.added[path].get("partitionValues") or {}
        fixed = {name: _text(value, kinds.get(name, "")) for name, value in values.items()}
        size = delivery.row["sizes"][place]
        files.append(
            FilePart(place, path, size, None, lines=lines, fixed=fixed, columns=tuple(kinds))
        )
    return tuple(files)


def _text(value: str | None, kind: str) -> str | None:
    """Give a partition's value as a cell: the log has no null but the empty text, and UTC times."""
    if not value:
        return None
    is_time = "timestamp" in kind and "ntz" not in kind
    return value.replace(" ", "T") + "Z" if is_time and not value.endswith("Z") else value


def _opened(feed: Feed) -> DeltaTable:
    return DeltaTable(str(feed.source), storage_options=delta_options(feed.source))


def _table(feed: Feed, looked: Looked) -> DeltaTable | None:
    try:
        table = _opened(feed)
        mode = table.metadata().configuration.get("delta.columnMapping.mode") or "none"
    except (DeltaError, OSError) as why:
        words = str(why).splitlines()[0]
        looked.passed_over.append(f"{feed.source}: cannot be opened as a Delta table: {words}")
        return None
    if mode != "none":
        looked.passed_over.append(
            f"{feed.source}: the table maps its columns to other names (column mapping {mode}), "
            "which is not read: rewrite it without, or deliver its rows as files"
        )
        return None
    return table


def _known_versions(arrivals: pa.Table, feed: Feed) -> Sequence[Mapping[str, Any]]:
    """Give the newest row of each version that has been loaded or refused."""
    own = arrivals.filter(
        (pc.field("lane") == feed.name)
        & (pc.field("kind") == DELIVERY)
        & pc.field("lines").is_null()
    ).select(["n", "state", "path", "reason"])
    rows = latest(own).to_pylist()
    strange = next((row["path"] for row in rows if not row["path"].startswith(LOG)), None)
    if strange is not None:
        raise LakeError(
            f"the feed '{feed.name}' took '{strange}' from a landing folder before it was declared "
            'format = "delta": give the table a feed of its own'
        )
    return list({row["path"]: row for row in rows}.values())


def _stopped(rows: Sequence[Mapping[str, Any]], feed: Feed, looked: Looked) -> bool:
    stops = [row["path"] for row in rows if row["reason"] == UPDATES]
    if stops:
        looked.passed_over.append(_why_stopped(feed, number_of(stops[0])))
    return bool(stops)


def _why_stopped(feed: Feed, number: int) -> str:
    return (
        f"version {number} of {feed.source} updates or deletes rows, and a feed accepts only "
        f"appends: no later version of '{feed.name}' is loaded. To load what that version added "
        "(rows written again are quarantined as duplicates) and continue: "
        f"fencepost quarantine retry --feed {feed.name} --reason {UPDATES}"
    )


def _cannot_go_on(feed: Feed, number: int, looked: Looked, *, is_there: bool) -> None:
    if is_there:  # it is being written
        looked.waiting.append(path_of(number))
        return
    looked.passed_over.append(
        f"{feed.source}: the log of version {number} is gone, so what it added is unknown; "
        f"no later version of '{feed.name}' is loaded"
    )
