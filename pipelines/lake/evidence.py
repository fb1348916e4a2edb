"""What a commit records of itself, in the `userMetadata` of its commit info: its proof.

Law: a table holds at most one commit per `what` and `plan`. A process that is not sure whether a
commit succeeded looks for its evidence, and does nothing else.
"""

import json
from dataclasses import asdict, dataclass

from fencepost.errors import LakeError

MARK = "fencepost"


@dataclass(frozen=True)
class Evidence:
    """One commit of ours.

    what        plan, ingest, registry, evaluate, done, …: the step
    plan        the name of the plan that it carries out
    lane, first, last, generation   the epochs, or the numbers of arrivals, that it covers
    rows, hash  how many rows it brought, and the sum of their hashes, in any order
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
        """Its key, unique within a table."""
        return self.what, self.plan

    def to_json(self) -> str:
        """Write it as userMetadata."""
        return json.dumps({MARK: 1, **asdict(self)}, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | None) -> "Evidence | None":
        """Read userMetadata; None if the commit is not ours."""
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
