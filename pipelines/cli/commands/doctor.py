"""`fencepost doctor`: can Spark run here, and if not, what helps?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fencepost.text import counted
from pipelines.cli.options import AsJson, Config, LakeFolder, print_json
from pipelines.places import Place, is_remote, place_of

if TYPE_CHECKING:  # what looks is imported where it looks: --help stays quick
    from pipelines.places import Remote
    from pipelines.project.settings import Settings
    from pipelines.spark.environment.diagnosis import Finding

HERE = "lake"
"""The lake that is examined where none is declared."""


def doctor(
    *,
    lake: LakeFolder = None,
    config: Config = None,
    start: Annotated[
        bool, typer.Option("--start", help="Also start Spark, and try a task on every executor.")
    ] = False,
    prepare: Annotated[
        bool,
        typer.Option("--prepare", help="First download and compile what Spark needs: one minute."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Diagnose the Spark set-up.

    Checks Java, jars, memory, disk, ports, fencepost.toml and the lake, and whether an object store
    lets one writer win, and only one. A line begins with ok, with ! for what is slow or worth
    knowing, or with ✗ for what would stop a run; the remedy follows. With --start, each executor of
    a cluster says what it lacks: a package, our code, its Python, the lake.
    Nothing changes without --prepare, which downloads the jars and compiles the kernels beside the
    Python environment, as `make setup` does.

    Exits with 0 if a run can start, with 1 if not.

    \b
    Examples:
      fencepost doctor
      fencepost doctor --start
      fencepost doctor --prepare
      fencepost doctor --json | jq '.findings[] | select(.mark != "ok")'
    """  # noqa: D301  \b is a character: the lines after it stay lines
    from pipelines.spark.environment.diagnosis import Mark, findings, started
    from pipelines.spark.environment.place import Place
    from pipelines.spark.environment.prepare import prepare as make_ready

    if prepare:
        make_ready(Place.of_this_python(), lambda line: typer.echo(line, err=True))
    declared, root = project(config, lake)
    results = [*findings(Place.of_this_python(), root), *declared, *lake_lines(root)]
    results += store_lines(root)
    if start:
        results += started(session_options(config), str(_there_now(root)))
    ready = not any(finding.mark is Mark.STOP for finding in results)
    if as_json:
        print_json({"ready": ready, "findings": [vars(finding) for finding in results]})
    else:
        typer.echo("\n".join(line for finding in results for line in _lines(finding)))
    if not ready:
        raise typer.Exit(1)


def project(config: Path | None, lake: str | None) -> tuple[list["Finding"], Place]:
    """Check fencepost.toml, if there is one; give the lake's place with the findings."""
    from fencepost.errors import FencepostError, InputError
    from pipelines.project.settings import load

    try:
        settings = load(config, lake=lake)
    except InputError as why:  # there is none, and none was named
        found = [] if config is None else [_unusable(why)]
    except FencepostError as why:
        found = [_unusable(why)]
    else:
        return [_declared(settings)], settings.root
    return found, place_of(lake or HERE, Path.cwd())


def _declared(settings: "Settings") -> "Finding":
    from pipelines.spark.environment.diagnosis import Finding, Mark

    feeds = f"{'feed' if len(settings.feeds) == 1 else 'feeds'} {', '.join(settings.feeds)}"
    return Finding("project", Mark.OK, f"{settings.file}; {feeds}")


def lake_lines(root: Place) -> list["Finding"]:
    """Check the lake, if there is one: its format, its tables, its writer."""
    from fencepost.errors import FencepostError
    from pipelines.lake.layout import NOTE, Note, open_to_all, refuse_torn
    from pipelines.lake.lock import holder
    from pipelines.spark.environment.diagnosis import Finding, Mark

    if not is_remote(root) and root.exists() and not root.is_dir():
        remedy = "name a folder, or a path that does not exist yet"
        return [
            Finding("lake", Mark.STOP, f"{root} is a file, where a folder was expected", remedy)
        ]
    if not (root / NOTE).exists():
        return [Finding("lake", Mark.OK, f"none at {root}; `fencepost init` makes one")]
    try:
        note = Note.read(root)
        for name in note.ids:
            refuse_torn(root / name)
    except FencepostError as why:
        return [Finding("lake", Mark.STOP, str(why), "fix it as described, or name another lake")]
    lock_owner = holder(root)
    writer = "no writer" if lock_owner is None else str(lock_owner)
    summary = f"format {note.format}, {counted(len(note.ids), 'table')} at {root}; {writer}"
    results = [Finding("lake", Mark.OK, summary)]
    open_to = [] if is_remote(root) else open_to_all(root, list(note.ids))
    if open_to:
        why_open = f"every user of this machine may write to {open_to[0]}"
        results.append(Finding("lake", Mark.MIND, why_open, f"chmod -R o-w {root}"))
    return results


def _there_now(root: Place) -> Place:
    """Give what executors can see of a lake: before it is made, the folder it will be in."""
    if is_remote(root):
        return root
    return next(path for path in (root, *root.parents) if path.exists())


def session_options(config: Path | None) -> dict[str, Any]:
    """Give what a session of the project is started with; nothing where there is no project."""
    from fencepost.errors import FencepostError
    from pipelines.project.settings import load

    try:
        return load(config).session
    except FencepostError:
        return {}


def store_lines(root: "Path | Remote") -> list["Finding"]:
    """Race writers for the same objects, where the lake is on an object store."""
    from fencepost.errors import FencepostError
    from pipelines.places import is_remote
    from pipelines.spark.environment.diagnosis import Finding, Mark

    if not is_remote(root):
        return []
    from pipelines.places.race import race

    try:
        wrong = race(root)
    except FencepostError as why:
        return [Finding("store", Mark.STOP, str(why), "check its address and credentials")]
    if wrong is None:
        return [Finding("store", Mark.OK, "of writers at once, one wins")]
    return [Finding("store", Mark.STOP, wrong, "take a store with conditional puts")]


def _unusable(why: Exception) -> "Finding":
    from pipelines.spark.environment.diagnosis import Finding, Mark

    return Finding("project", Mark.STOP, str(why), "fix fencepost.toml as described")


def _lines(finding: "Finding") -> list[str]:
    from pipelines.spark.environment.diagnosis import Mark

    first, *more = finding.found.split("\n")
    lines = [f"{finding.mark:<3} {finding.thing:<11} {first}"]
    lines += [f"    {'':<11} {line}" for line in more]
    if finding.mark is not Mark.OK and finding.do:
        lines.append(f"    {'':<11} to do: {finding.do}")
    return lines
