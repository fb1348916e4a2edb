"""The pages of the documentation, played: what they type is typed, what they say is compared.

A `console` block is a session in a folder: a line after `$ ` is a command, what follows is what it
prints. `cat FILE` of a file that is not there yet means that the reader makes it. A `sql` block is
run on the lake in that folder, a `python` block in the folder; a `text` block right after one is
its output. Seconds differ from run to run, and `…` matches whatever a line has there.

`python -m tests.support.commands.snippets PAGE…` plays pages and writes down what was said.
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from tests.support.commands.commands import REPOSITORY, fencepost

PLAYED = ("console", "sql", "python")
READ = ("toml", "sh")
"""Blocks that the product reads without running them: settings, and commands for elsewhere."""
SHOWN = ("text", "nginx", "ini", "yaml", "py", "pycon")
"""Answers and drawings; what only another program could run; docs/api.md, whose doctests run."""

TOOLS = {"cat", "cp", "cut", "head", "ls", "mkdir", "mv", "rm"}
ENGINE = {"FENCEPOST_RUNNER": "here"}
"""Spark is not the point of a page; that both give the same rows is held elsewhere."""

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_ASSIGNED = re.compile(r"([A-Z_]+)=(\S*)\s+")
_SECONDS = re.compile(r"\d+\.\d+ s\b")


class Block(NamedTuple):
    """A fenced block of a page: where it begins, and for one with an answer, what that is."""

    page: Path
    line: int
    language: str
    text: str
    answer: str | None

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(REPOSITORY)}:{self.line}"

    @property
    def takes_spark(self) -> bool:
        return self.language == "python" and re.search(r"\bspark\.", self.text) is not None


class Command(NamedTuple):
    """A command of a session, as it is shown and in one line, and what it is said to print."""

    place: str
    shown: str
    line: str
    printed: str


def blocks(page: Path) -> list[Block]:
    """All fenced blocks of a page, in order."""
    content = page.read_text(encoding="utf-8")
    found = list(_FENCE.finditer(content))
    listed = []
    for here, after in zip_longest(found, found[1:]):
        follows = after is not None and not content[here.end() : after.start()].strip()
        answer = after[2] if after is not None and after[1] == "text" and follows else None
        line = content.count("\n", 0, here.start()) + 1
        listed.append(Block(page, line, here[1], here[2], answer))
    return listed


def commands(block: Block) -> Iterator[Command]:
    """Every command of a console block."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        shown, _, printed = part.partition("\n")
        while shown.endswith("\\"):
            more, _, printed = printed.partition("\n")
            shown = f"{shown}\n{more}"
        line = shown.replace("\\\n", "")
        yield Command(f"{block.place}: {line}", shown, line, printed)


@dataclass
class Session:
    """A reader at work: in which folder, and what Python has at hand."""

    folder: Path
    names: Mapping[str, Any] = field(default_factory=dict)

    def play(self, block: Block) -> None:
        """Do what a block says, and hold what it shows against what comes."""
        if block.language == "console":
            for command in commands(block):
                alike(command.printed, self.typed(command), command.place)
        elif block.language in PLAYED and (self.names or not block.takes_spark):
            said = self.asked(block)
            if block.answer is not None:
                alike(block.answer, said, block.place)

    def asked(self, block: Block) -> str:
        """Run SQL on the lake, or Python in the folder."""
        if block.language == "sql":
            said = self._fencepost("sql", block.text)
            assert re.search(r"^\d+ rows?$", said, re.MULTILINE), f"{block.place}: {said}"
            return said
        out = io.StringIO()
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(out):
            exec(compile(block.text, block.place, "exec"), {**self.names})  # noqa: S102
        return out.getvalue()

    def typed(self, command: Command) -> str:
        """Type a command."""
        line, environment = command.line, {}
        while assigned := _ASSIGNED.match(line):
            environment[assigned[1]] = assigned[2]
            line = line[assigned.end() :]
        tool, *words = shlex.split(line, comments=True)
        if tool == "fencepost":
            return self._fencepost(*words, **environment)
        if tool == "cd":
            self.folder = self.folder / words[0]
            return ""
        if tool == "cat" and not (self.folder / words[0]).exists():
            content = command.printed.rstrip("\n") + "\n"
            (self.folder / words[0]).write_text(content, encoding="utf-8")
            self._let_settle()
            return content
        assert tool in TOOLS, f"{command.place}: no page runs {tool}"
        words = [str(REPOSITORY / word) if word.startswith("examples/") else word for word in words]
        done = subprocess.run(
            [tool, *words], cwd=self.folder, capture_output=True, encoding="utf-8", check=False
        )
        self._let_settle()
        return done.stdout + done.stderr

    def _let_settle(self) -> None:
        """Backdate the files in the landing folders, so that they count as complete."""
        for path in self.folder.glob("landing/*/*"):
            os.utime(path, (path.stat().st_atime, path.stat().st_mtime - 60))

    def _fencepost(self, *words: str, **environment: str) -> str:
        with contextlib.chdir(self.folder), mock.patch.dict(os.environ, {**ENGINE, **environment}):
            said = fencepost(*words)
        assert said.code in {0, 2}, said.err
        assert said.err or not said.code, "faults go to stderr"
        return said.out + said.err


def alike(shown: str, said: str, place: str) -> None:
    """What is shown is what was said."""
    pattern = re.escape(plain(shown)).replace("…", "[^\n]*")
    assert re.fullmatch(pattern, plain(said)), (
        f"{place}\nshown:\n{plain(shown)}\nsaid:\n{plain(said)}"
    )


def plain(text: str) -> str:
    """Leave out what differs from run to run, and the page's layout."""
    lines = (line.rstrip() for line in _SECONDS.sub("… s", text).splitlines())
    return "\n".join(line for line in lines if line)


def retold(page: Path, folder: Path, names: Mapping[str, Any]) -> str:
    """Play a page, and return its text with the real output in place of what it shows."""
    session = Session(folder, names)
    content = page.read_text(encoding="utf-8")
    for block in blocks(page):
        if block.language == "console":
            new = "".join(_retold(command, session) for command in commands(block)).rstrip() + "\n"
            content = content.replace(f"```console\n{block.text}```", f"```console\n{new}```", 1)
        elif block.language in PLAYED and (names or not block.takes_spark):
            said = session.asked(block).rstrip("\n")
            if block.answer is not None:
                old = f"```{block.language}\n{block.text}```\n```text\n{block.answer}```"
                assert old in content, f"{block.place}: an answer follows in the next line"
                new = f"```{block.language}\n{block.text}```\n```text\n{said}\n```"
                content = content.replace(old, new, 1)
    return content


def _retold(command: Command, session: Session) -> str:
    said = session.typed(command).rstrip("\n")
    with contextlib.suppress(AssertionError):  # what still holds is not rewritten
        alike(command.printed, said, command.place)
        said = command.printed.rstrip("\n")
    return f"$ {command.shown}\n{said}\n\n" if said else f"$ {command.shown}\n"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as place:
            told = retold(Path(name).resolve(), Path(place), {})
        Path(name).write_text(told, encoding="utf-8")
