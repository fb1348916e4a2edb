"""Pictures of a feed, for Dagster's metadata: what happened when, and what it cost.

`queries.py` queries the views, `draw.py`, `heatmap.py` and `regions.py` draw the answers,
`canvas.py` is the pen.
Each function gives a PNG of a feed, and the same as text.

Law: the same rows give the same bytes; an empty lake gives a picture that says so; query names
are shown as text only. Matplotlib is imported only to draw.
"""

from fencepost.position import Position
from pipelines.project.settings import Settings
from pipelines.serve.pictures import draw, heatmap, queries
from pipelines.serve.pictures import regions as maps
from pipelines.serve.pictures.picture import Picture, as_markdown

__all__ = [
    "Picture",
    "as_markdown",
    "epochs",
    "events_by_query_and_hour",
    "partitions",
    "quarantine",
    "regions",
]


def events_by_query_and_hour(settings: Settings, feed: str) -> Picture:
    """Draw when the busiest queries of a feed were crossed, in its last two days of event time."""
    return heatmap.of_events(feed, *queries.events_by_hour(settings, feed))


def epochs(settings: Settings, feed: str) -> Picture:
    """Draw the rows, the crossings and the seconds of a feed's newest epochs."""
    return draw.of_epochs(feed, queries.epochs(settings, feed))


def quarantine(settings: Settings, feed: str) -> Picture:
    """Draw how many rows of a feed were rejected, by reason."""
    return draw.of_quarantine(feed, *queries.quarantine(settings, feed))


def partitions(settings: Settings, feed: str) -> Picture:
    """Draw the tuples and the events of a feed's newest partitions."""
    return draw.of_partitions(feed, queries.partitions(settings, feed))


def regions(settings: Settings, feed: str, place: Position) -> Picture:
    """Draw the regions of the standing queries of a feed, whose tuples are at this place."""
    return maps.of_regions(feed, *queries.regions(settings, feed, place), earth=place.earth)
