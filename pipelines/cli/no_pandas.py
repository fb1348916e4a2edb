"""Arrow without pandas, for commands that ask for none.

Wherever pandas is installed, Arrow imports it with the first array that it makes: 0.4 s of a
command that takes one. It asks once; told no, it never asks again, and pandas itself can still be
imported by whoever wants it.
"""

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
        """Refuse pandas; leave everything else to others."""
        del path, target
        if name == "pandas":
            raise ImportError("not now")
        return None


def keep_arrow_alone() -> None:
    """Have Arrow ask for pandas now, and answer that there is none."""
    if "pandas" in sys.modules:
        return
    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        import pyarrow as pa

        pa.array([1])
    finally:
        sys.meta_path.remove(finder)
