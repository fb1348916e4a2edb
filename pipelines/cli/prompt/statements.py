"""Where a statement ends: at a `;` outside of quotes and comments.

Law: the statements and the rest, joined, are the text; a `;` in a quoted text, a quoted
name, a comment or a dollar-quoted text ends nothing.
"""

import re

_PIECE = re.compile(
    r"""
    (?P<quoted>'(?:[^']|'')*'|"(?:[^"]|"")*"|(?P<tag>\$\w*\$).*?(?P=tag)|--[^\n]*(?:\n|$)|/\*.*?\*/)
    |(?P<open>'|"|\$\w*\$|/\*)
    |(?P<end>;)
    |.
    """,
    re.DOTALL | re.VERBOSE,
)
_BLANK = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*", re.DOTALL)


def split(text: str) -> tuple[list[str], str]:
    """Give the statements that have ended, each with its `;`, and what comes after. O(n)."""
    done, begin = [], 0
    for piece in _PIECE.finditer(text):
        if piece["open"]:  # what it opens does not end
            break
        if piece["end"]:
            done.append(text[begin : piece.end()])
            begin = piece.end()
    return done, text[begin:]


def is_blank(text: str) -> bool:
    """Say whether there is nothing but white space and comments."""
    return _BLANK.fullmatch(text) is not None


def is_whole(text: str) -> bool:
    """Say whether the text can be run: nothing is open after its last `;`."""
    statements, rest = split(text)
    return bool(statements) and is_blank(rest)
