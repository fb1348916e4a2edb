"""What makes a command start quickly: Arrow without pandas, and kernels compiled beforehand.

If pandas is installed, Arrow imports it with the first array that it creates: 0.4 s of a
command that takes one. It tries once; if the import fails then, it never tries again, and pandas
itself can still be imported where it is needed.
"""

import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class _NoPandas(MetaPathFinder):
    """Finds no pandas."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Refuse pandas; leave everything else to other finders."""
        del path, target
        if name == "pandas":
            raise ImportError("not now")
        return None


def keep_arrow_alone() -> None:
    """Make Arrow look for pandas now, and find none."""
    if "pandas" in sys.modules:
        return
    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        import pyarrow as pa

        pa.array([1])
    finally:
        sys.meta_path.remove(finder)


def use_compiled_kernels() -> None:
    """Make Numba look where set-up left the kernels' machine code: else joins wait 15 s for it."""
    from pipelines.spark.environment.place import Place

    kernels = Place.of_this_python().kernels
    if os.access(kernels, os.W_OK):
        os.environ.setdefault("NUMBA_CACHE_DIR", str(kernels))
