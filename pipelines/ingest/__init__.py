"""From landed files to the tables of the lake: each delivery once, good rows apart from bad ones.

`run.py` finds deliveries and numbers them, `execute.py` writes and commits what a plan says,
`units.py` cuts the work, `task.py` does it in a worker, `write.py` is where the rows go.
`delta_source.py` finds deliveries in the versions of another system's Delta table; `retry.py` reads
quarantined rows and refused deliveries again.
"""

from pipelines.ingest.deliveries import IngestReport
from pipelines.ingest.retry import retry
from pipelines.ingest.run import ingest, recover

__all__ = ["IngestReport", "ingest", "recover", "retry"]
