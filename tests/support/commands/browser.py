"""A page in Debian's chromium, for tests of what a user sees.

It loads only the page it is given: the browser's own traffic (updates, sync) is off.
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
"""Marks for tests that open pages: `pytestmark = in_browser`."""


@dataclass
class Seen:
    """What a page logged and requested while it was open."""

    errors: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)


@contextmanager
def launched() -> Iterator[Any]:
    """Start the browser; while it runs no other event loop can, so one module's tests share it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=str(CHROMIUM), args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(
    browser: Any, address: str, *, width: int = 1440, height: int = 900, dark: bool = False
) -> Iterator[tuple[Any, Seen]]:
    """Open an address in a fresh profile; return the page, and what it logs meanwhile."""
    seen = Seen()
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
    )
    try:
        page = context.new_page()
        page.on("console", lambda said: _note(seen, said))
        page.on("pageerror", lambda error: seen.errors.append(str(error)))
        page.on("request", lambda request: seen.asked.append(request.url))
        page.goto(address)
        yield page, seen
    finally:
        context.close()


def _note(seen: Seen, said: Any) -> None:
    if said.type in {"error", "warning"}:
        seen.errors.append(said.text)
