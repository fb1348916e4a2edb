"""examples/notebook.py runs as it stands, cell after cell, in an empty folder."""

import subprocess
import sys

import duckdb

import fencepost as fp
from tests.support.commands.commands import REPOSITORY


def test_the_notebook_runs_and_its_lake_says_what_the_table_said(tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", str(REPOSITORY / "examples/notebook.py")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for shown in (
        "<Result: 6 rows read, 6 accepted, 0 rejected; 3 events, 1 transition>",
        "'reason': 'malformed', 'detail': 'price is null'",
        "14:31:00 I breakout 231.7",
        "<Monitor: <2 rules of tuples>; 2 streams seen>",
    ):
        assert shown in done.stdout, done.stdout
    with fp.open_lake(tmp_path / "notebook-lake") as lake:
        assert lake.view("events").select("type, stream_id, price").fetchall() == [
            ("I", "AAPL", 231.7),
            ("O", "AAPL", 230.1),
        ]
        assert isinstance(lake.sql("from inside_now"), duckdb.DuckDBPyRelation)
