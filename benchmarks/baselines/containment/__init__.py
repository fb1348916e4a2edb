"""Containment-encoded intervals and squares: CEI and CES, of which S1 builds its DiffRMQ."""

from benchmarks.baselines.containment.index import Containment

__all__ = ["Containment"]
