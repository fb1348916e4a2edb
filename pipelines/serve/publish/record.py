"""What was published of a lake, and where: a small file in the lake.

By target it has the names that exist there and a digest of what they are. It is a memory, not the
truth: without it, publishing looks at the catalog again.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from pipelines import places
from pipelines.project.settings import Settings
from pipelines.project.settings.target import CatalogTarget
from pipelines.serve.publish.contents import CatalogEntry

FILE = "_published.json"


@dataclass(frozen=True)
class Published:
    """What was last published to a target."""

    digest: str = ""
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, settings: Settings, entries: Iterable[CatalogEntry]) -> "Published":
        """Describe entries of a lake."""
        entries = [*entries]
        text = repr((str(settings.root), entries))
        return cls(sha256(text.encode()).hexdigest(), tuple(entry.name for entry in entries))


def noted(settings: Settings, target: CatalogTarget) -> Published:
    """Read what was published to a target; nothing where the file is missing or damaged."""
    given = _read(settings).get(str(target), {})
    try:
        return Published(str(given["digest"]), tuple(map(str, given["names"])))
    except (KeyError, TypeError):
        return Published()


def note(settings: Settings, target: CatalogTarget, published: Published | None) -> None:
    """Write what was published to a target; None: nothing any more."""
    if noted(settings, target) == (published or Published()):
        return
    targets = {name: has for name, has in _read(settings).items() if name != str(target)}
    if published is not None:
        targets[str(target)] = {"digest": published.digest, "names": published.names}
    places.replace(settings.root / FILE, f"{json.dumps(targets, indent=1)}\n".encode())


def _read(settings: Settings) -> dict[str, Any]:
    try:
        given = json.loads(places.read(settings.root / FILE))
    except (FileNotFoundError, ValueError):
        return {}
    return given if isinstance(given, dict) else {}
