"""The first page of the checks: the newest run of every contract, and the runs before.

It is made from the stored runs alone, in a few milliseconds, and rewritten with every run.

Law: the page is one file: no script, no other host; what comes from data is escaped.
"""

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING

from pipelines.checks.results import Checked
from pipelines.checks.style import STYLE

if TYPE_CHECKING:
    from pipelines.checks.site import Run, Site

PASSED, FAILED, WARNED = ("✓", "passed"), ("✗", "failed"), ("!", "warned")
"""A mark, and the class that gives its colour."""

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Contracts · {project}</title>
<style>{style}</style>
</head>
<body class="index">
<header>
<p class="over">{project}</p>
<h1>Contracts</h1>
<p class="lead">What the rows of every table promise, and what the newest check found.
Accounting, ledgers and audits are told by <code>fencepost check</code>.</p>
<dl class="figures">{figures}</dl>
</header>
<main>
{lanes}
</main>
<p class="colophon">{pages}</p>
</body>
</html>
"""


def index(site: "Site") -> str:
    """Render the page."""
    runs = list(site.runs())
    newest = [next(some) for _, some in groupby(runs, lambda run: run.name)]
    pages = site.pages()
    missing = sum(run.page not in pages for run in runs)
    return PAGE.format(
        project=escape(site.root.parent.parent.name),
        style=STYLE.read_text(encoding="utf-8"),
        figures="".join(_figures(newest)),
        lanes="\n".join(
            _lane(pages, lane, list(some)) for lane, some in groupby(runs, lambda run: run.lane)
        ),
        pages=f"{missing:,} of {len(runs):,} runs have no page yet: "
        "<code>fencepost check --docs</code> writes them."
        if missing
        else "Every run has its page.",
    )


def _figures(newest: list["Run"]) -> Iterator[str]:
    checks = [checked for run in newest for checked in run.checks]
    failed = sum(checked.failed for checked in checks)
    warned = sum(not checked.passed for checked in checks) - failed
    last = max((run.at for run in newest), default="")
    yield _figure("promises kept", f"{len(checks) - failed - warned:,}", "passed")
    yield _figure("broken", f"{failed:,}", "failed" if failed else "")
    yield _figure("broken, a warning", f"{warned:,}", "warned" if warned else "")
    yield _figure("tables", f"{len(newest):,}", "")
    yield _figure("last check, UTC", _when(last).removesuffix(" UTC") if last else "never", "when")


def _figure(name: str, value: str, kind: str) -> str:
    return f'<div><dt>{name}</dt><dd class="{kind}">{value}</dd></div>'


def _lane(pages: Collection[str], lane: str, runs: list["Run"]) -> str:
    tables = "\n".join(
        _table(pages, list(some)) for _, some in groupby(runs, lambda run: run.table)
    )
    return f'<section><h2 id="{escape(lane)}">{escape(lane)}</h2>\n{tables}\n</section>'


def _table(pages: Collection[str], runs: list["Run"]) -> str:
    """Render a table: its newest run, which can be opened, and the runs before."""
    run = runs[0]
    mark, kind = _mark(run.checks)
    broken = [checked for checked in run.checks if not checked.passed]
    said = ", ".join(checked.name for checked in broken) if broken else f"{len(run.checks)} kept"
    rows = max((int(checked.counts["rows"]) for checked in run.checks), default=0)
    return f"""<details id="{escape(run.name)}" class="{kind}"{" open" if broken else ""}>
<summary><span class="mark">{mark}</span><b>{escape(run.table)}</b>
<span class="said">{escape(said)}</span><span class="rows">{rows:,} rows</span>
<time datetime="{run.at}">{_when(run.at)}</time></summary>
<table><thead><tr><th></th><th>promise</th><th class="n">rows</th><th class="n">at fault</th>
</tr></thead><tbody>
{"".join(map(_promise, run.checks))}</tbody></table>
<p class="runs">{_suite(pages, run)}Runs: {"".join(_runs(pages, runs))}</p>
</details>"""


def _promise(checked: Checked) -> str:
    mark, kind = _mark([checked])
    samples = "".join(f"<code>{escape(sample)}</code>" for sample in checked.samples)
    samples = f'<span class="samples">{samples}</span>' if samples else ""
    return (
        f'<tr class="{kind}"><td class="mark">{mark}</td><td><b>{escape(checked.name)}</b> '
        f"<span>{escape(checked.description)}</span>{samples}</td>"
        f'<td class="n">{int(checked.counts["rows"]):,}</td>'
        f'<td class="n">{int(checked.counts["faults"]):,}</td></tr>\n'
    )


def _suite(pages: Collection[str], run: "Run") -> str:
    if run.suite not in pages:
        return ""
    return f'<a href="{escape(run.suite)}">Suite</a> '


def _runs(pages: Collection[str], runs: Iterable["Run"]) -> Iterator[str]:
    for run in runs:
        mark, kind = _mark(run.checks)
        said = f'<span class="mark">{mark}</span> {_when(run.at)}, {escape(run.rows)}'
        if run.page in pages:
            yield f'<a class="{kind}" href="{escape(run.page)}">{said}</a> '
        else:
            yield f'<span class="{kind}">{said}</span> '


def _mark(checks: Iterable[Checked]) -> tuple[str, str]:
    broken = [checked for checked in checks if not checked.passed]
    if not broken:
        return PASSED
    return FAILED if any(checked.failed for checked in broken) else WARNED


def _when(at: str) -> str:
    return f"{datetime.fromisoformat(at):%Y-%m-%d %H:%M:%S} UTC"
