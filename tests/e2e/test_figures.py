"""The papers' figures: every one runs at its smallest, and its page is made of its points alone."""

import pytest

from benchmarks.figures import page
from benchmarks.figures.__main__ import main
from benchmarks.figures.book import FIGURES
from benchmarks.figures.figure import Point, curves
from benchmarks.figures.kept import Run, Store


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_measured_and_its_rivals_answer_alike(name, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main([name, "--quick"]) == 0
    told = capsys.readouterr().out
    assert FIGURES[name].title in told
    if why := FIGURES[name].lacks():
        pytest.skip(why)
    run = Store(tmp_path / ".cache" / "figures" / "quick").read(name)
    drawn = curves(run.points if run else [])
    assert set(drawn) == {panel.name for panel in FIGURES[name].panels}
    assert FIGURES[name].judge(drawn).ours


def test_what_was_measured_is_kept_until_it_is_measured_anew(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["s1-19", "--quick"]) == 0
    first = capsys.readouterr().out
    assert "  0 s  a  Fencepost" in first or " s  a  Fencepost" in first
    assert main(["s1-19", "--quick"]) == 0
    assert "5 points kept from before; --anew measures again" in capsys.readouterr().out
    assert main(["s1-19", "--quick", "--anew"]) == 0
    assert "kept from before" not in capsys.readouterr().out


def a_run(name: str, better: float) -> Run:
    """Two curves of a figure of bands: DiffRMQ, and ours, so many times as fast."""
    rows = []
    for x in (1_000.0, 128_000.0):
        for rival in ("DiffRMQ on CEI", "DiffRMQ on IS-list"):
            rows += [Point("a", rival, x, x), Point("b", rival, x, 50.0)]
        rows += [Point("a", "Fencepost", x, x / better), Point("b", "Fencepost", x, 4.0)]
    assert name in FIGURES
    return Run("2026-11-20, some processor, 2 cores, Python 3.11.7, load 0.3", rows)


@pytest.mark.parametrize(("better", "word"), [(7.0, "holds"), (6.0, "DOES NOT HOLD")])
def test_a_claim_holds_only_where_the_factor_is_reached(
    better, word, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Store(tmp_path / ".cache" / "figures" / "full").write("s1-15", a_run("s1-15", better))
    assert main(["s1-15"]) == (0 if better > 6.8 else 1)
    assert f"  {word}: {better:.3g} × as fast" in capsys.readouterr().out


def test_the_page_and_the_plots_are_made_of_the_points(tmp_path, monkeypatch):
    shown = Store(tmp_path / "evidence")
    monkeypatch.setattr(page, "SHOWN", shown)
    shown.write("s1-15", a_run("s1-15", 7.0))
    text = page.text()
    assert "| [S1 Fig. 15](#s1-fig-15-the-number-of-streams) |" in text
    assert "| **7 ×** | as fast at finding crossings" in text
    assert "S1 Fig. 10" not in text  # nobody measured it
    assert "**Machine and versions.** some processor, 2 cores, Python 3.11.7. " in text
    page.plots()
    folder = tmp_path / "evidence" / "s1-15"
    plots = [(folder / f"{look}.svg").read_text() for look in ("light", "dark")]
    assert all("DiffRMQ on CEI" in plot for plot in plots)
    assert plots[0] != plots[1]
    assert "Fencepost" in (tmp_path / "evidence" / "dark.svg").read_text()
    page.plots()
    assert plots[0] == (folder / "light.svg").read_text()


def test_what_was_broken_off_leaves_no_points(tmp_path):
    store = Store(tmp_path)
    (tmp_path / "s1-10").mkdir()
    (tmp_path / "s1-10" / "points.part").write_text("panel,curve,x,y")
    assert store.read("s1-10") is None
    run = Run("2026-11-20, here", [Point("a", "one, two", 1.0, 2.5)])
    store.write("s1-10", run)
    assert store.path("s1-10").read_text().startswith("# measured 2026-11-20, here\npanel,curve,x")
    assert store.read("s1-10") == run


def test_the_page_in_docs_is_made_of_the_points_and_lines_in_docs():
    behind = "docs/evidence.md is behind its points and raw pages: python -m benchmarks.pages"
    assert page.PAGE.read_text(encoding="utf-8") == page.text(), behind


def test_every_figure_was_measured_and_stands_on_the_page():
    text = page.PAGE.read_text(encoding="utf-8")
    measured = {name: FIGURES[name] for name in FIGURES if page.SHOWN.read(name)}
    missing = [
        name for name, each in measured.items() if f"### {each.paper}: {each.title}" not in text
    ]
    assert missing == []
    assert [name for name in FIGURES if name not in measured and not name.startswith("ours")] == []
