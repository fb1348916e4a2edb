"""Spatial Join CQ (S3): a batch of points is joined with the set of boxes, cluster by cluster."""

from fencepost.matches.papers.spatial_join.index import SpatialJoin

__all__ = ["SpatialJoin"]
