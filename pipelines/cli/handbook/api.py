"""docs/api.md: the names of `import fencepost`, as their docstrings describe them."""

import inspect
import re
from collections.abc import Iterator
from textwrap import dedent

import fencepost

TOP = """\
# The Python API

Written by `make docs` from the docstrings; do not edit. Every example is run by the tests.

```py
import fencepost as fp

result = fp.evaluate(ticks, "rules.jsonl")      # ticks: pandas, Polars, Arrow, DuckDB
result.events.to_pandas()                       # what entered and left, as an Arrow table
```

`pip install fencepost` has all of it but `open_lake`, which needs `fencepost[lake]`. Types are
declared (`py.typed`). What rules may say, and what counts as late, is in
[semantics.md](semantics.md).
"""


def api() -> str:
    """Write the page."""
    names = [name for name in fencepost.__all__ if name != "FencepostError"]
    ordered = sorted(names, key=lambda name: (name[0].isupper(), name))
    return "\n".join([TOP, *(_section(name) for name in ordered), _errors()])


def _section(name: str) -> str:
    found = getattr(fencepost, name)
    parts = [f"## {name}", _signature(f"fencepost.{name}", found), _text(found.__doc__)]
    if inspect.isclass(found):
        for member, described in _members(found):
            parts += [f"### {name}.{member}", *described]
    return "\n\n".join(part for part in parts if part) + "\n"


def _members(found: type) -> Iterator[tuple[str, list[str]]]:
    """List the public methods and properties in their order in the source."""
    for member, value in vars(found).items():
        if member.startswith("_"):
            continue
        if isinstance(value, property):
            yield member, [_text(value.__doc__)]
        elif callable(getattr(found, member)) and value.__doc__:
            bound = getattr(found, member)
            yield member, [_signature(f"{found.__name__}.{member}", bound), _text(value.__doc__)]


def _signature(name: str, found: object) -> str:
    """Write a call as code; a class that users never construct has none."""
    if inspect.isclass(found) and found.__init__ is object.__init__:
        return ""
    if inspect.isclass(found) and found.__name__ != "Monitor":
        return ""
    signature = inspect.signature(found)  # type: ignore[arg-type]
    shown = [p for p in signature.parameters.values() if p.name != "self"]
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in shown]
    call = f"{name}{signature.replace(parameters=plain, return_annotation=inspect.Signature.empty)}"
    if len(call) > 88:
        call = call.replace("(", "(\n    ", 1).replace(", *, ", ", *,\n    ")
        call = re.sub(r"\)$", "\n)", call)
    return f"```py\n{call}\n```"


def _text(docstring: str | None) -> str:
    """Write a docstring as Markdown: examples and columns that are aligned become code."""
    lines = inspect.cleandoc(docstring or "").split("\n")
    blocks = re.split(r"\n{2,}", "\n".join(lines))
    return "\n\n".join(_block(block) for block in blocks)


def _block(block: str) -> str:
    if block.startswith(">>> "):
        return f"```pycon\n{block}\n```"
    if block.startswith("    "):
        return f"```py\n{dedent(block)}\n```"
    if re.search(r"^\w+(, \w+)*  +\S", block, re.MULTILINE):
        return f"```text\n{block}\n```"
    return block


def _errors() -> str:
    from fencepost import errors

    tree = re.search(r"(?m)^    FencepostError\n(?:    .*\n)+", errors.__doc__ or "")
    drawn = dedent(tree[0]) if tree else ""
    return (
        "## FencepostError\n\nThe root of all errors that are raised on purpose; the others are in "
        f"`fencepost.errors`.\n\n```text\n{drawn}```\n"
    )
