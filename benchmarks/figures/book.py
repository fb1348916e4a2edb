"""All figures, in the papers' order."""

from benchmarks.figures import (
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

MODULES = (s1_bands, s1_streams, s1_town, s1_axes, s1_windows, s1_locality, s2, s3, s4)
FIGURES: dict[str, Figure] = {each.name: each for module in MODULES for each in module.FIGURES}
