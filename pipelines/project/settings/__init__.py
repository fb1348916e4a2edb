"""What `fencepost.toml` declares: where the lake is, how a run goes, which feeds there are.

`keys.py` declares every key once; the reading, the file that `fencepost init` writes and
docs/configuration.md all come from there. `model.py` is what is read, `loading.py` reads it,
`names.py` checks names.
"""

from pipelines.project.settings.keys import ENVIRONMENT, FILE
from pipelines.project.settings.loading import load, understood
from pipelines.project.settings.model import Feed, Settings
from pipelines.project.settings.names import VIEWS

__all__ = ["ENVIRONMENT", "FILE", "VIEWS", "Feed", "Settings", "load", "understood"]
