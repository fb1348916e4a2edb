"""What has landed and was not yet loaded: files and folders become deliveries, each exactly once.

`folder.py` walks a landing folder and says what is complete, `known.py` remembers what came before,
`look.py` puts them together, `news.py` says whether there is anything new.
"""

from pipelines.ingest.landing.known import Known, KnownFiles
from pipelines.ingest.landing.look import (
    LandedDelivery,
    Looked,
    NewDelivery,
    Refusal,
    judged_again,
    key_in_path,
    key_of_time,
    look,
)

__all__ = [
    "Known",
    "KnownFiles",
    "LandedDelivery",
    "Looked",
    "NewDelivery",
    "Refusal",
    "judged_again",
    "key_in_path",
    "key_of_time",
    "look",
]
