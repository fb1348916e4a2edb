"""The marts: views written as Delta tables, which any engine reads without our session.

A refresh (`refresh.py`) queries the views for the rows of a feed, writes them to new files as they
come (`write.py`), and replaces the feed's old files by one commit (`place.py`), which names the
version that it makes, like every commit of the lake. It acquires no lock. Unchanged rows are not
written again.

Law: a reader sees all the rows of one moment or all those of another. If several refresh at the
same time, the rows of the newest moment remain. A refresh without changes leaves no trace; one that
is killed leaves at most files that no reader sees, until `tidy` deletes them.
"""

from pipelines.serve.marts.place import folder_of, tidy
from pipelines.serve.marts.refresh import MartReport, refresh

__all__ = ["MartReport", "folder_of", "refresh", "tidy"]
