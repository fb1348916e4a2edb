"""On how many drawn stories a property is tried that costs more than others.

FEW in the short set and MANY in the long one are of a whole lake, at half a second each; HALF are
of a story that is played in many ways. All grow with the Hypothesis profile:

| | dev | ci | long | nightly |
| --- | --- | --- | --- | --- |
| FEW | 8 | 16 | 41 | 416 |
| MANY | 40 | 80 | 205 | 2080 |
| HALF | 25 | 100 | 250 | 2500 |
"""

from hypothesis import settings

FEW = max(settings().max_examples // 12, 8)
MANY = 5 * FEW

HALF = settings(max_examples=settings().max_examples // 2)
"""Where ways or retellings are many, and each plays the story again."""
