"""Benchmarks: every line checks its answer, then times it, and prints a ratio taken within this one run."""
