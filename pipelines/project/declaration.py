"""A feed that was found, as the lines of a fencepost.toml, each with why it is so.

Law: what stands in the file already stays as it is, byte for byte; the lines come after it, and the
whole is read as settings before any of it is written.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

from fencepost.errors import InputError
from fencepost.text import escaped
from pipelines.disk.atomic import replacing
from pipelines.files.guess.draft import Draft, FoundKey, Value
from pipelines.project.settings import Settings, understood
from pipelines.project.settings.names import why_no_feed

COMMENT_AT = 44
"""The column that comments begin in, where the line is short enough."""
MOST_COMMENT = 90


def table_of(name: str, source: str, draft: Draft) -> str:
    """Write the table of a feed, with comments."""
    return "\n".join(_lines(name, source, draft)) + "\n"


def _lines(name: str, source: str, draft: Draft) -> Iterator[str]:
    sample = escaped(Path(draft.paths[0]).name, MOST_COMMENT)
    yield f"# As found in {sample} by `fencepost feeds add`: {escaped(draft.form, MOST_COMMENT)}."
    yield f"[feeds.{name}]"
    first, *others = draft.keys
    yield _line(first)
    yield _line(FoundKey("source", source, "drop its files here"))
    yield from map(_line, others)
    for column, why in draft.unused.items():
        yield f"# not used: {escaped(column, MOST_COMMENT)}, {why}"


def _line(key: FoundKey) -> str:
    said = f"{key.name} = {as_toml(key.value)}"
    return f"{said.ljust(COMMENT_AT)} # {escaped(key.why, MOST_COMMENT)}"


def as_toml(value: Value) -> str:
    """Write a value as TOML."""
    if isinstance(value, bool | int):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(as_toml, value))}]"
    if isinstance(value, dict):
        return (
            f"{{ {', '.join(f'{_bare(key)} = {as_toml(each)}' for key, each in value.items())} }}"
        )
    if "\\" in value and "'" not in value and value.isprintable():
        return f"'{value}'"  # a regular expression stays legible
    return json.dumps(value, ensure_ascii=not value.isprintable())


def _bare(key: str) -> str:
    plain = key.isascii() and key.replace("_", "").replace("-", "").isalnum()
    return key if plain else json.dumps(key, ensure_ascii=not key.isprintable())


def refuse_name(name: str, settings: Settings | None) -> None:
    """Refuse a name that no feed may have, or that one has."""
    why = why_no_feed(name)
    if why is not None:
        raise InputError(why)
    if settings is not None and name in settings.feeds:
        raise InputError(
            f"[feeds.{name}] is in {settings.file} already: take another name, or change its keys "
            "there"
        )


def extended(file: Path, table: str) -> tuple[bytes, Settings]:
    """Add a table to the text of a fencepost.toml; Faults say why the whole cannot be read."""
    content = file.read_bytes()
    end = "\r\n" if b"\r\n" in content else "\n"
    gap = "" if content.endswith(b"\n") or not content else end
    more = f"{gap}{end}{table.replace(chr(10), end)}"
    text = content.decode("utf-8-sig") + more
    return content + more.encode(), understood(text, file, None, os.environ)


def write(file: Path, content: bytes) -> None:
    """Replace a file; where it leads elsewhere, the file that it leads to."""
    target = file.resolve()
    with replacing(target) as (passing,):
        passing.write_bytes(content)
        passing.chmod(target.stat().st_mode & 0o7777)
