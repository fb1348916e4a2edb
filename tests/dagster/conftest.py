"""Projects for the tests of the Dagster shell."""

from pathlib import Path

import pytest

from pipelines.settings import ENVIRONMENT
from tests.dagster.project import Project, made, with_rules


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose rules are registered, and into which nothing has landed."""
    return with_rules(made(tmp_path_factory.mktemp("template") / "project"))


@pytest.fixture
def project(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project of one's own; no word of the environment on it."""
    for variables in ENVIRONMENT.values():
        for variable in variables.values():
            monkeypatch.delenv(variable, raising=False)
    return Project.copied(template, tmp_path / "project")
