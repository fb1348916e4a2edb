"""The footer of a Parquet file and some of its row groups, without the rest of the file.

From a store they are fetched to where they are in the file; what else there is of it stays a hole,
which no reader of these groups looks into.

Law: each byte is fetched once.
"""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from pyarrow import parquet as pq

from pipelines.files.read.content import PARQUET
from pipelines.files.read.packed import plain_parquet
from pipelines.places import Place, Remote, is_remote
from pipelines.places.download import download_range
from pipelines.places.objects import Found

LEAST_TAIL = 64 << 10
"""Bytes of a Parquet file that are fetched in the hope that they have its whole footer."""


def fetch_groups(place: Remote, path: Path, size: int, groups: range | None) -> Sequence[Found]:
    """Fetch the footer of a Parquet file, and some row groups; 1 to 3 requests.

    What else there is of it stays a hole. What is no Parquet has no footer, and nothing else.
    """
    path.touch()
    tail = max(0, size - LEAST_TAIL)
    fetched = [download_range(place, path, tail, size)]
    with path.open("r+b") as file:
        file.seek(max(0, size - 8))
        length, ending = int.from_bytes(file.read(4), "little"), file.read(4)
        if ending != PARQUET:
            return fetched
        file.seek(0)
        file.write(PARQUET)
    if size - 8 - length < tail:
        fetched.append(download_range(place, path, max(0, size - 8 - length), tail))
    begin, end = (tail, tail) if groups is None else _bytes_of(pq.read_metadata(path), groups)
    if begin < tail:
        fetched.append(download_range(place, path, begin, min(end, tail)))
    return fetched


def _bytes_of(metadata: pq.FileMetaData, groups: range) -> tuple[int, int]:
    """Say from where to where some row groups reach."""
    begin, end = 2**63, 0
    for group in groups:
        for leaf in range(metadata.num_columns):
            column = metadata.row_group(group).column(leaf)
            first = column.data_page_offset
            if column.has_dictionary_page and column.dictionary_page_offset:
                first = min(first, column.dictionary_page_offset)
            begin, end = min(begin, first), max(end, first + column.total_compressed_size)
    return begin, end


def metadata_of(place: Place, size: int) -> pq.FileMetaData | None:
    """Read a Parquet file's footer; None where it is no Parquet, or not a whole one."""
    if not is_remote(place):
        return _metadata(place)
    with TemporaryDirectory(prefix="fencepost-") as folder:
        path = Path(folder) / "footer"
        try:
            fetch_groups(place, path, size, None)
        except FileNotFoundError:
            return None  # the words are those of who reads it
        return _metadata(path)


def _metadata(path: Path) -> pq.FileMetaData | None:
    file = plain_parquet(str(path))
    if file is None:
        return None
    try:
        with file:
            return pq.read_metadata(file)
    except (pa.ArrowException, OSError):
        return None
