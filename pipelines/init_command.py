"""`fencepost init`: a fencepost.toml, its landing folders and its lake.

Law: what is there is left as it is, and said; what cannot be made is said before anything is.
"""

import json
import os
import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fencepost.errors import Fault, Faults

if TYPE_CHECKING:  # Arrow is imported where it is needed: --help stays quick
    from pipelines.settings import Settings

TEXT = """\
# What Fencepost works on. Paths begin at the folder of this file; durations are 90s, 3m, 24h, PT3M.

[lake]
path = {lake}                 # the Delta tables: made by `fencepost init`, read by any engine
# buckets = 8                   # shares of the streams, evaluated side by side; counts at init only
# epoch_rows = 10_000_000       # at most so many rows in an epoch
# group = 32                    # at most so many epochs in a commit
# snapshot_every = 50           # after so many epochs the whole state is written

[run]
# runner = "spark"              # or "here": in one process, without Spark
# read_path = "auto"            # who reads the tables' files: "files" (PyArrow) or "spark"
# cores = 4                     # without these: all there are
# memory = "4g"

# A feed is a source of tuples: stream_id, ts, and its axes, which are numbers. Each file in the
# source folder is a delivery, CSV, JSON lines or Parquet, plain or gzip; so is each folder in it.

[feeds.ticks]
axes = ["price", "volume"]
source = "landing/ticks"

[feeds.locations]
axes = ["x", "y", "speed"]
source = "landing/locations"

# One of your own, with all that can be said of a feed:
#
# [feeds.sensors]
# axes = ["celsius", "humidity"]
# source = "landing/sensors"      # of format "delta": the source table
# format = "csv"                  # or "json", "parquet", "delta"; without it, by its content
# stream_column = "stream_id"     # which column tells the stream,
# ts_column = "ts"                # and which the time: ISO 8601 with Z or an offset,
# ts_unit = "ms"                  # or an integer that counts s, ms, us or ns since 1970
# clock_column = "sent_at"        # the feed's clock; without it, the time of arrival
# max_skew = "24h"                # a tuple further ahead of the clock is put in quarantine
# allowed_lateness = "0s"         # how long tuples wait for earlier ones of later deliveries
# settle = "2s"                   # a file is taken when it was left alone for so long
# partition = "day"               # or "hour": what is evaluated anew together
# partition_in_path = false       # true: the path says the day or hour, as in 2026-11-18T09.csv
"""

NOTHING_MADE = "nothing made"
IS_FILE = "is a file, where a folder was expected"
MADE, WAS_THERE = "made", "was there"


def init(
    folder: Annotated[
        Path,
        typer.Argument(metavar="[DIR]", help="Where fencepost.toml goes.", show_default="here"),
    ] = Path(),
    *,
    lake: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where the tables go.", show_default="DIR/lake"),
    ] = None,
) -> None:
    """Make a lake, and a fencepost.toml that declares its feeds.

    What is there already is left as it is: with a fencepost.toml of your own, its landing folders
    and its lake are made, and in a lake that exists the tables of new feeds.

    \b
    Examples:
      fencepost init
      fencepost init demo
      fencepost init demo --lake /data/lake
    """  # noqa: D301  \b is a character: the lines after it stay lines
    from pipelines.settings import FILE

    file = folder / FILE
    try:
        settings = _declared(file, lake)
        landing = [feed.source for feed in settings.feeds.values() if feed.form != "delta"]
        _refuse_unmakeable(settings, [file, *landing])
        made = [_make_lake(settings), *map(_make_folder, landing), _make_file(file, settings)]
    except OSError as why:
        raise _fault(Path(why.filename or folder), why.strerror or str(why)) from None
    typer.echo("\n".join([*made, "", *_next(folder, settings)]))


def _declared(file: Path, lake: Path | None) -> "Settings":
    """Read the settings that are there, or those that will be."""
    from pipelines.settings import load, understood

    if not file.exists():
        return understood(_text(file, lake), file, lake, os.environ)
    settings = load(file)
    if lake is not None and lake.resolve() != settings.root:
        raise _fault(
            file, f"names the lake {settings.root}, --lake names {lake}: change one of them"
        )
    return settings


def _text(file: Path, lake: Path | None) -> str:
    """Write down the lake as it is seen from the file's folder, so that both can be moved."""
    folder = file.absolute().parent.resolve()
    root = folder / "lake" if lake is None else lake.resolve()
    path = root.relative_to(folder) if root.is_relative_to(folder) else root
    return TEXT.replace("{lake}", json.dumps(str(path), ensure_ascii=False))


def _refuse_unmakeable(settings: "Settings", others: list[Path]) -> None:
    """Say all that stands in the way, before anything is made."""
    from pipelines.lake.layout import NOTE, refuse_bad_root

    missing = [path for path in others if not path.exists()]
    if not (settings.root / NOTE).exists():
        missing.append(settings.root / NOTE)
    faults = [fault for path in missing if (fault := _why_not_makeable(path)) is not None]
    faults += [Fault(str(path), IS_FILE) for path in others[1:] if path.is_file()]
    if faults:
        raise Faults(list(dict.fromkeys(faults)), NOTHING_MADE)
    if settings.root / NOTE in missing:
        refuse_bad_root(settings.root)


def _why_not_makeable(path: Path) -> Fault | None:
    above = next(parent for parent in path.absolute().parents if parent.exists())
    if not above.is_dir():
        return Fault(str(above), IS_FILE)
    try:
        with tempfile.TemporaryFile(dir=above):  # leaves no trace, and knows what no flag tells
            return None
    except OSError as why:
        return Fault(str(above), f"nothing can be made in this folder: {why.strerror}")


def _fault(path: Path, message: str) -> Faults:
    return Faults([Fault(str(path), message)], NOTHING_MADE)


def _make_lake(settings: "Settings") -> str:
    from pipelines.lake.layout import NOTE
    from pipelines.lake.store import Store

    tables = len(settings.tables)
    if (settings.root / NOTE).exists():
        Store.open(settings.root, settings.tables)
        return _line(WAS_THERE, settings.root, f"a lake, its {tables} tables as declared")
    Store.create(settings.root, settings.tables, buckets=settings.buckets)
    return _line(MADE, settings.root, f"a lake: {tables} empty Delta tables")


def _make_folder(folder: Path) -> str:
    if folder.exists():
        return _line(WAS_THERE, folder, "")
    folder.mkdir(parents=True)
    return _line(MADE, folder, "a landing folder: each file put here is a delivery")


def _make_file(file: Path, settings: "Settings") -> str:
    feeds = ", ".join(f"{name} ({', '.join(axes)})" for name, axes in settings.axes.items())
    if file.exists():
        return _line(WAS_THERE, file, f"the feeds are {feeds}")
    lake = settings.root
    with file.open("x", encoding="utf-8") as opened:
        opened.write(_text(file, lake))
    return _line(MADE, file, f"the feeds are {feeds}")


def _line(what: str, path: Path, words: str) -> str:
    mark = "/" if path.is_dir() else ""
    return f"{what:<9}  {_shown(path) + mark:<24}  {words}".rstrip()


def _next(folder: Path, settings: "Settings") -> list[str]:
    """Say what to type now: on the feeds as they are made here, or on others."""
    ticks = settings.feeds.get("ticks")
    begin = "" if folder.resolve() == Path.cwd() else f"  cd {shlex.quote(str(folder))}\n"
    if ticks is None or ticks.axes != ("price", "volume") or ticks.form not in (None, "csv"):
        return [
            "Put files into the landing folders, then:",
            f"{begin}  fencepost queries import RULES.jsonl",
            "  fencepost run",
        ]
    base = folder.resolve()
    landing = ticks.source.relative_to(base) if ticks.source.is_relative_to(base) else ticks.source
    market = shlex.quote(str(landing / "market.csv"))
    return [
        "Next, a market of 50 symbols, and the rules that watch it:",
        f"{begin}  fencepost generate ticks --market --streams 50 --out {market} \\",
        "      --queries-out alerts.jsonl --queries 300 --named 0.8 --within 3m",
        "  fencepost queries import alerts.jsonl",
        "  fencepost run",
    ]


def _shown(path: Path) -> str:
    """Name a path as short as it can be named from here."""
    here = Path.cwd()
    whole = path.absolute()
    return str(whole.relative_to(here)) if whole.is_relative_to(here) else str(whole)
