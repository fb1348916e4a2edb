"""The Data Docs: a page for each table and run in <project>/reports/checks, made to be kept.

The context of Great Expectations lives in memory; suites and results are kept as files in the
site's hidden folder, so that its index lists what earlier runs found.

Law: of a table no more than the newest runs are kept; no page asks a stranger's server for an
image, or sends anything there.
"""

import fcntl
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.settings import Settings

if TYPE_CHECKING:
    from great_expectations import ValidationDefinition
    from great_expectations.core import ExpectationValidationResult
    from great_expectations.data_context.data_context.ephemeral_data_context import (
        EphemeralDataContext,
    )

    from pipelines.checking.adapter import Batch

KEPT = 5
"""Runs of a table whose pages stay."""

SITE = "checks"
SUITES, VALIDATIONS = "expectations_store", "validation_results_store"
CHECKPOINTS, DEFINITIONS = "checkpoint_store", "validation_definition_store"
IN_MEMORY = {"class_name": "InMemoryStoreBackend"}

_LOGO = re.compile(r"https://great-expectations-web-assets\.s3[^'\"\s)]*")


@dataclass(frozen=True)
class Site:
    """The site of a project's checks."""

    root: Path

    @classmethod
    def of(cls, settings: Settings) -> "Site":
        """Say where it is; nothing is made yet."""
        project = settings.root.parent if settings.file is None else settings.file.parent
        return cls(project / "reports" / "checks")

    @property
    def index(self) -> Path:
        """Its first page."""
        return self.root / "index.html"

    @property
    def _kept(self) -> Path:
        return self.root / ".results"

    def context(self) -> "EphemeralDataContext":
        """Make a context that writes here; 20 ms, once Great Expectations is imported."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what it imports; nothing that we could mend
            from great_expectations import get_context
            from great_expectations.data_context.types.base import (
                DataContextConfig,
                ProgressBarsConfig,
            )

        stores = {
            SUITES: _store("ExpectationsStore", _files(self._kept / "suites")),
            VALIDATIONS: _store("ValidationResultsStore", _files(self._kept / "validations")),
            CHECKPOINTS: _store("CheckpointStore", IN_MEMORY),
            DEFINITIONS: _store("ValidationDefinitionStore", IN_MEMORY),
        }
        site = {
            "class_name": "SiteBuilder",
            "show_how_to_buttons": False,
            "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"},
            "store_backend": _files(self.root),
        }
        config = DataContextConfig(
            config_version=4.0,
            analytics_enabled=False,
            progress_bars=ProgressBarsConfig(globally=False),
            stores=stores,
            expectations_store_name=SUITES,
            validation_results_store_name=VALIDATIONS,
            checkpoint_store_name=CHECKPOINTS,
            data_docs_sites={SITE: site},
        )
        return get_context(mode="ephemeral", project_config=config)

    def run(
        self,
        context: "EphemeralDataContext",
        name: str,
        definition: "ValidationDefinition",
        batch: "Batch",
    ) -> tuple[list["ExpectationValidationResult"], str]:
        """Validate a batch, write its page; give the results and where the page is."""
        from great_expectations import Checkpoint
        from great_expectations.checkpoint.actions import UpdateDataDocsAction
        from great_expectations.core.run_identifier import RunIdentifier

        checkpoint = context.checkpoints.add(
            Checkpoint(
                name=name,
                validation_definitions=[definition],
                actions=[UpdateDataDocsAction(name="docs", site_names=[SITE])],
                result_format="SUMMARY",
            )
        )
        run = RunIdentifier(run_name=batch.words)
        with self._alone():
            self._forget(name)
            found = checkpoint.run(batch_parameters={"dataframe": batch.rows}, run_id=run)
            ((run_of, told),) = found.run_results.items()
            key: Any = run_of
            page = self.root.joinpath("validations", *key.to_tuple())
            page = page.with_name(f"{page.name}.html")
            suite = self.root.joinpath("expectations", *name.split(".")).with_suffix(".html")
            for each in (self.index, suite, page):
                self._without_strangers(each)
        return list(told.results), str(page)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes from the site meanwhile: two would write one index."""
        self._kept.mkdir(parents=True, exist_ok=True)
        with (self._kept / "lock").open("w") as file:
            fcntl.lockf(file, fcntl.LOCK_EX)
            yield

    def _forget(self, name: str) -> None:
        """Let the oldest runs of a suite go; the index then drops their pages."""
        folder = self._kept.joinpath("validations", *name.split("."))
        runs = sorted(folder.glob("*/*/*.json"), key=lambda file: file.parent.name, reverse=True)
        for old in runs[KEPT - 1 :]:
            old.unlink()

    def _without_strangers(self, page: Path) -> None:
        """Take the images from the site itself."""
        up = "../" * (len(page.relative_to(self.root).parts) - 1)
        text = page.read_text(encoding="utf-8")
        page.write_text(_LOGO.sub(f"{up}static/images/logo-long.png", text), encoding="utf-8")


def _files(folder: Path) -> dict[str, Any]:
    return {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(folder)}


def _store(kind: str, backend: dict[str, Any]) -> dict[str, Any]:
    return {"class_name": kind, "store_backend": backend}
