"""`make demo`: what works so far, told with the commands that a user would type.

Law: it runs those commands and shows what they print, and nothing else. Doing it again is safe:
what has landed before is known, and nothing is taken twice.
"""

import shlex
import subprocess
import sys
import time
from pathlib import Path

STORY = (
    ("A lake, and what it declares", ("init {to}",)),
    (
        "A quarter of an hour on a market of 200 invented symbols, and alerts on their prices",
        (
            "generate ticks --market --streams 200 --length 1000",
            "--out {to}/landing/ticks/market.csv",
            "--queries-out {to}/alerts.jsonl --queries 3000 --named 0.8 --within 30s",
        ),
    ),
    (
        "Four hours of 500 vehicles in an invented town, its zones and its parking garages",
        (
            "generate locations --objects 500 --fast 1 --updates 480 --parked 20m",
            "--out {to}/landing/locations/town.csv",
            "--queries-out {to}/zones.jsonl --squares 100 --within 10m --garages 200",
        ),
    ),
    (
        "The rules are registered: what lands from now on is held against them",
        ("queries import {to}/alerts.jsonl {to}/zones.jsonl --config {to}",),
    ),
    (
        "What has landed is taken in and evaluated, on Spark, from where every stream stood",
        ("run --config {to}",),
    ),
    (
        "Who entered and who left",
        (
            "sql --config {to}",
            (
                '"select feed, type, count(*) as crossings, count(distinct query_id) as queries'
                '\n       from events group by feed, type order by feed, type"'
            ),
        ),
    ),
    (
        "The garages where vehicles stayed longest",
        (
            "sql --config {to}",
            (
                '"select query_id, count(*) as visits, round(avg(duration) / 60, 1) as minutes'
                "\n       from visits where query_id like 'garage%' and ended_by = 'crossing'"
                "\n       group by query_id having count(*) > 2"
                '\n       order by minutes desc, query_id limit 5"'
            ),
        ),
    ),
    (
        "The alerts that prices crossed most often, and what came of it",
        (
            "sql --config {to}",
            (
                '"select query_id, times_entered, pass_through, stay, short_absence, departure'
                "\n       from query_activity where feed = 'ticks'"
                '\n       order by times_entered desc, query_id limit 5"'
            ),
        ),
    ),
    ("Where everything stands", ("status --config {to}",)),
)
MORE = "select * from inside_now order by since limit 10"


def tell(folder: Path) -> int:
    """Run the commands in turn; the exit code is that of the first that fails."""
    print("Fencepost demo")
    started = time.perf_counter()
    for title, lines in STORY:
        command = " \\\n      ".join(lines).format(to=shlex.quote(str(folder)))
        print(f"\n{title}\n  $ fencepost {command}", flush=True)
        said = fencepost(command)
        print("".join(f"    {line}\n" for line in said.stdout.splitlines()), end="", flush=True)
        if said.returncode:
            print(said.stderr, file=sys.stderr, end="")
            return said.returncode
    print(f"\nAll of it took {time.perf_counter() - started:.0f} s. Ask it more:")
    print(f"  fencepost sql --config {folder}            lists what there is to ask")
    print(f"  fencepost sql --config {folder} '{MORE}'")
    print("How to write rules of your own: README.md")
    return 0


def fencepost(command: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a user's shell would, with this Python."""
    words = shlex.split(command.replace("\\\n", " "))
    argv = [sys.executable, "-m", "pipelines.cli", *words]
    return subprocess.run(argv, capture_output=True, encoding="utf-8", check=False)


if __name__ == "__main__":
    sys.exit(tell(Path(sys.argv[1] if len(sys.argv) > 1 else "demo-out")))
