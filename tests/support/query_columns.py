"""The columns of a set of queries as plain Python, so that two can be compared."""

import numpy as np


def as_lists(columns):
    """Each column as a list; of shapes, their texts."""
    shapes = columns.shapes
    texts = [shapes.shape(row).text for row in range(len(shapes))]
    others = columns._replace(shapes=np.empty(0))
    return [*(c.tolist() if isinstance(c, np.ndarray) else c.to_pylist() for c in others), texts]
