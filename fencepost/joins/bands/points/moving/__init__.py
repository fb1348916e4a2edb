"""Streams that have moved and are not in their new place yet."""

from fencepost.joins.bands.points.moving.streams import Moving

__all__ = ["Moving"]
