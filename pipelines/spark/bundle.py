"""Our code and its compiled kernels as one archive, for executors that have neither.

Spark unpacks it beside each executor as `fp/`. Kernels are stored in the tree, so that an executor
with a CPU like this one's loads them, and never compiles.

Law: an executor runs the code of the driver that shipped it.
"""

import hashlib
import os
import py_compile
import shutil
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

from fencepost.kernel_cache import ENGINE
from pipelines.disk.atomic import replacing
from pipelines.spark.environment import apart, kernels
from pipelines.spark.environment.faults import SetupError
from pipelines.spark.environment.place import Place, Say

FOLDER = "fp"
"""What the archive is called where it is unpacked."""
ENV = "env"
KEPT = 30 * 86400.0
"""Seconds after its last start that an archive is kept: executors that come later fetch it, too."""
JOB = f"""\
# What spark-submit runs: the commands of `fencepost`, in the session that is there.
import sys

sys.path.insert(0, "{FOLDER}")  # in a container of the cluster; elsewhere it is installed
from fencepost.__main__ import main

main()
"""
ROOMS = ("fencepost", "pipelines", "schemas")
_LEFT_OUT = ("__pycache__", "*.pth", "__editable__*", "fencepost", "fencepost-*")


def shipped(place: Place, say: Say) -> Path:
    """Give the archive of the code as it is; made once, in some seconds, beside the environment."""
    archive = place.made(place.bundles) / f"{_key()}.zip"
    if not archive.is_file():
        make(archive, place, say)
        for old in place.bundles.glob("*.zip"):
            if time.time() - old.stat().st_mtime > KEPT:
                old.unlink(missing_ok=True)
    os.utime(archive)
    return archive


def make(archive: Path, place: Place, say: Say) -> None:
    """Write the archive: about 5 MB, of which byte code is 1.6 and kernels are 2."""
    with (
        tempfile.TemporaryDirectory(prefix="fencepost-bundle-") as scratch,
        replacing(archive) as (passing,),
    ):
        tree = Path(scratch) / FOLDER
        _fill(tree, place, say)
        with zipfile.ZipFile(passing, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as packed:
            for file in _files(tree):
                packed.write(file, file.relative_to(tree))


def make_environment(archive: Path, place: Place, say: Say) -> None:
    """Write this Python's whole environment with our code in it: about 200 MB.

    The Python that it was made from must be at the same path on every machine.
    """
    root = Path(sys.prefix)
    if not (root / "pyvenv.cfg").is_file():
        raise SetupError(f"{root} is no virtual environment, and only one of those can be packed")
    packages = next((root / "lib").glob("python3*")) / "site-packages"
    with (
        tempfile.TemporaryDirectory(prefix="fencepost-bundle-") as scratch,
        replacing(archive) as (passing,),
    ):
        tree = Path(scratch) / FOLDER
        _fill(tree, place, say)
        say(f"packing {root}")
        with tarfile.open(passing, "w:gz", compresslevel=3) as packed:
            for name in ("bin", "pyvenv.cfg", "lib"):
                packed.add(root / name, name, filter=_of_environment)
            for room in tree.iterdir():
                packed.add(room, (packages.relative_to(root) / room.name).as_posix())


def submit(archive: Path, job: Path, *, is_environment: bool) -> list[str]:
    """Give the command that runs `fencepost run` in a cluster, in parts.

    The driver runs here, where no environment is unpacked; in a container of the cluster it is.
    """
    if is_environment:
        pythons = [f"spark.pyspark.python=./{ENV}/bin/python"]
        pythons.append(f"spark.pyspark.driver.python={sys.executable}")
        chosen = [f"--conf {python}" for python in pythons]
        return [f"spark-submit --archives {archive}#{ENV}", *chosen, f"{job} run"]
    path = f"spark.executorEnv.PYTHONPATH={FOLDER}"
    return [f"spark-submit --archives {archive}#{FOLDER} --conf {path}", f"{job} run"]


def _of_environment(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    path = Path(entry.name)
    at_top = path.parent.name == "site-packages"
    is_ours = at_top and any(path.match(pattern) for pattern in _LEFT_OUT)
    return None if is_ours or path.match("pyspark/jars") else entry  # a cluster has the jars


def _fill(tree: Path, place: Place, say: Say) -> None:
    """Copy the rooms and compile them, kernels too."""
    for room in _rooms():
        shutil.copytree(room, tree / room.name, ignore=shutil.ignore_patterns("__pycache__"))
    kernels.compile_kernels(place, say)
    for folder, path in kernels.kept(place.kernels):
        target = tree / ENGINE.name / folder / "__pycache__"
        shutil.copytree(path, target, dirs_exist_ok=True)
    say("compiling what is not compiled yet")
    needed = ("ingest.task", "execute.task", "execute.joins.task", "spark.daemon")
    imports = "\n".join(f"from {apart.module(name)} import work" for name in needed[:-1])
    program = f"{imports}\nfrom {apart.module(needed[-1])} import warm\nwarm()"
    environ = {"PYTHONPATH": str(tree), "NUMBA_CACHE_DIR": "", "PYTHONDONTWRITEBYTECODE": ""}
    fault = apart.run(["-c", program], **environ)
    if fault is not None:
        raise SetupError(f"the kernels cannot be compiled: {fault}")
    for stale in tree.rglob("*.pyc"):  # of what a worker imports; times do not travel
        source = stale.parents[1] / f"{stale.name.partition('.')[0]}.py"
        unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
        name = source.relative_to(tree).as_posix()
        py_compile.compile(str(source), str(stale), dfile=name, invalidation_mode=unchecked)


def _rooms() -> Iterator[Path]:
    """Give the folders of our packages: three in a repository, one where the wheel is installed."""
    above = Path(apart.import_settings()["PYTHONPATH"].split(os.pathsep)[0])
    inside = __name__.startswith(f"{ROOMS[0]}.")  # a folder beside it would be somebody else's
    return (above / room for room in (ROOMS[:1] if inside else ROOMS))


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def _key() -> str:
    """Digest what goes into the archive: 30 ms."""
    digest = hashlib.sha256(kernels.compilers().encode())
    for room in _rooms():
        for file in _files(room):
            if "__pycache__" not in file.parts:
                digest.update(file.relative_to(room.parent).as_posix().encode())
                digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
