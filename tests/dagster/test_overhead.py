"""What a run of Dagster costs beside the work itself; the figures are the benchmark's."""

import time
from pathlib import Path

import pytest

from benchmarks.dagster_overhead import Template, as_run, bare, taken

pytestmark = pytest.mark.dagster

MOST = 1.5
"""Seconds of a processor, so that it counts the same beside others."""


def test_a_run_adds_little_to_the_bare_functions_and_finds_the_same(tmp_path: Path) -> None:
    template = Template.made(tmp_path, 10_000, "here")
    found = taken(template, {"bare functions": bare, "a run": as_run}, time.process_time)
    assert found["a run"].median - found["bare functions"].median < MOST
