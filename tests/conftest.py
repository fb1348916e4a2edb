"""What every test runs under: a Hypothesis profile, and a Numba cache that no two workers share.

HYPOTHESIS_PROFILE chooses how many examples a property is tried on: dev 50, ci 200, long 500 (of
`make test-all`), nightly 5,000; without it, ci where CI is set, else dev. No deadline, since the
first call of a kernel compiles it. Under dev a failing example is kept and tried first the next
time. Under ci the examples follow from a test's own code, so that what is red is red again, and
what is not touched does not turn red; long and nightly draw a seed and print it, and `make test-all
ARGS=--hypothesis-seed=N` runs the same examples again.
"""

import os
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.configuration import set_hypothesis_home_dir

from fencepost.kernel_cache import fingerprint
from pipelines.spark.environment.kernels import bring, compiled
from pipelines.spark.environment.place import Place as EnvironmentPlace
from tests.support.budgets import far_over, seconds_by_room, summary
from tests.support.oracles.figures import told

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest_plugins = ["tests.support.stores.fixtures"]

CACHE = Path(__file__).resolve().parent.parent / ".cache"
EXAMPLES = {"dev": 50, "ci": 200, "long": 500, "nightly": 5000}


def chosen_profile() -> str:
    """The profile named in the environment; Hypothesis itself refuses one that does not exist."""
    return os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Runs before any test module is imported: Numba reads its cache folder when it is imported.

    Two processes that compile into one folder can load each other's machine code (numba issue
    4807), so each xdist worker has its own, and the commands that a test starts inherit it. A
    change of any kernel, or of a record that one is given, takes a new folder.

    Byte code is kept, whatever the environment says: the tests start hundreds of processes, and
    each would compile all that it imports.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    kernels = CACHE / "numba" / fingerprint() / worker
    if not kernels.exists() and compiled(place := EnvironmentPlace.of_this_python()):
        bring(place.kernels, kernels)  # what `make setup` compiled: a start, not shared
    os.environ["NUMBA_CACHE_DIR"] = str(kernels)
    set_hypothesis_home_dir(CACHE / "hypothesis")
    for name, examples in EXAMPLES.items():
        settings.register_profile(
            name,
            max_examples=examples,
            derandomize=name == "ci",
            deadline=None,
            print_blob=True,
            suppress_health_check=[HealthCheck.too_slow],
        )
    settings.load_profile(chosen_profile())
    if chosen_profile() in ("long", "nightly") and config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = secrets.randbits(32)  # xdist hands it to every worker


@pytest.fixture(scope="session")
def spark() -> "SparkSession":
    """The session of this process: all who ask share it, in one xdist group."""
    from pipelines.spark import session

    return session.spark(cores=2)


def seconds_spent(config: pytest.Config) -> Mapping[str, float]:
    """Seconds by room, where the short set was run; the long set has no budget."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or config.option.markexpr != "not slow":
        return {}
    reports = (report for reports in reporter.stats.values() for report in reports)
    return seconds_by_room(
        (report.nodeid, report.duration)
        for report in reports
        if isinstance(report, pytest.TestReport)
    )


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail in CI where a room took far more than its budget: elsewhere a machine may be slow."""
    if os.environ.get("CI") and far_over(seconds_spent(session.config)):
        session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was done, and what it would take to run the same examples again."""
    passed = terminalreporter.stats.get("passed", [])
    done = told(found for report in passed for found in report.user_properties)
    if done:
        terminalreporter.write_line(f"Faults: {done}")
    spent = seconds_spent(terminalreporter.config)
    if spent:
        terminalreporter.write_line(f"Seconds by room, of its budget: {summary(spent)}")
    for room in far_over(spent):
        terminalreporter.write_line(f"{room} took far more than its budget", red=True)
    seed = terminalreporter.config.option.hypothesis_seed
    drawn = "" if seed is None else f", seed {seed}"
    terminalreporter.write_line(f"Hypothesis profile {chosen_profile()}{drawn}")
