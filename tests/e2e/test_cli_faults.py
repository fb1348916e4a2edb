"""What a stranger does wrong: every message says what was given, what was expected, what to do."""

import contextlib
import shlex
from pathlib import Path

import pytest

from pipelines.cli.errors import MOST_FAULTS
from pipelines.cli.exit_codes import Code
from tests.support.commands.commands import Said, fencepost
from tests.support.commands.files import written

TOML = '[run]\nrunner = "here"\n[feeds.ticks]\naxes = ["price"]\nsource = "landing/ticks"\n'
RULE = '{"id": "band", "feed": "ticks", "where": "price >= 2 AND price < 5"}\n'
TICKS = "stream_id,ts,price\na,2026-11-18T09:00:00Z,1\n"


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project beside things that are none of what is asked for."""
    folder = tmp_path_factory.mktemp("odd")
    (folder / "p").mkdir()
    written(folder / "p", "fencepost.toml", TOML)
    with contextlib.chdir(folder / "p"):
        assert fencepost("init").code == 0
    written(folder, "rule.jsonl", RULE)
    written(folder, "ticks.csv", TICKS)
    written(folder, "empty", "")
    written(folder, "binary", bytes(range(256)) * 4)
    written(folder, "naïve ☃.jsonl", RULE.replace("price", "preis"))
    (folder / "folder").mkdir()
    return folder


def said(folder: Path, line: str) -> Said:
    with contextlib.chdir(folder):
        return fencepost(*shlex.split(line))


def made_in(folder: Path) -> list[Path]:
    """All that lies there, but for the lock of the lake."""
    return sorted(path for path in folder.rglob("*") if not path.name.startswith("_"))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("statsu", "no such command 'statsu'. Did you mean 'status'?\nFor help: fencepost --"),
        ("sql --limit x", "--limit: 'x' was given, where a whole number was expected\nFor help"),
        ("sql --limit -1", "--limit: '-1' was given, where 0 or more was expected"),
        (
            "sql -f xml",
            "is not one of table, lines, csv, json, parquet, geojson, geoparquet\nFor help",
        ),
        ("sql --frmat csv", "no such option: --frmat (Possible options: --format)\nFor help:"),
        ("ui --port 99999", "--port: '99999' was given, where 65535 or less was expected"),
        ("eval -q rule.jsonl", "fencepost eval: missing option '--tuples' / '-t'.\nFor help"),
        ("partitions", "missing argument 'LANE'"),
        ("maintain --keep-files 3", "'3' is not a duration like '90s', '3m'"),
        ("watch --every 0s", "'0s' was given, where something longer than 0s was expected"),
        ("status", "there is no fencepost.toml in {odd} or in a folder above it: `fencepost init`"),
        ("status -c folder", "folder/fencepost.toml: cannot be read: No such file"),
        ("status -c binary", "is not UTF-8"),
        ("status -c empty", "empty: no feed is declared\n    write [feeds.<name>]"),
        ("status -c p --lake folder", "there is no lake at {odd}/folder: `fencepost init` makes"),
        ("status -c p --lake ticks.csv", "part of it is a file, where a folder was expected"),
        ("partitions tick -c p", "unknown feed 'tick'; there are: ticks.  Did you mean 'ticks'?"),
        ("partitions ticks ../x -c p", "'../x' is no partition of 'ticks': its partitions are of"),
        ("partitions ticks --again -c p", "--again needs a KEY: name the partitions"),
        ("queries import -c p", 'fencepost.toml names none: give one, or write queries = "rules"'),
        ("queries import nowhere -c p", "nowhere: there is no such file"),
        ("queries import folder -c p", "folder: is a folder, where a file was expected: give the"),
        ("queries import 'naïve ☃.jsonl' -c p", "naïve ☃.jsonl:1: unknown axis 'preis' in `where`"),
        ("queries add nonsense -c p", "query: not JSON: expecting value at column 1"),
        ("queries show '\x1b[31m' -c p", "no active query '\\x1b[31m'."),
        ("queries remove -c p", "name the queries by ID or --file, or give --owner"),
        ("queries export -o folder -c p", "folder cannot be written: Is a directory"),
        ("sql --file binary -c p", "binary is not UTF-8: --file needs a text file with one"),
        ("sql --file nowhere -c p", "No such file or directory; --file needs a text file"),
        ("sql 'from evnts' -c p", "Did you mean 'events'?"),
        ("sql --describe visit -c p", "unknown table or view 'visit'.  Did you mean 'visits'?\n"),
        ("sql 'select 1' --json -f csv -c p", "--json cannot be combined with --format csv"),
        ("sql 'select 1' --describe events -c p", "--describe cannot be combined with a statement"),
        ("quarantine show --reason new -c p", "unknown reason 'new'; there are: malformed, future"),
        (
            "quarantine show --limit 99999999999999999999 -c p",
            "was given, where 4611686018427387904",
        ),
        ("generate ticks --out x.foo", "expected a name that ends in .csv, .jsonl, .parquet"),
        ("generate ticks --out x.csv --streams 9999999999", "memory, and"),
        ("eval -q rule.jsonl -t ticks=empty -o out", "is empty; a header with stream_id, ts and"),
        (
            "eval -q rule.jsonl -t ticks.csv -o empty",
            "empty is a file, where a folder was expected",
        ),
        ("ui -c p --host 0.0.0.0", "the UI has no login: add --expose if that is intended"),
        ("ui -c p --host 192.0.2.1 --expose", "cannot listen on '192.0.2.1'"),
    ],
)
def test_what_is_given_wrongly_is_told_with_what_to_do(odd, line, words):
    before = made_in(odd)
    told = said(odd, line)
    assert (told.code, told.out) == (Code.REFUSED, "")
    assert words.format(odd=odd) in told.err
    assert "Traceback" not in told.err
    assert all(text.isprintable() for text in told.err.splitlines())
    assert made_in(odd) == before, "nothing is made where something is wrong"


def test_of_very_many_faults_the_first_are_told_and_all_are_counted(odd, tmp_path):
    many = MOST_FAULTS + 5
    written(tmp_path, "noise.jsonl", "{\n" * many)
    told = said(odd, f"queries import {tmp_path / 'noise.jsonl'} -c p")
    assert told.code == Code.REFUSED
    assert told.err.endswith(f"… and 5 more\n{many} faults, nothing imported.\n")
    assert f"noise.jsonl:{MOST_FAULTS}: " in told.err
    assert f"noise.jsonl:{MOST_FAULTS + 1}: " not in told.err


def test_a_doctor_who_is_shown_something_broken_says_so_and_ends_with_1(odd):
    for line, words in (
        ("doctor --lake binary", "is a file, where a folder was expected"),
        ("doctor -c empty", "no feed is declared"),
        ("doctor -c nowhere", "cannot be read: No such file"),
    ):
        told = said(odd, line)
        assert told.code == Code.FAILED
        assert words in told.out
