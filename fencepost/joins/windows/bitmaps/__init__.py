"""Blocks of old tuples as bits: a conjunct is a row of them, and so is everything it asks."""

from fencepost.joins.windows.bitmaps.probe import probe

__all__ = ["probe"]
