"""One cluster for all tests that need no other, and the stories as they go in one process."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.standalone import Standalone, running
from tests.faults.story import JOINED, copied, do, make


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    """A master and two workers; each application gets executors of its own."""
    with running(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture(scope="session")
def uncut(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two stories as they go in one process: before their files have landed, and after."""
    folder = tmp_path_factory.mktemp("uncut")
    make(folder / "crossed")
    make(folder / "joined", story=JOINED)
    for name in ("crossed", "joined"):
        do(folder / name, "registered")
        copied(folder / name, folder / f"{name}-before")
        do(folder / name, "taken-in")
    return folder
