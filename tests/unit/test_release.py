"""What `make release` checks: each check finds the fault that it is for.

The archives here are small and made by hand; `make release` itself builds the real ones, which
takes half a minute.
"""

import io
import re
import tarfile
import tomllib
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tests import release

PROJECT = tomllib.loads((release.REPOSITORY / "pyproject.toml").read_text())["project"]
VERSION = PROJECT["version"]
INFO = f"fencepost-{VERSION}.dist-info"
METADATA = f"""Metadata-Version: 2.4
Name: fencepost
Version: {VERSION}
Summary: {PROJECT["description"]}
License-Expression: {PROJECT["license"]}
License-File: LICENSE
Requires-Python: {PROJECT["requires-python"]}
Description-Content-Type: text/markdown

# Fencepost
"""
Files = dict[str, str]


def good_wheel() -> Files:
    return {
        **dict.fromkeys(release.IN_WHEEL, "x = 1\n"),
        f"{INFO}/licenses/LICENSE": "Apache",
        f"{INFO}/METADATA": METADATA,
        f"{INFO}/entry_points.txt": "[console_scripts]\nfencepost = fencepost.__main__:main\n",
    }


def good_sdist() -> Files:
    return {**dict.fromkeys(release.IN_SDIST, "text\n"), "PKG-INFO": METADATA}


def wheel_of(files: Files, folder: Path, record: str | None = None) -> Path:
    rows = [f"{name},{release._digest(text.encode())},{len(text)}" for name, text in files.items()]
    rows.append(f"{INFO}/RECORD,,")
    wheel = folder / f"fencepost-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as packed:
        for name, text in files.items():
            packed.writestr(name, text)
        packed.writestr(f"{INFO}/RECORD", "\n".join(rows) if record is None else record)
    return wheel


def sdist_of(files: Files, folder: Path, root: str = f"fencepost-{VERSION}") -> Path:
    sdist = folder / f"fencepost-{VERSION}.tar.gz"
    with tarfile.open(sdist, "w:gz") as packed:
        for name, text in files.items():
            member = tarfile.TarInfo(f"{root}/{name}")
            member.size = len(text.encode())
            packed.addfile(member, io.BytesIO(text.encode()))
    return sdist


def without(files: Files, name: str) -> Files:
    return {each: text for each, text in files.items() if each != name}


def test_a_good_release_has_no_faults(tmp_path: Path) -> None:
    assert list(release.wheel_faults(wheel_of(good_wheel(), tmp_path), PROJECT)) == []
    assert list(release.sdist_faults(sdist_of(good_sdist(), tmp_path), PROJECT)) == []


def test_the_version_and_the_changelog_of_this_tree_agree() -> None:
    changelog = (release.REPOSITORY / "CHANGELOG.md").read_text()
    assert list(release.version_faults(VERSION, changelog)) == []


@pytest.mark.parametrize(
    ("changelog", "fault"),
    [
        ("## [Unreleased]\n", "no entry"),
        ("## [Unreleased]\n## [9.9.9] - 2026-01-01\n", "newest of CHANGELOG.md is 9.9.9"),
        (f"## [{VERSION}] - 2026-01-01\n", r"no `## \[Unreleased\]`"),
        (
            f"## [Unreleased]\n## [{VERSION}] - 2026-01-01\n## [0.0.1] - 2026-02-02\n",
            "not newest first",
        ),
    ],
)
def test_a_changelog_that_disagrees_is_reported(changelog: str, fault: str) -> None:
    assert_found(release.version_faults(VERSION, changelog), fault)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda files: without(files, f"{INFO}/licenses/LICENSE"), "lacks .*LICENSE"),
        (
            lambda files: without(
                files, "fencepost/_app/pipelines/project/templates/workspace.yaml"
            ),
            "lacks .*workspace.yaml",
        ),
        (lambda files: {**files, "assets/graph.py": ""}, "installs more than fencepost: assets"),
        (lambda files: {**files, "fencepost/__pycache__/a.pyc": ""}, "carries .*__pycache__"),
        (lambda files: without(files, f"{INFO}/entry_points.txt"), "no command `fencepost`"),
        (
            lambda files: {**files, f"{INFO}/METADATA": METADATA.replace("Apache-2.0", "MIT")},
            "License-Expression is 'MIT'",
        ),
        (
            lambda files: {**files, f"{INFO}/METADATA": METADATA.replace("# Fencepost", "")},
            "the description is not README.md",
        ),
    ],
    ids=["licence", "template", "room", "cache", "command", "metadata", "description"],
)
def test_a_fault_of_a_wheel_is_reported(
    change: Callable[[Files], Files], fault: str, tmp_path: Path
) -> None:
    wheel = wheel_of(change(good_wheel()), tmp_path)
    assert_found(release.wheel_faults(wheel, PROJECT), fault)


def test_a_record_that_does_not_match_is_reported(tmp_path: Path) -> None:
    files = good_wheel()
    name = release.IN_WHEEL[0]
    rows = "".join(f"{each},sha256=no,1\n" for each in without(files, name))
    faults = list(release.wheel_faults(wheel_of(files, tmp_path, rows), PROJECT))
    assert any(f"{name} is in the archive alone" in fault for fault in faults)
    assert any(f"{release.IN_WHEEL[1]} does not match RECORD" in fault for fault in faults)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda files: without(files, "hatch_build.py"), "lacks .*hatch_build.py"),
        (lambda files: {**files, "lake/events/a.parquet": ""}, "carries .*lake/events"),
        (lambda files: without(files, "PKG-INFO"), "Name is None"),
    ],
    ids=["builder", "lake", "metadata"],
)
def test_a_fault_of_an_sdist_is_reported(
    change: Callable[[Files], Files], fault: str, tmp_path: Path
) -> None:
    sdist = sdist_of(change(good_sdist()), tmp_path)
    assert_found(release.sdist_faults(sdist, PROJECT), fault)


def assert_found(faults: Iterable[str], expected: str) -> None:
    found = list(faults)
    assert any(re.search(expected, fault) for fault in found), found


@pytest.mark.slow
def test_a_release_builds_and_passes_its_checks(tmp_path: Path) -> None:
    assert release.main(["--out", str(tmp_path)]) == 0
    assert {each.suffix for each in tmp_path.iterdir()} == {".whl", ".gz"}
