"""Markdown that several parts of the page use."""

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table; bars in cells are escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(c.replace('|', chr(92) + '|') for c in r)} |" for r in lines)


def picture(at: str, words: str) -> str:
    """Show a plot: one file for light pages, one for dark ones."""
    return (
        "<picture>\n"
        f'  <source media="(prefers-color-scheme: dark)" srcset="{at}/dark.svg">\n'
        f'  <img alt="{words}" src="{at}/light.svg">\n'
        "</picture>"
    )
