"""Scan a feed's landing folder: new files become deliveries, in their order.

Each belongs to an hour or a day, the key of its time partition. In a path a date is four digits,
two and two, with nothing between them or the same `-`, `_` or `/` twice. An hour is the two digits
after it, parted from it by `T`, `-`, `_`, `/` or a space; minutes and seconds may follow. A
name may precede each part, as in `dt=2026-11-18/hr=09`. The first place in the path that reads so
and is a date of the calendar counts.

Law: the outcome depends on the files, on known files and on the time, not on the order in which
they are listed. A file is found once: as soon as it is known it is not found again, and content is
loaded once, whatever its name. Keys sort as times do.
"""

import posixpath
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import date

from fencepost.times import format_instant
from pipelines.disk.errors import refuse_failing
from pipelines.ingest.landing.contents import are_of_one_kind, content_of, hash_of
from pipelines.ingest.landing.folder import File, Landed
from pipelines.ingest.landing.known import Known, LoadedFile
from pipelines.ingest.landing.walk import walk
from pipelines.places import Place
from pipelines.project.settings import Feed


@dataclass(frozen=True)
class LandedDelivery:
    """Files that arrived together; by column what the ledger `arrivals` keeps of them.

    path     the file or folder, below the feed's landing folder, parted by /
    files    those it consists of, likewise, in bytewise order
    mtimes   ns since 1970
    content  one hash of all of it, without the names
    """

    feed: str
    path: str
    files: tuple[str, ...]
    sizes: tuple[int, ...]
    mtimes: tuple[int, ...]
    hashes: tuple[str, ...]
    content: str
    partition_key: str


@dataclass(frozen=True)
class NewDelivery(LandedDelivery):
    """A delivery that can be loaded."""


@dataclass(frozen=True)
class Refusal(LandedDelivery):
    """A delivery that cannot be loaded, and belongs to no partition.

    reason  repeat: its content was loaded under another name; changed: its name was loaded with
            other content; no_key: its path names no hour or day, as the feed declares it does
    """

    reason: str
    detail: str


@dataclass(frozen=True)
class Looked:
    """The result of a scan of a landing folder. Paths are below that folder.

    waiting      not complete yet, or not to be loaded under this name
    passed_over  files that can never be loaded, each with the reason
    """

    found: list[NewDelivery] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    passed_over: list[str] = field(default_factory=list)


_NAMED = r"(?:[A-Za-z]+=)?"
_DATE = rf"(?<!\d)(\d{{4}})([-_/]?){_NAMED}(\d\d)\2{_NAMED}(\d\d)"
_HOUR = rf"[T_\-/ ]{_NAMED}([01]\d|2[0-3])(?::?[0-5]\d){{0,2}}"
_DAY_IN_PATH = re.compile(rf"{_DATE}(?!\d)", re.ASCII)
_HOUR_IN_PATH = re.compile(rf"{_DATE}{_HOUR}(?!\d)", re.ASCII)

IN_WORDS = {
    "day": "a day like 2026-11-18 or 20261118",
    "hour": "an hour like 2026-11-18T09, 20261118-09 or 2026-11-18/09",
}


def key_in_path(path: str, partition: str) -> str | None:
    """Read the key that a path names; None if it names none."""
    pattern = _HOUR_IN_PATH if partition == "hour" else _DAY_IN_PATH
    for place in pattern.finditer(path):
        year, _, month, day, *hour = place.groups()
        try:
            date(int(year), int(month), int(day))
        except ValueError:
            continue
        return "T".join([f"{year}-{month}-{day}", *hour])
    return None


def key_of_time(now: int, partition: str) -> str:
    """Give the key of an instant, in µs."""
    return format_instant(now)[: 13 if partition == "hour" else 10]


MOST_LISTED = 3


HashAll = Callable[[Place, Sequence[File], Collection[int]], object]
"""Makes the hashes of many files at once, as far as it can, and lets them be remembered; those of
some sizes whole."""


def one_by_one(_source: Place, _files: Sequence[File], _whole: Collection[int]) -> None:
    """Leave each file to be hashed when it is judged."""


def look(feed: Feed, known: Known, now: int, hash_all: HashAll = one_by_one) -> Looked:
    """Find what has landed and is complete; `now` in µs.

    A new file is read, one that may have changed gets a stat: at the first scan for a `Known`
    all of them, later some, in turn. Not for feeds of the form delta.
    """
    walked = walk(feed.source, feed.settle, now, known.to_pass_by())
    looking = _Looking(feed, known, now)
    complete = (file for landed in walked.landed for file in landed.complete)
    hash_all(feed.source, [file for file in complete if not known.has(file)], known.whole)
    for landed in walked.landed:
        if len(landed.complete) == 1 and landed.path == landed.complete[0].path:
            known.note(landed.complete[0])
        looking.take(landed)
    looked = looking.looked
    return Looked(
        sorted(looked.found, key=lambda found: (found.path.encode(), found.files)),
        looked.refused,
        sorted([*walked.unfinished, *looked.waiting], key=str.encode),
        [*walked.passed_over, *looked.passed_over],
    )


def judged_again(
    feed: Feed, known: Known, found: Sequence[LandedDelivery], now: int
) -> list[LandedDelivery]:
    """Judge what a look has found by what is known by now; no file is opened.

    What has become known is dropped; so is the repeat of a file that is not loaded after all, which
    the next look finds.
    """
    looking = _Looking(feed, known, now)
    for each in sorted(found, key=lambda each: isinstance(each, Refusal)):
        landed = Landed(each.path, ())
        files = map(File, each.files, each.sizes, each.mtimes)
        new = [
            (file, content)
            for file, content in zip(files, each.hashes, strict=True)
            if not known.has(file) and not looking.is_known(file, content)
        ]
        judged = [looking.judge(landed, *file) for file in new]
        looking.refuse(landed, [file for file in judged if file.reason])
        good = [file for file in judged if not file.reason]
        if good and isinstance(each, NewDelivery):
            key = each.partition_key if feed.partition_in_path else good[0].key
            delivery = NewDelivery(feed.name, each.path, *_columns(good), key)
            looking.looked.found.append(delivery)
    return [*looking.looked.found, *looking.looked.refused]


@dataclass(frozen=True)
class _Judged:
    """A file and its hash; `reason` and `detail` where it is refused, else its key."""

    file: File
    hash: str
    key: str = ""
    reason: str = ""
    detail: str = ""


@dataclass(eq=False)
class _Looking:
    """A scan in progress: files found so far count as loaded for those that follow."""

    feed: Feed
    known: Known
    now: int
    looked: Looked = field(default_factory=Looked)
    beside: dict[str, LoadedFile] = field(default_factory=dict)

    def take(self, landed: Landed) -> None:
        """Make deliveries of the new and complete files of one place."""
        growing = any(not self.known.has(file) for file in landed.growing)
        hashes: list[tuple[File, str]] = []
        for file in landed.complete:
            if self.known.has(file):
                continue
            try:
                content = hash_of(self.feed.source, file, self.known.whole)
            except OSError as why:
                refuse_failing(why, str(self.feed.source / file.path))
                self.looked.passed_over.append(f"{file.path}: cannot be read: {why.strerror}")
                continue
            if content is None:  # it is not complete yet
                growing, hashes = True, []
                break
            hashes.append((file, content))
        if growing:
            self.looked.waiting.append(landed.path)
        judged = [self.judge(landed, *each) for each in hashes if not self.is_known(*each)]
        self.refuse(landed, [each for each in judged if each.reason])
        self._find(landed, [each for each in judged if not each.reason])

    def is_known(self, file: File, content: str) -> bool:
        """Whether only its time of change differs, or only the place of the landing folder."""
        if (file.path, content) in self.known.refused:
            return True
        loaded = self.known.by_name.get(file.path)
        if loaded is None or are_of_one_kind(loaded.hash, content):
            return loaded is not None and loaded.hash == content
        return loaded.size == file.size

    def judge(self, landed: Landed, file: File, content: str) -> _Judged:
        """Say whether a file can be loaded, by what was loaded before; else why not."""
        before = self.known.by_name.get(file.path)
        if before is not None:
            detail = f"was loaded with other content as {before}: give new rows a new name"
            return _Judged(file, content, reason="changed", detail=f"'{file.path}' {detail}")
        same = self.known.by_content.get(content) or self.beside.get(content)
        if same is not None:
            detail = f"'{file.path}' holds the same as {same}, which was loaded"
            return _Judged(file, content, reason="repeat", detail=detail)
        key = self._key(landed.path, file.path)
        if key is None:
            wanted = IN_WORDS[self.feed.partition]
            detail = f"'{file.path}' does not name {wanted}, as partition_in_path says it does"
            return _Judged(file, content, reason="no_key", detail=detail)
        self.beside[content] = LoadedFile(file.path, content, file.size)
        return _Judged(file, content, key)

    def _key(self, place: str, file: str) -> str | None:
        """Say which partition a file belongs to: by its place, by its own path, or by the time."""
        partition = self.feed.partition
        if self.feed.partition_in_path:
            return key_in_path(place, partition) or key_in_path(file, partition)
        return max(self.known.newest_key, key_of_time(self.now, partition))

    def _find(self, landed: Landed, judged: list[_Judged]) -> None:
        """Make one delivery of each key's files; several keys come from their own paths only."""
        by_place = not self.feed.partition_in_path or key_in_path(landed.path, self.feed.partition)
        for key in sorted({each.key for each in judged}):
            own = [each for each in judged if each.key == key]
            path = landed.path if by_place else _folder_of(own)
            self.looked.found.append(NewDelivery(self.feed.name, path, *_columns(own), key))

    def refuse(self, landed: Landed, judged: list[_Judged]) -> None:
        """Note files that cannot be loaded, by reason."""
        for reason in sorted({each.reason for each in judged}):
            own = [each for each in judged if each.reason == reason]
            details = [each.detail for each in own[:MOST_LISTED]]
            details += [f"and {len(own) - MOST_LISTED} more"] if len(own) > MOST_LISTED else []
            columns = _columns(own)
            refusal = Refusal(self.feed.name, landed.path, *columns, "", reason, "; ".join(details))
            self.looked.refused.append(refusal)


_Columns = tuple[tuple[str, ...], tuple[int, ...], tuple[int, ...], tuple[str, ...], str]


def _columns(judged: Sequence[_Judged]) -> _Columns:
    """Give what a delivery keeps of its files: names, sizes, times, hashes, and the one hash."""
    files = [each.file for each in judged]
    hashes = tuple(each.hash for each in judged)
    return (
        tuple(file.path for file in files),
        tuple(file.size for file in files),
        tuple(file.mtime for file in files),
        hashes,
        content_of(hashes),
    )


def _folder_of(judged: Sequence[_Judged]) -> str:
    """Name the deepest folder that these files share."""
    return posixpath.commonpath([posixpath.dirname(each.file.path) for each in judged])
