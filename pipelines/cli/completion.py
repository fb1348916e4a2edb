"""What a shell offers when Tab is pressed: feeds, views, query ids, partitions of the project here.

Only names of letters, digits and . _ - + @ = : / are offered: some shells evaluate what they are
offered. Other names are typed by hand.

Law: a Tab changes nothing, prints nothing and never fails; without a lake nothing is offered. It
takes half a second at most, however large the lake.
"""

import os
import re
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:  # Arrow and Delta are imported where they are needed
    from pipelines.lake.store import Store
    from pipelines.project.settings import Settings

MOST_OFFERED = 100
"""Nobody reads a longer list."""

MOST_ROWS = 100_000
"""A registry or a ledger of more rows is not searched: it would take too long."""

REASONS = ("malformed", "future", "late", "duplicate", "conflict")
"""Why a row is rejected: as in schemas/quarantine.py, which imports Arrow."""

SAFE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+@=:/-]*", re.ASCII)

Names = Callable[[typer.Context], Iterable[str]]
Offer = Callable[[typer.Context, str], list[str]]


def offered(names: Names) -> Offer:
    """Offer the names that begin with what was typed; none if anything goes wrong."""

    def offer(ctx: typer.Context, incomplete: str) -> list[str]:
        try:
            fitting = (name for name in names(ctx) if name.startswith(incomplete))
            return list(islice((name for name in fitting if SAFE.fullmatch(name)), MOST_OFFERED))
        except Exception:  # noqa: BLE001  the command reports the fault, when it is run
            return []

    return offer


@offered
def feeds(ctx: typer.Context) -> Iterable[str]:
    """Name the declared feeds. The file is read, and nothing is checked: 2 ms."""
    import tomllib

    config = ctx.params.get("config") or os.environ.get("FENCEPOST_CONFIG")
    if config is None:
        here = Path.cwd()
        candidates = (folder / "fencepost.toml" for folder in (here, *here.parents))
        file = next(path for path in candidates if path.is_file())
    else:
        file = Path(config)
        file = file / "fencepost.toml" if file.is_dir() else file
    declared: dict[str, object] = tomllib.loads(file.read_text(encoding="utf-8-sig"))["feeds"]
    return declared


@offered
def reasons(ctx: typer.Context) -> Iterable[str]:
    """Name the reasons for which a row is rejected."""
    del ctx
    return REASONS


@offered
def relations(ctx: typer.Context) -> Iterable[str]:
    """Name the views and the raw tables."""
    from pipelines.serve.views import relations as all_relations

    return all_relations(_settings(ctx).tables)


@offered
def query_ids(ctx: typer.Context) -> Iterable[str]:
    """Name the active queries, sorted."""
    from pipelines.registry.queries import QUERIES, standing

    store = _store(_settings(ctx))
    if _rows(store, QUERIES) > MOST_ROWS:
        return []
    ids: list[str] = standing(store)["id"].to_pylist()
    return sorted(ids)


@offered
def lanes(ctx: typer.Context) -> Iterable[str]:
    """Name the lanes: the feeds, and the pairs of feeds that are joined."""
    from pipelines.lanes import lanes_of

    settings = _settings(ctx)
    return [lane.name for lane in lanes_of(_store(settings), settings)]


@offered
def partition_keys(ctx: typer.Context) -> Iterable[str]:
    """Name the partitions of the lane typed before, the newest first."""
    from pipelines.epochs.drive import arrivals_of
    from pipelines.lake.sequence import ARRIVALS

    store = _store(_settings(ctx))
    if _rows(store, ARRIVALS) > MOST_ROWS:
        return []
    deliveries = arrivals_of(store).deliveries(ctx.params["lane"])
    return sorted({delivery.key for delivery in deliveries}, reverse=True)


@offered
def refused(ctx: typer.Context) -> Iterable[str]:
    """Name the refused deliveries that are unanswered."""
    from pipelines.ingest.refusals import unanswered
    from pipelines.lake.sequence import ARRIVALS

    store = _store(_settings(ctx))
    if _rows(store, ARRIVALS) > MOST_ROWS:
        return []
    return [each.name for each in unanswered(store)]


def _settings(ctx: typer.Context) -> "Settings":
    from pipelines.project.settings import load

    params: dict[str, Any] = ctx.params
    config, lake = params.get("config"), params.get("lake")
    return load(None if config is None else Path(config), lake=lake)


def _store(settings: "Settings") -> "Store":
    """Open the lake read-only: opening it to write would create the table of a new feed."""
    from pipelines.lake.layout import Note
    from pipelines.lake.store import Store

    return Store(settings.root, settings.tables, Note.read(settings.root))


def _rows(store: "Store", table: str) -> int:
    return sum(file.rows for file in store.files(table))
