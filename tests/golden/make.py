"""Makes the golden lakes of a format with the Fencepost on the path, an older one.

    git worktree add --detach ../older 8ed8a38
    PYTHONPATH=$PWD/../older python -m tests.golden.make 1 tests/golden

writes `format-1.tar.xz` with two projects: `whole`, and `cut-off`, whose last run was killed
between the commits of two tables. It only gives commands, as a user would. Format 2 was made by
e2fe708, 3 by 45b94a9, 4 by 50ff5c6, 5 by 1960fe5, 6 by 2243049, 7 by 478af6b.
"""

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.golden import story

CUT_OFF_AT = "epochs.transitions:1"
KILLED = -9
MAIN = "from pipelines.cli.app import main; main()"
"""Where the command stands since format 5; up to 4 it was `pipelines.cli`."""
LEFT_OUT = ("/lake/_cache", "/lake/_lock", "/lake/_waiting")


def fencepost(folder: Path, *words: str, **environ: str) -> int:
    """Give a command in a session of its own, since a crash kills the process group."""
    done = subprocess.run(
        [sys.executable, "-c", MAIN, *words],
        cwd=folder,
        env={**os.environ, **environ},
        check=False,
        start_new_session=True,
    )
    return done.returncode


def make(scratch: Path, number: int) -> None:
    """Tell the story up to its middle, with two ends."""
    whole, cut_off = scratch / "whole", scratch / "cut-off"
    whole.mkdir()
    story.lay_out(whole, number)
    done = [fencepost(whole, "init"), fencepost(whole, "queries", "import", "rules.jsonl")]
    story.land(whole, number, *story.BEFORE)
    done.append(fencepost(whole, "run"))
    story.land(whole, number, story.LAST)
    shutil.copytree(whole, cut_off)
    done.append(fencepost(whole, "run"))
    done.append(fencepost(cut_off, "run", FENCEPOST_CRASH_AT=CUT_OFF_AT))
    assert done == [0, 0, 0, 0, KILLED], done


def main() -> None:
    """Make the lakes of a format and pack them."""
    number, target = int(sys.argv[1]), Path(sys.argv[2])
    with TemporaryDirectory() as scratch:
        make(Path(scratch), number)
        with tarfile.open(target / f"format-{number}.tar.xz", "w:xz", preset=9) as tar:
            for end in ("whole", "cut-off"):
                for part in ("fencepost.toml", "rules.jsonl", "landing", "lake"):
                    tar.add(Path(scratch, end, part), f"{end}/{part}", filter=without_names)


def without_names(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Leave out who made it, and what may be deleted at any time."""
    if any(part in entry.name for part in LEFT_OUT):
        return None
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


if __name__ == "__main__":
    main()
