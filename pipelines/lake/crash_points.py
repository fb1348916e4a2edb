"""Named places where a process may end: between any two of them nothing is half done.

`FENCEPOST_CRASH_AT=name:k` kills the whole process group when the place is reached for the k-th
time, and so leaves Spark's JVM an orphan for a while: that is how the tests prove that a killed
process changes no row.
"""

import os
import signal
from collections import Counter
from collections.abc import Callable

CRASH_AT = "FENCEPOST_CRASH_AT"

_passed: Counter[str] = Counter()
_hooks: list[Callable[[str], None]] = []


def point(name: str) -> None:
    """Pass a named place; O(1) where no crash is wanted."""
    for hook in _hooks:
        hook(name)
    wanted = os.environ.get(CRASH_AT)
    if wanted is None:
        return
    _passed[name] += 1
    if wanted == f"{name}:{_passed[name]}":
        os.killpg(os.getpgrp(), signal.SIGKILL)


def on_point(hook: Callable[[str], None]) -> Callable[[], None]:
    """Call `hook` with the name of each place passed; returns what takes it off again."""
    _hooks.append(hook)
    return lambda: _hooks.remove(hook)
