"""A packed R-tree: full nodes, no pointers, sixteen children tested at once."""

from fencepost.matches.packed.index import Packed

__all__ = ["Packed"]
