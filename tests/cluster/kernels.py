"""The machine code that was shipped to executors, and what they have in the end."""

import zipfile
from collections.abc import Mapping
from pathlib import Path

from pipelines.spark import bundle
from pipelines.spark.environment.place import Place

Kernels = Mapping[str, bytes]


def shipped() -> Kernels:
    """Give the machine code in the archive of the code as it is."""
    with zipfile.ZipFile(bundle.shipped(Place.of_this_python(), print)) as archive:
        return {name: archive.read(name) for name in archive.namelist() if _is_kernel(name)}


def found_in(folder: Path) -> Kernels:
    """Give the machine code where an archive was unpacked: what was compiled there is in it."""
    files = (path for path in folder.rglob("*") if _is_kernel(path.name))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def _is_kernel(name: str) -> bool:
    return name.endswith((".nbi", ".nbc"))
