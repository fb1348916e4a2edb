"""Cells of a few sizes, and in each who covers it and who only reaches into it."""

from fencepost.matches.grid.index import Grid

__all__ = ["Grid"]
