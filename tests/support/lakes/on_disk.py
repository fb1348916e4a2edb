"""A lake's place where a test knows that it is a folder."""

from pathlib import Path

from pipelines.places import Place


def on_disk(place: Place) -> Path:
    """Give the folder."""
    assert isinstance(place, Path)
    return place
