"""Cells of a few sizes, each with the boxes that cover it and those that only reach into it."""

from fencepost.matches.grid.index import Grid

__all__ = ["Grid"]
