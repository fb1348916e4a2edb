"""The tool that breaks the kernels: what it changes, and that a dozen of its mutants are noticed.

`make mutants` tries all of them.
"""

import ast
import re
import subprocess
import sys

import pytest

from tests.mutants import SOURCES, UNSEEN, all_mutants, changes, main, mutants_of, read, spread
from tests.support import kept_mutants
from tests.support.kept_mutants import HOUSE, keep, known

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
    look_ups = {"_kind", "_ground", "pick", "ranks_of"}
    assert jitted - {mutant.function for mutant in mutants} == look_ups
    assert {mutant.source for mutant in mutants} == set(SOURCES)
    assert UNSEEN.keys() <= {mutant.key for mutant in mutants}
    assert sum(mutant.key in UNSEEN for mutant in mutants) < 0.02 * len(mutants)


@pytest.mark.parametrize("sample", [1, 300, 10**6])
def test_a_sample_is_spread_from_the_first_file_to_the_last(sample: int) -> None:
    mutants = all_mutants(read())
    chosen = spread(mutants, sample)
    assert len(chosen) == min(sample, len(mutants))
    assert len(set(chosen)) == len(chosen)
    assert sample == 1 or {mutant.source for mutant in chosen} == set(SOURCES)


@pytest.mark.fault(72)
def test_the_checks_notice_a_dozen_mutants() -> None:
    command = [sys.executable, "-m", "tests.mutants", "--anew", "--sample", "12"]
    done = subprocess.run(command, cwd=HOUSE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("killed 12 of 12 (100.0%)"), done.stdout


def test_what_became_of_mutants_is_read_again_and_a_line_that_was_cut_off_is_not(tmp_path) -> None:
    file = tmp_path / "kept" / "code.jsonl"
    assert known(file) == {}
    keep(file, ("a.py", 3), "a check (ValueError)")
    keep(file, ("a.py", 4), None)
    whole = file.read_text()
    file.write_text(whole + '["a.py", 5, "a ch')
    assert known(file) == {("a.py", 3): "a check (ValueError)", ("a.py", 4): None}


def test_a_run_goes_on_with_those_that_are_left_and_begins_none_after_its_time(
    tmp_path, monkeypatch, capsys
) -> None:
    file = tmp_path / "code.jsonl"
    monkeypatch.setattr("tests.mutants.file_of_this_code", lambda: file)
    of_one = [mutant for mutant in all_mutants(read()) if "row_order" in mutant.source]
    for mutant in of_one[:-2]:
        keep(file, mutant.place, None if mutant is of_one[0] else "a check")
    main(["--of", "row_order", "--minutes", "0"])
    said = capsys.readouterr().out
    assert f"survived  {of_one[0]}" in said
    assert f"killed {len(of_one) - 3} of {len(of_one) - 2} " in said
    assert "2 are left" in said
    assert len(known(file)) == len(of_one) - 2


def test_kept_mutants_are_of_one_state_of_the_code(tmp_path, monkeypatch) -> None:
    (tmp_path / "fencepost").mkdir()
    monkeypatch.setattr(kept_mutants, "HOUSE", tmp_path)
    before = kept_mutants.file_of_this_code()
    (tmp_path / "fencepost" / "a.py").write_text("a = 1\n")
    assert kept_mutants.file_of_this_code() != before
