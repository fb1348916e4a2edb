"""Epochs of the lake: planned, evaluated in tasks, committed once."""
