"""A place on an object store, with the names that `Path` has for the same things.

A store has no folders: a place is a folder while there is an object below it, so `mkdir` has
nothing to do. Joining and naming cost nothing; what looks at the store says its requests.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.places import objects


@dataclass(frozen=True, order=True, slots=True)
class Remote:
    """An object, or what is below a prefix.

    base  the store: s3://bucket, gs://bucket, az://container, abfss://container@account…
    key   without a slash at either end; empty: the whole bucket
    """

    base: str
    key: str

    def __str__(self) -> str:
        """Give its URI."""
        return f"{self.base}/{self.key}" if self.key else self.base

    def __truediv__(self, below: str) -> "Remote":
        """Give a place below it."""
        parts = [part for part in f"{self.key}/{below}".split("/") if part not in ("", ".")]
        if ".." in parts:
            raise ValueError(f"'{below}' leads out of {self}")
        return Remote(self.base, "/".join(parts))

    @property
    def name(self) -> str:
        """Its last part."""
        return self.key.rpartition("/")[2]

    @property
    def suffix(self) -> str:
        """The ending of its name, with the dot."""
        stem, dot, ending = self.name.rpartition(".")
        return dot + ending if stem and ending else ""

    @property
    def stem(self) -> str:
        """Its name without the ending."""
        return self.name.removesuffix(self.suffix)

    @property
    def parent(self) -> "Remote":
        """The folder it is in; that of a bucket is itself."""
        return Remote(self.base, self.key.rpartition("/")[0])

    def with_name(self, name: str) -> "Remote":
        """Give a place beside it."""
        return self.parent / name

    def is_relative_to(self, other: object) -> bool:
        """Say whether it is another place, or below it."""
        if not isinstance(other, Remote) or other.base != self.base:
            return False
        return other.key in ("", self.key) or self.key.startswith(f"{other.key}/")

    def below(self, root: "Remote") -> str:
        """Give its path below a place that it is below."""
        if not self.is_relative_to(root):
            raise ValueError(f"{self} is not below {root}")
        return self.key[len(root.key) :].strip("/")

    def exists(self) -> bool:
        """Say whether there is an object of this name; a folder is none. One request."""
        return objects.exists(self.base, self.key)

    def is_dir(self) -> bool:
        """Say whether there is anything below it. One request."""
        return next(objects.listed(self.base, self.key, at_once=1), None) is not None

    def iterdir(self) -> Iterator["Remote"]:
        """List what is directly below it. A request per thousand."""
        for key in objects.children(self.base, self.key):
            yield Remote(self.base, key)

    def read_bytes(self) -> bytes:
        """Read the object. One request."""
        return objects.get(self.base, self.key)[0]

    def read_text(self, encoding: str = "utf-8") -> str:
        """Read the object as text. One request."""
        return self.read_bytes().decode(encoding)

    def unlink(self, *, missing_ok: bool = False) -> None:
        """Delete the object; no store says whether there was one. One request."""
        if not missing_ok and not self.exists():
            raise FileNotFoundError(f"there is no {self}")
        objects.delete(self.base, self.key)

    def mkdir(self, *, parents: bool = False, exist_ok: bool = False) -> None:
        """Do nothing: a store needs no folders."""
