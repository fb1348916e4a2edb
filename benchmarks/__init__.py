"""Benchmarks: a line checks its answer, then times it; ratios are taken within one run."""
