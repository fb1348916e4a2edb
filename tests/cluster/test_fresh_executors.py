"""Executors that have nothing of ours: their rows, their first seconds, and what they compile."""

import time
from pathlib import Path

import pytest

from tests.cluster.drivers import go_on, landed, said, started
from tests.cluster.kernels import found_in, shipped
from tests.cluster.standalone import Standalone
from tests.faults.story import differing, rows_of

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.slow,
    pytest.mark.xdist_group("cluster"),
    pytest.mark.timeout(600),
]

NAMES = ("crossed", "joined")
SECONDS = 12.0
"""From the first job to the first tuples that were read."""
TRIES = 3
"""Applications, each with executors of its own: a busy machine may hold one up."""


def test_executors_without_our_code_have_tuples_in_12_seconds_and_compile_nothing(
    cluster: Standalone, uncut: Path, tmp_path: Path
) -> None:
    assert len(shipped()) > 40
    took: list[float] = []
    while len(took) < TRIES and not any(seconds <= SECONDS for seconds in took):
        before = set(cluster.unpacked())
        projects = [landed(uncut, each, tmp_path / f"{each}-{len(took)}") for each in NAMES]
        driver = started(cluster, tmp_path, "ingest.planned,ingest.quarantine", *projects)
        assert said(driver) == "ingest.planned"
        begin = time.monotonic()
        go_on(driver)
        assert said(driver) == "ingest.quarantine"
        took.append(time.monotonic() - begin)
        out, err = driver.communicate("\n" * 9, timeout=300)
        assert out.count("ended 0") == len(projects), err
        fresh = [folder for folder in cluster.unpacked() if folder not in before]
        assert len(fresh) == 2
        assert all(found_in(folder) == shipped() for folder in fresh)
    for each, project in zip(NAMES, projects, strict=True):
        assert differing(rows_of(project), rows_of(uncut / each)) == []
    assert min(took) <= SECONDS, took
