"""On how many drawn stories a property of a whole lake is tried: each one costs half a second.

FEW in the short set and MANY in the long one; both grow with the Hypothesis profile:

| | dev | ci | nightly |
| --- | --- | --- | --- |
| FEW | 8 | 16 | 416 |
| MANY | 40 | 80 | 2080 |
"""

from hypothesis import settings

FEW = max(settings().max_examples // 12, 8)
MANY = 5 * FEW

HALF = settings(max_examples=settings().max_examples // 2)
"""Where ways or retellings are many, and each plays the story again."""
