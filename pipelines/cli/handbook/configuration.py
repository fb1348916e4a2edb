"""docs/configuration.md: every key of fencepost.toml and every variable of the environment."""

from typing import Any

from pipelines.project.settings.keys import TABLES
from pipelines.project.settings.section import Key

TOP = """\
# Configuration

Written by `make docs` from `pipelines/project/settings/keys.py`; do not edit.

A project is a folder with a `fencepost.toml`. The nearest one counts, from the working folder
upward, unless `--config` or the variable `FENCEPOST_CONFIG` names another. Paths in it begin at its
own folder. Durations are written `90s`, `3m`, `1h30m`, `24h` or `PT3M`. A key that nobody knows is
a fault, and all faults are told at once. `fencepost init` writes a file with every key in it.
"""

ABOUT = {
    "lake": "Where the tables are, and how they are laid out.",
    "run": "How a run goes.",
    "alerts": """\
Where Dagster's sensors send word of refused deliveries and failed runs. Without this table there
are no such sensors.""",
    "feeds.<name>": """\
One table for each source of tuples. The name is `a-z` first, then up to 62 of `a-z`, `0-9` and `_`.
It is also the name of the table of its tuples, so it can be none of the tables and views that every
lake has, nor `landing`. A new feed gets its table with the next command.""",
}

ELSEWHERE = {
    "FENCEPOST_CONFIG": "The `fencepost.toml`, or its folder. `--config` stands over it.",
    "FENCEPOST_JAVA": "Which Java Spark is started with: `system`, `bundled`, or the path of one. "
    "Without it the one that JAVA_HOME names, the one on the path, or the bundled one: whichever "
    "first is 17 or 21.",
}
"""The variables that stand over no key."""


def configuration() -> str:
    """Write the page."""
    parts = [TOP]
    for table, keys in TABLES.items():
        parts.append(f"## [{table}]\n{ABOUT[table]}\n\n{_table(keys)}\n\n{_example(table, keys)}")
    parts.append(f"## The environment\n{_variables()}")
    return "\n".join(parts)


def _table(keys: tuple[Key[Any], ...]) -> str:
    lines = ["| key | takes | default | |", "| --- | --- | --- | --- |"]
    for key in keys:
        default = (
            "**must be there**" if key.missing else "" if key.shown is None else _code(key.shown)
        )
        lines.append(f"| `{key.name}` | {key.read.expected} | {default} | {key.meaning} |")
    return "\n".join(lines)


def _example(table: str, keys: tuple[Key[Any], ...]) -> str:
    lines = [f"{key.name} = {key.example}" for key in keys]
    named = table.replace("<name>", "ticks")
    return "\n".join(["```toml", f"[{named}]", *lines, "```\n"])


def _variables() -> str:
    over = {
        key.variable: f"Stands over `{key.name}` in `[{table}]`."
        for table, keys in TABLES.items()
        for key in keys
        if key.variable is not None
    }
    lines = ["| variable | |", "| --- | --- |"]
    lines += [f"| `{name}` | {words} |" for name, words in sorted({**over, **ELSEWHERE}.items())]
    return "\n".join([*lines, "\nA variable that is empty counts as not there.\n"])


def _code(toml: str) -> str:
    return f"`{toml}`"
