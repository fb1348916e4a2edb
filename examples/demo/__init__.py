"""`make demo`: a day of ticks and vehicles, from nothing to events, through the assets themselves.

`story.py` runs it step by step, `runs.py` has Dagster do the work, `figures.py` reads the
results from the ledgers, `screen.py` prints, `place.py` says where it may run.

Law: it does what a user could do, and nothing else. Doing it again is safe: what is there stays
and is printed again, with the same figures; and unfinished steps of an earlier demo are finished.
"""
