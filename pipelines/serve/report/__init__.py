"""`fencepost report`: the findings of a lake as one HTML file that needs nothing else.

    scope.py     the part of the lake in the report: partitions, times, feeds
    tallies.py   counts: by hour, by type, by query, by stream; rejected rows
    joins.py     lanes of joins: pairs over time, busiest joins, current band pairs
    regions.py   the boxes of queries, as a map or a chart shows them
    streams.py   the streams that are shown
    moves.py     a map: tracks, crossings, which stream is inside what over time
    lines.py     charts: the axes of a stream over time, its crossings, its rules
    thin.py      downsampling: what a screen cannot show is not sent
    epochs.py    what was evaluated, when, and what it cost
    gather.py    all of it, from one snapshot of the lake
    page.py      the HTML, from `parts/`: the template, its style, its scripts
    write.py     the file

Law: the page shows one snapshot of the lake, needs no network, and is bounded however large the
lake is; it says what it leaves out. No text from the lake is ever markup, script or SQL.
"""

from pipelines.serve.report.write import ReportMade, default_path, write_report

__all__ = ["ReportMade", "default_path", "write_report"]
