"""A step of the set-up in its own Python process: it may be noisy or slow, and may fail."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

PATIENCE = 900.0
"""Seconds until it is given up; a busy machine takes many times what an idle one does."""


def run(arguments: Sequence[str], **environ: str) -> str | None:
    """Run this Python with these arguments; return None, or its last line of output on failure."""
    try:
        done = subprocess.run(  # noqa: S603  this Python
            [sys.executable, *arguments],
            env={**os.environ, **import_settings(), **environ},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"no end after {PATIENCE / 60:.0f} minutes"
    if done.returncode == 0:
        return None
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    return lines[-1] if lines else f"it ended with {done.returncode}"


def module(name: str) -> str:
    """Give the name of one of our modules as installed: in the wheel it is deeper."""
    return f"{__name__.removesuffix('.spark.environment.apart')}.{name}"


def import_settings() -> dict[str, str]:
    """Return the environment in which another Python imports our packages, and only ours.

    The working folder may hold a `pipelines` by the user.
    """
    top = sys.modules[__name__.partition(".")[0]]
    ours = str(Path(str(top.__file__)).resolve().parents[1])
    paths = [ours, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"PYTHONPATH": os.pathsep.join(paths), "PYTHONSAFEPATH": "1"}
