"""Words that several refusals share: what is near to a mistyped name, and what may be an id."""

import difflib
import re
from collections.abc import Collection

from fencepost.errors import InputError

LONGEST_ID = 256
_NO_ID = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_LONGEST_GUESSED = 64
MOST_LISTED = 12
"""Of more names than these none is listed where one is near to what was given."""


def did_you_mean(given: str, names: Collection[str]) -> str:
    """Give `  Did you mean 'price'?`, or nothing where no name is near."""
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
        return f"has {len(text):,} characters; at most {LONGEST_ID} are taken"
    found = _NO_ID.search(text)
    if found is None:
        return None
    what = "half a surrogate pair" if found[0] >= "\ud800" else "a control character"
    return f"holds {what}, U+{ord(found[0]):04X}, as character {found.start() + 1}"


def shortened(text: str, most: int = 40) -> str:
    """Cut a text for a message; what cannot be printed becomes a question mark in a diamond."""
    short = text if len(text) <= most else text[: most - 1] + "…"
    return short if short.isprintable() else "".join(c if c.isprintable() else "�" for c in short)


def refuse_unknown(given: str | None, names: Collection[str], what: str) -> None:
    """Raise InputError for a name that does not exist, and list those that do; None is no name."""
    if given is None or given in names:
        return
    near = did_you_mean(given, names)
    if near and len(names) > MOST_LISTED:
        raise InputError(f"unknown {what} '{shortened(given)}'.{near}")
    raise InputError(f"unknown {what} '{shortened(given)}'; there are: {', '.join(names)}.{near}")
