"""A piece of the set-up in a Python of its own: it may be noisy, slow, and may fail."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

PATIENCE = 900.0
"""Seconds until it is given up; a busy machine takes many times what an idle one does."""


def run(arguments: Sequence[str], **environ: str) -> str | None:
    """Run this Python with these arguments; return None, or the last thing it said if it failed."""
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
    """Name a module of ours as it is called here: in the wheel it is deeper."""
    return f"{__name__.removesuffix('.spark.environment.apart')}.{name}"


def import_settings() -> dict[str, str]:
    """Return what a Python of its own must know to import our packages, and only ours.

    The working folder may hold a `pipelines` of the user's.
    """
    top = sys.modules[__name__.partition(".")[0]]
    ours = str(Path(str(top.__file__)).resolve().parents[1])
    paths = [ours, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"PYTHONPATH": os.pathsep.join(paths), "PYTHONSAFEPATH": "1"}
