"""Projects for the tests of the Dagster shell."""

from pathlib import Path

import pytest

from pipelines.project.settings import ENVIRONMENT
from tests.dagster.project import JOINED_RULES, JOINED_TOML, Project, made, with_rules


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose rules are registered, and into which nothing has landed."""
    return with_rules(made(tmp_path_factory.mktemp("template") / "project"))


@pytest.fixture(scope="session")
def unjoined_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of two feeds whose joins are shown, and of no queries."""
    folder = tmp_path_factory.mktemp("joined") / "project"
    return made(folder, toml=JOINED_TOML, rules=JOINED_RULES)


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no word of the environment on a project."""
    for variables in ENVIRONMENT.values():
        for variable in variables.values():
            monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def project(template: Path, tmp_path: Path, plain: None) -> Project:
    """A project of one's own."""
    del plain
    return Project.copied(template, tmp_path / "project")


@pytest.fixture
def unjoined(unjoined_template: Path, tmp_path: Path, plain: None) -> Project:
    """A project of bids and asks, whose rules nobody has registered."""
    del plain
    return Project.copied(unjoined_template, tmp_path / "project")


@pytest.fixture
def joined(unjoined: Project) -> Project:
    """A project of bids, asks and joins of both."""
    with_rules(unjoined.folder)
    return unjoined
