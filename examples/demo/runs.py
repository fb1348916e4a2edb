"""The demo's runs: Dagster materialises the project's assets in this process, and remembers it.

That history is the one that `make dev` opens. A run covers all hours of a feed and its checks;
one more writes marts and report.

Law: a run that ended with its process is marked as failed by the next demo.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import dagster as dg
from dagster._core.instance.ref import InstanceRef
from dagster._core.storage.asset_check_execution_record import (
    AssetCheckExecutionRecordStatus as Status,
)

from assets.definitions import definitions
from assets.graph import MARTS, QUERIES, REPORT, key
from assets.lanes import assets_of
from assets.partitions import range_tags
from assets.resources import LakeAccess
from examples.demo.place import FEEDS, KEPT
from fencepost.errors import StateError
from pipelines.epochs.accounts import accounts
from pipelines.lake.store import Store
from pipelines.lanes import lane_named
from pipelines.progress import Progress
from pipelines.project.settings import Settings

T = TypeVar("T")

TAG = "fencepost/demo"
SILENT = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
EVERY = 0.5
"""Seconds between two looks at the ledgers."""

READ, EVALUATE = 0.15, 0.2
"""The parts of a feed's run; the rest is for its checks."""


class Runs:
    """A project's assets, what runs them, and where that is remembered."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        """Load the assets, open the history, and close the runs of demos that ended early."""
        self.settings = settings
        self.lake = LakeAccess(settings)
        self.repository = definitions(settings).get_repository_def()
        ref = InstanceRef.from_dir(str(folder / KEPT), config_dir=str(folder))
        self.instance = dg.DagsterInstance.from_ref(ref)
        self._close_left_open("The demo's process ended before this run did.")

    def register(self) -> None:
        """Register the rules."""
        self._run(self._all_assets(), asset_selection=[QUERIES])

    def feed(self, name: str, hours: Sequence[str], progress: Progress) -> None:
        """Load and evaluate the hours of a feed, and check the results."""
        tags = range_tags(hours[0], hours[-1])
        store = self.lake.store()
        with self._watched(lambda: self._feed_so_far(store, name, len(hours)), progress):
            self._run(self.repository.get_job(f"evaluate_{name}"), tags=tags)

    def conclude(self, progress: Progress) -> None:
        """Write the marts and the report."""
        with self._watched(self._pages_so_far, progress):
            self._run(self._all_assets(), asset_selection=self._last)

    def has_reported(self, name: str, hours: Sequence[str]) -> bool:
        """Say whether the history has every hour of a feed, and every check of it."""
        feed = self.settings.feeds[name]
        tables = (key(feed, each) for each in (name, *assets_of(lane_named(self.settings, name))))
        return all(
            set(hours) <= self.instance.get_materialized_partitions(table) for table in tables
        ) and all(self.checks(name).values())

    def has_concluded(self) -> bool:
        """Say whether the history has marts and report."""
        return self._pages_made() == len(self._last)

    def checks(self, name: str) -> Mapping[str, bool | None]:
        """Say of each check of a feed whether it passed when it was last made; None: not yet."""
        graph = self.repository.asset_graph
        mine = [each for each in graph.asset_check_keys if each.asset_key.path[0] == name]
        made = self.instance.event_log_storage.get_latest_asset_check_execution_by_key(mine)
        passed = {Status.SUCCEEDED: True, Status.FAILED: False}
        return {
            each.to_user_string(): passed.get(made[each].status) if each in made else None
            for each in mine
        }

    @property
    def _last(self) -> list[dg.AssetKey]:
        """The assets that are made of all the others."""
        marts = [key(self.settings.feeds[name], mart) for name in FEEDS for mart in MARTS]
        return [*marts, REPORT]

    def _all_assets(self) -> dg.JobDefinition:
        return self.repository.get_implicit_global_asset_job_def()

    def _run(self, job: dg.JobDefinition, **how: Any) -> None:  # noqa: ANN401
        """Run a job in a thread: Dagster would take Ctrl-C for a step's failure, and repeat it."""
        tags = {TAG: "yes", **how.pop("tags", {})}

        def run() -> dg.ExecuteInProcessResult:
            return job.execute_in_process(
                instance=self.instance, run_config=SILENT, raise_on_error=False, tags=tags, **how
            )

        try:
            result = in_a_thread(run)
        except BaseException:
            self._close_left_open("The demo was stopped before this run ended.")
            raise
        if not result.success:
            raise StateError(
                f"{_why(result)}\nThe run {result.run_id[:8]} has the details (make dev). "
                "Fix the cause and run the demo again: it continues from there."
            )

    def _close_left_open(self, why: str) -> None:
        """Mark such runs as failed. Only a demo makes them, and no other is running now."""
        finished = {dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE}
        ended = finished | {dg.DagsterRunStatus.CANCELED}
        statuses = [status for status in dg.DagsterRunStatus if status not in ended]
        for run in self.instance.get_runs(dg.RunsFilter(tags={TAG: "yes"}, statuses=statuses)):
            self.instance.report_run_failed(run, why)

    @contextmanager
    def _watched(self, look: Callable[[], tuple[str, float]], progress: Progress) -> Iterator[None]:
        """Report again and again how far a run is, from the ledgers and the history."""
        over = threading.Event()

        def watch() -> None:
            while not over.wait(EVERY):
                progress(*look())

        watching = threading.Thread(target=watch, daemon=True)
        watching.start()
        try:
            yield
        finally:
            over.set()
            watching.join()

    def _feed_so_far(self, store: Store, name: str, hours: int) -> tuple[str, float]:
        known = accounts(store, name).values()
        if sum(bool(account.deliveries) for account in known) < hours:
            return f"reading {hours} hours of {name}", 0.0
        if sum(bool(account.epochs) for account in known) < hours:
            return f"evaluating {hours} hours", READ
        checks = self.checks(name)
        made = sum(passed is not None for passed in checks.values())
        part = READ + EVALUATE + (1.0 - READ - EVALUATE) * made / len(checks)
        return f"checks: {made} of {len(checks)}", part

    def _pages_so_far(self) -> tuple[str, float]:
        made, of = self._pages_made(), len(self._last)
        return f"writing marts and the report: {made} of {of}", made / of

    def _pages_made(self) -> int:
        latest = self.instance.get_latest_materialization_events(self._last)
        return sum(event is not None for event in latest.values())


def in_a_thread(work: Callable[[], T]) -> T:
    """Work in a thread that ends with the process; an exception raised here ends the wait for it.

    The lake and the history survive a process that ends at any moment.
    """
    done: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(work())
        except BaseException as why:  # noqa: BLE001  it is raised by who waits
            failed.append(why)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.2)
    if failed:
        raise failed[0]
    return done[0]


def _why(result: dg.ExecuteInProcessResult) -> str:
    """Give the message of the first step that failed."""
    for event in result.all_events:
        if event.event_type_value == "STEP_FAILURE":
            error = event.step_failure_data.error
            while error is not None and error.cause is not None:
                error = error.cause
            said = "" if error is None else error.message.partition(": ")[2].strip()
            return f"{event.step_key} failed: {said or 'no message'}"
    return "the run failed"
