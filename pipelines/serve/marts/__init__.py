"""The marts: views laid down as Delta tables, which any engine reads without a session of ours.

A refresh (`refreshing.py`) asks the views for the rows of a feed, writes them into new files as
they come (`laying.py`), and puts these in the place of the feed's old files by one commit
(`place.py`), which names the version that it makes, like every commit of the lake. It takes no
lock. Rows that are there already are not written again.

Law: a reader sees all the rows of one moment or all those of another. Whoever refreshes at the same
time, the rows that stay are those of the newest moment. A refresh that finds nothing new leaves no
trace; one that is killed leaves at most files that no reader sees, until `tidy` deletes them.
"""

from pipelines.serve.marts.place import folder_of, tidy
from pipelines.serve.marts.refresh import MartReport, refresh

__all__ = ["MartReport", "folder_of", "refresh", "tidy"]
