"""The guard of the benchmarks: what it reads, and when it says that a line is worse."""

import json

import pytest

from benchmarks import guard
from benchmarks.guard import compared, parsed
from benchmarks.report import Line


def printed(*lines: Line) -> str:
    return "\n".join(["One axis", *(f"  {line}" for line in lines), "", "2 of 2 bars met"])


def test_a_line_is_read_as_the_report_prints_it():
    lines = (
        Line("S1 default: ranks, of a NumPy fill", 3.586, 4.0, facts="9.8 ns a tuple"),
        Line("DuckDB, of ours, N = 10 K", 16.4, 25.0, at_least=True, facts="0.13 s"),
        Line("d = 1: time, of d = 1", 1.0),
        Line("what has no figure", None, facts="4 MB"),
    )
    assert list(parsed(printed(*lines))) == [
        ("S1 default: ranks, of a NumPy fill", 3.59, False),
        ("DuckDB, of ours, N = 10 K", 16.4, True),
        ("d = 1: time, of d = 1", 1.0, None),
    ]


@pytest.mark.parametrize(
    ("base", "now", "at_least", "fails"),
    [
        ([2.0, 2.0], [2.09, 2.2], False, False),  # the best round counts, 4.5% worse
        ([2.0, 2.0], [2.12, 2.2], False, True),
        ([2.0, 2.3], [2.12, 2.2], False, False),  # base differs from itself by 15%
        ([2.0, 2.0], [1.0, 1.1], False, False),
        ([20.0, 20.0], [18.0, 17.0], True, True),
        ([20.0, 20.0], [19.5, 17.0], True, False),
        ([2.0, 2.0], [9.0, 9.0], None, False),  # without a bar there is no direction
    ],
)
def test_a_line_is_worse_beyond_the_tolerance_and_the_noise(base, now, at_least, fails):
    [verdict] = compared({"a": base}, {"a": now}, {"a": at_least})
    assert verdict.fails(0.05) == fails
    assert ("WORSE" in verdict.row(0.05)) == fails


def test_a_line_that_only_one_commit_prints_is_not_compared():
    assert not list(compared({"gone": [1.0]}, {"new": [1.0]}, {"gone": False, "new": False}))


def test_an_indented_claim_is_read_like_any_other():
    line = Line("  W = 0.02%: time a post passed, of the default's", 1.17, 1.3)
    [(claim, figure, at_least)] = parsed(printed(line))
    assert (claim, figure, at_least) == (line.claim.strip(), 1.17, False)


@pytest.fixture
def committed(tmp_path, monkeypatch):
    """Two lines as committed; what `measure` gives round by round is what is measured."""
    path = tmp_path / "guarded.json"
    lines = {
        "step: alone": {"at_least": False, "figures": [2.0, 2.1]},
        "near: the best": {"at_least": True, "figures": [9.0, 10.0]},
    }
    path.write_text(json.dumps(lines))
    monkeypatch.setattr(guard, "COMMITTED", path)
    ran = []

    def measure(*rounds):
        def guarded(sections):
            ran.append(sections)
            for claim, figure in rounds[len(ran) - 1].items():
                yield claim, figure, claim.startswith("near")

        monkeypatch.setattr(guard, "guarded", guarded)
        return ran

    return measure


def test_what_is_worse_than_committed_is_measured_again(committed, capsys):
    ran = committed({"step: alone": 2.6, "near: the best": 9.9}, {"step: alone": 2.4})
    assert guard.main([]) == 0
    assert ran == [[], ["step"]]
    assert "2 lines compared, 0 worse by more than 25%" in capsys.readouterr().out


def test_what_stays_worse_than_committed_fails(committed, capsys):
    ran = committed({"step: alone": 2.0, "near: the best": 7.0}, *[{"near: the best": 7.9}] * 2)
    assert guard.main([]) == 1
    assert ran == [[], ["near"], ["near"]]
    assert "WORSE" in capsys.readouterr().out


def test_a_committed_line_that_is_not_measured_is_named(committed, capsys):
    committed({"step: alone": 2.0, "step: new": 3.0})
    assert guard.main([]) == 0
    printed = capsys.readouterr().out
    assert "near: the best: not measured any more" in printed
    assert "step: new: new; --write commits it" in printed


def test_where_nothing_is_measured_the_guard_fails(committed):
    committed({})
    assert guard.main([]) == 1


def test_a_line_that_is_too_noisy_is_not_committed(committed, capsys):
    committed({"step: a": 1.0, "near: b": 4.0}, {"step: a": 1.1, "near: b": 9.0})
    assert guard.main(["--write", "--rounds", "2"]) == 0
    assert json.loads(guard.COMMITTED.read_text()) == {
        "step: a": {"at_least": False, "figures": [1.0, 1.1]}
    }
    assert "near: b: [4.0, 9.0], too noisy" in capsys.readouterr().out


def test_figures_of_some_sections_are_committed_beside_the_others(committed):
    ran = committed({"step: alone": 1.5})
    assert guard.main(["--write", "--rounds", "1", "step"]) == 0
    assert ran == [["step"]]
    figures = {
        claim: line["figures"] for claim, line in json.loads(guard.COMMITTED.read_text()).items()
    }
    assert figures == {"near: the best": [9.0, 10.0], "step: alone": [1.5]}


def test_the_committed_lines_are_of_sections_that_are_guarded():
    from benchmarks.guarded import SECTIONS

    lines = json.loads(guard.COMMITTED.read_text())
    assert {claim.split(":")[0] for claim in lines} == SECTIONS.keys()
