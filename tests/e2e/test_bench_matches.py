"""Each section of the benchmarks of matches runs, and its answers are equal, at their smallest."""

import pytest

from benchmarks.matches import SECTIONS, main


@pytest.mark.slow
@pytest.mark.parametrize("section", SECTIONS)
def test_a_section_of_the_benchmarks_answers_as_its_rivals_do(section, capsys):
    assert main([section, "--quick"]) == 0
    told = capsys.readouterr().out
    assert SECTIONS[section][0] in told
    assert " × " in told


def test_a_section_that_is_none_is_named(capsys):
    with pytest.raises(SystemExit):
        main(["rectangle"])
    assert "rectangles" in capsys.readouterr().err
