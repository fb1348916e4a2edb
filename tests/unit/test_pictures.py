"""The pictures: what they show, in words and in colours, and that nothing in them breaks out."""

import json
import subprocess
import sys
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from fencepost.errors import InputError
from fencepost.text import cut_in_the_middle
from pipelines.project.settings import Feed, Settings
from pipelines.serve import pictures
from pipelines.serve.pictures import Picture, as_markdown
from pipelines.serve.pictures.canvas import WIDTH, Canvas, drawable, width_of
from pipelines.serve.pictures.charts import compact, nice
from tests.support.lakes.ledger import AXES, BEGIN, Ledger, at

ALL = (
    pictures.events_by_query_and_hour,
    pictures.epochs,
    pictures.quarantine,
    pictures.partitions,
)
FEEDS = {name: Feed(name, axes, Path("landing")) for name, axes in AXES.items()}
ODD = '</script>![$x$](javascript:alert("1")) \u202e\u4e2d\u6587' + "é" * 80
HOUR = 3600


def eventful(epochs: int = 120, hours: int = 60, queries: int = 20) -> Ledger:
    """Two days and a half of events, epochs in groups of five, and rows that were not taken."""
    ledger = Ledger({"ticks": AXES["ticks"]})
    names = [ODD, *(f"band-{k}" for k in range(queries - 1))]
    for epoch in range(epochs):
        n = ledger.arrive("ticks", rows=1000)
        hour = epoch * hours // epochs
        spent = {"plan": 0.1, "prepare": 0.1, "job": 3, "read": 1, "sort": 1, "evaluate": 3}
        key = f"{BEGIN + timedelta(hours=hour):%Y-%m-%dT%H}"
        more: dict[str, Any] = {"watermark": at((hour + 0.9) * HOUR), "partition_key": key}
        counts = {"rows": 1000, "accepted": 990, "entered": epoch, "left": 50}
        ledger.epoch("ticks", epoch + 1, [n], **more, **counts, seconds=json.dumps(spent))
        for row in ledger.rows["epochs"][-2:]:
            row["plan"] = f"group {epoch // 5}"
        for place, query in enumerate(names[: 1 + epoch % queries]):
            second = hour * HOUR + epoch % 2 * 1800 + place
            ledger.event("I", query, f"s{epoch}", second, epoch=epoch + 1)
    for k, reason in enumerate(["late"] * 7 + ["malformed"] * 2):
        ledger.add("quarantine", feed="ticks", arrival=1, reason=reason, line=k)
    return ledger


@pytest.fixture(scope="module")
def lake(tmp_path_factory) -> Settings:
    root = tmp_path_factory.mktemp("pictures") / "lake"
    eventful().written(root)
    return Settings(None, root, {"ticks": FEEDS["ticks"]})


@pytest.fixture(scope="module")
def empty(tmp_path_factory) -> Settings:
    root = tmp_path_factory.mktemp("pictures") / "lake"
    Ledger().written(root)
    return Settings(None, root, FEEDS)


def pixels(picture: Picture) -> Any:
    with Image.open(BytesIO(picture.png)) as image:
        return np.array(image.convert("RGBA"))


@pytest.mark.parametrize("draw", ALL)
def test_a_picture_is_small_crisp_and_the_same_each_time(lake, draw):
    picture = draw(lake, "ticks")
    assert len(picture.png) < 100_000
    assert WIDTH < pixels(picture).shape[1] <= 1160, "Dagster's dialog is so wide"
    assert draw(lake, "ticks") == picture


@pytest.mark.parametrize("draw", ALL)
def test_what_is_drawn_reads_on_white_as_on_black(lake, draw):
    drawn = pixels(draw(lake, "ticks"))
    assert (drawn[..., 3] == 0).mean() > 0.1  # the ground is the page's own
    solid = np.unique(drawn[drawn[..., 3] == 255][:, :3], axis=0) / 255
    linear = np.where(solid <= 0.04045, solid / 12.92, ((solid + 0.055) / 1.055) ** 2.4)
    light = linear @ (0.2126, 0.7152, 0.0722)
    assert len(solid)
    assert (1.05 / (light + 0.05)).min() > 3  # WCAG's contrast of what is drawn, on white
    assert ((light + 0.05) / 0.05).min() > 3  # and on black


@pytest.mark.parametrize("draw", ALL)
def test_a_lake_in_which_nothing_happened_gives_a_picture_that_says_so(empty, draw):
    picture = draw(empty, "ticks")
    assert picture.alt.startswith("ticks: ")
    assert ": no " in picture.alt
    assert len(picture.png) < 20_000
    assert (pixels(picture)[..., 3] > 0).any()


def test_the_words_of_a_picture_say_what_it_shows(lake):
    words = [draw(lake, "ticks").alt for draw in ALL]
    assert "2026-11-18 12:00 to 2026-11-20 12:00 UTC" in words[0]
    assert f"Busiest: {ODD}, 96 events." in words[0]
    assert words[1].startswith("ticks: epochs 25 to 120: 96,000 rows")
    assert words[2] == "ticks: quarantine: 9 rows of 120,000 read, 0.0075 %: late 7, malformed 2."
    assert words[3].startswith("ticks: partitions 2026-11-18T00 to 2026-11-20T11: 118,800 tuples")


def test_the_seconds_of_a_group_are_counted_once_whatever_its_epochs(lake):
    # Of 120 epochs the newest 96: 19 groups of five, 3.2 s each, and one epoch of another
    assert f"{19 * 3.2 + 3.2 / 5:,.1f} seconds" in pictures.epochs(lake, "ticks").alt


@pytest.mark.fault(68)
def test_in_markdown_an_id_is_text_and_nothing_else():
    line = as_markdown(Picture(b"png", f"Busiest: {ODD}\n\nx | y"))
    assert line.startswith("![Busiest: &lt;/script&gt;\\!\\[\\$x\\$\\]\\(javascript:alert\\(")
    assert line.endswith("](data:image/png;base64,cG5n)")
    assert "\n" not in line
    assert "<" not in line
    assert "\u202e" not in line


def test_a_character_that_the_font_lacks_is_drawn_as_a_box_and_a_formula_as_it_stands():
    assert drawable("aé\u4e2d\x07\u202e$x^2$") == "aé▯▯▯$x^2$"
    sheet = Canvas(40)
    sheet.words(10, 20, "$\\nosuchformula{$ \\frac % #")
    assert sheet.png()
    assert width_of("mmm") > width_of("iii") > 0


def test_what_a_user_has_set_for_matplotlib_changes_nothing(tmp_path):
    code = (
        "import hashlib, sys\n"
        "from pipelines.serve.pictures.charts import titled\n"
        "canvas = titled(60, 'a', 'b')\n"
        "canvas.line([(0, 0), (50, 50)])\n"
        "sys.stdout.write(hashlib.sha256(canvas.png()).hexdigest())\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    (tmp_path / "matplotlibrc").write_text(
        "savefig.dpi: 33\npath.sketch: 2, 100, 2\nfont.family: serif\nsavefig.bbox: tight\n"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=Path(__file__).resolve().parents[2],
            env={"PATH": "/usr/bin", "HOME": str(tmp_path), **more},
            capture_output=True,
            encoding="utf-8",
            check=True,
        ).stdout
        for more in ({}, {"MATPLOTLIBRC": str(tmp_path / "matplotlibrc")})
    ]
    assert said[0] == said[1] != ""


def test_matplotlib_is_imported_only_when_something_is_drawn():
    code = "import sys, pipelines.serve.pictures; assert 'matplotlib' not in sys.modules"
    root = Path(__file__).resolve().parents[2]
    subprocess.run([sys.executable, "-c", code], cwd=root, check=True)


@pytest.mark.parametrize("draw", ALL)
def test_an_unknown_feed_is_refused(lake, draw):
    with pytest.raises(InputError, match=r"unknown feed 'tick'.*Did you mean 'ticks'"):
        draw(lake, "tick")


@pytest.mark.parametrize(
    ("value", "above"), [(0, 1), (1, 1), (1.1, 2), (7, 8), (9, 10), (0.23, 0.3), (250_000, 300_000)]
)
def test_a_scale_ends_at_a_round_number_not_below_the_highest(value, above):
    assert nice(value) == pytest.approx(above)


@pytest.mark.parametrize(
    ("value", "said"), [(0.15, "0.15"), (999, "999"), (999.9, "1 K"), (2_400_180, "2.4 M")]
)
def test_numbers_are_written_in_few_characters(value, said):
    assert compact(value) == said


def test_of_an_id_that_is_too_long_both_ends_are_shown():
    short = cut_in_the_middle("garage-" + "x" * 50 + "-17", 30)
    assert len(short) == 30
    assert short.startswith("garage-")
    assert short.endswith("-17")
    assert cut_in_the_middle("garage", 6) == "garage"
