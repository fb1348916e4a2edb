"""One word for one thing: the names of the product are the field's, and each is used once.

A name is split where it joins words (`last_held`, `LeftHeld`); a constant counts like any other.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

HOUSE = Path(__file__).resolve().parents[2]
PRODUCT = ("fencepost", "schemas", "pipelines", "assets")
VAGUE = frozenset({"told", "untold", "laid", "asked", "held", "taken"})
NOUNS = frozenset(
    {"feed", "landing", "planning", "loading", "hashing", "listing", "heading"}
    | {"packed", "ragged"}  # a packed tree, a ragged array: what such structures are called
)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_PARTICIPLE = re.compile(r"(?:ing|ed|told|held|taken|laid|found|given|made|kept|lost|shown)$")


def sources() -> list[str]:
    return sorted(
        path.relative_to(HOUSE).as_posix()
        for room in PRODUCT
        for path in (HOUSE / room).rglob("*.py")
    )


def names_in(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every name that a module gives or uses, with its line."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, lineno=line) | ast.Attribute(attr=name, lineno=line):
                yield line, name
            case ast.arg(arg=name, lineno=line) | ast.keyword(arg=str(name), lineno=line):
                yield line, name
            case ast.FunctionDef(name=name, lineno=line) | ast.ClassDef(name=name, lineno=line):
                yield line, name
            case ast.alias(name=name, asname=other, lineno=line):
                yield line, (other or name).rpartition(".")[2]
            case ast.MatchAs(name=str(name), lineno=line):
                yield line, name


def words_of(name: str) -> set[str]:
    return {word.lower() for word in _WORDS.findall(name)}


@pytest.mark.parametrize("room", PRODUCT)
def test_no_name_of_the_product_is_a_word_that_could_mean_anything(room: str) -> None:
    vague = [
        f"{source}:{line}: {name}"
        for source in sources()
        if source.startswith(f"{room}/")
        for line, name in names_in(ast.parse((HOUSE / source).read_text(encoding="utf-8")))
        if words_of(name) & VAGUE
    ]
    assert not vague, "\n".join(vague)


def test_a_module_is_named_after_a_thing_and_no_participle() -> None:
    modules = [
        source
        for source in sources()
        for name in Path(source).with_suffix("").parts
        if _PARTICIPLE.search(name) and name not in NOUNS
    ]
    assert not modules, "\n".join(modules)


def test_no_two_classes_of_the_product_share_a_name() -> None:
    places = defaultdict(list)
    for source in sources():
        for node in ast.walk(ast.parse((HOUSE / source).read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{source}:{node.lineno}")
    twins = {name: found for name, found in places.items() if len(found) > 1}
    assert not twins, "\n".join(f"{name}: {', '.join(found)}" for name, found in twins.items())
