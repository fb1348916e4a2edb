"""What is found in one thread, while another does something with what was found before.

Dagster takes 8 ms to record the evaluation of a check, in Python; DuckDB needs no Python meanwhile.
"""

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from queue import SimpleQueue
from threading import Event
from typing import TypeVar

T = TypeVar("T")


def ahead(found: Generator[T]) -> Iterator[T]:
    """Give what is found, as soon as it is; the generator runs on, and ends with this one.

    Law: what it raises is raised here, after all that it gave.
    """
    ready: SimpleQueue[tuple[T] | None] = SimpleQueue()
    stopped = Event()

    def find() -> None:
        try:
            with closing(found):
                for each in found:
                    ready.put((each,))
                    if stopped.is_set():
                        break
        finally:
            ready.put(None)

    with ThreadPoolExecutor(1) as pool:
        finding = pool.submit(find)
        try:
            for (each,) in iter(ready.get, None):
                yield each
        finally:
            stopped.set()
        finding.result()
