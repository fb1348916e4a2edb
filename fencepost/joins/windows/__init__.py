"""Window joins (S3): the live windows as columns, and who pairs with whom inside them."""

from fencepost.joins.windows.choose import Choice
from fencepost.joins.windows.index import LEFT, RIGHT, WindowIndex
from fencepost.joins.windows.live import NEVER, Live, Reach
from fencepost.joins.windows.pairs import Pairs

__all__ = ["LEFT", "NEVER", "RIGHT", "Choice", "Live", "Pairs", "Reach", "WindowIndex"]
