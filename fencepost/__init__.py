"""Which standing rules did each moving value just enter or leave? The engine of Fencepost.

Pure: NumPy, Numba and PyArrow; no clock, no environment, no files. ARCHITECTURE.md is the map.
"""
