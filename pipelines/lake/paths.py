"""What the path of a lake may hold.

Law: nothing heavy is imported here: settings are read, and files evaluated, without any lake.
"""

import re

from pipelines.places import Place, is_remote

READABLE = re.compile(r"[A-Za-z0-9._/-]+")
"""What every engine can read in a path."""


def odd_in(root: Place) -> str:
    """Give the characters of a lake's path that some engine cannot read."""
    path = root.key if is_remote(root) else str(root)
    return "".join(sorted(set(READABLE.sub("", path))))
