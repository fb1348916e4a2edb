"""URLs of pages in reports/: never `file://`, which browsers refuse."""

from pathlib import Path
from urllib.parse import quote

from pipelines.project.settings import Settings

SERVED_AT = "http://127.0.0.1:3001"
"""Where `fencepost ui` serves the reports by default."""


def link(settings: Settings, page: Path) -> str:
    """Give the URL of a page in reports/."""
    place = page.resolve().relative_to(settings.reports.resolve())
    return f"{settings.reports_address or SERVED_AT}/{quote(place.as_posix())}"
