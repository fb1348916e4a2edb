"""What became of mutants, kept as long as the code is the same: a line of JSON each.

Law: a file has what was found of the engine and the tests as they stand in all their files.
"""

import hashlib
import json
from pathlib import Path

HOUSE = Path(__file__).resolve().parents[2]
Place = tuple[str, int]
"""A file, and the number of the mutant among those of the file."""


def file_of_this_code() -> Path:
    """Give the file for the code that decides what is noticed."""
    digest = hashlib.sha256()
    for room in ("fencepost", "tests"):
        for path in sorted((HOUSE / room).rglob("*.py")):
            digest.update(path.read_bytes())
    return HOUSE / ".cache" / "mutants" / f"{digest.hexdigest()[:12]}.jsonl"


def known(file: Path) -> dict[Place, str | None]:
    """Read what noticed each mutant in earlier runs, but for a line that was cut off."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    rows = [json.loads(line) for line in lines if line.endswith("]")]
    return {(source, number): notice for source, number, notice in rows}


def keep(file: Path, place: Place, notice: str | None) -> None:
    """Write down what noticed a mutant, None if nothing did."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as kept:
        kept.write(json.dumps([*place, notice]) + "\n")
