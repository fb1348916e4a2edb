"""The query index of S3: a multilevel grid file over boxes as points of the transform space."""

from fencepost.matches.spatial_join.mlgf.file import GridFile

__all__ = ["GridFile"]
