"""Replays seeds of the simulated lake, one to look at it or a million to find what is left.

    python -m tests.simulated 17               one, and what it was made of
    python -m tests.simulated 0-9999           that many, on all cores
    make simulate SEEDS=1000000 MINUTES=60     as many of them as can be done in an hour

A seed that fails ends it with its traceback and 1; all others are counted.
"""

import argparse
import os
import sys
import traceback
from collections.abc import Sequence

from tests.simulated.many import all_of
from tests.simulated.run import run


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was asked for; 0 if every law held."""
    options = argparse.ArgumentParser(description="Replay seeds of the simulated lake.")
    options.add_argument("seeds", help="one, or first-last")
    options.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options.add_argument("--minutes", type=float, default=float("inf"), help="begin no more then")
    chosen = options.parse_args(arguments)
    first, _, last = chosen.seeds.partition("-")
    try:
        if last:
            all_of(int(first), int(last), chosen.processes, chosen.minutes)
        else:
            sys.stdout.write(f"{run(int(first))}\n")
    except Exception:  # noqa: BLE001  whatever it is, a law was broken
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
