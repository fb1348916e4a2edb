"""One line of JSON: is it an object, and what text do its cells hold?

Law: numbers keep the text in which they were written, so that no digit is lost before it is judged.
"""

import json
import re
from typing import Any

from pipelines.files.read.lines import LONGEST, why_long
from pipelines.files.read.raw_rows import Declared

JsonObject = dict[str, Any]

HALF_PAIR = re.compile("[\ud800-\udfff]")
"""What JSON can escape and no UTF-8 holds."""

_KINDS = {
    dict: "an object",
    list: "a list",
    str: "a string",
    bool: "true or false",
    type(None): "null",
}


class Literal(str):
    """A number as it was written; `NaN` and `Infinity` too, which JSON does not have."""

    __slots__ = ()


def _unambiguous(pairs: list[tuple[str, Any]]) -> JsonObject:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for place, key in enumerate(keys) if key in keys[:place])
        raise ValueError(f"key {shown(twice)} stands twice")
    return found


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unambiguous,
    parse_float=Literal,
    parse_int=Literal,
    parse_constant=Literal,
)


def read_object(line: bytes) -> JsonObject:
    """Read a line; ValueError says why it is no object."""
    if (length := len(line.rstrip(b"\r\n"))) > LONGEST:
        raise ValueError(why_long(length))
    try:
        found = _DECODER.decode(line.decode())
    except UnicodeDecodeError:
        raise ValueError("bytes that are not UTF-8") from None
    except json.JSONDecodeError as fault:
        raise ValueError(f"not JSON: {fault.msg} (column {fault.pos + 1})") from None
    except RecursionError:
        raise ValueError("not read: nested too deep") from None
    if not isinstance(found, dict):
        kind = "a number" if isinstance(found, Literal) else _KINDS[type(found)]
        raise ValueError(f"{kind}, where an object was expected")  # noqa: TRY004 the data's fault
    return found


def text_of(found: JsonObject, name: str, declared: Declared) -> str | None:
    """Give the text of a cell; ValueError says why it can be none. A null has no text.

    A mark may be left out, which is how most programs write that there is none: it is empty then.
    """
    is_mark = name == declared.deleted
    if name not in found and not is_mark:
        raise ValueError(f"{name} is missing")
    value = found.get(name)
    if value is None:
        return "" if is_mark else None
    if is_mark and isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Literal):
        if name == declared.stream_id and not value.lstrip("-").isdecimal():
            raise ValueError(f"{name}: {shown(value)} is a number, but not an integer")
        return str(value)
    if isinstance(value, str) and (is_mark or name in declared.needed):
        half = None if value.isascii() else HALF_PAIR.search(value)
        if half is not None:
            what = f"U+{ord(half[0]):04X}, as character {half.start() + 1}"
            raise ValueError(f"{name} holds half a surrogate pair, {what}")
        return value
    times = dict.fromkeys((declared.ts, declared.clock), "a time")
    others = {declared.stream_id: "a string", declared.deleted: "true or false"}
    expected = {**others, **times}.get(name, "a number")
    kind = "a string" if isinstance(value, str) else _KINDS[type(value)]
    raise ValueError(f"{name}: {shown(value)} is {kind}, where {expected} was expected")


def shown(value: object, most: int = 40) -> str:
    """Write a value as JSON does, and no longer than a detail should be."""
    if value and isinstance(value, list | dict):
        return "[…]" if isinstance(value, list) else "{…}"
    text = value if isinstance(value, Literal) else json.dumps(value)
    return text if len(text) <= most else text[: most - 1] + "…"
