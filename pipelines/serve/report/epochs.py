"""What was evaluated, group by group: when, how much, how long it took, and its state.

    done     in force
    stale    evaluated, replaced since, and not yet re-evaluated
    open     planned, not done

Law: the newest groups of a lane are listed, stale and open ones before them.
"""

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import duckdb

from pipelines.serve.report.scope import ReportScope
from pipelines.serve.status import QUERIES

GROUPS = 30
"""Groups per lane, at most."""

PHASES = ("plan", "prepare", "job", "commit")
"""Consecutive parts of a group's time."""

COUNTS = {"lag": ("lags", "behind"), "stale": ("stales",), "waiting": ("waiting", "delayed")}
"""Counts that `fencepost status` shows too: its queries of feeds, and of lanes of joins."""

LEDGER = """SELECT e.lane, e.epoch, e.generation, e.plan, e.partition_key, e.rows, e.accepted,
    COALESCE(e.entered + e.left, 0) + COALESCE(e.paired, 0)
        + COALESCE(e.came_in + e.went_out, 0) AS found,
    e.registry_version, epoch_us(e.watermark) AS watermark, epoch_us(e."at") AS written,
    e.seconds, e.state, e.in_force, e.arrivals
FROM epochs e ORDER BY e.lane, e.epoch, e.generation"""

Session = duckdb.DuckDBPyConnection
Row = dict[str, Any]


def state_of_epochs(session: Session, scopes: Sequence[ReportScope]) -> dict[str, Row]:
    """Give the progress of each lane, and its groups of epochs. O(rows of the ledger)."""
    answer = session.execute(LEDGER)
    names = [column[0] for column in answer.description]
    rows = [dict(zip(names, row, strict=True)) for row in answer.fetchall()]
    counts = {
        name: dict(pair for each in names for pair in _pairs(session, QUERIES[each]))
        for name, names in COUNTS.items()
    }
    state = {}
    for scope in scopes:
        mine = [row for row in rows if row["lane"] == scope.feed]
        marks = [row["watermark"] for row in mine if row["in_force"] and row["watermark"]]
        state[scope.feed] = {
            **{name: by_lane.get(scope.feed, 0) for name, by_lane in counts.items()},
            "watermark": max(marks, default=None),
            "epochs": len(scope.epochs),
            **_groups(mine, scope),
        }
    return state


def _pairs(session: Session, sql: str) -> list[tuple[Any, Any]]:
    return [(row[0], row[1]) for row in session.execute(sql).fetchall()]


def _groups(rows: Sequence[Row], scope: ReportScope) -> Row:
    """Group the epochs by plan and state."""
    evaluated = {n for row in rows if row["in_force"] for n in row["arrivals"]}
    newest = max((row["generation"] for row in rows), default=0)
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        if row["in_force"]:
            state = "done" if row["epoch"] in scope.epochs else ""
        elif row["state"] == "done":
            state = "stale" if not evaluated.issuperset(row["arrivals"]) else ""
        else:
            state = "open" if row["generation"] == newest else ""
        if state:
            groups[row["plan"], state].append(row)
    listed = [_group(state, epochs) for (_, state), epochs in groups.items()]
    listed.sort(key=lambda group: (group["state"] == "done", -group["last"], -group["generation"]))
    return {"of_groups": len(listed), "groups": listed[:GROUPS]}


def _group(state: str, rows: Sequence[Row]) -> Row:
    last = rows[-1]
    seconds = json.loads(last["seconds"] or "{}")
    keys = sorted({row["partition_key"] for row in rows})
    return {
        "state": state,
        "first": rows[0]["epoch"],
        "last": last["epoch"],
        "generation": last["generation"],
        "keys": keys if len(keys) == 1 else [keys[0], keys[-1]],
        "rows": sum(row["rows"] or 0 for row in rows),
        "accepted": sum(row["accepted"] or 0 for row in rows),
        "found": sum(row["found"] for row in rows),
        "registry": last["registry_version"],
        "watermark": last["watermark"],
        "written": last["written"],
        "seconds": {name: seconds[name] for name in PHASES if name in seconds},
        "within": {name: each for name, each in seconds.items() if name not in PHASES},
    }
