"""A lake in a catalog: where analysts look for tables and views, without knowing of lakes.

What is registered is in `contents.py`; how, by engine, in `duckdb_file.py`, `spark_catalog.py` and
`athena.py`; `upkeep.py` is what runs do. Data never move: an entry of a catalog points to the lake.

Law: publishing twice changes nothing. Only what was published from this lake is replaced or
removed; a name that another has taken is refused before anything is changed. Removing deletes no
row of the lake.
"""

from pipelines.serve.publish.publish import PublishReport, publish, remove, sql_of
from pipelines.serve.publish.upkeep import keep_up

__all__ = ["PublishReport", "keep_up", "publish", "remove", "sql_of"]
