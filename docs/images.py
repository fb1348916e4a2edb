# ruff: noqa: INP001, S603, T201  a script run by hand
"""The pictures of the README, taken anew: `python docs/images.py [FOLDER]`, by hand.

It plays the demo at a small scale in FOLDER (a fresh one, without it), opens the report and the
UI in Debian's chromium, and writes docs/images/*.png; a FOLDER that holds a demo is taken as it is.

Law: each picture shows what a user sees, nothing drawn in; none is larger than LARGEST.
"""

import io
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Locator, Page, sync_playwright

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent
IMAGES = HERE / "images"
CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]

SCALE = "0.1"
PORT = 3990
LARGEST = 300_000
COLOURS = (256, 128, 64, 32)
"""As many colours as the size allows; screens have few."""

NOON = "2026-11-17T12"
"""An hour in the middle of the demo's day."""

TABLES = ("quarantine", "stream_state", "events", "transitions", "pending")
MARTS = ("inside_now", "visits", "daily_summary")
MARGIN = 24


def main(folder: Path) -> None:
    """Play the demo, look at it, and keep what is seen."""
    command = [sys.executable, "-m"]
    subprocess.run(
        [*command, "examples.demo", str(folder), "--scale", SCALE], cwd=REPOSITORY, check=True
    )
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        report = (folder / "reports" / "latest.html").as_uri()
        with page(browser, report, 1280, 900, fine=2) as seen:
            keep("report", map_of(seen))
        with page(browser, report, 390, 844, dark=True, fine=2) as seen:
            map_of(seen)
            keep("report-phone", seen.screenshot())
        with ui(folder) as url:
            group = f"{url}/locations/fencepost/asset-groups/ticks"
            with page(browser, group, 1800, 1040) as seen:
                keep("dagster-graph", graph_of(seen))
            asset = f"{url}/assets/ticks/events?view=partitions"
            with page(browser, asset, 1280, 940) as seen:
                keep("dagster-events", hour_of(seen))
        browser.close()


@contextmanager
def page(
    browser: Browser, address: str, width: int, height: int, *, dark: bool = False, fine: int = 1
) -> Iterator[Page]:
    """Open an address in a window of this size, `fine` points to a pixel."""
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        device_scale_factor=fine,
    )
    opened = context.new_page()
    opened.goto(address)
    yield opened
    context.close()


@contextmanager
def ui(folder: Path) -> Iterator[str]:
    """Serve the demo's project, and give the address of its UI."""
    served = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "pipelines.cli.app",
            "ui",
            "--port",
            str(PORT),
            "--config",
            str(folder),
        ],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        line = served.stdout.readline() if served.stdout is not None else ""
        yield line.split()[0]
    finally:
        served.terminate()
        served.wait()


def map_of(seen: Page) -> bytes:
    """Move the map's slider to the middle of the day, bring the map into view, and take it."""
    figure = seen.locator("figure.map").first
    slider = figure.locator("input[type=range]")
    slider.evaluate(
        "each => { each.value = each.max / 2; each.dispatchEvent(new Event('input')); }"
    )
    top = f"each.getBoundingClientRect().top + scrollY - {MARGIN}"
    figure.evaluate(f"each => scrollTo(0, {top})")
    seen.wait_for_timeout(800)
    return around(seen, [figure])


def graph_of(seen: Page) -> bytes:
    """Take the part of the group's page where its assets are."""
    for name in (*TABLES, *MARTS):
        seen.get_by_text(name, exact=True).first.wait_for()
    seen.wait_for_timeout(4000)  # every asset asks for its checks and partitions
    edges = (*MARTS, "Latest event", "Delta Lake", "report")
    return around(seen, [each for text in edges for each in seen.get_by_text(text).all()])


def around(seen: Page, parts: list[Locator]) -> bytes:
    """Take the smallest part of a page that holds these, and a margin."""
    boxes = [box for part in parts if (box := part.bounding_box()) is not None]
    left = min(box["x"] for box in boxes) - MARGIN
    top = min(box["y"] for box in boxes) - MARGIN
    right = max(box["x"] + box["width"] for box in boxes) + MARGIN
    bottom = max(box["y"] + box["height"] for box in boxes) + MARGIN
    return seen.screenshot(
        clip={"x": max(left, 0), "y": max(top, 0), "width": right - left, "height": bottom - top}
    )


def hour_of(seen: Page) -> bytes:
    """Take the page of the events, an hour of them chosen."""
    seen.get_by_text(NOON, exact=True).first.click()
    seen.get_by_text("watermark").first.wait_for()
    seen.wait_for_timeout(1500)
    return seen.screenshot()


def keep(name: str, png: bytes) -> None:
    """Write a picture with so many colours that it is small enough."""
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    for colours in COLOURS:
        small = io.BytesIO()
        picture.quantize(colours, dither=Image.Dither.NONE).save(small, "png", optimize=True)
        if small.tell() <= LARGEST:
            break
    IMAGES.mkdir(exist_ok=True)
    (IMAGES / f"{name}.png").write_bytes(small.getvalue())
    print(f"{name}.png: {picture.width} × {picture.height}, {small.tell():,} bytes")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]).resolve())
    else:
        with tempfile.TemporaryDirectory() as made:
            main(Path(made) / "demo")
