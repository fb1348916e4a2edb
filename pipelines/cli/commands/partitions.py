"""`fencepost partitions`: time partitions of a lane, evaluated in order or listed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fencepost.errors import InputError, refuse_unknown
from pipelines.cli import completion
from pipelines.cli.options import AsJson, Config, LakeFolder, print_json

if TYPE_CHECKING:
    from pipelines.epochs.partitions import PartitionReport
    from pipelines.lanes import Lane
    from pipelines.project.settings import Settings


def partitions(
    lane: Annotated[
        str,
        typer.Argument(
            metavar="LANE",
            help="A feed, or an ordered pair of joined feeds: left~right.",
            autocompletion=completion.lanes,
        ),
    ],
    keys: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KEY",
            help="Days (2026-11-18) or hours (2026-11-18T09).",
            autocompletion=completion.partition_keys,
        ),
    ] = None,
    *,
    again: Annotated[
        bool,
        typer.Option("--again", help="Evaluate again: verify the rows, replace them if different."),
    ] = False,
    config: Config = None,
    lake: LakeFolder = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate time partitions of a lane in order, or list them.

    A lane is a feed, or an ordered pair of two joined feeds, left~right.

    With a KEY, new files are loaded first; each partition is evaluated from the state after the one
    before. Without a KEY partitions are listed, and nothing is loaded. A partition whose input has
    changed is re-evaluated under the next generation; later ones are stale until they are, too.

    Exits with 4 while a refused delivery of the lane is unanswered.

    \b
    Examples:
      fencepost partitions ticks
      fencepost partitions ticks 2026-11-17 2026-11-18
      fencepost partitions ticks 2026-11-17 --again
      fencepost partitions bids~asks 2026-11-18
    """  # noqa: D301
    from pipelines.project.settings import load

    settings = load(config, lake=lake)
    wanted = _lane(settings, lane)
    if again and not keys:
        raise typer.BadParameter("--again needs a KEY: name the partitions")
    if keys:
        _evaluate(settings, wanted, keys, again=again, as_json=as_json)
        return
    listed = _listed(settings, wanted)
    if as_json:
        print_json({"lane": lane, "partitions": listed})
        return
    for each in listed:
        typer.echo(f"{each['key']}  {'stale' if each['stale'] else ''}".rstrip())


def _evaluate(
    settings: "Settings", lane: "Lane", keys: Sequence[str], *, again: bool, as_json: bool
) -> None:
    """Load what has landed for a lane, and evaluate partitions of it."""
    from pipelines.cli import run_output
    from pipelines.cli.progress import progress_bar
    from pipelines.epochs.partitions import partitions as evaluated
    from pipelines.ingest.refusals import unanswered
    from pipelines.runs.run import losses_of, runner_of, take_in, writing

    feeds = lane.feed_names
    with progress_bar() as progress:
        progress("waiting for the lake", 0.0)
        runner = runner_of(settings, quick=True)
        with writing(settings, "fencepost partitions", runner) as (opened, _):
            reports = evaluated(opened, lane, keys, again=again)  # which refuses a bad key at once
            ingested = take_in(opened.store, settings, runner, feeds=feeds, progress=progress)
            progress(f"evaluating {lane}", 0.3)
            evaluated_now = list(reports)
            open_ones = [each for each in unanswered(opened.store) if each.feed in feeds]
        groups = [group for report in evaluated_now for group in report.groups]
        losses = losses_of(settings, ingested, groups)
    done = [_partition(report) for report in evaluated_now]
    if as_json:
        shown = {
            "partitions": done,
            "losses": run_output.losses_json(losses),
            "unanswered": run_output.refusals_json(open_ones),
        }
        print_json({"lane": lane.name, **run_output.ingest_json(ingested), **shown})
    else:
        for line in (
            *run_output.ingest_lines(ingested),
            *run_output.still_refused(open_ones, ingested),
        ):
            typer.echo(line)
        for each in done:
            typer.echo(_line(lane, each))
        for line in run_output.loss_lines(losses):
            typer.echo(line)
        for note in (*run_output.ingest_notes(ingested), *run_output.answer_notes(open_ones)):
            typer.echo(note, err=True)
    run_output.end(open_ones)


def _lane(settings: "Settings", name: str) -> "Lane":
    """Give the lane of a name; refuse one that the lake does not have."""
    from pipelines.lake.store import Store
    from pipelines.lanes import lane_named, lanes_of
    from pipelines.registry import joins

    store = Store.to_read(settings.root, settings.tables)
    lane = lane_named(settings, name)
    if lane.missing and name in joins.lanes(store):
        raise InputError(
            f"'{name}' is not evaluated: {' and '.join(lane.missing)} not in fencepost.toml"
        )
    names = [each.name for each in lanes_of(store, settings)]
    refuse_unknown(name, names, "lane" if lane.joins else "feed")
    return lane


def _listed(settings: "Settings", lane: "Lane") -> list[dict[str, Any]]:
    """List the partitions as they are, without a lock and without a JVM."""
    from pipelines.epochs.drive import Lake
    from pipelines.epochs.partitions import keys_of, stale_keys
    from pipelines.lake.store import Store
    from pipelines.spark.runner import HereRunner

    opened = Lake.of(Store.to_read(settings.root, settings.tables), settings, HereRunner())
    stale = stale_keys(opened, lane)
    return [{"key": key, "stale": key in stale} for key in keys_of(opened, lane)]


def _partition(report: "PartitionReport") -> dict[str, Any]:
    return {
        "lane": report.lane.name,
        "key": report.key,
        "epochs": [epoch.epoch for epoch in report.epochs],
        "generation": report.epochs[-1].generation if report.epochs else None,
        "changed": report.changed,
        "proved": report.proved,
        "counts": report.counts,
    }


def _line(lane: "Lane", each: dict[str, Any]) -> str:
    from pipelines.cli.run_output import findings

    if not each["epochs"]:
        return f"{each['key']}  no deliveries"
    first, last = each["epochs"][0], each["epochs"][-1]
    counts = each["counts"]
    what = "evaluated" if each["changed"] else "unchanged"
    if each["proved"]:
        what = "evaluated again, same rows"
    return (
        f"{each['key']}  {what}: epochs {first}–{last}, generation {each['generation']}, "
        f"{findings(lane, counts)}"
    )
