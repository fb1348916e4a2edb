"""A store's conditional puts, answered in every way that stores answer them.

What is tried again, and what is made of the answers, is the real client's (`pipelines.places`).
An attempt may be refused for now (409, 500), be made with its answer lost, or be on its way for so
long that it is made much later, after other attempts and other writers.

Law: an object is created once, however many attempts are made of however many writers.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest import mock

from fencepost.errors import StoreUnavailable
from pipelines.lake.append import Conflict, Unknown
from pipelines.places import connection, objects
from pipelines.places.faults import Busy

BASE = "s3://simulated"
PATIENCE = 1.0
"""Seconds of the simulated clock: six attempts or so."""

Make = Callable[[], None]


class OddStore:
    """The objects that were put, and the puts that are still on their way."""

    def __init__(self, draw: random.Random, step: Callable[[], None]) -> None:
        self.draw = draw
        self.step = step
        self.now = 0.0
        self.objects: dict[str, bytes] = {}
        self.under_way: list[tuple[str, bytes, Make]] = []
        self.puts = 0
        self.odd = 0

    def put(self, key: str, make: Make, share: float) -> None:
        """Create an object; `make` is what that does. `share` of the answers are odd."""
        self.puts += 1
        content = f"{key} by put {self.puts}".encode()
        down = share > 0 and self.draw.random() < 0.1

        def attempt() -> str:
            self.step()
            roll = self.draw.random() / share if share else 1.0
            if down or roll < 1:
                self.odd += 1
            if down or roll < 0.2:
                raise StoreUnavailable(f"{key}: 500")
            if roll < 0.4:
                raise Busy(key)
            if roll < 0.7:
                self._create(key, content, make)
                raise StoreUnavailable(f"{key}: the answer was lost")
            if roll < 1:
                self.under_way.append((key, content, make))
                raise StoreUnavailable(f"{key}: no answer in time")
            self._create(key, content, make)
            return "etag"

        try:
            objects._once(BASE, key, content, attempt)
        except FileExistsError:
            raise Conflict(f"{key} was created by another") from None
        except StoreUnavailable as failed:
            raise Unknown(str(failed), failed) from failed

    def _create(self, key: str, content: bytes, make: Make) -> None:
        if key in self.objects:
            raise FileExistsError(key)
        try:
            make()
        except Conflict:
            raise FileExistsError(key) from None
        self.objects[key] = content

    def arrive(self) -> bool:
        """Let a put arrive that was on its way, or not yet; say whether it created an object."""
        if not self.under_way or self.draw.random() > 0.1:
            return False
        key, content, make = self.under_way.pop(self.draw.randrange(len(self.under_way)))
        try:
            self._create(key, content, make)
        except FileExistsError:
            return False
        return True

    def get(self, _base: str, key: str) -> tuple[bytes, str]:
        """Stands in for the request that reads an object."""
        self.step()
        if key not in self.objects:
            raise FileNotFoundError(key)
        return self.objects[key], "etag"

    # What `objects` uses of time and chance.

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.step()

    def uniform(self, low: float, high: float) -> float:
        return self.draw.uniform(low, high)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Let the client's own protocol run on this store."""
        with (
            mock.patch.object(objects, "get", self.get),
            mock.patch.object(objects, "time", self),
            mock.patch.object(objects, "random", self),
            mock.patch.object(connection, "PATIENCE", PATIENCE),
        ):
            yield
