"""Polygons, circles and corridors: what they are, and whether a point is inside.

    shape.py, columns.py                  one shape; many of them as columns
    parse.py, wkt.py, distances.py        from GeoJSON, WKT and `150m`
    wkb.py                                to and from well-known binary
    prepare.py                            what a test needs beside the vertices
    holds.py, *_kernels.py, twins.py      the test

Law: whether a shape holds a point is a function of the shape and the point alone, exact for
polygons and by the formulas of docs/semantics.md for circles and corridors; kernel and twin are
equal bit for bit. What is inside is within the shape's bounds.
"""
