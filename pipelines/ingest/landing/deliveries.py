"""A delivery as it lies in its landing folder, before a row of it is read."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Delivery:
    """Files that arrived together; by column what the ledger `arrivals` keeps of them.

    path     the file or folder, below the feed's landing folder, parted by /
    files    those it consists of, likewise, in bytewise order
    mtimes   ns since 1970
    content  one hash of all of it, the names aside
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
class Found(Delivery):
    """A delivery that can be taken."""


@dataclass(frozen=True)
class Refusal(Delivery):
    """A delivery that cannot be taken, and belongs to no partition.

    reason  repeat: its content was taken under another name; changed: its name was taken with other
            content; no_key: its path names no hour or day, where the feed declares that it does
    """

    reason: str
    detail: str


@dataclass(frozen=True)
class Looked:
    """What a look into a landing folder found. Paths lie below that folder.

    waiting      not complete yet, or not to be taken under this name
    passed_over  what can never be taken, each with the reason, in words
    """

    found: list[Found] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    passed_over: list[str] = field(default_factory=list)
