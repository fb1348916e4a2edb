"""`fencepost doctor`: can Spark run here, and if not, what is to be done?"""

import json
from pathlib import Path
from typing import Annotated

import typer

from pipelines.environment.diagnosis import Finding, Mark, findings, started
from pipelines.environment.place import Place


def doctor(
    *,
    lake: Annotated[
        Path, typer.Option(metavar="DIR", help="The lake to look at; it need not exist.")
    ] = Path("lake"),
    start: Annotated[
        bool, typer.Option("--start", help="Also start a session and run a job: ten seconds.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the findings as one JSON list.")
    ] = False,
) -> None:
    """Look at all that a Spark session needs: Java, jars, memory, disk, ports.

    Each line begins with ok, with ! where something only costs time or is worth knowing, or with ✗
    where a run would stop; what to do about it follows. Nothing is changed.

    \b
    Ends with 0 when a run can start, 1 when something would stop it.
    """  # noqa: D301  \b is a character: the lines after it stay lines
    found = [*findings(Place.of_this_python(), lake), *lake_lines(lake)]
    if start:
        found.append(started())
    if as_json:
        typer.echo(json.dumps([vars(finding) for finding in found], ensure_ascii=False))
    else:
        typer.echo("\n".join(line for finding in found for line in _lines(finding)))
    if any(finding.mark is Mark.STOP for finding in found):
        raise typer.Exit(1)


def lake_lines(root: Path) -> list[Finding]:
    """Look at the lake itself, where there is one: its format, its tables, who writes to it."""
    from fencepost.errors import FencepostError
    from pipelines.lake.layout import NOTE, Note, refuse_torn
    from pipelines.lake.lock import holder

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
    told = f"format {note.format}, {len(note.ids)} tables at {root}; {writer}"
    return [Finding("lake", Mark.OK, told)]


def _lines(finding: Finding) -> list[str]:
    lines = [f"{finding.mark:<3} {finding.thing:<11} {finding.found}"]
    if finding.mark is not Mark.OK and finding.do:
        lines.append(f"    {'':<11} to do: {finding.do}")
    return lines
