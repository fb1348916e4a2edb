"""What a commit says of itself, in the `userMetadata` of its commit info: the proof of it.

Law: of one `what` and one `plan` a table holds at most one commit. Whoever is not sure whether a
commit came through looks for its evidence, and does nothing else.
"""

import json
from dataclasses import asdict, dataclass

from fencepost.errors import LakeError

MARK = "fencepost"


@dataclass(frozen=True)
class Evidence:
    """One commit of ours.

    what        plan, ingest, registry, evaluate, done, …: the step
    plan        names the plan that it carries out
    lane, first, last, generation   the epochs, or the numbers of arrivals, that it is about
    rows, hash  how many rows it brought, and the sum of their hashes, whatever their order
    """

    what: str
    plan: str
    lane: str
    first: int
    last: int
    generation: int
    rows: int
    hash: int

    @property
    def key(self) -> tuple[str, str]:
        """What makes it unique in its table."""
        return self.what, self.plan

    def to_json(self) -> str:
        """Write it as userMetadata."""
        return json.dumps({MARK: 1, **asdict(self)}, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | None) -> "Evidence | None":
        """Read userMetadata; None where the commit is none of ours."""
        try:
            fields = json.loads(text or "")
        except ValueError:
            return None
        if not isinstance(fields, dict) or fields.pop(MARK, None) != 1:
            return None
        try:
            return cls(**fields)
        except TypeError as why:
            raise LakeError(
                f"a commit of the lake says what it is in damaged words: {text}. Restore the "
                "table's log from a copy of the lake"
            ) from why
