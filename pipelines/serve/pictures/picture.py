"""A picture: a PNG, and its content as text.

Law: in Markdown the text is only text, whatever characters it has.
"""

from base64 import b64encode
from dataclasses import dataclass
from html import escape

SPECIAL = "\\`*_[]()#!|~$"


@dataclass(frozen=True)
class Picture:
    """A PNG, and its content as text for those who cannot see it."""

    png: bytes
    alt: str


def as_markdown(picture: Picture) -> str:
    """Give a picture as one self-contained line of Markdown."""
    data = b64encode(picture.png).decode()
    return f"![{_plain(picture.alt)}](data:image/png;base64,{data})"


def _plain(text: str) -> str:
    """Escape a text for Markdown and HTML."""
    seen = (letter if letter.isprintable() else "▯" for letter in " ".join(text.split()))
    line = escape("".join(seen), quote=True)
    return "".join(f"\\{letter}" if letter in SPECIAL else letter for letter in line)
