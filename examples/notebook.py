# %% [markdown]
# # Fencepost in a notebook
# Rules over a table, over tuples as they arrive, and over a lake. Each cell stands by itself but
# for the table of the first one. `pip install "fencepost[lake]" pandas polars` is all it needs.

# %% Five lines: a table against rules
import pandas as pd

import fencepost as fp

ticks = pd.DataFrame(
    {
        "stream_id": ["AAPL", "AAPL", "MSFT", "AAPL", "MSFT", "AAPL"],
        "ts": pd.date_range("2026-11-18T14:30", periods=6, freq="1min", tz="UTC"),
        "price": [229.0, 231.7, 512.0, 232.4, 509.5, 230.1],
    }
)
rules = fp.rules(
    {"id": "breakout", "streams": ["AAPL"], "where": "price >= 231.5", "within": "5m"},
    {"id": "under 510", "streams": ["MSFT"], "where": "price < 510"},
)
result = fp.evaluate(ticks, rules)
print(result)
print(result.events.to_pandas()[["type", "query_id", "stream_id", "ts", "price", "prev_price"]])

# %% Polars, Arrow and DuckDB go in as they are; results are Arrow tables
import duckdb
import polars as pl

frame = pl.DataFrame(result.events)
print(frame.group_by("query_id", "type").len().sort("query_id", "type"))
cheap = duckdb.sql("select stream_id, ts, price from ticks where price < 600")
print(fp.evaluate(cheap, rules))

# %% Rejected rows come with the reason
broken = ticks.assign(price=ticks["price"].mask(ticks.index == 2))
print(fp.evaluate(broken, rules).rejected.to_pylist())

# %% Tuples as they arrive: a monitor remembers the state of every stream
monitor = fp.Monitor(rules)
for _, minute in ticks.groupby("ts"):
    for event in monitor.push(minute).events.to_pylist():
        print(event["ts"].time(), event["type"], event["query_id"], event["price"])

# %% … also over a restart: its state is a small file
monitor.save("monitor.state")
monitor = fp.Monitor.load("monitor.state", rules)
later = ticks.assign(ts=ticks["ts"] + pd.Timedelta("1h"), price=ticks["price"] + 2)
print(monitor, monitor.push(later))

# %% A lake: the same rules and ticks, kept. (A project of your own: fp.open_lake("its/folder"))
import os
import subprocess
import sys
from pathlib import Path

project = Path("notebook-lake")
if not project.exists():
    (project / "landing/ticks").mkdir(parents=True)
    declared = '[feeds.ticks]\naxes = ["price"]\nsource = "landing/ticks"\nsettle = "0s"\n'
    (project / "fencepost.toml").write_text(declared, encoding="utf-8")
    rule = '{"id": "breakout", "feed": "ticks", "streams": ["AAPL"], "where": "price >= 231.5"}\n'
    (project / "rules.jsonl").write_text(rule, encoding="utf-8")
    ticks.to_parquet(project / "landing/ticks/today.parquet", index=False)
    for command in (["init"], ["queries", "import", "rules.jsonl"], ["run"]):
        subprocess.run(
            [sys.executable, "-m", "fencepost", *command],
            cwd=project,
            env={**os.environ, "FENCEPOST_RUNNER": "here"},
            check=True,
        )
lake = fp.open_lake(project)
print(list(lake.views))
print(lake.view("events").select("type, query_id, stream_id, price").df())
print(lake.sql("select stream_id, count(*) as rows from ticks group by all order by all").pl())
