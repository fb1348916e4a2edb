"""Pictures of a feed, for Dagster's metadata: what happened when, and what it cost.

`asking.py` asks the views, `drawing.py` and `heatmap.py` lay the answers out, `canvas.py` is the
pen. Each function takes a feed's name and gives a PNG and the same in words.

Law: the same rows give the same bytes; a lake with nothing in it gives a picture that says so; what
a user called a query is shown as text and is nothing else. Matplotlib is imported when something is
drawn.
"""

from pipelines.project.settings import Settings
from pipelines.serve.pictures import ask, draw, heatmap
from pipelines.serve.pictures.picture import Picture, as_markdown

__all__ = [
    "Picture",
    "as_markdown",
    "epochs",
    "events_by_query_and_hour",
    "partitions",
    "quarantine",
]


def events_by_query_and_hour(settings: Settings, feed: str) -> Picture:
    """Draw when the busiest queries of a feed were crossed, in its last two days of event time."""
    return heatmap.of_events(feed, *ask.events_by_hour(settings, feed))


def epochs(settings: Settings, feed: str) -> Picture:
    """Draw the rows, the crossings and the seconds of a feed's newest epochs."""
    return draw.of_epochs(feed, ask.epochs(settings, feed))


def quarantine(settings: Settings, feed: str) -> Picture:
    """Draw how many rows of a feed were not taken, by reason."""
    return draw.of_quarantine(feed, *ask.quarantine(settings, feed))


def partitions(settings: Settings, feed: str) -> Picture:
    """Draw the tuples and the events of a feed's newest partitions."""
    return draw.of_partitions(feed, ask.partitions(settings, feed))
