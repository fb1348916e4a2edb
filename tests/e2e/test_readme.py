"""The README is true: its commands run as they stand, and print what it says they print.

A `console` block is a session: a line after `$ ` is a command, what follows is what it prints.
`cat FILE` of a file that is not there yet means that the reader makes it.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
README = (ROOT / "README.md").read_text()
ROOMS = "assets|benchmarks|docs|fencepost|pipelines|schemas|tests"
MAKEFILE = (ROOT / "Makefile").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def sessions() -> list[tuple[str, str]]:
    """Every command of the console blocks, and what it is said to print."""
    commands = []
    for block in blocks("console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, printed = part.partition("\n")
            while command.endswith("\\"):
                more, _, printed = printed.partition("\n")
                command = command[:-1] + more
            commands.append((command, printed))
    return commands


def told(words: list[str], folder: Path) -> str:
    done = subprocess.run(
        words, cwd=folder, capture_output=True, encoding="utf-8", check=False, timeout=120
    )
    assert done.returncode in {0, 2}, done.stderr
    assert done.stderr or not done.returncode, "faults go to stderr"
    return done.stdout + done.stderr


def timeless(text: str) -> str:
    """Seconds differ from run to run; blank lines are the README's layout."""
    return re.sub(r"\d+\.\d+ s\b", "… s", re.sub(r"\n+", "\n", text)).strip()


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_what_the_readme_types_prints_what_the_readme_says(tmp_path: Path) -> None:
    assert sessions(), "the README shows no session"
    for command, printed in sessions():
        words = shlex.split(command, comments=True)
        if words[0] == "fencepost":
            said = told([sys.executable, "-m", "pipelines.cli", *words[1:]], tmp_path)
            assert timeless(said) == timeless(printed), command
        elif words[0] == "cat" and not (tmp_path / words[1]).exists():
            (tmp_path / words[1]).write_text(printed.rstrip("\n") + "\n")
        else:
            assert words[0] in {"cat", "cp", "cut", "head"}, f"the README runs {words[0]}"
            assert timeless(told(words, tmp_path)) == timeless(printed), command


def test_every_make_target_that_a_page_names_is_one() -> None:
    pages = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "tests/README.md")]
    text = "\n".join(page.read_text() for page in pages)
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", text, re.MULTILINE))
    assert "test" in named
    assert named <= set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))


def test_no_page_points_at_a_file_that_is_not_there() -> None:
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("tests/*.md")]:
        text = page.read_text()
        links = [link for link in re.findall(r"\]\(([^)#]+)[^)]*\)", text) if "://" not in link]
        named = re.findall(rf"`((?:{ROOMS})/[\w./-]*)`", text)
        missing = [link for link in links if not (page.parent / link).exists()]
        missing += [path for path in named if not (ROOT / path).exists()]
        assert not missing, page.name
