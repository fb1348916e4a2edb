"""The documentation is true: its commands run as they stand, and print what it says they print.

What a page shows is run or read by the product; tests/support/commands/snippets.py plays a page.
"""

import contextlib
import io
import re
import shlex
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import typer

from pipelines.cli.app import VARIABLES, app
from pipelines.cli.handbook import PAGES
from pipelines.cli.handbook.configuration import ELSEWHERE
from pipelines.cli.tables import print_answer
from pipelines.project.settings import ENVIRONMENT, Settings, keys, load, understood
from pipelines.project.templates import FOR_DAGSTER, content
from pipelines.serve.views.answers import SqlAnswer
from pipelines.serve.views.spark import refuse_writing, spark_session_views
from tests.support.commands.commands import REPOSITORY
from tests.support.commands.snippets import (
    PLAYED,
    READ,
    SHOWN,
    Block,
    Session,
    alike,
    blocks,
    commands,
)

DOCS = REPOSITORY / "docs"
PAGES_FOR_USERS = [
    REPOSITORY / "README.md",
    *sorted(DOCS.glob("*.md")),
    *sorted(DOCS.glob("tutorials/*.md")),
]
PLAYED_PAGES = [page for page in PAGES_FOR_USERS if any(b.language in PLAYED for b in blocks(page))]
COOKBOOK = DOCS / "sql-cookbook.md"
MAKEFILE = (REPOSITORY / "Makefile").read_text()
ROOMS = "assets|benchmarks|docs|examples|fencepost|pipelines|schemas|tests"
FEEDS = "".join(
    f'[feeds.{name}]\naxes = ["price"]\nsource = "landing/{name}"\n'
    for name in ("ticks", "bids", "asks")
)
ONLY_DUCKDB = "date_diff("


def name_of(page: Path) -> str:
    return str(page.relative_to(REPOSITORY))


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(keys.CONFIG, raising=False)
    for over in ENVIRONMENT.values():
        for variable in over.values():
            monkeypatch.delenv(variable, raising=False)


# What is played


@pytest.mark.parametrize("page", PLAYED_PAGES, ids=name_of)
def test_what_a_page_types_prints_what_the_page_says(page: Path, tmp_path: Path) -> None:
    session = Session(tmp_path)
    for block in blocks(page):
        session.play(block)


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_what_the_cookbook_does_in_spark_gives_what_it_says(tmp_path: Path, spark: Any) -> None:
    reader = laid_out(tmp_path, {"spark": spark})
    for block in of_cookbook("python"):
        if block.takes_spark:
            reader.play(block)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_what_the_cookbook_asks_of_duckdb_spark_answers_alike(tmp_path: Path, spark: Any) -> None:
    settings = load(laid_out(tmp_path).folder)
    spark_session_views(spark, settings.root, settings.tables)
    for block in of_cookbook("sql"):
        if ONLY_DUCKDB not in block.text:
            assert block.answer is not None, block.place
            alike(block.answer, answered_by(spark, block.text), block.place)


def laid_out(folder: Path, names: Mapping[str, Any] | None = None) -> Session:
    """The cookbook's lake, and its marts."""
    session = Session(folder, names or {})
    for block in of_cookbook("console"):
        session.play(block)
    return session


def of_cookbook(language: str) -> list[Block]:
    return [block for block in blocks(COOKBOOK) if block.language == language]


def answered_by(spark: Any, statement: str) -> str:
    refuse_writing(spark, statement)
    rows = spark.sql(statement).toArrow()
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        print_answer(SqlAnswer.of(rows.schema, rows.to_batches()), "table", 0)
    return out.getvalue()


# What is read


def test_no_block_of_a_page_goes_unread():
    for page in PAGES_FOR_USERS:
        languages = {block.language for block in blocks(page)}
        assert languages <= {*PLAYED, *READ, *SHOWN}, name_of(page)


def of_all_pages(language: str) -> list[Block]:
    return [
        block for page in PAGES_FOR_USERS for block in blocks(page) if block.language == language
    ]


@pytest.mark.parametrize("block", of_all_pages("toml"), ids=lambda block: block.place)
def test_settings_that_a_page_shows_are_taken(block: Block) -> None:
    text = block.text if "feeds" in tomllib.loads(block.text) else block.text + FEEDS
    assert understood(text, Path("/project/fencepost.toml")).feeds


@pytest.mark.parametrize("page", PAGES_FOR_USERS, ids=name_of)
def test_every_command_that_a_page_names_is_one_with_the_options_it_is_given(page: Path) -> None:
    text = page.read_text()
    named = re.findall(r"`fencepost ([a-z][^`\n]*)`", text)
    named += [line for block in blocks(page) if block.language == "sh" for line in of_shell(block)]
    for words in named:
        plain = re.sub(r'"[^"]*"', "TEXT", words)
        refuse_unknown(shlex.split(plain, comments=True), f"{name_of(page)}: {words}")


def of_shell(block: Block) -> list[str]:
    return re.findall(r"^(?:[A-Z_]+=\S+ )*fencepost (.*)$", block.text, re.MULTILINE)


def refuse_unknown(words: list[str], place: str) -> None:
    command: Any = typer.main.get_command(app)
    while words and hasattr(command, "commands"):
        name = words.pop(0)
        assert name in command.commands, place
        command = command.commands[name]
    options = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
    assert {word for word in words if word.startswith("-")} <= options | {"--help"}, place


@pytest.mark.parametrize("name", PAGES)
def test_a_page_that_is_written_from_the_code_says_what_the_code_says(name: str) -> None:
    behind = f"docs/{name} is behind the code: python -m pipelines.cli.handbook"
    assert (DOCS / name).read_text(encoding="utf-8") == PAGES[name](), behind


def test_the_help_and_the_configuration_name_the_same_variables():
    over = {variable for table in ENVIRONMENT.values() for variable in table.values()}
    assert {name for name, _ in VARIABLES} == over | set(ELSEWHERE)


def test_the_repository_has_the_files_for_dagster_that_init_writes():
    for name in FOR_DAGSTER:
        assert (REPOSITORY / name).read_text(encoding="utf-8") == content(name)


def test_every_make_target_that_a_page_names_is_one():
    pages = [*PAGES_FOR_USERS, REPOSITORY / "CONTRIBUTING.md", REPOSITORY / "tests" / "README.md"]
    text = "\n".join(page.read_text() for page in pages)
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", text, re.MULTILINE))
    assert {"demo", "test"} <= named
    assert named <= set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))


def test_no_page_points_at_a_file_that_is_not_there():
    pages = [*REPOSITORY.glob("*.md"), *DOCS.glob("**/*.md"), *REPOSITORY.glob("tests/*.md")]
    for page in pages:
        text = page.read_text()
        links = [link for link in re.findall(r"\]\(([^)#]+)[^)]*\)", text) if "://" not in link]
        named = re.findall(rf"`((?:{ROOMS})/[\w./-]*)`", text)
        missing = [link for link in links if not (page.parent / link).exists()]
        missing += [path for path in named if not (REPOSITORY / path).exists()]
        assert not missing, page.name


# What Dagster is said to have


@pytest.mark.parametrize("page", ["tutorials/ticks.md", "tutorials/geofences.md", "operations.md"])
def test_what_a_page_says_is_in_dagster_is_there(page: str, tmp_path: Path) -> None:
    text = (DOCS / page).read_text()
    section = re.split(r"^## .*Dagster$", text, maxsplit=1, flags=re.MULTILINE)[1]
    section = re.split(r"^##", section, maxsplit=1, flags=re.MULTILINE)[0]
    settings = settings_on(DOCS / page, tmp_path)
    (feed,) = settings.feeds
    known = in_dagster(settings)
    spans = re.findall(r"`([^`\n]+)`", section.replace("<feed>", feed))
    named = {
        span for span in spans if re.fullmatch(rf"{feed}/\w+|\w+_{feed}|[a-z]+(_[a-z]+)*", span)
    }
    assert len(named) > 5
    assert named - known <= NOT_DAGSTERS, page


NOT_DAGSTERS = {"lake", "events"}
"""A pool; and a table, of whichever feed."""


def settings_on(page: Path, folder: Path) -> Settings:
    """The first fencepost.toml of a page."""
    for block in blocks(page):
        if block.language == "toml":
            return understood(block.text, folder / keys.FILE)
        for command in commands(block) if block.language == "console" else ():
            if command.line == f"cat {keys.FILE}":
                return understood(command.printed, folder / keys.FILE)
    raise AssertionError(page)


def in_dagster(settings: Settings) -> set[str]:
    """All that a project has in Dagster, by name."""
    from assets.definitions import definitions

    repository: Any = definitions(settings).get_repository_def()
    graph = repository.asset_graph
    return {
        *repository.job_names,
        *(schedule.name for schedule in repository.schedule_defs),
        *(sensor.name for sensor in repository.sensor_defs),
        *("/".join(key.path) for key in graph.get_all_asset_keys()),
        *(
            each.node_def.name
            for each in repository.assets_defs_by_key.values()
            if each.is_executable
        ),
        *(key.name for key in graph.asset_check_keys),
    }
