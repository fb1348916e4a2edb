"""`fencepost check`: does what stands in the lake hold what was promised?

Law: nothing in the lake changes, no lock is taken, no JVM is started. A line a check, as soon as it
is made; the exit code is 1 if one that is an error failed.
"""

import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from pipelines import completing
from pipelines.ending import Code
from pipelines.options import AsJson, Config, LakeFolder, known, print_json

if TYPE_CHECKING:  # DuckDB and Great Expectations are imported where they are needed
    from pipelines.checking import Checked
    from pipelines.settings import Settings

PASSED, FAILED, WARNED = "✓", "✗", "!"


def check(
    lane: Annotated[
        str | None,
        typer.Argument(
            metavar="[LANE]",
            help="Only of this feed, or of this pair of feeds, LEFT~RIGHT.",
            autocompletion=completing.lanes,
        ),
    ] = None,
    *,
    contracts: Annotated[
        bool,
        typer.Option(
            "--contracts/--no-contracts",
            help="Hold every table against its contract too, by Great Expectations: 5 to 15 s.",
        ),
    ] = True,
    as_json: AsJson = False,
    config: Config = None,
    lake: LakeFolder = None,
) -> None:
    """Check the lake: accounting, alternation, state, ledgers, audits; then every table's contract.

    All feeds are checked, and all pairs of feeds that queries join. A check looks at all that is
    published, the audits at a sample. A line tells what it looked at, how many faults it found and
    some of them. Contracts leave pages in reports/checks.

    Ends with 1 if a check failed that is an error (✗), with 0 if all passed or only warn (!).

    \b
    Examples:
      fencepost check
      fencepost check ticks --no-contracts
      fencepost check bids~asks
      fencepost check --json | jq '.checks[] | select(.passed | not)'
    """  # noqa: D301  \b is a character: the lines after it stay lines
    from pipelines.settings import load

    settings = load(config, lake=lake)
    lanes = _lanes(settings)
    known(lane, lanes, "feed, or pair of feeds,")
    made = []
    for name in lanes if lane is None else [lane]:
        for checked in _checks(settings, name, contracts=contracts):
            made.append((name, checked))
            if not as_json:
                _print(name, checked)
    failed = sum(checked.failed for _, checked in made)
    if as_json:
        told = [{"lane": name, **asdict(checked)} for name, checked in made]
        print_json({"passed": failed == 0, "checks": told})
    else:
        _sum_up([checked for _, checked in made], settings, contracts=contracts)
    if failed:
        raise typer.Exit(Code.FAILED)


def _lanes(settings: "Settings") -> list[str]:
    """List the feeds, and the pairs of feeds that are joined or said to be."""
    from pipelines.epochs.lanes import lanes
    from pipelines.lake.store import Store

    joined = lanes(Store.to_read(settings.root, settings.tables), settings)
    return list(dict.fromkeys([*joined, *settings.joins]))


def _checks(settings: "Settings", lane: str, *, contracts: bool) -> Iterator["Checked"]:
    """Make the checks of a lane, and say on the way what takes long."""
    from pipelines.checking import contract_checks, own_checks
    from schemas.expectations import contracts as contracts_of

    _tell(f"{lane}: our own checks")
    yield from own_checks(settings, lane)
    if not contracts:
        return
    for table in contracts_of(lane, settings.axes):
        loading = "" if "great_expectations" in sys.modules else ", once Great Expectations is up"
        _tell(f"{lane}: the contract of {table}{loading}")
        yield from contract_checks(settings, lane, tables=[table])


def _print(lane: str, checked: "Checked") -> None:
    _tell("")
    mark = PASSED if checked.passed else FAILED if checked.failed else WARNED
    rows, faults = int(checked.counts["rows"]), int(checked.counts["faults"])
    found = f"{rows:,} looked at" + (f", {faults:,} at fault" if not checked.passed else "")
    where = f"{lane}/{checked.table}"
    typer.echo(f"{mark} {where:<24} {checked.name:<36} {found}  {checked.seconds:.2f} s")
    if not checked.passed:
        typer.echo(f"    {checked.description}")
        for sample in checked.samples:
            typer.echo(f"      {sample}")


def _sum_up(made: list["Checked"], settings: "Settings", *, contracts: bool) -> None:
    _tell("")
    failed = sum(checked.failed for checked in made)
    warned = sum(not checked.passed for checked in made) - failed
    passed = len(made) - failed - warned
    warnings = f" · {warned:,} warned" if warned else ""
    typer.echo(f"\n{passed:,} passed · {failed:,} failed{warnings}")
    if contracts:
        from pipelines.checking.docs import Site

        typer.echo(f"pages  {Site.of(settings).index}")


def _tell(doing: str) -> None:
    """Say what is being done where somebody watches; the next line takes its place."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{doing + ' …' if doing else ''}")
        sys.stderr.flush()
