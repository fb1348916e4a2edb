"""Counts in words, for every message: `1 row`, `1,000 rows`."""


def counted(many: int, one: str, several: str | None = None) -> str:
    """Write a count and what is counted; `several` where it is not `one` with an s."""
    return f"{many:,} {one if many == 1 else several or f'{one}s'}"
