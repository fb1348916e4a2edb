"""The leaps of a map: the pieces of steps that ran through a region, with no tuple inside it.

Law: a piece begins and ends where the straight way was first and last inside, by the shares that
the table `leaps` has.
"""

# ruff: noqa: S608  whole numbers and declared names alone

from typing import Any

import duckdb
import numpy as np

from pipelines.serve.report.outlines import Ground
from pipelines.serve.report.scope import ReportScope
from pipelines.serve.report.streams import Seen
from pipelines.serve.report.thin import columns, differences

MOST = 6_000

Session = duckdb.DuckDBPyConnection


def leaps(
    session: Session, scope: ReportScope, plane: tuple[str, str], ground: Ground, seen: Seen
) -> dict[str, Any]:
    """Give the leaps of the chosen streams by time, the first MOST of them; {} if there are none.

    Their `lines` are x and y of both ends, in parts; `inside` is how long each was inside, in ms.
    """
    ends = ", ".join(
        f"t.prev_{axis} + t.{at}_share * (t.{axis} - t.prev_{axis}) AS {at}{place}"
        for at in ("enter", "leave")
        for place, axis in enumerate(plane)
    )
    got = columns(
        session.execute(
            f"""SELECT epoch_us(t.enter_ts) AS us, epoch_us(t.leave_ts) AS until, c.nth AS stream,
                t.query_id AS id, {ends}, COUNT(*) OVER () AS many
            FROM leaps t JOIN __streams c ON c.stream_id = t.stream_id
            WHERE {scope.found} ORDER BY 1, 3, t.place, t.query_id LIMIT {MOST}"""
        ).to_arrow_table()
    )
    if not len(got["us"]):
        return {}
    places = {name: place for place, name in enumerate(dict.fromkeys(got["id"]))}
    sides = [("enter0", ground.x), ("enter1", ground.y), ("leave0", ground.x), ("leave1", ground.y)]
    lines = np.column_stack([side.placed(got[end]) for end, side in sides])
    drawn = {
        "of": int(got["many"][0]),
        "t": differences((got["us"] - seen.first) // 1000),
        "inside": ((got["until"] - got["us"] + 500) // 1000).tolist(),
        "stream": got["stream"].tolist(),
        "names": [*places],
        "rule": [places[each] for each in got["id"]],
        "lines": lines.ravel().tolist(),
    }
    return {"leaps": drawn}
