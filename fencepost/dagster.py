"""What Dagster loads: `module_name: fencepost.dagster` in a workspace.yaml.

Dagster puts the folder it is started in before everything else on the path, and a user's project
may well have an `assets/` or a `pipelines/` of its own. In the repository ours are at the top, so
their folder goes first here; in the wheel they are below `fencepost/_app`, and no name can clash.
"""

import sys
from pathlib import Path

ROOMS = Path(__file__).resolve().parents[1]
if (ROOMS / "assets").is_dir() and not Path(__file__).with_name("_app").is_dir():
    sys.path.insert(0, str(ROOMS))

from assets.definitions import defs  # noqa: E402  the path comes first

__all__ = ["defs"]
