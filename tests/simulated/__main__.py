"""Replays seeds: `python -m tests.simulated 17`, or `0-9999` to run many and see what they were."""

import sys
import time

from tests.simulated.run import Ran, run

first, _, last = sys.argv[1].partition("-")
began = time.perf_counter()
ran = [run(seed) for seed in range(int(first), int(last or first) + 1)]
seconds = time.perf_counter() - began
for one in ran[:1] if last else ran:
    sys.stdout.write(f"{one}\n")
total = {name: sum(getattr(one, name) for one in ran) for name in Ran.TOTALS}
sys.stdout.write(f"{len(ran)} runs in {seconds:.1f} s: {total}\n")
