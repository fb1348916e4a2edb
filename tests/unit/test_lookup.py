"""The rows of a few streams, found by hashes among a file's many."""

from unittest import mock

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from fencepost.arrays import UInt64s
from fencepost.hashing import hashes_of_strings
from pipelines.execute import lookup
from pipelines.execute import read as reading

IDS = st.lists(st.sampled_from([f"s{k}" for k in range(40)]), max_size=60)


@given(IDS, st.sets(st.sampled_from([f"s{k}" for k in range(50)])), st.sampled_from((3, 2**64 - 1)))
def test_candidates_are_the_rows_of_the_streams_and_of_those_with_their_hashes(
    ids: list[str], wanted: set[str], most: int
) -> None:
    """With hashes of three values many ids have one."""

    def few(names: pa.StringArray) -> UInt64s:
        return hashes_of_strings(names) % np.uint64(most)

    column = pa.array(ids, pa.string()).dictionary_encode()
    names = pa.array(sorted(wanted), pa.string())
    hashes = few(names)
    with mock.patch.object(lookup, "hashes_of_strings", few):
        found = lookup.candidates(lookup.lookup_of(column), hashes).tolist()
    of_id = dict(zip(ids, few(pa.array(ids, pa.string())).tolist(), strict=True))
    assert found == [row for row, each in enumerate(ids) if of_id[each] in set(hashes.tolist())]
    rows = pa.table({"stream_id": column, "row": np.arange(len(ids))})
    kept = reading._of_streams(rows.take(pa.array(found, pa.int64())), names)
    assert kept["row"].to_pylist() == [row for row, each in enumerate(ids) if each in wanted]
    assert kept["stream_id"].to_pylist() == [each for each in ids if each in wanted]
