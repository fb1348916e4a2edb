"""`fencepost report`: what a lake found, as one HTML file that needs nothing else.

    scope.py     which part of the lake is asked for: partitions, times, feeds
    tallies.py   how much happened: by hour, by type, by query, by stream; what was turned away
    joins.py     lanes of joins: pairs over time, busiest joins, band pairs that hold now
    regions.py   the boxes of standing queries, as a map or a chart shows them
    streams.py   which streams there is room for
    moves.py     a map: tracks, crossings, who is inside what as time goes
    lines.py     charts: the axes of a stream over time, its crossings, the rules that concern it
    thin.py      few numbers for many: what a screen cannot show is not sent
    epochs.py    what was evaluated, when, and what it cost
    gather.py    all of it, from one moment of the lake
    page.py      the HTML, from `parts/`: the template, its style, its scripts
    write.py     the file

Law: the page is of one moment of the lake, needs no network, and is bounded whatever the lake
holds; what it leaves out, it says. No text from the lake is ever markup, script or SQL.
"""

from pipelines.serve.report.write import ReportMade, default_path, write_report

__all__ = ["ReportMade", "default_path", "write_report"]
