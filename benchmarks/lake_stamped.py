"""The command `fencepost`, with the times at which it passed its places written down.

`python -m benchmarks.lake_stamped FILE run …` imports nothing that the command would not import.
"""

import atexit
import json
import sys
import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

STAMPS: list[tuple[str, float]] = []


def stamp(name: str) -> None:
    """Note a place."""
    STAMPS.append((name, time.time()))


def stamped(work: Callable[..., Any], begin: str, end: str) -> Callable[..., Any]:
    """Note where a function begins and ends."""

    @wraps(work)
    def wrapped(*given: Any, **options: Any) -> Any:  # noqa: ANN401
        stamp(begin)
        done = work(*given, **options)
        stamp(end)
        return done

    return wrapped


def main(path: Path) -> None:
    """Run the command with the other arguments."""
    from pipelines.cli.app import main as command
    from pipelines.lake.crash_points import on_point
    from pipelines.runs import run
    from pipelines.spark import session

    run.run = stamped(run.run, "python", "run")
    session.spark = stamped(session.spark, "wanted", "spark")
    on_point(stamp)
    atexit.register(lambda: path.write_text(json.dumps(STAMPS)))
    command()


if __name__ == "__main__":
    main(Path(sys.argv.pop(1)))
