"""Bitmaps: for each stretch of each axis, which boxes hold it wholly, and which in part."""

from fencepost.matches.bitmaps.index import Bitmaps

__all__ = ["Bitmaps"]
