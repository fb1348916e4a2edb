"""Where a lake, a landing folder or a file is: on a disk, or on an object store.

A disk's place is a plain `Path`, with nothing in between; an object store's is a `Remote`. The
functions here take both. obstore is imported with the first request to a store, and must not
be used before a process forks.

Law: under its name an object is whole or absent. No text here ever holds a credential.
"""

from pipelines.places.engines import delta_options, duckdb_secret
from pipelines.places.files import (
    Entry,
    copy_of,
    create,
    fetched,
    listed,
    read,
    replace,
    state,
    written,
)
from pipelines.places.place import Place, is_remote, lies_in, place_of, why_no_place
from pipelines.places.remote import Remote

__all__ = [
    "Entry",
    "Place",
    "Remote",
    "copy_of",
    "create",
    "delta_options",
    "duckdb_secret",
    "fetched",
    "is_remote",
    "lies_in",
    "listed",
    "place_of",
    "read",
    "replace",
    "state",
    "why_no_place",
    "written",
]
