"""The demo, step by step: environment, landing, rules, each feed, the report; then what to try.

Law: a step that is done already is printed, not repeated; its figures come from the lake
either way. Nothing changes before the project is known to be the demo's to fill.
"""

import contextlib
import shlex
import shutil
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from examples.demo import day as demo_day
from examples.demo import place
from examples.demo.day import DemoDay, Laid
from examples.demo.screen import Screen, aside
from fencepost.errors import StateError
from pipelines.project.settings import Settings

if TYPE_CHECKING:  # Dagster takes two seconds to import: the first lines come before
    from examples.demo.runs import Runs

TRY = (
    "select * from inside_now order by since limit 10",
    "select query_id, count(*) n, avg(duration) from visits group by 1 order by 2 desc limit 10",
    "select hour(ts) h, count(*) from events where query_id = 'garage-01' group by 1 order by 1",
)


def tell(folder: Path | None, scale: float) -> int:
    """Run every step; 1 where a check did not pass."""
    started = time.perf_counter()
    with Screen() as screen:
        screen.line("Fencepost demo", "bold")
        settings = place.declared(folder)
        screen.done("environment", [_environment(settings)])
        with place.alone(settings), contextlib.chdir(place.folder_of(settings)):
            failed = Story(screen, settings, DemoDay(scale)).play()
        screen.line(f"\nAll of it took {time.perf_counter() - started:.0f} s.")
        _try(screen, settings, is_home=folder is None)
    return 1 if failed else 0


class Story:
    """The steps, one after the other, at one project."""

    def __init__(self, screen: Screen, settings: Settings, day: DemoDay) -> None:
        """Take the screen, the project and the day."""
        self.screen = screen
        self.settings = settings
        self.day = day
        self.folder = place.folder_of(settings)
        self.log = self.folder / place.KEPT / "demo.log"

    def play(self) -> bool:
        """Do and print every step; True if a check failed."""
        place.refuse_strangers(self.settings)
        place.make_ready(self.settings)
        made = self._landing()
        with self.screen.doing("assets") as doing, aside(self.log):
            doing.progress("loading Dagster and the project's assets", 0.0)
            from examples.demo.runs import Runs

            runs = Runs(self.settings, self.folder)
        self._rules(runs, made)
        anew = [self._feed(runs, made, name) for name in place.FEEDS]
        self._conclude(runs, anew=any(anew))
        return self._checks(runs)

    def _landing(self) -> Laid:
        from examples.demo.figures import landing_line

        before = demo_day.laid(self.settings)
        with self.screen.doing("landing") as doing:
            made = demo_day.lay_down(self.day, self.settings, doing.progress)
        self.screen.done("landing", [landing_line(made)], None if made == before else doing.seconds)
        return made

    def _rules(self, runs: "Runs", made: Laid) -> None:
        from examples.demo.figures import rules_standing

        seconds = None
        wanted = {name: feed.rules for name, feed in made.feeds.items()}
        if rules_standing(self.settings) < sum(wanted.values()):
            with self.screen.doing("rules") as doing, aside(self.log):
                doing.progress("registering the rules", 0.0)
                runs.register()
            seconds = doing.seconds
        each = ", ".join(f"{count:,} on {name}" for name, count in wanted.items())
        total = rules_standing(self.settings)
        self.screen.done("rules", [f"{total:,} standing queries: {each}"], seconds)

    def _feed(self, runs: "Runs", made: Laid, name: str) -> bool:
        """Evaluate a feed, and report it; False where it was evaluated already."""
        from examples.demo.figures import of_feed

        hours, seconds = made.keys(name), None
        stands = of_feed(self.settings, name).is_done(hours) and runs.has_reported(name, hours)
        if not stands:
            with self.screen.doing(name) as doing, aside(self.log):
                doing.progress("starting", 0.0)
                runs.feed(name, hours, doing.progress)
            seconds = doing.seconds
        found = of_feed(self.settings, name)
        if not found.is_done(hours):
            raise StateError(
                f"not every hour of {name} was loaded: see the runs in Dagster's UI, and "
                "`fencepost quarantine` for refusals"
            )
        self.screen.done(name, found.lines(), seconds)
        return not stands

    def _conclude(self, runs: "Runs", *, anew: bool) -> None:
        from examples.demo.figures import busiest

        page, seconds = self.folder / "reports" / "latest.html", None
        if anew or not page.exists() or not runs.has_concluded():
            with self.screen.doing("marts, report") as doing, aside(self.log):
                runs.conclude(doing.progress)
            seconds = doing.seconds
        shown = _short(page)
        size = page.stat().st_size / 1e6
        self.screen.done("report", [f"{shown}  ({size:.1f} MB, opens in a browser)"], seconds)
        self.screen.done("quarantine", [self._quarantined()])
        by_feed = busiest(self.settings)
        self.screen.done(
            "busiest rules", [by_feed[name] for name in place.FEEDS if name in by_feed]
        )

    def _quarantined(self) -> str:
        from examples.demo.figures import REASONS, of_feed

        away = [of_feed(self.settings, name).quarantined for name in place.FEEDS]
        return " · ".join(f"{why} {sum(each[why] for each in away):,}" for why in REASONS)

    def _checks(self, runs: "Runs") -> bool:
        checks: Mapping[str, bool | None] = {
            each: passed for name in place.FEEDS for each, passed in runs.checks(name).items()
        }
        failed = sorted(each for each, passed in checks.items() if not passed)
        facts: Sequence[str] = [
            f"{len(checks) - len(failed):,} passed · {len(failed):,} failed",
            *failed,
        ]
        self.screen.done("checks", facts, well=not failed)
        return bool(failed)


def _environment(settings: Settings) -> str:
    """Describe the environment; StateError says what prevents a run, and what to do."""
    from pipelines.spark.environment import java
    from pipelines.spark.environment.diagnosis import Mark, findings
    from pipelines.spark.environment.place import Place

    where = Place.of_this_python()
    dagster = f"Dagster {version('dagster')}"
    if settings.runner == "here":
        return f"in this process, without Spark · {dagster}"
    wrong = [each for each in findings(where, settings.root) if each.mark is Mark.STOP]
    if wrong:
        raise StateError("\n".join(f"{each.thing}: {each.found}\n  {each.do}" for each in wrong))
    chosen = java.find(where)
    number = chosen.version.partition("+")[0]
    return (
        f"Java {number} ({chosen.why}) · Spark {version('pyspark')} · "
        f"Delta {version('delta-spark')} · {dagster}"
    )


def _try(screen: Screen, settings: Settings, *, is_home: bool) -> None:
    """Say what to do next."""
    folder = shlex.quote(str(place.folder_of(settings)))
    config = "" if is_home else f" --config {folder}"
    screen.line("\nQuery it:")
    if shutil.which("fencepost") is None:
        screen.line("  . .venv/bin/activate     # puts the command on your path")
    for statement in TRY:
        screen.line(f'  fencepost sql{config} "{statement}"')
    report = place.folder_of(settings) / "reports" / "latest.html"
    screen.line(f"Look at the report:  {report.as_uri()}")
    opens = "make dev" if is_home else f"fencepost ui{config}"
    screen.line(f"Open the UI:  {opens}   →  http://127.0.0.1:3000")


def _short(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
