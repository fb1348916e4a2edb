"""`fencepost doctor`: can Spark run here, and if not, what is to be done?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fencepost.plurals import counted
from pipelines.cli.options import AsJson, Config, LakeFolder, print_json

if TYPE_CHECKING:  # what looks is imported where it looks: --help stays quick
    from pipelines.spark.environment.diagnosis import Finding

HERE = Path("lake")
"""The lake that is looked at where nothing is declared."""


def doctor(
    *,
    lake: LakeFolder = None,
    config: Config = None,
    start: Annotated[
        bool, typer.Option("--start", help="Also start a session and run a job: ten seconds.")
    ] = False,
    prepare: Annotated[
        bool,
        typer.Option("--prepare", help="First fetch and compile what Spark needs: a minute, once."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say whether Spark can run here, and if not, what to do.

    It looks at Java, jars, memory, disk, ports, at fencepost.toml and at the lake. Each line begins
    with ok, with ! where something only costs time or is worth knowing, or with ✗ where a run
    would stop; what to do about it follows. Nothing is changed, unless --prepare is given: then the
    jars are fetched and the kernels compiled beside the Python environment, as `make setup` does.

    \b
    Ends with 0 when a run can start, 1 when something would stop it.

    \b
    Examples:
      fencepost doctor
      fencepost doctor --start
      fencepost doctor --prepare
      fencepost doctor --json | jq '.findings[] | select(.mark != "ok")'
    """  # noqa: D301  \b is a character: the lines after it stay lines
    from pipelines.spark.environment.diagnosis import Mark, findings, started
    from pipelines.spark.environment.place import Place
    from pipelines.spark.environment.preparing import prepare as make_ready

    if prepare:
        make_ready(Place.of_this_python(), lambda line: typer.echo(line, err=True))
    declared, root = project(config, lake)
    found = [*findings(Place.of_this_python(), root), *declared, *lake_lines(root)]
    if start:
        found.append(started())
    ready = not any(finding.mark is Mark.STOP for finding in found)
    if as_json:
        print_json({"ready": ready, "findings": [vars(finding) for finding in found]})
    else:
        typer.echo("\n".join(line for finding in found for line in _lines(finding)))
    if not ready:
        raise typer.Exit(1)


def project(config: Path | None, lake: Path | None) -> tuple[list["Finding"], Path]:
    """Look at fencepost.toml, where there is one; with it, say where the lake is."""
    from fencepost.errors import FencepostError, InputError
    from pipelines.project.settings import load
    from pipelines.spark.environment.diagnosis import Finding, Mark

    try:
        settings = load(config, lake=lake)
    except InputError as why:  # there is none, and nobody said that there is
        return ([], lake or HERE) if config is None else ([_unusable(why)], lake or HERE)
    except FencepostError as why:
        return [_unusable(why)], lake or HERE
    told = f"{settings.file}; its feeds are {', '.join(settings.feeds)}"
    return [Finding("project", Mark.OK, told)], settings.root


def lake_lines(root: Path) -> list["Finding"]:
    """Look at the lake itself, where there is one: its format, its tables, who writes to it."""
    from fencepost.errors import FencepostError
    from pipelines.lake.layout import NOTE, Note, open_to_all, refuse_torn
    from pipelines.lake.lock import holder
    from pipelines.spark.environment.diagnosis import Finding, Mark

    if root.exists() and not root.is_dir():
        remedy = "name a folder, or a place where there is none yet"
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
        return [Finding("lake", Mark.STOP, str(why), "mend it as it says, or name another lake")]
    held = holder(root)
    writer = "one writer, free" if held is None else str(held)
    told = f"format {note.format}, {counted(len(note.ids), 'table')} at {root}; {writer}"
    found = [Finding("lake", Mark.OK, told)]
    if open_to := open_to_all(root, list(note.ids)):
        told = f"every user of this machine may write to {open_to[0]}"
        found.append(Finding("lake", Mark.MIND, told, f"chmod -R o-w {root}"))
    return found


def _unusable(why: Exception) -> "Finding":
    from pipelines.spark.environment.diagnosis import Finding, Mark

    return Finding("project", Mark.STOP, str(why), "mend fencepost.toml as it says")


def _lines(finding: "Finding") -> list[str]:
    from pipelines.spark.environment.diagnosis import Mark

    first, *more = finding.found.split("\n")
    lines = [f"{finding.mark:<3} {finding.thing:<11} {first}"]
    lines += [f"    {'':<11} {line}" for line in more]
    if finding.mark is not Mark.OK and finding.do:
        lines.append(f"    {'':<11} to do: {finding.do}")
    return lines
