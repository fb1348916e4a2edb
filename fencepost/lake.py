"""The door to lakes: `fencepost.open_lake`, and what it returns."""

from pipelines.serve.open_lake import LakeReader, open_lake

__all__ = ["LakeReader", "open_lake"]
