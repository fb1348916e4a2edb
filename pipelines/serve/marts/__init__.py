"""The marts: views written as Delta tables, which any engine reads without our session.

A refresh (`refresh.py`) selects what came since the last one, or all rows of a feed
(`statements.py`), writes them to new files as they come (`write.py`, `content.py`), and puts these
in the place of others by one commit (`place.py`), which names the version that it makes, like every
commit of the lake. Then it notes what the mart counts (`note.py`). It acquires no lock.

Law: a mart holds what its view shows at the moment of the refresh, whatever was added to it when. A
reader sees all the rows of one moment or all those of another. If several refresh at the same time,
the rows of the newest moment remain. A refresh without changes leaves no trace; one that is killed
leaves at most files that no reader sees, until `tidy` deletes them.
"""

from pipelines.serve.marts.place import folder_of, tidy
from pipelines.serve.marts.refresh import MartReport, refresh

__all__ = ["MartReport", "folder_of", "refresh", "tidy"]
