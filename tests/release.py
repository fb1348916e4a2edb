"""Builds the wheel and the sdist and checks what a user would get: `make release`.

    1  pyproject.toml and CHANGELOG.md agree on the version
    2  the sdist and the wheel build; the wheel built from the sdist has the same files
    3  each archive has its metadata, its licence, what it needs, and nothing else
    4  the wheel installs into an empty environment, and `fencepost --version` runs there

Law: nothing is downloaded and nothing is published. The environment of step 4 gets the wheel alone;
its dependencies are read from the environment that runs this.
"""

import argparse
import base64
import csv
import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from email.parser import HeaderParser
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGE = "fencepost"
IN_WHEEL = (
    "fencepost/engine.py",
    "fencepost/py.typed",
    "fencepost/_app/pipelines/cli/app.py",
    "fencepost/_app/pipelines/project/templates/workspace.yaml",
    "fencepost/_app/pipelines/serve/report/parts/page.css",
    "fencepost/_app/assets/definitions.py",
)
IN_SDIST = ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "CHANGELOG.md", "Makefile")
NEVER = re.compile(r"(^|/)(__pycache__|\.venv|\.cache|\.git|\.dagster|\.hypothesis)/|\.pyc$")
MADE = re.compile(r"^[^/]+/(lake|landing|reports|rules|dist)/")
"""Folders at the top of an sdist that a project here would leave."""

RELEASED = re.compile(r"^## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d{2}-\d{2})$", re.MULTILINE)


def version_faults(version: str, changelog: str) -> Iterator[str]:
    """Compare the version with the newest dated entry of the changelog."""
    released = RELEASED.findall(changelog)
    if not released:
        yield "CHANGELOG.md has no entry like `## [1.2.3] - 2026-01-31`"
    elif released[0][0] != version:
        yield f"the version is {version}, the newest of CHANGELOG.md is {released[0][0]}"
    if [day for _, day in released] != sorted((day for _, day in released), reverse=True):
        yield "the entries of CHANGELOG.md are not newest first"
    if "## [Unreleased]" not in changelog:
        yield "CHANGELOG.md has no `## [Unreleased]`"


def wheel_faults(wheel: Path, project: Mapping[str, object]) -> Iterator[str]:
    """Check a wheel's names, its metadata and the hashes of its RECORD."""
    info = f"{PACKAGE}-{project['version']}.dist-info"
    with zipfile.ZipFile(wheel) as packed:
        names = [name for name in packed.namelist() if not name.endswith("/")]
        files = {name: packed.read(name) for name in names}
    if top := {name.partition("/")[0] for name in names} - {PACKAGE, info}:
        yield f"{wheel.name} installs more than {PACKAGE}: {', '.join(sorted(top))}"
    yield from _missing(wheel, names, [*IN_WHEEL, f"{info}/licenses/LICENSE"])
    yield from _strays(wheel, names)
    if (record := files.get(f"{info}/RECORD")) is None:
        yield f"{wheel.name} has no RECORD"
    else:
        yield from _record_faults(wheel, files, record.decode(), f"{info}/RECORD")
    metadata = files.get(f"{info}/METADATA", b"").decode()
    yield from (f"{wheel.name}: {fault}" for fault in metadata_faults(metadata, project))
    if b"fencepost = fencepost.__main__:main" not in files.get(f"{info}/entry_points.txt", b""):
        yield f"{wheel.name} has no command `fencepost`"


def sdist_faults(sdist: Path, project: Mapping[str, object]) -> Iterator[str]:
    """Check that an sdist can be built from, and carries nothing that was made."""
    root = f"{PACKAGE}-{project['version']}"
    with tarfile.open(sdist) as packed:
        members = {each.name: each for each in packed.getmembers() if each.isfile()}
        metadata = packed.extractfile(f"{root}/PKG-INFO") if f"{root}/PKG-INFO" in members else None
        text = metadata.read().decode() if metadata is not None else ""
    if top := {name.partition("/")[0] for name in members} - {root}:
        yield f"{sdist.name} unpacks beside {root}: {', '.join(sorted(top))}"
    yield from _missing(sdist, members, [f"{root}/{name}" for name in IN_SDIST])
    yield from _strays(sdist, members)
    yield from (f"{sdist.name} carries {name}" for name in sorted(members) if MADE.search(name))
    yield from (f"{sdist.name}: {fault}" for fault in metadata_faults(text, project))


def metadata_faults(text: str, project: Mapping[str, object]) -> Iterator[str]:
    """Compare core metadata with pyproject.toml."""
    metadata = HeaderParser().parsestr(text)
    wanted = {
        "Name": PACKAGE,
        "Version": project["version"],
        "Summary": project["description"],
        "License-Expression": project["license"],
        "License-File": "LICENSE",
        "Description-Content-Type": "text/markdown",
    }
    for field, value in wanted.items():
        if metadata[field] != value:
            yield f"{field} is {metadata[field]!r}, expected {value!r}"
    if set(str(metadata["Requires-Python"]).split(",")) != set(
        str(project["requires-python"]).split(",")
    ):
        yield f"Requires-Python is {metadata['Requires-Python']!r}"
    if not str(metadata.get_payload()).lstrip().startswith("# Fencepost"):
        yield "the description is not README.md"


def _missing(archive: Path, names: Iterable[str], wanted: Iterable[str]) -> Iterator[str]:
    there = set(names)
    yield from (f"{archive.name} lacks {name}" for name in wanted if name not in there)


def _strays(archive: Path, names: Iterable[str]) -> Iterator[str]:
    yield from (f"{archive.name} carries {name}" for name in sorted(names) if NEVER.search(name))


def _record_faults(
    wheel: Path, files: Mapping[str, bytes], record: str, itself: str
) -> Iterator[str]:
    listed = {row[0]: row[1] for row in csv.reader(io.StringIO(record)) if row}
    for name in sorted(set(files) ^ set(listed)):
        yield f"{wheel.name}: {name} is in {'RECORD' if name in listed else 'the archive'} alone"
    for name, digest in listed.items():
        if name in files and name != itself and digest != _digest(files[name]):
            yield f"{wheel.name}: {name} does not match RECORD"


def _digest(data: bytes) -> str:
    raw = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
    return f"sha256={raw.decode()}"


def build(source: Path, target: str, folder: Path) -> Path:
    """Build one archive of a source tree with hatchling."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (built,) = folder.glob("*.whl" if target == "wheel" else "*.tar.gz")
    return built


def rebuilt_faults(sdist: Path, wheel: Path, scratch: Path) -> Iterator[str]:
    """Build the wheel again from the sdist, and compare the files."""
    with tarfile.open(sdist) as packed:
        packed.extractall(scratch, filter="data")
    (source,) = scratch.iterdir()
    again = build(source, "wheel", scratch / "dist")
    ours, theirs = _hashes(wheel), _hashes(again)
    for name in sorted(ours.keys() | theirs.keys()):
        if ours.get(name) != theirs.get(name):
            yield f"{name} differs in the wheel built from {sdist.name}"


def _hashes(wheel: Path) -> dict[str, str]:
    with zipfile.ZipFile(wheel) as packed:
        return {name: _digest(packed.read(name)) for name in packed.namelist()}


def installed_faults(wheel: Path, version: str, folder: Path) -> Iterator[str]:
    """Install the wheel into an empty environment and run it from an empty folder."""
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    pip = [python, "-m", "pip", "install", "-q", "--no-deps", "--no-index", wheel]
    subprocess.run([*map(str, pip)], check=True)
    (site,) = (folder / "venv").glob("lib/python*/site-packages")
    dependencies = [path for path in sys.path if path.endswith("site-packages")]
    (site / "dependencies.pth").write_text("".join(f"{path}\n" for path in dependencies))
    (folder / "empty").mkdir()
    environ = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "FENCEPOST_CONFIG"}}
    command = [str(python.with_name(PACKAGE)), "--version"]
    done = subprocess.run(
        command, cwd=folder / "empty", env=environ, capture_output=True, text=True, check=False
    )
    if done.returncode or done.stdout.strip() != f"{PACKAGE} {version}":
        yield f"installed, `fencepost --version` printed: {done.stdout}{done.stderr}".rstrip()


def main(arguments: list[str] | None = None) -> int:
    """Build into --out and check; 1 if anything is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.release", description=__doc__)
    parser.add_argument("--out", type=Path, default=REPOSITORY / "dist", help="default: dist/")
    out: Path = parser.parse_args(arguments).out
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    faults = list(version_faults(project["version"], (REPOSITORY / "CHANGELOG.md").read_text()))
    _step("version and changelog", faults)
    with tempfile.TemporaryDirectory(prefix="fencepost-release-") as scratch:
        folder = Path(scratch)
        sdist = build(REPOSITORY, "sdist", folder / "sdist")
        wheel = build(REPOSITORY, "wheel", folder / "wheel")
        (folder / "unpacked").mkdir()
        (folder / "installed").mkdir()
        faults += _step("sdist", sdist_faults(sdist, project))
        faults += _step("wheel", wheel_faults(wheel, project))
        faults += _step("wheel from the sdist", rebuilt_faults(sdist, wheel, folder / "unpacked"))
        installed = installed_faults(wheel, project["version"], folder / "installed")
        faults += _step("installed", installed)
        if faults:
            return 1
        out.mkdir(parents=True, exist_ok=True)
        for archive in (sdist, wheel):
            data = archive.read_bytes()
            (out / archive.name).write_bytes(data)
            digest = hashlib.sha256(data).hexdigest()
            _print(f"{out / archive.name}  {len(data) / 1e6:.1f} MB  sha256 {digest}")
    return 0


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _step(name: str, faults: Iterable[str]) -> list[str]:
    found = list(faults)
    _print(f"  {'✗' if found else '✓'} {name}")
    for fault in found:
        _print(f"      {fault}")
    return found


if __name__ == "__main__":
    sys.exit(main())
