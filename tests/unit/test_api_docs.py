"""What the API says of itself is true: its examples run, and each name has a law."""

import doctest
import importlib

import pytest

import fencepost

NAMES = [name for name in fencepost.__all__ if name != "FencepostError"]
IN_THE_NOTEBOOK = {"open_lake", "LakeReader", "Rules"}
"""Names without an example of their own: examples/notebook.py opens a lake."""


def examples(found: object, name: str, **names: object) -> list[doctest.DocTest]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    return [test for test in finder.find(found, name, globs=names) if test.examples]


@pytest.mark.parametrize("name", ["fencepost", *NAMES])
def test_the_examples_of_a_docstring_run_and_give_what_they_say(name):
    found = fencepost if name == "fencepost" else getattr(fencepost, name)
    tests = examples(found, name)
    assert tests or name in IN_THE_NOTEBOOK, f"{name} has no example"
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    said: list[str] = []
    for test in tests:
        runner.run(test, out=said.append)
    assert not runner.summarize(verbose=False).failed, "".join(said)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "Rules"])
def test_a_name_has_a_law_and_its_cost(name):
    text = getattr(fencepost, name).__doc__ or ""
    assert "Law: " in text
    assert "Cost: " in text or "O(" in text or " s" in text


def test_the_modules_of_the_api_have_no_other_doctests():
    modules = ["api.evaluation", "api.inputs", "api.state", "api.tables", "api.join_run"]
    for module in modules:
        assert not examples(importlib.import_module(f"fencepost.{module}"), module)
