"""`fencepost init`: a project.

That is a fencepost.toml, its landing folders and its lake, and beside them what Dagster reads.

Law: what is there is left as it is, and said; what cannot be made is said before anything is.
"""

import json
import os
import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fencepost.errors import Fault, Faults
from pipelines.cli.options import AsJson, print_json

if TYPE_CHECKING:  # Arrow is imported where it is needed: --help stays quick
    from pipelines.project.settings import Settings

NOTHING_MADE = "nothing made"
IS_FILE = "is a file, where a folder was expected"
MADE, WAS_THERE = "made", "was there"
Made = tuple[str, Path, str]
"""Which of the two, what, and what is said of it."""


def init(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Where fencepost.toml goes.", show_default="here"),
    ] = Path(),
    *,
    lake: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where the tables go.", show_default="DIR/lake"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a project: a fencepost.toml that declares feeds, their folders, and a lake.

    What is there already is left as it is: with a fencepost.toml of your own, its landing folders
    and its lake are made, and in a lake that exists the tables of new feeds. Beside it go a
    dagster.yaml and a workspace.yaml, which `fencepost ui` opens.

    \b
    Examples:
      fencepost init
      fencepost init demo
      fencepost init demo --lake /data/lake
      fencepost init demo --json | jq -r .lake
    """  # noqa: D301  \b is a character: the lines after it stay lines
    from pipelines.project.settings import FILE
    from pipelines.project.templates import FOR_DAGSTER, content

    file = folder / FILE
    own = file.exists()
    try:
        settings = _declared(file, lake)
        landing = [feed.source for feed in settings.feeds.values() if feed.form != "delta"]
        _refuse_unmakeable(settings, [file, *landing])
        made = [_make_lake(settings), *map(_make_folder, landing)]
        made.append(_make_file(file, _text(file, settings.root), _feeds(settings)))
        made += [
            _make_file(folder / name, content(name), FOR_DAGSTER[name]) for name in FOR_DAGSTER
        ]
    except OSError as why:
        raise _fault(Path(why.filename or folder), why.strerror or str(why)) from None
    if as_json:
        print_json(_as_json(settings, made))
    else:
        typer.echo("\n".join([*_lines(made), "", *_next(folder, settings, own=own)]))


def _declared(file: Path, lake: Path | None) -> "Settings":
    """Read the settings that are there, or those that will be."""
    from pipelines.project.settings import load, understood

    if not file.exists():
        return understood(_text(file, lake), file, lake, os.environ)
    settings = load(file)
    if lake is not None and lake.resolve() != settings.root:
        raise _fault(
            file, f"names the lake {settings.root}, --lake names {lake}: change one of them"
        )
    return settings


def _feeds(settings: "Settings") -> str:
    feeds = (f"{name} ({', '.join(axes)})" for name, axes in settings.axes.items())
    return f"the feeds are {', '.join(feeds)}"


def _text(file: Path, lake: Path | None) -> str:
    """Write down the lake as it is seen from the file's folder, so that both can be moved."""
    from pipelines.project.templates import first_settings

    folder = file.absolute().parent.resolve()
    root = folder / "lake" if lake is None else lake.resolve()
    path = root.relative_to(folder) if root.is_relative_to(folder) else root
    return first_settings(json.dumps(str(path), ensure_ascii=False))


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


def _make_lake(settings: "Settings") -> Made:
    from pipelines.lake.layout import NOTE
    from pipelines.lake.store import Store
    from pipelines.project.lake import open_to_write

    tables = len(settings.tables)
    was_there = (settings.root / NOTE).exists()
    if not was_there:
        Store.create(settings.root, settings.tables, buckets=settings.buckets)
    with open_to_write(settings, "fencepost init"):
        pass  # an older lake has now what this version adds
    if was_there:
        return WAS_THERE, settings.root, f"a lake, its {tables} tables as declared"
    return MADE, settings.root, f"a lake: {tables} empty Delta tables"


def _make_folder(folder: Path) -> Made:
    if folder.exists():
        return WAS_THERE, folder, ""
    folder.mkdir(parents=True)
    return MADE, folder, "a landing folder: drop files here"


def _make_file(file: Path, content: str, words: str) -> Made:
    if file.exists():
        return WAS_THERE, file, words
    with file.open("x", encoding="utf-8") as opened:
        opened.write(content)
    return MADE, file, words


def _as_json(settings: "Settings", made: list[Made]) -> dict[str, Any]:
    return {
        "config": str(settings.file),
        "lake": str(settings.root),
        "feeds": settings.axes,
        "made": [str(path.absolute()) for what, path, _ in made if what == MADE],
        "was_there": [str(path.absolute()) for what, path, _ in made if what == WAS_THERE],
    }


def _lines(made: list[Made]) -> list[str]:
    """Say what was made, a line each."""
    shown = [_shown(path) + ("/" if path.is_dir() else "") for _, path, _ in made]
    width = max(24, *map(len, shown))
    return [
        f"{what:<9}  {path:<{width}}  {words}".rstrip()
        for (what, _, words), path in zip(made, shown, strict=True)
    ]


def _next(folder: Path, settings: "Settings", *, own: bool) -> list[str]:
    """Say what to type now: on the feeds as they are made here, or on one's own."""
    begin = "" if folder.resolve() == Path.cwd() else f"  cd {shlex.quote(str(folder))}\n"
    if own:
        rules = "" if settings.queries is not None else " RULES.jsonl"
        return [
            "Put files into the landing folders, then:",
            f"{begin}  fencepost queries import{rules}",
            "  fencepost run",
        ]
    return [
        "Next, a market of 50 symbols, and the rules that watch it:",
        f"{begin}  fencepost generate ticks --market --streams 50 \\",
        "      --out landing/ticks/market.csv \\",
        "      --queries-out alerts.jsonl --queries 300 --named 0.8 --within 3m",
        "  fencepost queries import alerts.jsonl",
        "  fencepost run",
    ]


def _shown(path: Path) -> str:
    """Name a path as short as it can be named from here."""
    here = Path.cwd()
    whole = path.absolute()
    return str(whole.relative_to(here)) if whole.is_relative_to(here) else str(whole)
