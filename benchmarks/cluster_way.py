"""Lakes whose tasks run in one Spark session, as a process of its own: a process has one session.

It makes a lake at each place, loads the ticks, says that it is ready, and then answers by the line:
`evaluate 0` evaluates the first lake's epoch again, `rows 0` says which rows it has. Answers are
lines of JSON.
"""

import argparse
import json
import sys
from pathlib import Path

from benchmarks.lake_epoch import OF_THE_RUN, carried_out
from benchmarks.lake_made import AXES, FEED, Bench, now
from fencepost.row_hashes import content_hash
from pipelines import ingest
from pipelines.epochs.drive import Lake, chain_of
from pipelines.epochs.partitions import rows_of
from pipelines.places import place_of
from pipelines.project.settings import Feed, Settings
from pipelines.runs.run import runner_of


def lake_of(bench: Bench, place: str, landing: str, master: str) -> Lake:
    """Make the lake and load the ticks, of which none is evaluated."""
    here = Path.cwd()
    feed = Feed(FEED, AXES, place_of(landing, here), settle=0)
    settings = Settings(None, place_of(place, here), {FEED: feed}, master=master)
    store = bench.make(settings)
    runner = runner_of(settings)
    report = ingest.ingest(store, settings, runner, now())
    assert report.tuples == bench.rows, report.refused
    return Lake.of(store, settings, runner)


def evaluated(lake: Lake) -> dict[str, object]:
    """Evaluate all ticks as the first epoch, under the next generation; say its time and rows."""
    seconds, found = carried_out(lake, again_from=1)
    return {"seconds": seconds, "divided": found.seconds, "counts": dict(found.epoch.counts)}


def rows(lake: Lake) -> dict[str, object]:
    """Say which rows the epoch has, as hashes of tables that do not depend on their order."""
    chain = chain_of(lake.store, FEED)
    names = ("events", "stream_state")
    tables = {name: rows_of(lake, name, chain, chain.epochs[:1]) for name in names}
    hashes = {name: content_hash(table, OF_THE_RUN) for name, table in tables.items()}
    size = sum(file.size for name in (FEED, *names) for file in lake.store.files(name))
    return {"hashes": {name: f"{hashed:x}" for name, hashed in hashes.items()}, "bytes": size}


def main(arguments: list[str]) -> int:
    """Serve the evaluations that are asked for, until there is nothing more to read."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster_way", description=__doc__)
    parser.add_argument("--place", action="append", nargs=2, metavar=("LAKE", "LANDING"))
    parser.add_argument("--master", required=True)
    parser.add_argument("--rows", type=int, required=True)
    options = parser.parse_args(arguments)
    bench = Bench(Path.cwd(), options.rows)
    lakes = [lake_of(bench, *place, options.master) for place in options.place]
    say({"slots": lakes[0].runner.slots})
    for line in sys.stdin:
        what, number = line.split()
        lake = lakes[int(number)]
        say(evaluated(lake) if what == "evaluate" else rows(lake))
    return 0


def say(answer: object) -> None:
    """Answer with one line."""
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
