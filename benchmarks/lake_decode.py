"""The floor of an epoch: what PyArrow takes to decode the columns of ticks that a task reads.

A module of its own, since Spark's workers import it.
"""

import time

import pyarrow.parquet as pq

from pipelines.execute.read import columns_of_tuples
from pipelines.execute.share import Share


def decoded(line: str) -> str:
    """Decode the ticks of a share, with nothing checked, and give the seconds that took."""
    share = Share.from_json(line)
    columns = columns_of_tuples(share, share.feed)
    begin = time.perf_counter()
    for path in share.files[share.feed]:
        file = pq.ParquetFile(
            share.place / share.feed / path, read_dictionary=["stream_id"], memory_map=True
        )
        file.read(columns, use_threads=False)
    return str(time.perf_counter() - begin)
