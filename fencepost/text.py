"""Phrases that messages share: counts, names, what was probably meant, and shortened texts.

Law: what a message shows of a user's text is printable and no longer than it may be.
"""

import difflib
import re
from collections.abc import Collection, Sequence

LONGEST_ID = 256
_NO_ID = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_LONGEST_GUESSED = 64
_SIZES = (("GB", 10**9), ("MB", 10**6), ("kB", 10**3))


def counted(many: int, one: str, several: str | None = None) -> str:
    """Write `1 row`, `1,000 rows`; `several` where it is not `one` with an s."""
    return f"{many:,} {one if many == 1 else several or f'{one}s'}"


def size_in_words(size: int) -> str:
    """Write a number of bytes as people do: `9.6 MB`, `1.9 GB`."""
    for name, unit in _SIZES:
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return counted(size, "byte")


def few(names: Sequence[str], most: int = 3) -> str:
    """Name the first ones, and count the others: `a, b, c and 1,997 more`."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def did_you_mean(given: str, names: Collection[str]) -> str:
    """Return `  Did you mean 'price'?`, or nothing where no name is near."""
    if len(given) > _LONGEST_GUESSED:
        return ""
    folded = {name.casefold(): name for name in names}
    near = difflib.get_close_matches(given.casefold(), folded, n=1)
    return f"  Did you mean '{folded[near[0]]}'?" if near else ""


def wrong_with_id(text: str) -> str | None:
    """Say why a text is no id of a query, a stream or a feed; None where it is one."""
    if not text:
        return "is empty"
    if len(text) > LONGEST_ID:
        return f"has {len(text):,} characters; the limit is {LONGEST_ID}"
    found = _NO_ID.search(text)
    if found is None:
        return None
    what = "half a surrogate pair" if found[0] >= "\ud800" else "a control character"
    return f"holds {what}, U+{ord(found[0]):04X}, as character {found.start() + 1}"


def cut(text: str, most: int | None = 40) -> str:
    """Cut a text behind its first characters; None: at no length."""
    return text if most is None or len(text) <= most else text[: most - 1] + "…"


def cut_in_the_middle(text: str, most: int) -> str:
    """Leave out the middle of what is too long: ids differ in their ends."""
    if len(text) <= most:
        return text
    tail = most * 2 // 5
    return f"{text[: most - tail - 1]}…{text[-tail:]}"


def shortened(text: str, most: int = 40) -> str:
    """Cut a text for a message; what cannot be printed becomes a question mark in a diamond."""
    short = cut(text, most)
    return short if short.isprintable() else "".join(c if c.isprintable() else "�" for c in short)


def escaped(text: str, most: int | None = None) -> str:
    """Cut a text for a table; what cannot be printed is written as Python's strings do."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return cut(text, most)


def the_query(query_id: str) -> str:
    """Name a query in a message: `the query 'hot'`."""
    return f"the query '{shortened(query_id)}'"
