"""A picture: a PNG, and what it shows in words.

Law: in Markdown the words are words, whatever characters are in them.
"""

from base64 import b64encode
from dataclasses import dataclass
from html import escape

SPECIAL = "\\`*_[]()#!|~$"


@dataclass(frozen=True)
class Picture:
    """A PNG, and what it shows in words for who does not see it."""

    png: bytes
    alt: str


def as_markdown(picture: Picture) -> str:
    """Give a picture as a line of Markdown that holds all of it."""
    data = b64encode(picture.png).decode()
    return f"![{_plain(picture.alt)}](data:image/png;base64,{data})"


def _plain(words: str) -> str:
    """Write words so that Markdown and HTML read them as they are."""
    seen = (letter if letter.isprintable() else "▯" for letter in " ".join(words.split()))
    line = escape("".join(seen), quote=True)
    return "".join(f"\\{letter}" if letter in SPECIAL else letter for letter in line)
