"""What the path of a lake may hold.

Law: nothing heavy is imported here: settings are read, and files evaluated, without any lake.
"""

import re

READABLE = re.compile(r"[A-Za-z0-9._/-]+")
"""What every engine can read in a path."""
