"""The findings of contracts, for people to read: <project>/reports/checks, or on the store.

Each run of a contract is a small file in the hidden folder `.runs`. The index is made of these
files whenever one is added, so it is always current. The pages of Great Expectations are made of
them too, by `docs.py`, when a promise was broken or they are requested: its import takes
seconds.

Law: only the newest runs of a table are stored; the page of a run is deleted with it.
"""

import fcntl
import json
import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

from fencepost.lanes import feeds_of
from pipelines import places
from pipelines.checks.results import Checked
from pipelines.checks.scope import CheckScope
from pipelines.places import Place, is_remote, listed
from pipelines.project.settings import Settings
from schemas.expectations import contracts
from schemas.promises import Contract

KEPT = 5
"""Runs of a table that stay."""

RUNS, INDEX = ".runs", "index.html"
OF_OLDER = (".results", "static")
"""What lay here before; nothing reads it any more."""


@dataclass(frozen=True)
class Run:
    """A table checked against its contract.

    rows  names the rows that were checked, in a path
    at    when, ISO 8601, UTC, milliseconds
    """

    lane: str
    table: str
    rows: str
    at: str
    checks: tuple[Checked, ...]

    @property
    def name(self) -> str:
        """The name of its suite."""
        return f"{self.lane}.{self.table}"

    @property
    def passed(self) -> bool:
        """Whether no promise was broken."""
        return all(checked.passed for checked in self.checks)

    @property
    def stamp(self) -> str:
        """Its time, as Great Expectations writes it in paths."""
        return self.at.replace("-", "").replace(":", "").replace("Z", "000Z")

    @property
    def page(self) -> str:
        """Its page, below the site's root."""
        return f"validations/{self.lane}/{self.table}/{self.rows}/{self.stamp}/{PAGE}.html"

    @property
    def suite(self) -> str:
        """The page of its suite."""
        return f"expectations/{self.lane}/{self.table}.html"

    @property
    def file(self) -> str:
        """Its file, below the site's root."""
        return f"{RUNS}/{self.lane}/{self.table}/{self.stamp}-{self.rows}.json"


PAGE = "rows"


class Site:
    """The site of a project's checks."""

    def __init__(self, root: Place, axes: Mapping[str, tuple[str, ...]]) -> None:
        """Note its folder and the axes of the feeds; nothing is created yet."""
        self.root = root
        self._axes = axes
        self._new: list[Run] = []

    @classmethod
    def of(cls, settings: Settings) -> "Site":
        """Find the site of a project."""
        return cls(settings.reports / "checks", settings.axes)

    @property
    def index(self) -> Place:
        """Its first page."""
        return self.root / INDEX

    def record(
        self, scope: CheckScope, table: str, found: Sequence[Checked], at: str
    ) -> Iterator[Checked]:
        """Store the findings of a contract, unless they are stored; name its page."""
        run = Run(scope.lane.name, table, scope.words, found[0].since or at, tuple(found))
        if not (self.root / run.file).exists():
            self._new.append(run)
        has_page = not run.passed or (self.root / run.page).exists()
        page = self.root / run.page if has_page else self.index
        for checked in found:
            yield replace(checked, docs=str(page))

    def keep(self) -> None:
        """Write what was recorded, and the index; and the pages of broken promises."""
        if not self._new:
            return
        with self.alone():
            for run in self._new:
                _write(self.root / run.file, json.dumps(asdict(run)))
            self._forget()
            broken = [run for run in self._new if not run.passed]
            if broken:
                from pipelines.checks.docs import write_pages

                write_pages(self, broken)
            self.write_index()
        self._new = []

    def write_index(self) -> None:
        """Write the index of the stored runs."""
        from pipelines.checks.index import index

        _write(self.index, index(self))

    def contract(self, run: Run) -> Contract | None:
        """Give the contract that a run's table has now; None if it has none."""
        if any(feed not in self._axes for feed in feeds_of(run.lane)):
            return None
        return contracts(run.lane, self._axes).get(run.table)

    def runs(self) -> Iterator[Run]:
        """Give the stored runs, lane by lane and table by table, the newest first."""
        for files in self._files().values():
            for file in files:
                yield _run(json.loads((self.root / file).read_text(encoding="utf-8")))

    def _files(self) -> dict[str, list[str]]:
        """List the files of runs by table, in order, the newest first."""
        of_table: dict[str, list[str]] = defaultdict(list)
        for entry in listed(self.root / RUNS):
            table, _, name = entry.path.rpartition("/")
            if name.endswith(".json"):
                of_table[table].append(f"{RUNS}/{entry.path}")
        return {table: sorted(of_table[table], reverse=True) for table in sorted(of_table)}

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes from the site meanwhile: two would write one index.

        On a store nobody is kept from it: the index is then that of who was last.
        """
        if is_remote(self.root):
            yield
            return
        (self.root / RUNS).mkdir(parents=True, exist_ok=True)
        with (self.root / RUNS / "lock").open("w") as file:
            fcntl.lockf(file, fcntl.LOCK_EX)
            yield

    def pages(self) -> set[str]:
        """Name the pages that were written, of runs and of suites. A store is listed twice."""
        folders = ("validations", "expectations")
        return {f"{each}/{entry.path}" for each in folders for entry in listed(self.root / each)}

    def _forget(self) -> None:
        """Delete the oldest runs of each table, and pages without a run."""
        for files in self._files().values():
            for old in files[KEPT:]:
                (self.root / old).unlink(missing_ok=True)
        pages = {run.page for run in self.runs()}
        for entry in list(listed(self.root / "validations")):
            page = f"validations/{entry.path}"
            if page.endswith(".html") and page not in pages:
                (self.root / page).unlink(missing_ok=True)
        if not is_remote(self.root):
            for older in OF_OLDER:
                shutil.rmtree(self.root / older, ignore_errors=True)


def _run(fields: dict[str, Any]) -> Run:
    checks = tuple(Checked(**checked) for checked in fields.pop("checks"))
    return Run(checks=checks, **fields)


def _write(path: Place, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    places.replace(path, text.encode())
