"""All figures, in the papers' order, then our own."""

from benchmarks.figures import (
    ours,
    s1_axes,
    s1_bands,
    s1_locality,
    s1_streams,
    s1_town,
    s1_windows,
    s2,
    s3,
    s4,
)
from benchmarks.figures.figure import Figure

MODULES = (s1_bands, s1_streams, s1_town, s1_axes, s1_windows, s1_locality, s2, s3, s4, ours)
FIGURES: dict[str, Figure] = {each.name: each for module in MODULES for each in module.FIGURES}
