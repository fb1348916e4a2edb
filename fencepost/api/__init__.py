"""What `import fencepost` offers, and what `fencepost eval` is built on; no file is opened here.

`evaluation.py` moves feeds and joins on by deliveries, `tables.py` gathers what they find.
"""
