"""`python -m fencepost`, and the command `fencepost`: the door to the command line.

One of four doors that lead out of the engine: `dagster.py`, `files.py` and `lake.py` are the
others. Their paths are the same in the repository and in the wheel, where the rooms they lead to
are below `fencepost/_app`.
"""

from pipelines.cli.app import main

if __name__ == "__main__":
    main()
