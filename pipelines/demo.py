"""`make demo`: what works so far, told with the commands that a user would type.

Law: it runs those commands and shows what they print; what it adds is read from the files that
they wrote.
"""

import shlex
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

STORY = (
    (
        "A quarter of an hour on a market of 200 invented symbols, and alerts on their prices",
        (
            "generate ticks --market --streams 200 --length 1000 --out {to}/ticks.csv",
            "--queries-out {to}/alerts.jsonl --queries 3000 --named 0.8 --within 30s",
        ),
    ),
    (
        "Four hours of 500 vehicles in an invented town, its zones and its parking garages",
        (
            "generate locations --objects 500 --fast 1 --updates 480 --parked 20m",
            "--out {to}/locations.csv --queries-out {to}/zones.jsonl",
            "--squares 100 --within 10m --garages 200",
        ),
    ),
    (
        "Who entered and who left, and what became of it",
        (
            "eval --queries {to}/alerts.jsonl --tuples ticks={to}/ticks.csv",
            "--queries {to}/zones.jsonl --tuples locations={to}/locations.csv",
            "--out {to}/results",
        ),
    ),
)
PAIR = ("feed", "query_id", "stream_id")


def tell(folder: Path) -> int:
    """Run the commands in turn; the exit code is that of the first that fails."""
    print("Fencepost demo")
    for title, lines in STORY:
        command = " \\\n      ".join(lines).format(to=shlex.quote(str(folder)))
        print(f"\n{title}\n  $ fencepost {command}")
        started = time.perf_counter()
        said = fencepost(command)
        print("".join(f"    {line}\n" for line in said.stdout.splitlines()), end="")
        if said.returncode:
            print(said.stderr, file=sys.stderr, end="")
            return said.returncode
        print(f"    ({time.perf_counter() - started:.1f} s, from the start of the command)")
    events, transitions = (table(folder, name) for name in ("events", "transitions"))
    print(f"\nEach stream takes turns to enter and leave a query: {taking_turns(events)}")
    alerts = pc.equal(events["feed"], "ticks")
    show("The alerts that prices crossed most often", most(events.filter(alerts), "crossings"))
    parked = pc.and_(
        pc.equal(transitions["type"], "stay"), pc.starts_with(transitions["query_id"], "garage")
    )
    show("The garages where most vehicles stayed", most(transitions.filter(parked), "stays"))
    print(f"\nThe files are in {folder}/results. How to write rules of your own: README.md")
    return 0


def fencepost(command: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a user's shell would, with this Python."""
    words = shlex.split(command.replace("\\\n", " "))
    argv = [sys.executable, "-m", "pipelines.cli", *words]
    return subprocess.run(argv, capture_output=True, encoding="utf-8", check=False)


def table(folder: Path, name: str) -> pa.Table:
    """Read a file of results."""
    return csv.read_csv(folder / "results" / f"{name}.csv")


def taking_turns(events: pa.Table) -> str:
    """Compare every crossing with the one before it of the same query and stream."""
    rows = events.sort_by([(name, "ascending") for name in (*PAIR, "ts")])
    before, after = rows.slice(0, max(0, len(rows) - 1)), rows.slice(1)
    same = pc.equal(before["type"], after["type"])
    for name in PAIR:
        same = pc.and_(same, pc.equal(before[name], after[name]))
    broken = pc.sum(same).as_py() or 0
    return f"{len(rows):,} crossings, {broken:,} out of turn"


def most(rows: pa.Table, count: str) -> pa.Table:
    """Count the rows of each query, and keep the five with the most."""
    by_query = rows.group_by("query_id")
    counts = by_query.aggregate([([], "count_all"), ("stream_id", "count_distinct")])
    order = [("count_all", "descending"), ("query_id", "ascending")]
    top = counts.sort_by(order).slice(0, 5)
    return top.select(["query_id", "count_all", "stream_id_count_distinct"]).rename_columns(
        ["query", count, "streams"]
    )


def show(title: str, rows: pa.Table) -> None:
    """Print a small table."""
    print(f"\n{title}")
    for first, *others in (rows.column_names, *zip(*rows.to_pydict().values(), strict=True)):
        print(f"  {first:<14}" + "".join(f"{value:>12}" for value in others))


if __name__ == "__main__":
    sys.exit(tell(Path(sys.argv[1] if len(sys.argv) > 1 else "demo-out")))
