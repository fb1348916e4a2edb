"""requirements.lock: every package at one version, held to the hashes of its files."""

import re
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from fencepost.extras import MODULES

REPOSITORY = Path(__file__).resolve().parents[2]
LOCK = (REPOSITORY / "requirements.lock").read_text()
PINNED = re.compile(r"([a-z0-9][a-z0-9._-]*)==(\S+)")
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")


def entries() -> dict[str, str]:
    """What stands in the lock, by package: its line and those that go on from it."""
    logical = re.sub(r"\\\n", " ", re.sub(r"^\s*#.*\n", "", LOCK, flags=re.MULTILINE))
    lines = [line.strip() for line in logical.splitlines() if line.strip()]
    return {re.split(r"[=\s\[;]", line, maxsplit=1)[0]: line for line in lines}


@pytest.mark.fault(71)
def test_every_package_is_pinned_and_held_to_a_hash():
    found = entries()
    assert len(found) > 100
    loose = [name for name, line in found.items() if not PINNED.match(line)]
    unhashed = [name for name, line in found.items() if not HASH.search(line)]
    assert (loose, unhashed) == ([], [])


@pytest.mark.fault(71)
def test_no_entry_says_where_a_package_is_to_be_fetched_from():
    assert not re.search(r"https?://|--(extra-)?index-url|--find-links|git\+| @ ", LOCK)


@pytest.mark.fault(71)
def test_what_is_asked_for_is_in_the_lock_at_a_version_that_fits():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    wanted = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    wanted += [one for extra in extras.values() for one in extra]
    found = entries()
    for requirement in map(Requirement, wanted):
        if requirement.name == "fencepost":  # an extra that has all of another
            assert requirement.extras <= {*extras}
            continue
        pinned = PINNED.match(found[requirement.name])
        assert pinned is not None, requirement
        assert requirement.specifier.contains(pinned[2]), requirement


def test_an_extra_is_named_for_every_module_that_its_packages_bring():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    named = {name: {*modules} for name, modules in MODULES.items()}
    brought: dict[str, set[str]] = {}
    for module, distributions in packages_distributions().items():
        for distribution in distributions:
            brought.setdefault(distribution.lower().replace("_", "-"), set()).add(module)
    for extra, requirements in project["project"]["optional-dependencies"].items():
        for requirement in map(Requirement, requirements):
            if requirement.name != "fencepost":
                assert brought[requirement.name] & named[extra], requirement
    assert not named.keys() - project["project"]["optional-dependencies"].keys()
