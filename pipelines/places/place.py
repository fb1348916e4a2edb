"""From what people write to a place.

Law: `place_of` gives a place that can be used, or says in words why there is none; what was
written is not repeated where it may be a secret.
"""

import re
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import unquote, urlsplit

from fencepost.errors import InputError
from fencepost.text import shortened
from pipelines.places.remote import Remote

if TYPE_CHECKING:
    from typing_extensions import TypeIs

Place: TypeAlias = Path | Remote
"""Where a lake, a landing folder or a file of them is."""

SCHEMES = {
    "s3": "s3",
    "s3a": "s3",
    "gs": "gs",
    "az": "az",
    "abfs": "abfss",
    "abfss": "abfss",
}
"""How stores are named, and which name is used here."""

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_CONTAINER = re.compile(r"[A-Za-z0-9$][A-Za-z0-9-]*@[A-Za-z0-9][A-Za-z0-9.-]*")


def is_remote(place: object) -> "TypeIs[Remote]":
    """Say whether a place is on an object store."""
    return isinstance(place, Remote)


def lies_in(place: Place, folder: Place) -> bool:
    """Say whether a place is another, or below it."""
    if is_remote(place):
        return place.is_relative_to(folder)
    return not is_remote(folder) and place.is_relative_to(folder)


def place_of(text: str, begin: Path) -> Place:
    """Give the place that a text names; a relative path begins at a folder."""
    why = why_no_place(text)
    if why is not None:
        raise InputError(why)
    found = _URI.fullmatch(text)
    if found is None:
        return (begin / Path(text).expanduser()).resolve()
    scheme, rest = found[1].lower(), found[2]
    if scheme == "file":
        return Path(unquote(urlsplit(text).path)).resolve()
    bucket, _, key = rest.partition("/")
    return Remote(f"{SCHEMES[scheme]}://{bucket}", "") / key


def why_no_place(text: str) -> str | None:
    """Say why a text names no place; None if it does."""
    found = _URI.fullmatch(text)
    scheme = "" if found is None else found[1].lower()
    if found is None or scheme in SCHEMES:
        return None if found is None else _why_no_key(scheme, found[2])
    if scheme == "file":
        return _why_no_file(text)
    if scheme == "hdfs":
        return (
            f"'{shortened(text)}' is on HDFS, which has no conditional put: mount it (as by its "
            "NFS gateway), and name the mounted folder"
        )
    known = ", ".join(f"{each}://" for each in SCHEMES)
    return f"'{scheme}://' is no store that is known here: there are {known} and file://"


def _why_no_key(scheme: str, rest: str) -> str | None:
    bucket, _, key = rest.partition("/")
    form = _CONTAINER if SCHEMES[scheme] == "abfss" else _BUCKET
    if not form.fullmatch(bucket):
        like = "container@account.dfs.core.windows.net" if form is _CONTAINER else "bucket"
        return (
            f"a place on this store is written as {scheme}://{like}/path, without a user, a key or "
            "a port: credentials come from the environment"
        )
    if "?" in key or ".." in key.split("/"):
        return f"a path on {scheme}://{bucket} cannot hold '?' or '..'"
    return None


def _why_no_file(text: str) -> str | None:
    split = urlsplit(text)
    if split.netloc not in ("", "localhost") or not split.path.startswith("/"):
        return f"'{shortened(text)}' names no file of this machine: write file:///path"
    return None
