"""The page: a template, its style, its scripts and the data, in one file that needs nothing else.

Law: no text of the data is markup or script. It is in a JSON block in which no character ends a
block or a line of script, and the scripts put it on the page as text. The page's own policy lets
it load nothing, and run nothing but these scripts, identified by their hash.
"""

import base64
import hashlib
import html
import json
from collections.abc import Mapping
from importlib.resources import files
from string import Template
from typing import Any

SCRIPTS = (
    *("words", "paint", "plane", "view", "shapes", "regions", "choose"),
    *("map", "chart", "bars", "tables", "joins", "page"),
)
"""In this order: each uses the ones before."""

UNSAFE = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}
"""Escapes of JSON for the same characters."""


def page(data: Mapping[str, Any]) -> str:
    """Fill the template."""
    style = part("page.css")
    script = (
        '(() => {\n"use strict";\n' + "\n".join(part(f"{name}.js") for name in SCRIPTS) + "\n})();"
    )
    policy = (
        f"default-src 'none'; style-src '{named(style)}'; script-src '{named(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return Template(part("page.html")).substitute(
        policy=policy,
        title=html.escape(f"Fencepost report: {data['lake']}"),
        style=style,
        data=as_block(data),
        script=script,
    )


def as_block(data: Mapping[str, Any]) -> str:
    """Write JSON that is safe inside a script element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.translate(UNSAFE)


def named(text: str) -> str:
    """Give the hash of an inline block for a content security policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def part(name: str) -> str:
    """Read a part of the page."""
    return (files(__package__) / "parts" / name).read_text(encoding="utf-8")
