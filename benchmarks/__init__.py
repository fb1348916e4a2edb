"""Benchmarks: a line checks its answer, then times it; ratios compare times of one run."""
