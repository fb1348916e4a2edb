"""The tool that breaks the kernels: what it changes, and that a dozen of its mutants are noticed.

`make mutants` tries all of them.
"""

import ast
import re
import subprocess
import sys

import pytest

from tests.mutants import HOUSE, SOURCES, UNSEEN, all_mutants, changes, mutants_of, read, spread

KERNEL = '''
"""Docs with a < b."""
LIMIT = 1 + 1

@njit(nogil=True)
def kernel(a: int = 1 + 1, b=True):
    """More of a < b."""
    if a < b <= 3 and not b:
        return -min(a, b)
    prefetch(a, b + 1)
    a += 1
    return a if b else (a >> 1) == 0
'''
CHANGES = {
    "a < b <= 3 and (not b) → a < b <= 3 or not b",
    "a < b <= 3 → a <= b <= 3",
    "a < b <= 3 → a >= b <= 3",
    "a < b <= 3 → a < b < 3",
    "a < b <= 3 → a < b > 3",
    "not b → not not b",
    "-min(a, b) → +min(a, b)",
    "min(a, b) → max(a, b)",
    "a += 1 → a -= 1",
    "b → not b",
    "a >> 1 == 0 → a >> 1 != 0",
    "a >> 1 → a << 1",
}


def test_every_sign_in_a_function_is_changed_once_and_nothing_outside_or_fetched_ahead() -> None:
    mutants = mutants_of("kernel.py", KERNEL)
    assert {mutant.key[1] for mutant in mutants} == CHANGES
    assert len(mutants) == len(CHANGES)
    assert {mutant.line for mutant in mutants} == {8, 9, 11, 12}
    for mutant in mutants:
        tree = ast.parse(KERNEL)
        changes(tree)[mutant.number].make()
        text = ast.unparse(ast.fix_missing_locations(tree))
        assert text != ast.unparse(ast.parse(KERNEL))
        compile(text, "kernel.py", "exec")


@pytest.mark.fault(72)
def test_every_kernel_has_mutants_and_what_is_listed_as_unseen_is_there_and_little() -> None:
    texts = read()
    mutants = all_mutants(texts)
    jitted = {name for text in texts.values() for name in re.findall(r"@njit.*\ndef (\w+)", text)}
    look_ups = {"_kind", "_ground", "pick"}
    assert jitted - {mutant.function for mutant in mutants} == look_ups
    assert {mutant.source for mutant in mutants} == set(SOURCES)
    assert UNSEEN.keys() <= {mutant.key for mutant in mutants}
    assert sum(mutant.key in UNSEEN for mutant in mutants) < 0.02 * len(mutants)


@pytest.mark.parametrize("sample", [1, 40, 10**6])
def test_a_sample_is_spread_from_the_first_file_to_the_last(sample: int) -> None:
    mutants = all_mutants(read())
    chosen = spread(mutants, sample)
    assert len(chosen) == min(sample, len(mutants))
    assert len(set(chosen)) == len(chosen)
    assert sample == 1 or {mutant.source for mutant in chosen} == set(SOURCES)


@pytest.mark.fault(72)
def test_the_checks_notice_a_dozen_mutants() -> None:
    command = [sys.executable, "-m", "tests.mutants", "--sample", "12"]
    done = subprocess.run(command, cwd=HOUSE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("killed 12 of 12 (100.0%)"), done.stdout
