"""The prompt of `fencepost sql` in pieces: where statements end, what is offered and kept."""

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.cli.prompt import history
from pipelines.cli.prompt.loop import HELP, Prompt, is_command
from pipelines.cli.prompt.statements import is_blank, is_whole, split
from pipelines.cli.prompt.suggestions import suggestions
from pipelines.project.settings import Settings
from pipelines.serve.views import relations
from schemas import all_tables, axes_only

TABLES = all_tables(axes_only({"ticks": ("price", "volume"), "locations": ("x", "y")}))
COMMANDS = {".describe": relations(TABLES), ".format": ("table", "lines"), ".help": ()}


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("select 1;", True),
        ("select 1", False),
        ("select 1; -- a comment", True),
        ("select ';", False),
        ("select 'it''s; not'", False),
        ("select 'it''s; not';", True),
        ('select "a;b"', False),
        ("select 1 -- ;", False),
        ("select 1 /* ; ", False),
        ("select $$;$$", False),
        ("select $a$ ; $$ ; $a$;", True),
        ("select 1; select", False),
        ("select 1; select 2;", True),
        ("", False),
    ],
)
def test_a_statement_ends_at_a_semicolon_outside_of_quotes_and_comments(text, whole):
    assert is_whole(text) is whole


@given(st.text(st.sampled_from("a;'\"$-/* \n")))
def test_statements_and_the_rest_are_the_text(text):
    statements, rest = split(text)
    assert "".join(statements) + rest == text
    assert all(statement.endswith(";") for statement in statements)


def test_comments_alone_are_nothing_to_run():
    assert is_blank(" -- nothing\n/* at all */ ")
    assert not is_blank("-- a\n1")


def offered(text: str, place: int | None = None) -> set[str]:
    """What Tab offers at a place, by default at the end."""
    at = len(text) if place is None else place
    return {each.text for each in suggestions(text, at, relations(TABLES), COMMANDS)}


def test_after_from_views_are_offered_and_no_columns():
    assert offered("select * from vis") == {"visits"}
    assert {"events", "raw_events"} <= offered("select * from ")
    assert "price" not in offered("select * from ")


def test_columns_are_those_of_what_the_statement_names():
    text = "select pr from ticks"
    assert offered(text, len("select pr")) == {"price"}
    assert offered("select pr") == set()
    assert offered("select * from events e join ticks as t where t.vo") == {"volume"}
    assert offered("select * from events e where nobody.") == set()


def test_keywords_and_commands_are_offered_in_their_places():
    assert "GROUP BY" in offered("select type from events gr")
    assert offered(".des") == {".describe"}
    assert offered(".describe visi") == {"visits"}
    assert offered(".format ") == {"table", "lines"}
    assert offered(".help ") == set()


@given(st.text(st.sampled_from("selct. frombv\"'\n")), st.integers(0, 20))
def test_what_is_offered_begins_with_what_was_typed(text, place):
    for each in suggestions(text, place, relations(TABLES), COMMANDS):
        typed = text[:place][len(text[:place]) - each.typed :]
        assert each.text.casefold().startswith(typed.casefold())


def test_what_was_typed_is_kept_in_the_user_s_state_folder(tmp_path):
    assert history.state_folder({"XDG_STATE_HOME": str(tmp_path)}) == tmp_path / "fencepost"
    home = Path.home() / ".local" / "state" / "fencepost"
    assert history.state_folder({}) == home
    assert history.state_folder({"XDG_STATE_HOME": "not/absolute"}) == home


def test_the_history_is_the_user_s_alone_and_does_not_grow_for_ever(tmp_path):
    file = history.prepared(tmp_path / "made")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    kept = history.History(str(file))
    for nth in range(3):
        kept.store_string(f"select {nth}\n, {'x' * (history.MOST_KEPT // 3)};")
    assert file.stat().st_size > history.MOST_KEPT
    history.prepared(tmp_path / "made")
    assert file.stat().st_size < history.MOST_KEPT
    (newest,) = history.History(str(file)).load_history_strings()
    assert newest.startswith("select 2\n")


def test_a_history_that_cannot_be_written_refuses_no_answer(tmp_path):
    kept = history.History(str(tmp_path / "no" / "such" / "folder"))
    kept.store_string("select 1;")
    assert list(kept.load_history_strings()) == []


def test_every_command_is_explained():
    for command in Prompt.COMMANDS:
        assert command in HELP or command == ".quit"
    assert is_command(".nonsense")
    assert is_command(" Exit ")
    assert not is_command("exit now")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (".formt", "Did you mean '.format'?"),
        (".format xml", "unknown format 'xml': table, lines, csv, json"),
        (".limit many", ".limit takes a whole number, 0 for all: 'many'"),
        (".describe", ".describe needs a name"),
        (".describe visit", "Did you mean 'visits'?"),
        (".views all", ".views takes no argument: all"),
        (".format csv json", ".format takes one argument: csv json"),
    ],
)
def test_a_command_that_is_wrong_says_what_is_right(typed, said, capsys):
    prompt = Prompt(Settings(None, Path(os.devnull), {}), "table", None)
    prompt.run(typed)
    assert said in capsys.readouterr().err
    assert not prompt.ended


def test_formats_and_limits_hold_until_they_are_changed(capsys):
    prompt = Prompt(Settings(None, Path(os.devnull), {}), "table", None)
    for typed in (".limit", ".format csv", ".limit", ".limit 5", ".limit 0", ".format", "exit"):
        prompt.run(typed)
    assert capsys.readouterr().out.splitlines() == [
        "limit: 1,000 rows",
        "format: csv",
        "limit: none",
        "limit: 5 rows",
        "limit: none",
        "format: csv",
    ]
    assert prompt.ended
