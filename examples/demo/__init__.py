"""`make demo`: a day of ticks and vehicles, from nothing to events, through the assets themselves.

`story.py` tells it step by step, `runs.py` has Dagster do the work, `figures.py` reads in the
ledgers what came of it, `screen.py` prints, `place.py` says where it may happen.

Law: it does what a user could do, and nothing else. Doing it again is safe: what is there stands
and is printed again, with the same figures; what a demo that ended early left undone is done.
"""
