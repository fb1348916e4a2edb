"""From what has landed to what the lake holds: each delivery once, good rows apart from bad ones.

`run.py` finds deliveries, `plans.py` numbers them, `carrying.py` writes and commits what a plan
says (`planned.py`), `units.py` cuts the work, `task.py` does it in a worker, `files.py` is where
the rows go. `delta_source.py` finds deliveries in the versions of somebody else's Delta table;
`retrying.py` takes up again what was turned away.
"""

from pipelines.ingest.report import IngestReport
from pipelines.ingest.retry import retry
from pipelines.ingest.run import ingest, recover

__all__ = ["IngestReport", "ingest", "recover", "retry"]
