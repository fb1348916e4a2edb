"""What tests of pages share: one browser for a module, as no other event loop can run meanwhile."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.commands.browser import launched


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """One browser for all the tests of a module that look."""
    with launched() as browser:
        yield browser
