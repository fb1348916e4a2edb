"""`fencepost sql` at a terminal: what a person sees, types, cancels and ends."""

import time
from pathlib import Path

import pytest

from tests.support.commands.commands import python
from tests.support.commands.terminals import terminal
from tests.support.lakes.queried_project import PROJECT, made, said

ASKS = "fencepost>"
ENDLESS = "select count(*) from range(10000000000) a, range(10000000) b;"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("project"))


@pytest.mark.parametrize(("columns", "more"), [(80, 6), (150, 0), (240, 0)])
def test_columns_that_a_terminal_has_no_room_for_are_counted_and_named(project, columns, more):
    with terminal(project, "sql", "select * from events", columns=columns) as at:
        assert at.ends() == 0
    lines = at.said.splitlines()
    assert all(len(line) <= columns for line in lines)
    named = "… 6 more columns: prev_ts, arrival, epoch, generation, day, place"
    assert (named in lines) is (more == 6)
    assert ("9 columns without a value: volume, x, y" in at.said) is (columns < 240)
    assert ("--format lines shows every column, one per line" in lines) is (columns < 240)
    header = lines[0].split()
    assert len(header) == {80: 7, 150: 13, 240: 22}[columns]


def test_lines_show_every_column_whatever_the_terminal(project):
    told = said(project, "sql", "select * from events", "--format", "lines", "--limit", "2")
    assert told.out.count("── row ") == 2
    assert len(told.out.splitlines()) == 2 * 23
    assert "prev_speed\n" in told.out
    assert told.err == "2 rows\nthe first 2 rows; --limit 0 for all\n"


def test_a_session_at_the_prompt(project):
    with terminal(project, "sql") as at:
        at.shows(".help lists commands; Ctrl-D quits")
        at.shows(ASKS)
        at.types("select type,\r")
        at.shows("...>")
        at.types("count(*) as many from events group by 1 order by 1;\r")
        at.shows("I        3")
        at.shows("2 rows")
        at.shows(ASKS)
        at.types("selec 1;\r")
        at.shows('syntax error at or near "selec"')
        at.shows(ASKS)
        at.types("drop table raw_epochs;\r")
        at.shows("`fencepost sql` only reads")
        at.shows(ASKS)
        at.types(".describe visit\r")
        at.shows("Did you mean 'visits'?")
        at.shows(ASKS)
        at.types("from visi\t limit 1;\r")
        at.shows("entered_ts")
        at.shows(ASKS)
        at.types("select 'half")
        at.types("\x03")
        at.shows(ASKS)
        at.types("select 41 + 1 as answer; select 2 as two;\r")
        at.shows("42")
        at.shows("two")
        at.shows(ASKS)
        at.types("\x04")
        assert at.ends() == 0
    with terminal(project, "sql", "--format", "lines") as at:
        at.shows(ASKS)
        at.types("\x1b[A\r")  # up: what was typed last
        at.shows("── row 1 ──")
        assert "answer  42" in at.shows(ASKS)
        at.types("exit\r")
        assert at.ends() == 0
    assert "+select 41 + 1" in (project / "state/fencepost/sql_history").read_text()


def test_ctrl_c_cancels_a_statement_and_the_prompt_goes_on(project):
    with terminal(project, "sql") as at:
        at.shows(ASKS)
        at.types(f"{ENDLESS}\r")
        at.shows(f"{ENDLESS}\n")
        time.sleep(0.5)
        at.types("\x03")
        at.shows("cancelled")
        at.shows(ASKS)
        at.types("select 'still here' as it;\r")
        at.shows("still here")
        at.types("\x04")  # typed while the statement may still run
        assert at.ends() == 0


def test_where_no_lake_is_no_prompt_opens(tmp_path):
    (tmp_path / "fencepost.toml").write_text(PROJECT)
    with terminal(tmp_path, "sql") as at:
        assert at.ends() == 2
    assert "`fencepost init`" in at.said


def test_only_the_prompt_imports_what_it_needs(tmp_path):
    told = python(
        "import sys; from pathlib import Path; "
        "from tests.support.lakes.queried_project import made, said; "
        f"d = made(Path({str(tmp_path)!r})); said(d, 'sql', 'select 1'); "
        "said(d, 'sql'); said(d, 'status'); print('prompt_toolkit' in sys.modules)"
    )
    assert told.stdout == "False\n", told.stderr
