"""URLs of pages in reports/: never `file://`, which browsers refuse."""

from urllib.parse import quote

from pipelines.places import Place, is_remote
from pipelines.project.settings import Settings

SERVED_AT = "http://127.0.0.1:3001"
"""Where `fencepost ui` serves the reports by default."""


def link(settings: Settings, page: Place) -> str:
    """Give the URL of a page in reports/."""
    reports = settings.reports
    if is_remote(page) or is_remote(reports):
        below = str(page).removeprefix(f"{reports}/")
    else:
        below = page.resolve().relative_to(reports.resolve()).as_posix()
    return f"{settings.reports_address or SERVED_AT}/{quote(below)}"
