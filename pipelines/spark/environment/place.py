"""Where Spark's requirements are stored: beside the Python environment that uses them.

Law: all of it may be deleted at any time; `fencepost doctor --prepare` recreates it.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fencepost.kernel_cache import fingerprint
from pipelines.spark.environment.faults import SetupError

Say = Callable[[str], None]
"""Who hears what a step of the set-up does."""


@dataclass(frozen=True)
class Place:
    """A folder for jars, the archive of classes, the kernels' machine code, Java's answers."""

    root: Path

    @classmethod
    def of_this_python(cls) -> "Place":
        """Return the folder of the running Python: `.venv/share/fencepost`."""
        return cls(Path(sys.prefix) / "share" / "fencepost")

    @property
    def jars(self) -> Path:
        """The folder of the jars."""
        return self.root / "jars"

    @property
    def archives(self) -> Path:
        """The folder of the archive of classes."""
        return self.root / "classes"

    @property
    def kernels(self) -> Path:
        """The folder of the kernels' machine code: Numba's cache, of the engine as it is."""
        return self.root / "kernels" / fingerprint()

    @property
    def bundles(self) -> Path:
        """The folder of archives that are shipped to executors."""
        return self.root / "bundles"

    @property
    def java_answers(self) -> Path:
        """The stored answers of each Java."""
        return self.root / "java.json"

    @property
    def trust_store(self) -> Path:
        """The certificates of SSL_CERT_FILE, as Java reads them."""
        return self.root / "trust.p12"

    def made(self, folder: Path) -> Path:
        """Make one of the folders; SetupError if that is not allowed."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as why:
            raise SetupError(
                f"{folder} cannot be made: {why.strerror}. What Spark needs is kept beside the "
                "Python environment: set it up as the user who owns that, or use a virtual "
                "environment of your own."
            ) from why
        return folder
