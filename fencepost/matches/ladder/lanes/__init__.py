"""Sixteen candidates at a time, and those that hold closed up to their left."""
