"""A feed that is about to be declared: what was found, its table, and what to do next.

Law: nothing is written before the whole of the new fencepost.toml can be read.
"""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fencepost.doubles import NUMBER
from fencepost.errors import InputError
from fencepost.position import folded
from pipelines.cli.discovery import Discovery, discover, lines_of
from pipelines.files.guess.hints import FeedHints
from pipelines.files.guess.roles import axis_name
from pipelines.files.guess.sample import SampleFiles, files_of
from pipelines.places import Place, is_remote
from pipelines.project.declaration import refuse_name, table_of
from pipelines.project.settings.names import why_no_axis, why_no_feed

if TYPE_CHECKING:
    from pipelines.project.settings import Feed, Settings


@dataclass(frozen=True)
class NewFeed:
    """A feed by its name, and its table for fencepost.toml."""

    name: str
    found: Discovery
    table: str

    @classmethod
    def of(  # noqa: PLR0913
        cls,
        name: str | None,
        samples: list[Path],
        hints: FeedHints,
        *,
        root: Path,
        settings: "Settings | None",
        source: str | None = None,
        yes: bool,
        as_json: bool,
    ) -> "NewFeed":
        """Find out how it is declared; refuse one that takes no row of its own sample."""
        name = _name_of(files_of(samples)) if name is None else name
        refuse_name(name, settings)
        found = discover(samples, hints, why_no_axis, yes=yes, as_json=as_json)
        if not found.check.accepted:
            said = "\n".join(
                [*lines_of(found), "Nothing was written: say by options how to read it."]
            )
            raise InputError(said)
        at = source or _source(name, found.files, root)
        return cls(name, found, table_of(name, at, found.draft))

    @property
    def lines(self) -> list[str]:
        """Say what was found."""
        return lines_of(self.found)

    def as_json(self) -> dict[str, Any]:
        """Give what was found, for scripts."""
        check = self.found.check.as_json()
        return {**self.found.draft.as_json(), "sample": check, "table": self.table}

    def next_steps(self, feed: "Feed", folder: Path | None = None) -> list[str]:
        """Say what to type next: its data, a rule that its values meet, a run."""
        lines = ["Next, the data, and a rule of your own:"]
        if self.found.files.folder is None:
            named = " ".join(shlex.quote(str(path)) for path in self.found.files.files[:3])
            lines.append(f"  cp {named} {shlex.quote(shown(feed.source))}/")
        if folder is not None:
            lines.append(f"  cd {shlex.quote(str(folder))}")
        axis = feed.axes[0]
        rule = f"--id first --feed {self.name} --where '{axis} >= {self._middle(axis)}'"
        return [*lines, f"  fencepost queries add {rule}", "  fencepost run"]

    def _middle(self, axis: str) -> str:
        """Give a value in the middle of what the sample has of an axis."""
        columns = self.found.draft.grid.columns
        named = [each for each in columns if axis in (each.name, axis_name(each.name))]
        one = next(iter(named), None) or next(each for each in columns if each.is_number)
        numbers = filter(NUMBER.fullmatch, one.filled)
        values = sorted((float(text), text) for text in numbers)
        return values[len(values) // 2][1]


def _name_of(files: SampleFiles) -> str:
    """Call a feed as its sample is called."""
    name = folded(files.name)
    if why_no_feed(name) is not None:
        raise InputError(
            f"'{name}', after the sample, is no name of a feed: give one by --feed NAME"
        )
    return name


def _source(name: str, files: SampleFiles, root: Path) -> str:
    """Say where a feed's files land: where the sample is, if that is a folder."""
    if files.folder is None:
        return f"landing/{name}"
    whole = files.folder.resolve()
    return str(whole.relative_to(root)) if whole.is_relative_to(root) else str(whole)


def shown(path: Place) -> str:
    """Give a path relative to the working folder, if it is below it."""
    if is_remote(path):
        return str(path)
    here = Path.cwd()
    whole = path.absolute()
    return str(whole.relative_to(here)) if whole.is_relative_to(here) else str(whole)
