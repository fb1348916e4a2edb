"""`fencepost check`: is everything in the lake as the documentation promises?

Law: nothing in the lake changes, no lock is acquired, no JVM is started. What passed before and has
not changed since is not checked again. The exit code is 1 if a check failed that is an error.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from fencepost.errors import refuse_unknown
from fencepost.text import counted
from pipelines.cli import completion
from pipelines.cli.exit_codes import Code
from pipelines.cli.options import AsJson, Config, LakeFolder, print_json
from pipelines.cli.progress import show_step

if TYPE_CHECKING:  # DuckDB and Great Expectations are imported where they are needed
    from pipelines.checks import Checked, Moment
    from pipelines.lanes import Lane
    from pipelines.project.settings import Settings

PASSED, FAILED, WARNED = "✓", "✗", "!"
WORDS = {FAILED: "failed", WARNED: "warned"}


def check(  # noqa: PLR0913  options are many
    lane: Annotated[
        str | None,
        typer.Argument(
            metavar="[LANE]",
            help="Only this feed, or this pair of feeds: LEFT~RIGHT.",
            autocompletion=completion.lanes,
        ),
    ] = None,
    *,
    contracts: Annotated[
        bool,
        typer.Option(
            "--contracts/--no-contracts", help="Check every table against its contract too."
        ),
    ] = True,
    again: Annotated[bool, typer.Option("--again", help="Check unchanged lanes again.")] = False,
    docs: Annotated[
        bool,
        typer.Option("--docs", help="Write the Great Expectations pages too: 5 s or more."),
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print one line per check.")
    ] = False,
    deep: Annotated[
        bool,
        typer.Option("--deep", help="Verify every data file: checksums, rows, bounds. 3 s per GB."),
    ] = False,
    as_json: AsJson = False,
    config: Config = None,
    lake: LakeFolder = None,
) -> None:
    """Verify the lake: accounting, alternation, state, ledgers, audits, and every table's contract.

    Checks cover all feeds, and all pairs of feeds that are joined. They read everything published;
    the audits re-evaluate a sample. A lane that passed is not checked again until it changes. One
    line per table says how many checks passed; failed ones come with a few of the faults. The
    results of contracts go to reports/checks.

    Exits with 1 if a check failed as an error (✗), with 0 if all passed or only warned (!).

    \b
    Examples:
      fencepost check
      fencepost check ticks --no-contracts
      fencepost check --again -v
      fencepost check bids~asks
      fencepost check --deep --no-contracts
      fencepost check --json | jq '.checks[] | select(.passed | not)'
    """  # noqa: D301  \b is a character: the lines after it stay lines
    from pipelines.checks import Moment
    from pipelines.checks.whole import files_are_whole
    from pipelines.project.settings import load

    settings = load(config, lake=lake)
    lanes = _lanes(settings)
    refuse_unknown(lane, [each.name for each in lanes], "feed, or pair of feeds,")
    results: list[tuple[str, Checked]] = []
    if deep or lane is None:
        show_step("verifying the files of all tables")
        files = files_are_whole(settings, deep=deep)
        show_step("")
        results.append(("lake", files))
        if not as_json and (deep or verbose or files.failed):
            _print("lake", [files], verbose=verbose)
    # A damaged file would give the other checks wrong rows: they wait until it is repaired.
    whole = not any(checked.failed for _, checked in results)
    chosen = [each for each in lanes if whole and lane in (None, each.name)]
    with Moment(settings, chosen, again=again) as moment:
        for each in chosen:
            found = list(_checks(moment, each, contracts=contracts))
            results += [(each.name, checked) for checked in found]
            if not as_json:
                _print(each.name, found, verbose=verbose)
    if docs:
        _write_pages(settings)
    failed = sum(checked.failed for _, checked in results)
    if as_json:
        checks = [{"lane": name, **asdict(checked)} for name, checked in results]
        print_json({"passed": failed == 0, "checks": checks})
    else:
        _sum_up([checked for _, checked in results], settings, contracts=contracts)
    if failed:
        raise typer.Exit(Code.FAILED)


def _lanes(settings: "Settings") -> list["Lane"]:
    """List the feeds, and the pairs of feeds that are joined or declared to be."""
    from pipelines.lake.store import Store
    from pipelines.lanes import declared_lanes, lanes_of

    evaluated = lanes_of(Store.to_read(settings.root, settings.tables), settings)
    return list(dict.fromkeys([*evaluated, *declared_lanes(settings)]))


def _checks(moment: "Moment", lane: "Lane", *, contracts: bool) -> Iterator["Checked"]:
    """Run the checks of a lane, and show what is being done."""
    show_step(f"checking {lane}")
    yield from moment.own(lane)
    if contracts:
        show_step(f"checking the contracts of {lane}")
        yield from moment.contracts(lane)
    show_step("")


def _write_pages(settings: "Settings") -> None:
    from pipelines.checks.docs import bring_up_to_date

    show_step("writing the Great Expectations pages")
    bring_up_to_date(settings)
    show_step("")


def _print(lane: str, found: Sequence["Checked"], *, verbose: bool) -> None:
    """Print the checks of a lane: each, or a line per table and what did not pass."""
    if verbose:
        for checked in found:
            _print_check(lane, checked)
        return
    since = {checked.since for checked in found}
    if found and None not in since:
        rest = f"{len(found):,} passed, unchanged since {_instant(min(map(str, since)))}"
        typer.echo(f"{PASSED} {lane:<32} {rest}")
        return
    for table, some in groupby(sorted(found, key=_by_table(found)), lambda each: each.table):
        _print_table(lane, table, list(some))


def _by_table(found: Iterable["Checked"]) -> Callable[["Checked"], int]:
    """Order checks by table, in the order in which the tables come first."""
    places = {name: place for place, name in enumerate(dict.fromkeys(each.table for each in found))}
    return lambda each: places[each.table]


def _print_table(lane: str, table: str, found: Sequence["Checked"]) -> None:
    marks = [_mark(checked) for checked in found]
    counts = [f"{marks.count(PASSED):,} passed"]
    counts += [f"{marks.count(mark):,} {word}" for mark, word in WORDS.items() if mark in marks]
    worst = next(mark for mark in (FAILED, WARNED, PASSED) if mark in marks)
    seconds = sum(checked.seconds for checked in found)
    typer.echo(f"{worst} {f'{lane}/{table}':<32} {' · '.join(counts):<24} {seconds:.2f} s")
    for checked in found:
        if not checked.passed:
            _print_check(lane, checked)


def _mark(checked: "Checked") -> str:
    return PASSED if checked.passed else FAILED if checked.failed else WARNED


def _print_check(lane: str, checked: "Checked") -> None:
    rows, faults = int(checked.counts["rows"]), int(checked.counts["faults"])
    extent = f"{counted(rows, 'row')} checked"
    extent += "" if checked.passed else f", {counted(faults, 'fault')}"
    took = (
        f"unchanged since {_instant(checked.since)}"
        if checked.since
        else f"{checked.seconds:.2f} s"
    )
    where = f"{lane}/{checked.table}"
    typer.echo(f"{_mark(checked)} {where:<24} {checked.name:<36} {extent}  {took}")
    if not checked.passed:
        typer.echo(f"    {checked.description}")
        for sample in checked.samples:
            typer.echo(f"      {sample}")


def _instant(at: str) -> str:
    """Write a time to the second."""
    return f"{at[:10]} {at[11:19]}Z"


def _sum_up(results: list["Checked"], settings: "Settings", *, contracts: bool) -> None:
    failed = sum(checked.failed for checked in results)
    warned = sum(not checked.passed for checked in results) - failed
    passed = len(results) - failed - warned
    again = sum(checked.since is not None for checked in results)
    warnings = f" · {warned:,} warned" if warned else ""
    unchanged = f" · {again:,} unchanged (--again checks them)" if again else ""
    typer.echo(f"\n{passed:,} passed · {failed:,} failed{warnings}{unchanged}")
    if contracts:
        from pipelines.checks.site import Site

        typer.echo(f"pages  {Site.of(settings).index}")
