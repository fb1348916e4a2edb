"""Does a store let one writer win, and only one? All that is safe on it rests on that.

Some stores and mocks check whether an object exists before they write it: fine one request after
another, and wrong at once. So the question is put as a race.
"""

import secrets
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from pipelines.places.files import create, read
from pipelines.places.remote import Remote

FOLDER = "_race"
WRITERS, KEYS = 8, 12


def race(folder: Remote, writers: int = WRITERS, keys: int = KEYS) -> str | None:
    """Let writers create the same objects at once; say what is wrong, None if each had one winner.

    The objects are deleted again. About `writers + 3` requests a key.
    """
    prefix = folder / FOLDER / secrets.token_hex(6)
    start = threading.Barrier(writers)

    def write(place: Remote, number: int) -> bool:
        start.wait()
        try:
            create(place, f"{number} of {writers}".encode())
        except FileExistsError:
            return False
        return True

    with ThreadPoolExecutor(writers) as pool:
        for key in range(keys):
            place = prefix / str(key)
            try:
                wrong = _wrong(place, list(pool.map(partial(write, place), range(writers))))
            finally:
                place.unlink(missing_ok=True)
            if wrong is not None:
                return wrong
    return None


def _wrong(place: Remote, won: list[bool]) -> str | None:
    winners = [number for number, each in enumerate(won) if each]
    if len(winners) != 1:
        return (
            f"{place.base} let {len(winners)} of {len(won)} writers create one object, where one "
            "must win: commits would be lost there. Its conditional puts (If-None-Match) are not "
            "atomic: take another store, or one of its newer versions"
        )
    stands = read(place).decode()
    if stands != f"{winners[0]} of {len(won)}":
        return (
            f"{place.base} said that one writer created an object, and holds what another wrote: "
            "commits would be lost there. Take another store, or one of its newer versions"
        )
    return None
