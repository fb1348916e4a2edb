"""Tuples judged in the order in which they come, without sorting any."""
