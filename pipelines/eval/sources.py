"""A delivery on an object store: `eval` reads it whole, by one request, as it reads a pipe.

Law: its bytes come once, so that what is looked at is what is evaluated.
"""

from pathlib import Path

from pipelines import places
from pipelines.files.read.content import refusal
from pipelines.files.read.delivery import DeliveryFile, look_at
from pipelines.files.read.rows import Declared


def is_stored(source: str) -> bool:
    """Whether a file is named by an address, not by a path."""
    return "://" in source


def looked_at(source: str, declared: Declared) -> DeliveryFile:
    """Find out a file's form and axes, wherever it is; Faults list all that is wrong."""
    if not is_stored(source):
        return look_at(source, declared)
    place = places.place_of(source, Path.cwd())
    if not places.is_remote(place):
        return look_at(str(place), declared)
    try:
        return look_at(source, declared, place.read_bytes())
    except FileNotFoundError:
        raise refusal(source, "there is no such object") from None
