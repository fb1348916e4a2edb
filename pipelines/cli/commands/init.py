"""`fencepost init`: a project: fencepost.toml, its landing folders, its lake, files for Dagster.

Law: what exists is left unchanged, and listed; what cannot be made is reported before anything is.
"""

import json
import os
import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fencepost.errors import Fault, Faults
from pipelines.cli.hints import takes_hints
from pipelines.cli.options import AsJson, Yes, print_json
from pipelines.places import Place, is_remote, lies_in, place_of

if TYPE_CHECKING:  # Arrow is imported where it is needed: --help stays quick
    from pipelines.cli.addition import NewFeed
    from pipelines.files.guess.hints import FeedHints
    from pipelines.project.settings import Settings

NOTHING_MADE = "nothing made"
IS_FILE = "is a file, where a folder was expected"
MADE, EXISTS = "made", "exists"
Made = tuple[str, Place, str]
"""Which of the two, the path, and its description."""


@takes_hints
def init(  # noqa: PLR0913  options are many
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Folder of the project.", show_default="here"),
    ] = Path(),
    *,
    lake: Annotated[
        str | None,
        typer.Option(
            metavar="PLACE",
            help="Where the lake is to be: a folder, or s3://bucket/lake.",
            show_default="DIR/lake",
        ),
    ] = None,
    samples: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            metavar="SAMPLE",
            help="Declare the feed of this file or folder, as `feeds add` does. Repeatable.",
        ),
    ] = None,
    feed: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What that feed is called; default: as the sample."),
    ] = None,
    hints: "FeedHints",
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Create a project: a fencepost.toml that declares feeds, their folders, and a lake.

    Existing files are left unchanged. For a fencepost.toml of your own, its landing folders and its
    lake are created; an existing lake gets the tables of new feeds. dagster.yaml and workspace.yaml
    are for `fencepost ui`.

    With --from, the only feed of a new project is the one found in your data; an existing project
    gets it added. What the data cannot show is asked, or given by options: `fencepost feeds add
    --help` has more on each.

    \b
    Examples:
      fencepost init
      fencepost init demo
      fencepost init demo --lake /data/lake
      fencepost init demo --lake s3://bucket/demo/lake
      fencepost init --from downloads/trades.csv
      fencepost init --from tracks.csv --feed bikes --timezone Europe/Berlin --yes
      fencepost init demo --json | jq -r .lake
    """  # noqa: D301  \b is a character: the lines after it stay lines
    from pipelines.project.settings import FILE
    from pipelines.project.templates import FOR_DAGSTER, content

    file = folder / FILE
    own = file.exists()
    new = None
    if samples:
        from pipelines.cli.addition import NewFeed

        given = _declared(file, None) if own else None
        root = file.absolute().parent.resolve()
        new = NewFeed.of(feed, samples, hints, root=root, settings=given, yes=yes, as_json=as_json)
    try:
        settings = _declared(file, lake, new)
        sources = [feed.source for feed in settings.feeds.values() if feed.form != "delta"]
        landing = [source for source in sources if not is_remote(source)]
        _refuse_unmakeable(settings, [file, *landing])
        made = [_make_lake(settings), *map(_make_folder, landing)]
        made.append(_make_settings(file, settings, new))
        made += [
            _make_file(folder / name, content(name), FOR_DAGSTER[name]) for name in FOR_DAGSTER
        ]
    except OSError as why:
        raise _fault(Path(why.filename or folder), why.strerror or str(why)) from None
    if as_json:
        print_json(_as_json(settings, made) | ({} if new is None else {"found": new.as_json()}))
        return
    about = [] if new is None else [*new.lines, ""]
    then = _next(folder, settings, own=own) if new is None else _next_of(folder, settings, new)
    typer.echo("\n".join([*about, *_lines(made), "", *then]))


def _declared(file: Path, lake: str | None, new: "NewFeed | None" = None) -> "Settings":
    """Read the settings that are there, or those that will be."""
    from pipelines.project.declaration import extended
    from pipelines.project.settings import load, understood

    if not file.exists():
        return understood(_text(file, lake, new), file, lake, os.environ)
    settings = load(file)
    if lake is not None and place_of(lake, Path.cwd()) != settings.root:
        raise _fault(
            file, f"names the lake {settings.root}, but --lake names {lake}: change one of them"
        )
    return settings if new is None else extended(file, new.table)[1]


def _feeds(settings: "Settings") -> str:
    feeds = (f"{name} ({', '.join(axes)})" for name, axes in settings.axes.items())
    return f"feeds: {', '.join(feeds)}"


def _text(file: Path, lake: Place | str | None, new: "NewFeed | None") -> str:
    """Write the lake's path relative to the file, so that both can be moved."""
    from pipelines.project.templates import first_settings

    folder = file.absolute().parent.resolve()
    root = folder / "lake" if lake is None else place_of(str(lake), Path.cwd())
    path = str(root).removeprefix(f"{folder}/") if lies_in(root, folder) else root
    named = json.dumps(str(path), ensure_ascii=False)
    return first_settings(named) if new is None else first_settings(named, new.table)


def _refuse_unmakeable(settings: "Settings", others: list[Path]) -> None:
    """Report everything in the way, before anything is made."""
    from pipelines.lake.layout import NOTE, refuse_bad_root

    missing = [path for path in others if not path.exists()]
    root: Place = settings.root
    is_new = not (root / NOTE).exists()
    if is_new and not is_remote(root):
        missing.append(root / NOTE)
    faults = [fault for path in missing if (fault := _why_not_makeable(path)) is not None]
    faults += [Fault(str(path), IS_FILE) for path in others[1:] if path.is_file()]
    if faults:
        raise Faults(list(dict.fromkeys(faults)), NOTHING_MADE)
    if is_new:
        refuse_bad_root(root)
        _refuse_unsafe(root)


def _refuse_unsafe(root: Place) -> None:
    """Refuse a store on which two writers can both believe that they were first."""
    from pipelines.places.race import race

    why = race(root) if is_remote(root) else None
    if why is not None:
        raise Faults([Fault(str(root), f"a lake cannot be on this store: {why}")], NOTHING_MADE)


def _why_not_makeable(path: Path) -> Fault | None:
    above = next(parent for parent in path.absolute().parents if parent.exists())
    if not above.is_dir():
        return Fault(str(above), IS_FILE)
    try:
        with tempfile.TemporaryFile(dir=above):  # leaves no trace, and knows more than any flag
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
        return EXISTS, settings.root, f"lake with {tables} tables"
    return MADE, settings.root, f"lake with {tables} empty Delta tables"


def _make_folder(folder: Path) -> Made:
    if folder.exists():
        return EXISTS, folder, ""
    folder.mkdir(parents=True)
    return MADE, folder, "landing folder: drop files here"


def _make_settings(file: Path, settings: "Settings", new: "NewFeed | None") -> Made:
    """Write fencepost.toml, or add the new feed to the one that is there."""
    from pipelines.project.declaration import extended, write

    if new is None or not file.exists():
        return _make_file(file, _text(file, settings.root, new), _feeds(settings))
    write(file, extended(file, new.table)[0])
    return MADE, file, f"added: [feeds.{new.name}]"


def _make_file(file: Path, content: str, about: str) -> Made:
    if file.exists():
        return EXISTS, file, about
    with file.open("x", encoding="utf-8") as opened:
        opened.write(content)
    return MADE, file, about


def _as_json(settings: "Settings", made: list[Made]) -> dict[str, Any]:
    return {
        "config": str(settings.file),
        "lake": str(settings.root),
        "feeds": settings.axes,
        "made": [_whole(path) for what, path, _ in made if what == MADE],
        "was_there": [_whole(path) for what, path, _ in made if what == EXISTS],
    }


def _lines(made: list[Made]) -> list[str]:
    """List what was made, a line each."""
    shown = [
        _shown(path) + ("/" if is_remote(path) or path.is_dir() else "") for _, path, _ in made
    ]
    width = max(24, *map(len, shown))
    return [
        f"{what:<9}  {path:<{width}}  {about}".rstrip()
        for (what, _, about), path in zip(made, shown, strict=True)
    ]


def _next(folder: Path, settings: "Settings", *, own: bool) -> list[str]:
    """Say what to type next: for the feeds of the template, or for one's own."""
    begin = "" if folder.resolve() == Path.cwd() else f"  cd {shlex.quote(str(folder))}\n"
    if own:
        rules = "" if settings.queries is not None else " RULES.jsonl"
        return [
            "Next, put files into the landing folders, then:",
            f"{begin}  fencepost queries import{rules}",
            "  fencepost run",
        ]
    return [
        "Next, try a market of 50 symbols and rules that watch it:",
        f"{begin}  fencepost generate ticks --market --streams 50 \\",
        "      --out landing/ticks/market.csv \\",
        "      --queries-out alerts.jsonl --queries 300 --named 0.8 --within 3m",
        "  fencepost queries import alerts.jsonl",
        "  fencepost run",
    ]


def _next_of(folder: Path, settings: "Settings", new: "NewFeed") -> list[str]:
    """Say what to type next for a feed that was found."""
    elsewhere = None if folder.resolve() == Path.cwd() else folder
    return new.next_steps(settings.feeds[new.name], elsewhere)


def _whole(place: Place) -> str:
    return str(place if is_remote(place) else place.absolute())


def _shown(place: Place) -> str:
    """Give a path relative to the working folder, if it is below it."""
    return _whole(place).removeprefix(f"{Path.cwd()}/")
