"""Where the demo may run: in a project whose lake is empty, or holds only the demo.

Law: nothing changes before that is checked, and a project has one demo at a time.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from examples.demo import day
from fencepost.errors import InputError, StateError
from pipelines.lake.layout import NOTE
from pipelines.lake.store import Store
from pipelines.project.settings import FILE, Feed, Settings, load
from pipelines.project.templates import FOR_DAGSTER, content
from schemas.arrivals import DELIVERY

HOME = Path(__file__).resolve().parents[2]
"""The project that the repository is."""

ON_EARTH = ("locations",)
KEPT = ".dagster"
FEEDS = {"ticks": ("price", "volume"), "locations": ("lon", "lat", "speed")}
FEW = 3


def declared(folder: Path | None) -> Settings:
    """Read what a project declares; a folder without a fencepost.toml gets the repository's."""
    folder = HOME if folder is None else folder.absolute()
    file, like = folder / FILE, HOME / FILE
    if not file.is_file() and not like.is_file():
        raise InputError(f"no {file}: create it with `fencepost init {folder}`")
    if not file.is_file():
        if folder.is_dir() and any(folder.iterdir()):
            raise InputError(f"{folder} has other files and no {FILE}: give the demo a new folder")
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(like.read_text(encoding="utf-8"), encoding="utf-8")
    settings = load(file)
    for name, axes in FEEDS.items():
        _refuse_other(settings, name, axes)
    return settings


def folder_of(settings: Settings) -> Path:
    """Give the folder of the project."""
    folder = settings.root.parent if settings.file is None else settings.file.parent
    assert isinstance(folder, Path)  # the demo declares no store
    return folder


def refuse_strangers(settings: Settings) -> None:
    """Refuse a project that holds deliveries which are not the demo's."""
    found = [*_taken(settings), *_landed(settings)]
    if not found:
        return
    listed = ", ".join(found[:FEW]) + (f" and {len(found) - FEW} more" if len(found) > FEW else "")
    raise StateError(
        f"{folder_of(settings)} has deliveries that are not the demo's: {listed}. Nothing was "
        "changed. Give the demo a folder of its own: "
        "make demo ARGS=/tmp/fencepost-demo"
    )


def make_ready(settings: Settings) -> None:
    """Create what a project lacks: lake, folders, what Dagster reads."""
    if not (settings.root / NOTE).exists():
        Store.create(settings.root, settings.tables, buckets=settings.buckets)
    folder = folder_of(settings)
    for path in (day.rules_folder(settings), *(f.source for f in settings.feeds.values())):
        path.mkdir(parents=True, exist_ok=True)
    for name in FOR_DAGSTER:
        if not (folder / name).exists():
            (folder / name).write_text(content(name), encoding="utf-8")


@contextmanager
def alone(settings: Settings) -> Iterator[None]:
    """Be the only demo at a project; the system frees the lock when a process ends."""
    kept = folder_of(settings) / KEPT
    kept.mkdir(parents=True, exist_ok=True)
    with (kept / "demo.lock").open("w") as lock:
        try:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise StateError(
                f"another demo is running in {folder_of(settings)}: wait for it, or give this one "
                "a folder of its own"
            ) from None
        yield


def _refuse_other(settings: Settings, name: str, axes: tuple[str, ...]) -> None:
    feed = settings.feeds.get(name)
    fits = (
        feed is not None
        and feed.axes == axes
        and feed.form in (None, "csv")
        and (feed.partition, feed.partition_in_path) == ("hour", True)
        and (name not in ON_EARTH or feed.position == axes[:2])
    )
    if not fits:
        place = f'position = ["{axes[0]}", "{axes[1]}"], ' if name in ON_EARTH else ""
        raise InputError(
            f"{settings.file}: the demo needs a feed {name} with axes {', '.join(axes)}, {place}"
            'partition = "hour" and partition_in_path = true: give it a folder of its own'
        )


def _taken(settings: Settings) -> list[str]:
    """List the loaded deliveries that are not the demo's."""
    if not (settings.root / NOTE).exists():
        return []
    rows = Store.to_read(settings.root, settings.tables).rows("arrivals")
    columns = (rows[name].to_pylist() for name in ("kind", "lane", "path"))
    came = {(lane, path) for kind, lane, path in zip(*columns, strict=True) if kind == DELIVERY}
    return sorted(f"{lane}/{path}" for lane, path in came if not _is_own(lane, path))


def _landed(settings: Settings) -> list[str]:
    """List files in the landing folders that are not the demo's."""
    begun = day.record(settings).exists()
    return [
        f"{feed.name}/{name}"
        for feed in settings.feeds.values()
        if feed.form != "delta"
        for name in _names(feed)
        if not (begun and _is_own(feed.name, name))
    ]


def _names(feed: Feed) -> list[str]:
    if not feed.source.is_dir():
        return []
    return sorted(path.name for path in feed.source.iterdir() if path.name[0] not in "._")


def _is_own(feed: str, path: str) -> bool:
    return feed in FEEDS and day.NAME.fullmatch(path) is not None
