"""What the evidence says follows from points and lines: verdicts, losses, prices."""

from datetime import date

import pytest

from benchmarks.figures import headlines, lines, losses, money, peers
from benchmarks.figures.figure import Point, curves
from benchmarks.pages import sections_of

LAKE = """\
# Lake

## Ingest
`make bench-lake ARGS=ingest`

| | figure | bar | | |
| --- | --- | --- | --- | --- |
| ingest of Parquet, of Spark | 0.50 × | ≤ 1 × | met | 2.5 s (2–3); 10,000,000 rows |

## An epoch
`make bench-lake ARGS=epoch`

| | figure | bar | | |
| --- | --- | --- | --- | --- |
| one epoch, files read by workers, of lag() | 0.25 × | ≤ 1 × | met | 2,500 ms; 10,000,000 ticks |
"""


@pytest.fixture
def lake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        lines, "_sections", lambda page: sections_of(LAKE) if page == "lake" else []
    )


@pytest.mark.parametrize(
    ("text", "pattern", "expected"),
    [
        ("5.14 s (4.3–6.41) against 10.4 s", "", 5.14),
        ("7,998 ns a fix; a SET takes 925 µs, equal", "a SET takes", 925e-6),
        ("ours 2,500 ms", "", 2.5),
        ("10 K 6.5 ns", "", 6.5e-9),
        ("no time", "", None),
    ],
)
def test_a_time_is_read_in_its_unit(text, pattern, expected):
    found = lines.seconds(text, pattern)
    assert found == (expected if expected is None else pytest.approx(expected))


def test_a_line_that_nobody_has_run_is_not_there(lake):
    del lake
    assert lines.Source("lake", "ingest", "ingest of Parquet").row() is not None
    assert lines.Source("lake", "ingest", "ingest of CSV").row() is None
    assert lines.Source("engine", "default", "S1").row() is None


@pytest.mark.parametrize(("section", "expected"), [("batches", 0.1), ("micro", 0.25)])
def test_the_smallest_epoch_is_that_of_many_in_a_row_where_these_were_run(
    section, expected, monkeypatch
):
    one = LAKE.replace("ARGS=ingest", "ARGS=micro")
    one = one.replace("ingest of Parquet, of Spark |", "1,000 tuples, of a Delta append |")
    many = one.replace("ARGS=epoch", "ARGS=batches")
    many = many.replace(
        "one epoch, files read by workers, of lag()", "a micro-batch, median, of 1 s"
    )
    text = (many if section == "batches" else one).replace(" 2.5 s ", " 250 ms ")
    monkeypatch.setattr(
        lines, "_sections", lambda _: sections_of(text.replace("2,500 ms", "0.1 s"))
    )
    found = lines.smallest_epoch()
    assert found is not None
    assert found[0] == pytest.approx(expected)
    assert found[1].section == section


def test_the_price_of_a_billion_tuples_is_that_of_both_stages(lake):
    del lake
    rate = money.pipeline_rate()
    assert rate is not None
    assert rate == pytest.approx(2e6)
    one = money.Price("a cloud", "m", "here", 2, 8, 0.36, "2026-01-01", "https://a")
    assert one.of(1e9, rate) == pytest.approx(0.05)  # 500 s
    assert "| **2.00 M/s** |" in "\n".join(money.section({}))


def test_every_price_has_a_day_and_a_source():
    listed = money.prices()
    assert len({each.cloud for each in listed}) == 2
    for each in listed:
        assert date.fromisoformat(each.day) < date(2027, 1, 1)
        assert each.source.startswith("https://")


@pytest.mark.parametrize("better", [6.0, 7.0])
def test_a_headline_holds_where_the_factor_is_reached_at_every_point(better):
    rows = [Point("a", "DiffRMQ on CEI", x, y) for x, y in ((1e3, 8.0), (2e3, better))]
    rows += [Point("a", "DiffRMQ on IS-list", x, 9.0) for x in (1e3, 2e3)]
    rows += [Point("a", "Fencepost", x, 1.0) for x in (1e3, 2e3)]
    (found,) = headlines.headlines({"s1-15": curves(rows)})
    assert found.holds == (better > 6.8)
    assert found.ours.startswith(f"{better:g} to 8 ×")


@pytest.mark.parametrize("quickest", [80.0, 120.0])
def test_an_index_of_the_papers_that_beats_auto_is_listed_among_the_losses(quickest):
    rows = [Point("a", name, 1e5, 200.0) for name in ("LCI-BV(DT)", "Dlist", "LCI", "SCI")]
    rows += [Point("a", "IS-list", 1e5, quickest), Point("a", "Fencepost (auto)", 1e5, 100.0)]
    found = [each for each in losses.losses({"s2-6": curves(rows)}, {}) if "Structures" in each]
    assert bool(found) == (quickest < 100)
    assert all("IS-list at 1 of 1 points (by up to 1.25 ×)" in each for each in found)


def test_of_a_peer_the_quickest_formulation_is_shown(monkeypatch, tmp_path):
    raw = LAKE.replace("ARGS=ingest", "ARGS=bands") + (
        "| 100 K bands: DuckDB, range joins, of ours | 90.00 × |  |  | a |\n"
        "| 100 K bands: DuckDB, cells of borders, of ours | 30.00 × | ≥ 25 × | met | b |\n"
        "| 100 K bands: Polars, cells of borders, of ours | 40.00 × |  |  | c |\n"
    )
    page = type("Page", (), {"raw": tmp_path / "peers.md"})()
    page.raw.write_text(raw)
    monkeypatch.setattr(peers, "PAGES", {"peers": page})
    monkeypatch.setattr(lines, "_sections", lambda _: [])
    text = "\n".join(peers.section())
    assert "| 100 K bands | DuckDB, cells of borders | **30.00 ×** (bar ≥ 25 ×: met) | b |" in text
    assert "range joins" not in text
    assert "| 100 K bands | Polars, cells of borders | **40.00 ×** | c |" in text
