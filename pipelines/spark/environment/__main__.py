"""`python -m pipelines.spark.environment`: make ready what Spark needs, and say what is done."""

import sys

from fencepost.errors import FencepostError
from pipelines.spark.environment.place import Place
from pipelines.spark.environment.prepare import prepare


def say(sentence: str) -> None:
    """Print a line immediately."""
    sys.stdout.write(f"{sentence}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        prepare(Place.of_this_python(), say)
    except FencepostError as fault:
        sys.stderr.write(f"{fault}\n")
        sys.exit(2)
