"""Checks are looked for while Dagster records the ones before; what goes wrong is not lost."""

from collections.abc import Generator
from threading import Event

import pytest

from assets.ahead import ahead

pytestmark = pytest.mark.dagster

PATIENCE = 10.0


def test_the_next_is_looked_for_before_it_is_wanted():
    second = Event()

    def found() -> Generator[str]:
        yield "first"
        second.set()
        yield "second"

    given = ahead(found())
    assert next(given) == "first"
    assert second.wait(PATIENCE)
    assert list(given) == ["second"]


def test_what_fails_there_fails_here_after_what_was_found():
    def found() -> Generator[str]:
        yield "first"
        raise ValueError("the lake is gone")

    given = ahead(found())
    assert next(given) == "first"
    with pytest.raises(ValueError, match="the lake is gone"):
        next(given)


def test_who_stops_has_it_stop_and_end():
    ended, stopping = Event(), Event()

    def found() -> Generator[str]:
        try:
            yield "first"
            assert stopping.wait(PATIENCE)
            while True:
                yield "more"
        finally:
            ended.set()

    given = ahead(found())
    next(given)
    stopping.set()
    given.close()  # type: ignore[attr-defined]
    assert ended.is_set()
