"""The Data Docs: pages of Great Expectations, of the suites and of the stored runs.

Its context lives in memory; `site.py` stores what the pages are made of. They use a
stylesheet of our own, given as Great Expectations accepts custom styles, and are self-contained:
scripts, fonts, images and styles of other hosts are removed, and so is what only works by script.

Law: no page names another host or runs a script.
"""

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from pipelines.checks.adapter import result_of, suite_of
from pipelines.checks.site import PAGE, Run, Site
from pipelines.checks.style import PLUGINS
from pipelines.places import Place, is_remote, replace
from pipelines.project.settings import Settings
from schemas.promises import Contract

if TYPE_CHECKING:
    from great_expectations.data_context.data_context.ephemeral_data_context import (
        EphemeralDataContext,
    )

SITE = "checks"
SUITES, VALIDATIONS = "expectations_store", "validation_results_store"
CHECKPOINTS, DEFINITIONS = "checkpoint_store", "validation_definition_store"
IN_MEMORY = {"class_name": "InMemoryStoreBackend"}


_SCRIPTS = re.compile(r"<(script|footer)\b.*?</\1>", re.DOTALL | re.IGNORECASE)
_LINKS = re.compile(r"<(?:link|img)\b[^>]*>", re.IGNORECASE)
_HANDLERS = re.compile(r"\s(?:on[a-z]+|data-toggle)=\"[^\"]*\"", re.IGNORECASE)
_OUTWARD = re.compile(
    r"<a\b[^>]*href=[\"']?(?:https?:)?//[^>]*>(.*?)</a>", re.DOTALL | re.IGNORECASE
)
_STYLED = re.compile(r"url\(\s*['\"]?(?:https?:)?//[^)]*\)", re.IGNORECASE)
_EMPTY_TITLE = re.compile(r"<title>\s*</title>")


def bring_up_to_date(settings: Settings) -> Place:
    """Write the pages that are not there yet; give the site's index."""
    site = Site.of(settings)
    with site.alone():
        pages = site.pages()
        write_pages(site, [run for run in site.runs() if run.page not in pages])
        site.write_index()
    return site.index


def write_pages(site: Site, runs: Sequence[Run]) -> None:
    """Write the pages of runs and of their suites; 0.2 s each, once the import is done.

    A run of a contract that has changed since has no suite any more, and gets no page.
    """
    standing = [(run, contract) for run in runs if (contract := _contract(site, run))]
    if not standing:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # from its imports; nothing that we could fix
        context = _context()
        for run, contract in standing:
            _put(context, run, contract)
        made = dict.fromkeys(name for run, _ in standing for name in (run.page, run.suite))
        with _folder_of(site) as folder:
            _build(context, folder)
            for name in made:
                page = alone((folder / name).read_text(encoding="utf-8"))
                (site.root / name).parent.mkdir(parents=True, exist_ok=True)
                replace(site.root / name, page.encode())


@contextmanager
def _folder_of(site: Site) -> Iterator[Path]:
    """Give the folder that pages are built in: the site's own, or one of this host for a while."""
    if is_remote(site.root):
        with TemporaryDirectory(prefix="fencepost-pages-") as folder:
            yield Path(folder)
    else:
        yield site.root


def _contract(site: Site, run: Run) -> Contract | None:
    """Give the contract of a run, if it still has the promises of the run."""
    contract = site.contract(run)
    names = [each.name for each in contract.expectations] if contract else None
    return contract if names == [checked.name for checked in run.checks] else None


def alone(page: str) -> str:
    """Remove from a page what is on other hosts, and what works only by script.

    An address in the text of a page, as a stream's id may be, is no link and stays.
    """
    for found in (_SCRIPTS, _LINKS, _HANDLERS, _EMPTY_TITLE):
        page = found.sub("", page)
    return _STYLED.sub("none", _OUTWARD.sub(r"\1", page))


def _context() -> "EphemeralDataContext":
    """Make a context in memory; 20 ms, once Great Expectations is imported."""
    from great_expectations import get_context
    from great_expectations.data_context.types.base import DataContextConfig, ProgressBarsConfig

    stores = {
        SUITES: {"class_name": "ExpectationsStore", "store_backend": IN_MEMORY},
        VALIDATIONS: {"class_name": "ValidationResultsStore", "store_backend": IN_MEMORY},
        CHECKPOINTS: {"class_name": "CheckpointStore", "store_backend": IN_MEMORY},
        DEFINITIONS: {"class_name": "ValidationDefinitionStore", "store_backend": IN_MEMORY},
    }
    config = DataContextConfig(
        config_version=4.0,
        analytics_enabled=False,
        plugins_directory=str(PLUGINS),
        progress_bars=ProgressBarsConfig(globally=False),
        stores=stores,
        expectations_store_name=SUITES,
        validation_results_store_name=VALIDATIONS,
        checkpoint_store_name=CHECKPOINTS,
        data_docs_sites={},
    )
    return get_context(mode="ephemeral", project_config=config)


def _put(context: "EphemeralDataContext", run: Run, contract: Contract) -> None:
    """Put a run and its suite where the pages are made of them."""
    from great_expectations.core.run_identifier import RunIdentifier
    from great_expectations.data_context.types.resource_identifiers import (
        ExpectationSuiteIdentifier,
        ValidationResultIdentifier,
    )

    suite = context.suites.add_or_update(suite_of(run.name, contract))
    at = datetime.fromisoformat(run.at)
    key = ValidationResultIdentifier(
        ExpectationSuiteIdentifier(run.name), RunIdentifier(run.rows, at), PAGE
    )
    context.validation_results_store.set(key, result_of(run, suite))


def _build(context: "EphemeralDataContext", folder: Path) -> None:
    """Write the pages of all that was put there; the index is ours."""
    from great_expectations.render.renderer.site_builder import SiteBuilder

    files = {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(folder)}
    builder = SiteBuilder(
        context, files, SITE, show_how_to_buttons=False, runtime_environment={"root_directory": "/"}
    )
    for section in builder.site_section_builders.values():
        section.build()
