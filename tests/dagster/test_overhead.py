"""What a run of Dagster costs beside the work itself; the figures are the benchmark's."""

from pathlib import Path

import pytest

from benchmarks.dagster_overhead import Template, as_run, bare, overhead

pytestmark = pytest.mark.dagster


def test_a_run_adds_little_to_the_bare_functions_and_finds_the_same(tmp_path: Path) -> None:
    ways = {"bare functions": bare, "a run": as_run}
    _, run = overhead(Template.made(tmp_path, 30_000, "here"), ways)
    assert run.ratio is not None
    assert run.ratio < 3, run  # the bar is 1.3, for a medium partition on a quiet machine
