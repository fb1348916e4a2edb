"""`fencepost queries` as a user types it: what it registers, what it says, what it refuses."""

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.cli.exit_codes import Code
from pipelines.lake.lock import hold
from pipelines.project.settings import load
from pipelines.registry.query_files import rule_files
from tests.support.commands.commands import fencepost, python
from tests.support.commands.files import written
from tests.support.commands.ruled_project import ALL, RULES, TOML, queries, ruled_project, standing


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with an empty lake, and three rules in `rules.jsonl`."""
    return ruled_project(tmp_path, monkeypatch)


def test_rules_are_imported_once_and_listed(folder):
    said = queries(folder, "import", "rules.jsonl")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("3 added: registry version 1, number 1 in the sequence")
    again = queries(folder, "import", "rules.jsonl", "--json")
    assert again.summary == {
        "n": None,
        "registry_version": 1,
        "added": 0,
        "changed": 0,
        "edited": 0,
        "unchanged": 3,
        "removed": 0,
    }
    assert queries(folder, "list").out == (
        "id             version  kind      feed       where               streams  within  owner"
        "  tags\n"
        "depot-7        1        crossing  locations  x < 4230 AND y < 9  all      3m\n"
        "aapl-breakout  1        crossing  ticks      price >= 231.5      AAPL\n"
        "thin           1        crossing  ticks      volume < 10         all              ada"
        "    a, b\n"
    )


def test_faults_are_told_line_by_line_and_nothing_is_imported(folder):
    typo = RULES.replace("price", "prize").replace("volume < 10", "volume <")
    said = queries(folder, "import", "rules.jsonl", written(folder, "typo.jsonl", typo).name)
    assert (said.code, said.out) == (2, "")
    assert said.err == (
        "typo.jsonl:1: unknown axis 'prize' in `where` at column 1\n"
        "    prize >= 231.5\n"
        "    ^^^^^\n"
        "    the feed 'ticks' has: price, volume.  Did you mean 'price'?\n"
        "typo.jsonl:3: `volume <` ends where a number was expected (column 9)\n"
        "    volume <\n"
        "            ^\n"
        "2 faults, nothing imported.\n"
    )
    assert standing(folder) == []


def test_files_may_be_packed_or_parquet(folder):
    written(folder, "rules.jsonl.gz", gzip.compress(RULES.encode()))
    table = pa.table({"id": ["p"], "x_lo": [1.0], "x_hi": [2.0], "note": ["from a table"]})
    pq.write_table(table, folder / "zones.parquet")
    said = queries(folder, "import", "rules.jsonl.gz", "zones.parquet", "--feed", "locations")
    assert said.code == 0, said.err
    assert standing(folder) == sorted([*ALL, "p"])
    assert queries(folder, "list", "--id", "p", "--json").summary == {
        "queries": [
            {
                "id": "p",
                "feed": "locations",
                "where": "x >= 1.0 AND x < 2.0",
                "note": "from a table",
            }
        ],
        "total": 1,
    }
    without = queries(folder, "import", "zones.parquet")
    assert (without.code, "no column 'feed'" in without.err) == (2, True)


def test_a_query_is_added_by_json_or_by_options(folder):
    query = '{"id": "q", "feed": "ticks", "where": "price > 1", "streams": ["A", "B"]}'
    assert queries(folder, "add", query, "--json").summary["added"] == 1
    options = ("--id", "q", "--feed", "ticks", "--where", "price > 1", "--streams", "A,B")
    assert queries(folder, "add", *options, "--json").summary["unchanged"] == 1
    more = (
        "--within", "3m", "--on-first", "enter", "--valid-from", "2026-01-01T00:00:00Z",
        "--valid-to", "2027-01-01T00:00:00Z", "--owner", "ada", "--tag", "x, y", "--tag", "z",
        "--note", "n", "--streams", "C",
    )  # fmt: skip
    assert queries(folder, "add", *options, *more, "--json").summary["changed"] == 1
    assert json.loads(queries(folder, "export").out) == {
        "id": "q",
        "feed": "ticks",
        "where": "price > 1",
        "streams": ["A", "B", "C"],
        "within": "3m",
        "on_first": "enter",
        "valid_from": "2026-01-01T00:00:00Z",
        "valid_to": "2027-01-01T00:00:00Z",
        "owner": "ada",
        "tags": ["x, y", "z"],
        "note": "n",
    }


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ("list", "--kind", "mach"),
            "unknown kind 'mach'; there are: crossing, match, window_join, band_join, near_join.",
        ),
        (
            ("add", "--id", "m", "--feed", "ticks", "--kind", "match", "--where", "ALL",
             "--within", "3m"),
            "a `match` has no `within`",
        ),
        (
            ("add", "--id", "m", "--feed", "ticks", "--where", "price > volume"),
            "only `match` queries compare two axes",
        ),
        (
            ("add", "--id", "m", "--feed", "ticks", "--kind", "band_join", "--where", "ALL"),
            "a `band_join` has no `where`",
        ),
        (
            ("add", "--id", "m", "--kind", "band_join", "--left", "ticks.price", "--right",
             "locations.x", "--between=1,a"),
            "the upper end of `between` must be a number, not text",
        ),
        (
            ("add", "--id", "m", "--kind", "window_join", "--left", "ticks", "--right",
             "locations", "--on", "left.price > 5", "--window", "5 minutes"),
            "what is compared with a number belongs in `where`",
        ),
    ],
)  # fmt: skip
def test_what_a_kind_has_not_is_refused_in_words(folder, arguments, told):
    said = queries(folder, *arguments)
    assert (said.code, said.out) == (2, "")
    assert told in said.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "give the query as one JSON object, or else by --id"),
        (("{}", "--id", "q"), "give the query as one JSON object, or else by --id"),
        (("{",), "query: not JSON"),
        (("--id", "q", "--feed", "tick", "--where", "ALL"), "unknown feed 'tick'"),
        (("--id", "q", "--where", "ALL"), "query: `feed` is missing"),
        (("--id", "q", "--feed", "ticks", "--where", "ALL", "--within", "3"), "not a duration"),
    ],
)
def test_a_query_that_is_none_is_refused(folder, arguments, told):
    said = queries(folder, "add", *arguments)
    assert (said.code, said.out) == (2, "")
    assert told in said.err
    assert standing(folder) == []


def test_a_query_is_shown_with_its_boxes_and_its_past(folder):
    queries(folder, "import", "rules.jsonl")
    queries(folder, "add", RULES.splitlines()[2].replace("ada", "bob"))
    queries(folder, "remove", "thin")
    wild = '{"id": "thin", "feed": "ticks", "where": "volume < 1 OR price >= 5"}'
    queries(folder, "add", wild)
    said = queries(folder, "show", "thin")
    assert said.code == 0, said.err
    lines = said.out.splitlines()
    assert lines[0] == "thin  version 2, active"
    assert "  box 1       price (-∞, ∞) × volume (-∞, 1.0)" in lines
    assert "  box 2       price [5.0, ∞) × volume (-∞, ∞)" in lines
    past = [line.split()[0:2] + line.split()[3:] for line in lines if line[:1].isdigit()]
    assert past == [
        ["1", "1", "1", "added"],
        ["2", "2", "1", "edited:", "owner"],
        ["3", "3", "1", "removed"],
        ["4", "4", "2", "added", "again"],
    ]
    assert json.loads(lines[-1]) == json.loads(wild)
    shown = json.loads(queries(folder, "show", "thin", "--json").out)
    assert [each["what"] for each in shown["history"]][-1] == "added again"
    unknown = queries(folder, "show", "thing")
    assert (unknown.code, unknown.err) == (
        2,
        "no active query 'thing'.  Did you mean 'thin'?\n",
    )


def test_queries_are_removed_by_id_by_file_or_by_owner_all_or_none(folder):
    queries(folder, "import", "rules.jsonl")
    written(folder, "ids.txt", "depot-7\r\n\nno-such\n")
    said = queries(folder, "remove", "thin", "thing", "--file", "ids.txt")
    assert said.code == 2
    assert said.err == (
        "remove: no active query 'thing'.  Did you mean 'thin'?\n"
        "ids.txt:3: no active query 'no-such'.\n"
        "2 faults, nothing removed.\n"
    )
    assert standing(folder) == ALL
    written(folder, "ids.txt", "depot-7\n")
    assert queries(folder, "remove", "--file", "ids.txt", "--json").summary["removed"] == 1
    asked = queries(folder, "remove", "--owner", "ada")
    assert (asked.code, asked.err) == (
        2,
        "1 query would be removed: add --yes to confirm. Nothing changed.\n",
    )
    assert "no query is owned by 'bob'" in queries(folder, "remove", "--owner", "bob", "-y").err
    assert queries(folder, "remove", "--owner", "ada", "--yes", "--json").summary["removed"] == 1
    assert standing(folder) == ["aapl-breakout"]
    assert queries(folder, "remove").code == 2
    assert queries(folder, "remove", "x", "--owner", "y").code == 2


def test_a_file_replaces_all_or_a_feed_and_only_when_told_so(folder):
    queries(folder, "import", "rules.jsonl")
    written(folder, "new.jsonl", RULES.splitlines()[0])
    asked = queries(folder, "import", "--replace", "new.jsonl")
    assert (asked.code, "2 queries would be removed" in asked.err) == (2, True)
    feed = ("--feed", "ticks")
    said = queries(folder, "import", "--replace", *feed, "--yes", "new.jsonl", "--json")
    assert (said.summary["removed"], said.summary["unchanged"]) == (1, 1)
    assert standing(folder) == ["aapl-breakout", "depot-7"]
    assert queries(folder, "import", "--replace", "--yes", "new.jsonl").code == 0
    assert standing(folder) == ["aapl-breakout"]


def test_without_a_file_those_of_the_project_are_imported(folder):
    said = queries(folder, "import")
    assert (said.code, 'write queries = "rules" under [lake]' in said.err) == (2, True)
    written(folder, "fencepost.toml", TOML.replace('"lake"', '"lake"\nqueries = "rules"', 1))
    said = queries(folder, "import")
    assert (said.code, "rules, where the standing queries are" in said.err) == (2, True)
    rules = folder / "rules"
    (rules / "more.jsonl").mkdir(parents=True)
    written(rules, ".old.jsonl", "{")
    written(rules, "notes.txt", "not a query")
    said = queries(folder, "import")
    assert (said.code, "has no file of queries" in said.err) == (2, True)
    lines = RULES.splitlines(keepends=True)
    written(rules, "b.jsonl.gz", gzip.compress(lines[0].encode()))
    written(rules, "a.jsonl", lines[2])
    table = pa.table({"id": ["p"], "feed": ["ticks"], "price_lo": [1.0], "price_hi": [2.0]})
    pq.write_table(table, rules / "c.parquet")
    listed = [path.name for path in rule_files(load(folder / "fencepost.toml"))]
    assert listed == ["a.jsonl", "b.jsonl.gz", "c.parquet"]
    assert queries(folder, "import", "--json").summary["added"] == 3
    assert standing(folder) == ["aapl-breakout", "p", "thin"]
    written(folder, "fencepost.toml", TOML.replace('"lake"', '"lake"\nqueries = "rules.jsonl"', 1))
    assert queries(folder, "import", "--replace", "--yes", "--json").summary["removed"] == 1
    assert standing(folder) == ALL


def test_the_list_is_narrowed_and_cut(folder):
    queries(folder, "import", "rules.jsonl")

    def ids(*arguments: str) -> list[str]:
        told = queries(folder, "list", *arguments, "--json").summary
        return [query["id"] for query in told["queries"]]

    assert ids("--feed", "ticks") == ["aapl-breakout", "thin"]
    assert ids("--owner", "ada") == ids("--tag", "b") == ids("--id", "th*") == ["thin"]
    assert ids("--tag", "a, b") == ids("--owner", "ad") == ids("--id", "TH*") == []
    assert ids("--limit", "2") == ["depot-7", "aapl-breakout"]
    assert queries(folder, "list", "--limit", "2", "--json").summary["total"] == 3
    assert queries(folder, "list", "--id", "none", "--json").summary == {"queries": [], "total": 0}
    assert queries(folder, "list", "--limit", "1").out.endswith("… 1 of 3; --limit 0 lists all\n")
    assert queries(folder, "list", "--owner", "x").out == "no active query matches\n"
    said = queries(folder, "list", "--feed", "tick")
    assert (said.code, "Did you mean 'ticks'?" in said.err) == (2, True)


@pytest.mark.fault(68)
def test_what_is_exported_imports_to_the_same_and_moves_no_cursor(folder):
    note = "a\n\x1b[2J\x9b31m\u202e'; DROP TABLE queries; --"
    hostile = json.dumps({"id": "'\u202ex\u2028", "feed": "ticks", "where": "ALL", "note": note})
    written(folder, "more.jsonl", RULES + hostile + "\n")
    queries(folder, "import", "more.jsonl")
    assert queries(folder, "export", "--out", "all.jsonl").out == "all.jsonl: 4 standing queries\n"
    assert queries(folder, "import", "all.jsonl", "--json").summary["unchanged"] == 4
    assert queries(folder, "export").out == (folder / "all.jsonl").read_text()
    lines = (folder / "all.jsonl").read_text().splitlines()
    told = queries(folder, "export", "--json").summary
    assert told == {"queries": [json.loads(line) for line in lines]}
    again = queries(folder, "export", "--out", "all.jsonl", "--json").summary
    assert again == {"out": "all.jsonl", "queries": 4}
    queries(folder, "export", "--feed", "locations", "--out", "l.jsonl.gz")
    assert gzip.decompress((folder / "l.jsonl.gz").read_bytes()).count(b"\n") == 1
    for command in (("list",), ("show", "'\u202ex\u2028"), ("export",)):
        out = queries(folder, *command).out
        assert all(line.isprintable() for line in out.splitlines())
    said = queries(folder, "show", "\x1b[31m")
    assert said.err == "no active query '\\x1b[31m'.\n"


def test_who_cannot_have_the_lake_is_told_who_has_it(folder, monkeypatch):
    monkeypatch.setattr("pipelines.registry.commit.PATIENCE", 0.1)
    with hold(folder / "lake", "fencepost run"):
        said = queries(folder, "import", "rules.jsonl")
        assert standing(folder) == []
    assert (said.code, said.out, "`fencepost run`" in said.err) == (Code.LOCKED, "", True)


def test_the_lake_and_the_settings_may_be_named(folder, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    named = ("--config", folder / "fencepost.toml")
    assert queries(elsewhere, "import", folder / "rules.jsonl", *named).code == 0
    assert queries(elsewhere, "list", *named, "--lake", folder / "lake").code == 0
    said = queries(elsewhere, "list", *named, "--lake", elsewhere / "none")
    assert (said.code, "there is no lake at" in said.err) == (2, True)
    assert (queries(elsewhere, "list").code, standing(folder)) == (2, ALL)


def test_no_jvm_is_needed_and_help_needs_nothing_at_all(folder):
    asked = f"['list', '--config', {str(folder / 'fencepost.toml')!r}]"
    done = python(
        "import sys\nfrom pipelines.cli.commands.queries import app\n"
        "heavy = {'numpy', 'pyarrow', 'deltalake'} & set(sys.modules)\n"
        f"app({asked}, standalone_mode=False)\n"
        "print(heavy, {'pyspark', 'numba', 'rich', 'duckdb'} & set(sys.modules))"
    )
    assert done.stdout == "no active query matches\nset() set()\n"
    for command in ("", "add", "import", "list", "show", "remove", "export"):
        said = fencepost("queries", *command.split(), "--help")
        assert said.code == 0
