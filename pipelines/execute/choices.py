"""How an epoch's crossings and matches were found, and why: the record in the ledger.

Law: it says how, never what: two runs that chose otherwise gave the same rows, so no hash and no
comparison of epochs looks at it.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from fencepost.engine import FeedOutcome

Choice = Mapping[str, Any]


def choice_of(outcome: FeedOutcome) -> Choice:
    """Say how a task found what it found in an epoch."""
    indexes = () if outcome.matcher is None else outcome.matcher.choices
    return {
        **outcome.chosen.as_json(),
        "matches": [
            {"index": each.name, "named": each.named, "boxes": each.boxes, "why": each.why}
            for each in indexes
        ],
    }


def together(choices: Iterable[Choice]) -> str | None:
    """Put the tasks of an epoch together as JSON; None where nobody said anything.

    Of each way to find crossings, and of each index that served matches: how many tasks took it,
    and why the first of them did.
    """
    crossings: dict[str, dict[str, Any]] = {}
    matches: dict[str, dict[str, Any]] = {}
    for choice in choices:
        rest = {name: choice[name] for name in ("why", "fl", "w") if name in choice}
        crossings.setdefault(choice["crossings"], {"tasks": 0, **rest})["tasks"] += 1
        for index in choice["matches"]:
            name = f"{index['index']} for {'named' if index['named'] else 'all'} streams"
            rest = {"boxes": index["boxes"], "why": index["why"]}
            matches.setdefault(name, {"tasks": 0, **rest})["tasks"] += 1
    return json.dumps({"crossings": crossings, "matches": matches}) if crossings else None
