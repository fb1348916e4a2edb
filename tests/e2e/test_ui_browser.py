"""Dagster's UI in a real browser: what a user clicks, and what is seen then.

A project of its own is served by `fencepost ui`, as a user would start it. Each test asks for the
step that it looks at (`evaluated`, `backfill`, `drawn`), and a step is done once, by clicks; that
it is over is asked of Dagster itself, so that nobody waits for a page to look again.

Law: nothing is found by a style or a place in the page, only by what can be read on it.
"""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.instance.ref import InstanceRef

from assets.registry import queries
from assets.resources import LakeAccess
from pipelines.lake.store import Store
from pipelines.project.settings import load
from pipelines.project.templates import FOR_DAGSTER, content
from tests.support.commands.browser import Seen, in_browser, launched, opened
from tests.support.commands.commands import REPOSITORY
from tests.support.lakes.on_disk import on_disk

pytestmark = [
    *in_browser,
    pytest.mark.dagster,
    pytest.mark.xdist_group("ui"),
    pytest.mark.timeout(600),  # a minute where nobody else computes
]

TOML = """\
[lake]
path = "lake"
queries = "rules"
buckets = 2

[run]
runner = "here"

[feeds.ticks]
axes = ["price", "volume"]
source = "landing/ticks"
settle = "0s"
partition = "hour"
partition_in_path = true
partitions_from = "2026-01-05"
partitions_to = "2026-01-05"
"""
RULES = """\
{"id": "low", "feed": "ticks", "where": "price < 3", "within": "2m"}
{"id": "middle", "feed": "ticks", "where": "price >= 3 AND price < 6", "on_first": "enter"}
"""
HOURS = [f"2026-01-05T{hour:02d}" for hour in range(6)]
ONE = HOURS[2]
TABLES = ("ticks", "quarantine", "stream_state", "events", "transitions", "pending")
MARTS = ("inside_now", "visits", "daily_summary")

PATIENCE = 240.0
"""Seconds for a run, or for the UI to start; on a quiet machine 15 are enough."""

REMARK = "go.apollo.dev/c/err"
"""In Dagster's own remark, after a launch: a query that it would ask again is not on the page."""

LISTENS = "0A"
LOOPBACK = "0100007F"
"""127.0.0.1 as the kernel writes it."""


@dataclass
class Ui:
    """The UI of a project, and the page that a user has open on it."""

    url: str
    page: Any
    seen: Seen

    def go(self, path: str) -> None:
        """Open a page by its address."""
        self.page.goto(f"{self.url}{path}")

    def ask(self, query: str) -> Any:
        """Ask Dagster what it knows."""
        request = urllib.request.Request(  # noqa: S310  http, on this machine
            f"{self.url}/graphql",
            data=json.dumps({"query": query}).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            told = json.load(answer)
        assert "errors" not in told, told
        return told["data"]

    def runs(self) -> list[dict[str, Any]]:
        """Every run, the newest first."""
        told = self.ask("{runsOrError{... on Runs{results{runId status jobName tags{key value}}}}}")
        found: list[dict[str, Any]] = told["runsOrError"]["results"]
        for run in found:
            run["tags"] = {tag["key"]: tag["value"] for tag in run["tags"]}
        return found

    def materialised(self, asset: str) -> int:
        """How many partitions of an asset have been materialised."""
        told = self.ask(
            f"{{assetNodeOrError(assetKey:{{path:{json.dumps(asset.split('/'))}}})"
            "{... on AssetNode{partitionStats{numMaterialized}}}}"
        )
        return int(told["assetNodeOrError"]["partitionStats"]["numMaterialized"])

    def launch(self, partitions: str, launch: str, said: str) -> None:
        """Start the feed's job for partitions by its dialog, as it is found from the menu."""
        page = self.page
        page.get_by_role("link", name="Jobs").first.click()
        page.get_by_role("link", name="evaluate_ticks").first.click()
        page.get_by_role("button", name="Materialize all").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_text("Partition selection").wait_for()
        chosen = dialog.get_by_placeholder(HOURS[0])
        chosen.fill(partitions)
        chosen.press("Enter")
        dialog.get_by_role("button", name=launch, exact=True).click()
        page.get_by_text(said).wait_for()
        self.sees_no_fault()

    def sees_no_fault(self) -> None:
        """Nothing on the page tells of an error, and its scripts complained of nothing."""
        told = " ".join(self.page.get_by_role("alert").all_inner_texts())
        assert not re.search(r"error|fail|unexpected", told, re.IGNORECASE), told
        assert [each for each in self.seen.errors if REMARK not in each] == []


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose rules are registered by Dagster, and into which six hours have landed."""
    made = tmp_path_factory.mktemp("ui") / "project"
    (made / "rules").mkdir(parents=True)
    (made / "fencepost.toml").write_text(TOML)
    (made / "rules" / "bands.jsonl").write_text(RULES)
    for name in FOR_DAGSTER:
        (made / name).write_text(content(name))
    settings = load(made)
    Store.create(settings.root, settings.tables, buckets=settings.buckets)
    source = on_disk(settings.feeds["ticks"].source)
    source.mkdir(parents=True)
    for hour in HOURS:
        (source / f"{hour}.csv").write_text("".join(_lines(hour)))
    with contextlib.chdir(made):  # the paths of dagster.yaml begin there
        history = InstanceRef.from_dir(".dagster", config_dir=".")
        with dg.DagsterInstance.from_ref(history) as instance:
            lake = {"lake": LakeAccess(settings)}
            assert dg.materialize([queries(settings)], instance=instance, resources=lake).success
    return made


def _lines(hour: str) -> Iterator[str]:
    """Write tuples that cross both rules, and one that is none."""
    yield "stream_id,ts,price,volume\n"
    for minute in range(6):
        for k, stream in enumerate("uvw"):
            price = (int(hour[-2:]) + minute * (k + 1)) % 9
            yield f"{stream},{hour}:{minute:02d}:00Z,{price},100\n"
    yield f"u,{hour}:59:00Z,high,100\n"


@pytest.fixture(scope="module")
def ui(folder: Path) -> Iterator[Ui]:
    """The project served by `fencepost ui`; of its processes none outlives the tests."""
    with (
        served(folder) as url,
        launched() as browser,
        opened(browser, url, width=1600, height=1000) as (page, seen),
    ):
        page.set_default_timeout(60_000)
        yield Ui(url, page, seen)


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """Start the UI on a free port, give its address, and end it."""
    said, log = folder / "ui.out", folder / "ui.err"
    with said.open("wb") as out, log.open("wb") as err:
        command = subprocess.Popen(
            [sys.executable, "-m", "pipelines.cli.app", "ui", "--json", "--port", str(free_port())],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
    try:
        until(lambda: command.poll() is not None or said.read_text(), "the UI", log)
        assert command.poll() is None, log.read_text()
        told = json.loads(said.read_text())
        yield told["url"]
        command.send_signal(signal.SIGTERM)
        command.wait(timeout=60)
        assert command.returncode == 0, log.read_text()
        assert processes_at(folder) == []
    finally:
        for process in processes_at(folder):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        command.wait()


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return int(tried.getsockname()[1])


def processes_at(folder: Path) -> list[int]:
    """The processes that work in a folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if (entry / "cwd").readlink() == folder:
                    found.append(int(entry.name))
    return found


def until(true: Callable[[], object], what: str, log: Path | None = None) -> None:
    """Wait for something that takes its time."""
    end = time.monotonic() + PATIENCE
    while not true():
        told = log.read_text()[-3000:] if log is not None else ""
        assert time.monotonic() < end, f"{what} took more than {PATIENCE:.0f} s\n{told}"
        time.sleep(0.3)


@pytest.fixture(scope="module")
def evaluated(ui: Ui) -> dict[str, Any]:
    """The run of one hour, started by clicks and over."""
    ui.launch(ONE, "Launch 1 run", "Launched run")

    def of_one() -> list[dict[str, Any]]:
        return [run for run in ui.runs() if run["tags"].get("dagster/partition") == ONE]

    until(lambda: [run for run in of_one() if run["status"] in {"SUCCESS", "FAILURE"}], "the run")
    (run,) = of_one()
    return run


@pytest.fixture(scope="module")
def backfill(ui: Ui, evaluated: dict[str, Any]) -> str:
    """The backfill of all hours, started by clicks; it goes on."""
    assert evaluated["status"] == "SUCCESS"
    ui.launch(f"[{HOURS[0]}...{HOURS[-1]}]", "Launch backfill", "Created backfill")
    told = ui.ask("{partitionBackfillsOrError{... on PartitionBackfills{results{id}}}}")
    (made,) = told["partitionBackfillsOrError"]["results"]
    return str(made["id"])


@pytest.fixture(scope="module")
def drawn(ui: Ui, backfill: str) -> None:
    """The mart of the days, materialised by a click beside the backfill, and over."""
    assert backfill
    ui.go("/assets/ticks/daily_summary")
    ui.page.get_by_role("button", name="Materialize").first.click()
    ui.page.get_by_text("Launched run").wait_for()
    ui.sees_no_fault()
    newest = (
        '{assetOrError(assetKey:{path:["ticks","daily_summary"]})'
        "{... on Asset{assetMaterializations(limit:1){runId}}}}"
    )
    until(lambda: ui.ask(newest)["assetOrError"]["assetMaterializations"], "the mart")


@pytest.mark.fault(65)
def test_only_this_machine_reaches_the_ui(ui):
    port = f"{int(ui.url.rpartition(':')[2]):04X}"
    listening = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            _, local, _, state = line.split()[:4]
            address, _, at = local.partition(":")
            if (at, state) == (port, LISTENS):
                listening.append(address)
    assert set(listening) == {LOOPBACK}


def test_the_graph_shows_what_is_made_of_a_feed(ui):
    ui.go("/locations/fencepost/asset-groups/ticks")
    for name in (*TABLES, *MARTS, "queries", "report"):
        ui.page.get_by_text(name, exact=True).first.wait_for()
    assert ui.page.get_by_text("ticks", exact=True).count() >= 2  # what lands, and what is taken
    ui.sees_no_fault()


def test_an_hour_is_materialised_by_its_dialog_with_all_before_it(ui, evaluated):
    assert (evaluated["status"], evaluated["jobName"]) == ("SUCCESS", "evaluate_ticks")
    ui.page.get_by_role("tab", name="Runs", exact=True).click()
    ui.page.get_by_text(evaluated["runId"][:8]).first.wait_for()
    ui.page.get_by_text("Success", exact=True).first.wait_for()
    assert ui.materialised("ticks/events") >= HOURS.index(ONE) + 1
    assert ui.materialised("ticks/ticks") == len(HOURS)  # what has landed is taken in whole
    ui.sees_no_fault()


def test_its_checks_are_green(ui, evaluated):
    assert evaluated["status"] == "SUCCESS"
    ui.go("/assets/ticks/events")
    ui.page.get_by_role("tab", name="Checks").click()
    heading = ui.page.get_by_text(re.compile(r"^Checks \(\d+\)$"))
    heading.wait_for()
    (many,) = map(int, re.findall(r"\d+", heading.inner_text()))
    ui.page.get_by_text("Succeeded", exact=True).nth(many - 1).wait_for()
    ui.page.get_by_text("Passed", exact=True).first.wait_for()
    assert ui.page.get_by_text("crossings_alternate").count() >= 1
    assert ui.page.get_by_text(re.compile("^(Failed|Warning)$")).count() == 0
    assert many >= 8
    ui.sees_no_fault()


@pytest.mark.slow
@pytest.mark.usefixtures("drawn")
def test_a_mart_shows_its_picture(ui):
    ui.go("/assets/ticks/daily_summary")
    ui.page.get_by_role("tab", name="Events").click()
    ui.page.get_by_text("events by query and hour").first.wait_for()
    ui.page.get_by_text("Show Markdown").first.click()
    picture = ui.page.get_by_role("dialog").get_by_role("img", name="ticks: events")
    picture.wait_for()
    assert picture.get_attribute("src").startswith("data:image/png;base64,")
    assert picture.get_attribute("alt").startswith("ticks: events by query and hour")
    picture.evaluate("each => each.decode()")  # it fails where the bytes are no picture
    assert picture.bounding_box()["width"] >= 600
    ui.sees_no_fault()


@pytest.mark.slow
def test_a_range_of_hours_is_one_run(ui, backfill):
    def status() -> str:
        told = ui.ask(
            f'{{partitionBackfillOrError(backfillId:"{backfill}")'
            "{... on PartitionBackfill{status}}}"
        )
        return str(told["partitionBackfillOrError"]["status"])

    until(lambda: status() != "REQUESTED", "the backfill")
    assert status() == "COMPLETED_SUCCESS"
    runs = [run for run in ui.runs() if run["tags"].get("dagster/backfill") == backfill]
    assert [run["status"] for run in runs] == ["SUCCESS"]
    assert [ui.materialised(f"ticks/{table}") for table in TABLES] == [len(HOURS)] * len(TABLES)
    ui.go("/assets/ticks/events")
    ui.page.get_by_role("tab", name="Partitions").click()
    ui.page.get_by_text(f"Materialized ({len(HOURS)})").wait_for()
    ui.page.get_by_text("Failed (0)").wait_for()
    ui.sees_no_fault()


@pytest.mark.usefixtures("drawn")
def test_the_page_asks_nobody_but_this_machine(ui):
    assert [each for each in ui.seen.asked if not each.startswith((ui.url, "data:", "blob:"))] == []
