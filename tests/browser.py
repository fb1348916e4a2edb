"""A page in Debian's chromium, for tests that look at what a user sees.

It loads nothing but what it is told to: its own traffic (updates, sync) is off.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

in_browser = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not CHROMIUM.exists(), reason=f"there is no {CHROMIUM}: apt install chromium"
    ),
]
"""Marks for a test that opens a page: `@in_browser` by `pytestmark`."""


@dataclass
class Seen:
    """What a page said and asked for while it was open."""

    errors: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)


@contextmanager
def opened(
    address: str, *, width: int = 1440, height: int = 900, dark: bool = False
) -> Iterator[tuple[Any, Seen]]:
    """Open an address in a fresh profile; give the page, and what it says meanwhile."""
    from playwright.sync_api import sync_playwright

    seen = Seen()
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=str(CHROMIUM), args=list(ARGUMENTS))
        try:
            page = browser.new_page(
                viewport={"width": width, "height": height},
                color_scheme="dark" if dark else "light",
            )
            page.on("console", lambda said: _note(seen, said))
            page.on("pageerror", lambda error: seen.errors.append(str(error)))
            page.on("request", lambda request: seen.asked.append(request.url))
            page.goto(address)
            yield page, seen
        finally:
            browser.close()


def _note(seen: Seen, said: Any) -> None:
    if said.type in {"error", "warning"}:
        seen.errors.append(said.text)
