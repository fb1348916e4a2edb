"""What has landed and was not yet taken: files and folders become deliveries, each exactly once.

`folder.py` walks a landing folder and says what is complete, `known.py` remembers what came before,
`keys.py` says which hour or day a delivery belongs to, `looking.py` puts them together.
"""

from pipelines.ingest.landing.deliveries import Delivery, Found, Looked, Refusal
from pipelines.ingest.landing.keys import key_in_path, key_of_time
from pipelines.ingest.landing.known import Known, KnownFiles
from pipelines.ingest.landing.look import look

__all__ = [
    "Delivery",
    "Found",
    "Known",
    "KnownFiles",
    "Looked",
    "Refusal",
    "key_in_path",
    "key_of_time",
    "look",
]
