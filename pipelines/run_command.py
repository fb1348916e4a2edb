"""`fencepost run`, `watch`, `partitions`, `maintain`: their options, and what they say."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fencepost.errors import InputError
from fencepost.lanes import sides_of
from pipelines import completing
from pipelines.options import AsJson, Config, LakeFolder, duration, known, print_json

if TYPE_CHECKING:
    from pipelines.epochs.drive import GroupReport
    from pipelines.epochs.partitions import PartitionReport
    from pipelines.run import RunReport
    from pipelines.settings import Settings


def run(*, config: Config = None, lake: LakeFolder = None, as_json: AsJson = False) -> None:
    """Take in everything that has landed, and evaluate it.

    Files and folders in the landing folder of each feed are deliveries: each is taken once, in the
    order of their names. Run it again at any time; after a crash it goes on where it was.

    \b
    Examples:
      fencepost run
      fencepost run --json
      FENCEPOST_RUNNER=here fencepost run        without Spark, for a small lake
    """  # noqa: D301  \b is a character: the lines after it stay lines
    from pipelines.run import run as once
    from pipelines.run import runner_of
    from pipelines.settings import load

    settings = load(config, lake=lake)
    with _progress() as told:
        report = once(settings, runner_of(settings, quick=True), told=told)
    if as_json:
        print_json(_as_json(report))
        return
    for line in _lines(report):
        typer.echo(line)
    for note in _notes(report):
        typer.echo(note, err=True)


def _interval(text: str) -> int:
    interval = duration(text)
    if interval <= 0:
        raise typer.BadParameter(f"'{text}' was given, where something longer than 0s was expected")
    return interval


def watch(
    *,
    every: Annotated[
        int, typer.Option(parser=_interval, metavar="DURATION", help="How often to look: 5s, 1m.")
    ] = "5s",  # type: ignore[assignment]  # the parser makes it an int
    config: Config = None,
    lake: LakeFolder = None,
    as_json: AsJson = False,
) -> None:
    """Run again and again, until Ctrl-C or SIGTERM.

    Spark's Structured Streaming wakes it. When it is to end it commits what it has begun, and ends
    with 0. With --json it prints one JSON object a run.

    \b
    Examples:
      fencepost watch
      fencepost watch --every 1m --json
    """  # noqa: D301
    from pipelines.run import runner_of
    from pipelines.settings import load
    from pipelines.watch import Watch

    seconds = every / 1e6
    settings = load(config, lake=lake)

    def tell(report: "RunReport") -> None:
        if as_json:
            print_json(_as_json(report))
        elif report.groups or report.ingested.taken or report.ingested.refused:
            for line in _lines(report):
                typer.echo(f"{time.strftime('%H:%M:%S')} {line}")
        for note in _notes(report):
            typer.echo(note, err=True)

    typer.echo(f"watching {settings.root} every {seconds:g} s; Ctrl-C ends it", err=True)
    Watch(settings, runner_of(settings, quick=False), seconds, tell).until_stopped()
    typer.echo("stopped; all that was begun is committed", err=True)


def partitions(
    lane: Annotated[
        str,
        typer.Argument(
            metavar="LANE",
            help="A feed, or the ordered pair of feeds of joins: left~right.",
            autocompletion=completing.lanes,
        ),
    ],
    keys: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KEY",
            help="Days 2026-11-18 or hours 2026-11-18T09.",
            autocompletion=completing.partition_keys,
        ),
    ] = None,
    *,
    again: Annotated[
        bool,
        typer.Option(
            "--again", help="Evaluate them once more: prove that the rows stand, or replace them."
        ),
    ] = False,
    config: Config = None,
    lake: LakeFolder = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate time partitions of a lane in order, or list them.

    A lane is a feed, or the ordered pair of two feeds that are joined, left~right.

    Each is evaluated from the state as of the one before. Without a KEY they are listed. A
    partition whose input has changed is evaluated anew, under the next generation; the later ones
    are stale until they are, too.

    \b
    Examples:
      fencepost partitions ticks
      fencepost partitions ticks 2026-11-17 2026-11-18
      fencepost partitions ticks 2026-11-17 --again
      fencepost partitions bids~asks 2026-11-18
    """  # noqa: D301
    from pipelines.settings import load

    settings = load(config, lake=lake)
    _refuse_unknown(settings, lane)
    if again and not keys:
        raise typer.BadParameter("--again was given without a KEY: name the partitions")
    listed = _evaluated(settings, lane, keys, again=again) if keys else _listed(settings, lane)
    if as_json:
        print_json({"lane": lane, "partitions": listed})
        return
    for each in listed:
        typer.echo(_told_partition(each))


def maintain(
    *,
    keep_states: Annotated[
        int, typer.Option(min=1, help="How many snapshots of the state are kept.")
    ] = 10,
    keep_files: Annotated[
        int,
        typer.Option(
            parser=duration, metavar="DURATION", help="How long files no longer needed stay."
        ),
    ] = "7d",  # type: ignore[assignment]
    config: Config = None,
    lake: LakeFolder = None,
    as_json: AsJson = False,
) -> None:
    """Put small files together, delete what no longer counts.

    Nothing that a view shows changes. Evaluating anew is possible as far back as the oldest
    snapshot that is kept.

    \b
    Examples:
      fencepost maintain
      fencepost maintain --keep-states 30 --keep-files 14d
    """  # noqa: D301
    from pipelines.epochs.lanes import lanes
    from pipelines.maintain import maintain as maintained
    from pipelines.run import runner_of, writing
    from pipelines.settings import load

    settings = load(config, lake=lake)
    kept = timedelta(microseconds=keep_files)
    with (
        _progress() as told,
        writing(settings, "fencepost maintain", runner_of(settings, quick=True)) as (held, _),
    ):
        done = maintained(
            held.store,
            lanes(held.store, settings),
            keep_states=keep_states,
            keep_files=kept,
            told=lambda doing: told(doing, 0.0),
        )
    if as_json:
        print_json(vars(done))
        return
    for name, (before, after) in done.put_together.items():
        typer.echo(f"{name:14} {before:,} files put together to {after:,}")
    for name, rows in done.taken_out.items():
        typer.echo(f"{name:14} {rows:,} rows taken out that no longer counted")
    typer.echo(f"{done.deleted:,} old files deleted")


def _evaluated(
    settings: "Settings", lane: str, keys: Sequence[str], *, again: bool
) -> list[dict[str, Any]]:
    from pipelines.epochs.partitions import partitions as evaluated
    from pipelines.run import runner_of, writing

    with _progress() as told:
        told("waiting for the lake", 0.0)
        runner = runner_of(settings, quick=True)
        with writing(settings, "fencepost partitions", runner) as (held, _):
            told(f"evaluating {lane}", 0.3)
            return [_partition(report) for report in evaluated(held, lane, keys, again=again)]


def _refuse_unknown(settings: "Settings", lane: str) -> None:
    from pipelines.epochs.lanes import lanes, undeclared
    from pipelines.lake.store import Store
    from pipelines.registry import joins

    store = Store.to_read(settings.root, settings.tables)
    missing = undeclared(settings, lane)
    if missing and lane in joins.lanes(store):
        raise InputError(
            f"the joins over '{lane}' stand still: {' and '.join(missing)} not in fencepost.toml"
        )
    known(lane, lanes(store, settings), "lane" if sides_of(lane) else "feed")


def _listed(settings: "Settings", lane: str) -> list[dict[str, Any]]:
    """List the partitions as they stand; nobody is waited for, and no JVM is started."""
    from pipelines.epochs.drive import Lake
    from pipelines.epochs.partitions import keys_of, stale_keys
    from pipelines.lake.store import Store
    from pipelines.runner import HereRunner

    held = Lake.of(Store.to_read(settings.root, settings.tables), settings, HereRunner())
    stale = stale_keys(held, lane)
    return [{"key": key, "stale": key in stale} for key in keys_of(held, lane)]


@contextmanager
def _progress() -> Iterator[Any]:
    from pipelines.evaluation.progress import Progress

    with Progress() as bar:

        def told(doing: str, done: float) -> None:
            bar.now(doing)
            bar.reach(done)

        yield told


def _lines(report: "RunReport") -> Iterator[str]:
    got = report.ingested
    if got.taken:
        yield (
            f"ingest     {_many(len(got.taken), 'delivery', 'deliveries')}: {got.rows:,} rows read "
            f"= {got.tuples:,} tuples + {got.malformed + got.future:,} quarantined"
        )
    for refused in got.refused:
        yield f"refused    {refused.feed}/{refused.path}: {refused.reason}: {refused.detail}"
    for group in report.groups:
        yield _told_group(group)
    if not (got.taken or got.refused or report.groups):
        yield "nothing new"
    yield f"done in {report.seconds:.1f} s"


def _told_group(group: "GroupReport") -> str:
    counts = group.counts
    first, last = group.epochs[0].epoch, group.epochs[-1].epoch
    which = f"epoch {first}" if first == last else f"epochs {first}–{last}"
    turned = counts["late"] + counts["duplicate"] + counts["conflict"]
    spent = sum(group.seconds.get(name, 0.0) for name in ("plan", "prepare", "job", "commit"))
    text = f"evaluate   {group.lane} {which}: {_found(group.lane, counts)}"
    if turned:
        text += f" · turned away {turned:,}"
    if counts["waiting"]:
        text += f" · waiting {counts['waiting']:,}"
    return f"{text}   {spent:.1f} s"


def _found(lane: str, counts: Mapping[str, int]) -> str:
    """Say what a lane's epochs took, and what was found in them."""
    text = f"{counts['accepted']:,} tuples → "
    if sides_of(lane):
        text += f"pairs {counts['paired']:,}"
        if counts["came_in"] or counts["went_out"]:
            text += f" · band pairs +{counts['came_in']:,} −{counts['went_out']:,}"
        return text
    transitions = sum(counts[k] for k in ("pass_through", "short_absence", "stay", "departure"))
    text += f"I {counts['entered']:,} · O {counts['left']:,}"
    text += f" · transitions {transitions:,}" if transitions else ""
    return text + (f" · matches {counts['matched']:,}" if counts["matched"] else "")


def _notes(report: "RunReport") -> Iterator[str]:
    got = report.ingested
    for feed, paths in got.waiting.items():
        yield f"note: {feed}: {_many(len(paths), 'delivery', 'deliveries')} not complete yet"
    for feed, whys in got.passed_over.items():
        for why in whys:
            yield f"note: {feed}: {why}"
    for each in got.taken:
        if each.ignored:
            columns = ", ".join(each.ignored)
            yield f"note: {each.feed}/{each.path}: columns nobody asked for, ignored: {columns}"


def _as_json(report: "RunReport") -> dict[str, Any]:
    got = report.ingested
    return {
        "deliveries": [vars(each) for each in got.taken],
        "refused": [vars(each) for each in got.refused],
        "waiting": got.waiting,
        "passed_over": got.passed_over,
        "groups": [
            {
                "lane": group.lane,
                "first": group.epochs[0].epoch,
                "last": group.epochs[-1].epoch,
                "generation": group.epochs[0].generation,
                "counts": group.counts,
                "seconds": dict(group.seconds),
            }
            for group in report.groups
        ],
        "seconds": report.seconds,
    }


def _partition(report: "PartitionReport") -> dict[str, Any]:
    return {
        "lane": report.lane,
        "key": report.key,
        "epochs": [epoch.epoch for epoch in report.epochs],
        "generation": report.epochs[-1].generation if report.epochs else None,
        "changed": report.changed,
        "proved": report.proved,
        "counts": report.counts,
    }


def _told_partition(each: dict[str, Any]) -> str:
    if "stale" in each:
        return f"{each['key']}  {'stale' if each['stale'] else ''}".rstrip()
    if not each["epochs"]:
        return f"{each['key']}  no deliveries"
    first, last = each["epochs"][0], each["epochs"][-1]
    counts = each["counts"]
    what = "evaluated" if each["changed"] else "unchanged"
    if each["proved"]:
        what = "evaluated again, the same rows"
    return (
        f"{each['key']}  {what}: epochs {first}–{last}, generation {each['generation']}, "
        f"{_found(each['lane'], counts)}"
    )


def _many(count: int, one: str, several: str) -> str:
    return f"{count:,} {one if count == 1 else several}"
