"""The payload of crossings, for their tooltips: a text each, and each text once.

Law: what a page shows of a payload is the event's own, in the order of the declaration; a column
without a value is left out.
"""

from collections.abc import Sequence
from typing import Any

from fencepost.text import escaped
from pipelines.project.settings import Feed
from schemas.table import PAYLOAD_PREFIX

LONGEST = 120
"""Characters of a crossing's payload."""


def said(feed: Feed) -> str:
    """Write as SQL the payload of an event `t` as a text, null if the feed declares none."""
    if not feed.payload:
        return "NULL::VARCHAR"
    each = (f"'{name} ' || CAST(t.{PAYLOAD_PREFIX}{name} AS VARCHAR)" for name, _ in feed.payload)
    return f"CONCAT_WS(' · ', {', '.join(each)})"


def coded(texts: Sequence[str | None]) -> dict[str, Any]:
    """Give the texts, each once, and which each crossing has; nothing where none has one."""
    cut = ["" if text is None else escaped(text, LONGEST) for text in texts]
    places = {text: place for place, text in enumerate(dict.fromkeys(cut))}
    if not any(places):
        return {}
    return {"payload": list(places), "said": [places[text] for text in cut]}
