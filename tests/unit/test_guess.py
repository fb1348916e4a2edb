"""What a sample shows of a feed, and what its user is asked: the draft, and nothing written."""

from pathlib import Path
from typing import Any

import pytest

from pipelines.files.guess.draft import Draft
from pipelines.files.guess.guess import guess
from pipelines.files.guess.hints import FeedHints
from pipelines.files.guess.sample import files_of, sampled
from tests.support.commands.files import written
from tests.support.commands.heads import HEADS, REAL, WHY_SKIPPED, Head

NAMES = {
    "--timezone": "timezone",
    "--date": "date",
    "--stream": "stream",
}


def hints_of(head: Head) -> FeedHints:
    options = [option for option in head.options if option != "--wide"]
    said: dict[str, Any] = dict(
        zip(map(NAMES.__getitem__, options[::2]), options[1::2], strict=True)
    )
    return FeedHints(**said, wide=True if "--wide" in head.options else None, file_streams=True)


def found(path: Path, **hints) -> Draft:
    return guess(sampled(files_of([path])), FeedHints(**hints))


def of(tmp_path, text: str | bytes, name: str = "day.csv", **hints) -> Draft:
    return found(written(tmp_path, name, text), **hints)


@pytest.mark.parametrize("head", HEADS, ids=lambda head: head.name)
def test_the_twin_of_a_real_file_is_found_as_it_is(head: Head, tmp_path: Path) -> None:
    draft = guess(sampled(files_of([head.written(tmp_path)])), hints_of(head))
    assert (draft.values, draft.questions) == (head.keys, ())


@pytest.mark.parametrize("head", HEADS, ids=lambda head: head.name)
def test_a_real_file_is_found_as_its_twin(head: Head) -> None:
    if not (REAL / head.name).exists():
        pytest.skip(WHY_SKIPPED)
    draft = guess(sampled(files_of([REAL / head.name])), hints_of(head))
    assert (draft.values, draft.questions) == (head.keys, ())


# Times


def asked(draft: Draft) -> list[str]:
    return [question.key for question in draft.questions]


TRADES = "symbol,{},price\nAAPL,{},1.5\nMSFT,{},2.5\nAAPL,{},1.75\nMSFT,{},2.25\n"


@pytest.mark.parametrize(
    ("texts", "keys"),
    [
        (("2026-01-02T10:00:00Z", "2026-01-02 10:00:01+01:00"), {}),
        (("1767348000", "1767348001"), {"ts_unit": "s"}),
        (("1767348000.5", "1767348001.25"), {"ts_unit": "s"}),
        (("1767348000000", "1767348000001"), {"ts_unit": "ms"}),
        (("1767348000000000", "1767348000000001"), {"ts_unit": "us"}),
        (("1767348000000000000", "1767348000000000001"), {"ts_unit": "ns"}),
        (
            ("2026-01-02 10:00:00 +0100", "2026-01-02 10:00:01 +0100"),
            {"ts_format": "%Y-%m-%d %H:%M:%S %z"},
        ),
        (
            ("2026-01-02 10:00:00 UTC", "2026-01-02 10:00:01 UTC"),
            {"ts_format": "%Y-%m-%d %H:%M:%S UTC", "timezone": "UTC"},
        ),
    ],
)
def test_a_time_that_names_its_instant_asks_nothing(tmp_path, texts, keys):
    draft = of(tmp_path, TRADES.format("time", *texts, *texts))
    expected = {"axes": ["price"], "ts_column": "time", "stream_column": "symbol"} | keys
    assert (draft.values, asked(draft)) == (expected, [])


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("2026-01-02 10:00:00", None),
        ("2026-01-02T10:00", None),
        ("2026-01-02", None),
        ("20260102", "%Y%m%d"),
        ("20260102100000", "%Y%m%d%H%M%S"),
        ("20260102 100000", "%Y%m%d %H%M%S"),
        ("20260102 10:00:00.123", "%Y%m%d %H:%M:%S.%f"),
        ("2026/01/02 10:00", "%Y/%m/%d %H:%M"),
        ("31/12/2025 10:00", "%d/%m/%Y %H:%M"),
        ("12/31/2025 10:00:00 PM", "%m/%d/%Y %I:%M:%S %p"),
        ("31.12.25", "%d.%m.%y"),
        ("02-Jan-2026 10:00", "%d-%b-%Y %H:%M"),
        ("2 January 2026", "%d %B %Y"),
        ("Jan 2, 2026", "%b %d, %Y"),
    ],
)
def test_a_time_without_an_offset_asks_for_its_zone_and_no_more(tmp_path, text, form):
    draft = of(tmp_path, TRADES.replace(",", ";").format("date", *[text] * 4))
    assert draft.values.get("ts_format") == form
    assert asked(draft) == ["timezone"]
    answered = of(tmp_path, TRADES.replace(",", ";").format("date", *[text] * 4), timezone="UTC")
    assert (asked(answered), answered.values["timezone"]) == ([], "UTC")


@pytest.mark.parametrize("text", ["01/02/2026 10:00", "1.2.2026", "03-04-26 10:00:00"])
def test_where_day_and_month_could_change_places_neither_comes_first(tmp_path, text):
    draft = of(tmp_path, TRADES.format("when", *[text] * 4), timezone="UTC")
    (question,) = draft.questions
    day, month = question.choices
    assert (question.key, day[:2], month[:2]) == ("ts_format", "%d", "%m")
    assert "ts_format" not in draft.values
    chosen = of(tmp_path, TRADES.format("when", *[text] * 4), timezone="UTC", ts_format=month)
    assert (asked(chosen), chosen.values["ts_format"]) == ([], month)


def test_one_value_beyond_twelve_settles_which_is_the_day(tmp_path):
    days = ["01/02/2026", "02/02/2026", "12/02/2026", "13/02/2026"]
    draft = of(tmp_path, TRADES.format("when", *days), timezone="UTC")
    assert (draft.values["ts_format"], asked(draft)) == ("%d/%m/%Y", [])


def test_a_time_of_day_needs_a_date_from_the_path_or_the_user(tmp_path):
    text = TRADES.format("time", "34200000", "34200001", "34200001", "34200500")
    draft = of(tmp_path, text, timezone="UTC")
    assert asked(draft) == ["date"]
    dated = of(tmp_path, text, "trades-2026-01-02.csv", timezone="UTC")
    assert dated.values["date_from_path"] == r"(?P<date>\d{4}-\d{2}-\d{2})"
    assert (dated.values["ts_unit"], asked(dated)) == ("ms", [])


def test_two_times_that_differ_are_a_question_and_of_two_that_agree_one_is_taken(tmp_path):
    rows = "".join(
        f"a,2026-01-0{i}T00:00:00Z,2026-02-0{10 - i}T00:00:00Z,{i}\n" for i in range(1, 5)
    ).replace("010", "10")
    differ = of(tmp_path, f"device,start_time,stop_time,celsius\n{rows}")
    assert asked(differ) == ["ts_column"]
    chosen = of(tmp_path, f"device,start_time,stop_time,celsius\n{rows}", ts_column=("stop_time",))
    assert (chosen.values["ts_column"], asked(chosen)) == ("stop_time", [])


# Columns


def test_without_a_stream_it_asks_and_takes_the_files_name_only_if_allowed(tmp_path):
    text = "ts,price\n2026-01-02T10:00:00Z,1.5\n2026-01-02T10:00:01Z,2.5\n"
    (question,) = of(tmp_path, text, "SPY.csv").questions
    assert (question.key, question.usual) == ("stream", "SPY")
    assert of(tmp_path, text, "SPY.csv", file_streams=True).values["stream"] == "SPY"


def test_rows_whose_times_go_back_are_no_single_series(tmp_path):
    text = "ts,price\n2026-01-02T10:00:05Z,1.5\n2026-01-02T10:00:01Z,2.5\n"
    (question,) = of(tmp_path, text, "SPY.csv", file_streams=True).questions
    assert (question.key, question.usual) == ("stream", None)


def test_of_two_columns_that_may_be_the_stream_alike_neither_is_taken(tmp_path):
    text = (
        "device,sensor,ts,celsius\n"
        + "a,x,2026-01-02T10:00:00Z,1\nb,y,2026-01-02T10:00:00Z,2\n" * 3
    )
    (question,) = of(tmp_path, text).questions
    assert (question.key, question.choices) == ("stream_column", ("device", "sensor"))


def test_a_file_of_names_that_mean_no_value_may_be_wide_and_is_asked_about(tmp_path):
    text = "ts,AAPL,GOOG\n2026-01-01T00:00:00Z,1.0,3.0\n2026-01-01T00:01:00Z,2.0,4.0\n"
    (question,) = of(tmp_path, text).questions
    assert question.key == "wide"
    assert question.options == ("--wide", "--axes AAPL,GOOG")
    streams = of(tmp_path, text, wide=True)
    assert (streams.values["wide"], streams.values["axes"]) == (True, ["value"])
    values = of(tmp_path, text, axes=("AAPL", "GOOG"), stream="x")
    assert (values.values["axes"], asked(values)) == (["aapl", "goog"], [])


def test_ids_counters_and_columns_with_gaps_are_no_axes(tmp_path):
    rows = "".join(
        f"{i},v{i % 2},{4711 + i % 3},0{i % 7},2026-01-02T10:00:{i:02}Z,{i / 2},"
        f"{i if i % 4 else ''}\n"
        for i in range(40)
    )
    draft = of(tmp_path, f"row,vehicle_id,trip_id,zone,ts,speed,load\n{rows}")
    assert draft.values["axes"] == ["speed"]
    assert draft.values["payload"] == {"trip_id": "text", "zone": "text", "load": "double"}
    assert draft.unused == {"row": "counts the rows"}


def test_semicolons_with_decimal_commas_are_read_as_both(tmp_path):
    rows = "".join(f"a;02.01.2026 10:00:{i:02};1,{i}\n" for i in range(13, 30))
    draft = of(
        tmp_path,
        f"symbol;zeit;price\n{rows}",
        ts_format="%d.%m.%Y %H:%M:%S",
        timezone="UTC",
        ts_column=("zeit",),
    )
    assert (draft.values["decimal"], draft.values["axes"]) == (",", ["price"])


def test_bytes_that_are_not_utf8_are_latin_1(tmp_path):
    text = "symbol,ts,price\nMÜV,2026-01-02T10:00:00Z,1.5\nMÜV,2026-01-02T10:00:01Z,2.5\n"
    assert of(tmp_path, text.encode("latin-1")).values["encoding"] == "latin-1"
    assert "encoding" not in of(tmp_path, text).values


def test_a_hint_decides_against_what_the_sample_shows(tmp_path):
    text = TRADES.format("time", *["1767348000"] * 4)
    draft = of(tmp_path, text, ts_unit="ms", stream="all", axes=("price",))
    assert draft.values["ts_unit"] == "ms"
    assert draft.values["stream"] == "all"
    assert "stream_column" not in draft.values


def test_numbers_that_all_go_up_with_the_time_are_axes_where_there_are_no_others(tmp_path):
    rows = "".join(f"EUR/USD,20260102 10:00:{i:02}.295,1.31{i:02},1.32{i:02}\n" for i in range(40))
    finding = of(tmp_path, rows, timezone="UTC")
    assert finding.values["axes"] == ["c3", "c4"]
    assert finding.values["stream_column"] == "c1"
    assert asked(finding) == []


def test_what_goes_up_by_one_from_any_other_number_counts_no_rows(tmp_path):
    rows = "".join(f"{i},h{i % 3},2026-01-02T10:00:{i:02}Z,{40 + i}\n" for i in range(40))
    finding = of(tmp_path, f"nr,host,ts,share\n{rows}")
    assert finding.values["axes"] == ["share"]
    assert finding.unused == {"nr": "counts the rows"}


def test_a_name_in_other_letters_is_an_axis_without_accents_or_none(tmp_path):
    rows = "".join(f"A,2026-01-02T10:00:{i:02}Z,{i / 3},{i / 7}\n" for i in range(20))
    finding = of(tmp_path, f"symbol,ts,Größe é,Ціна\n{rows}")
    assert finding.values["axes"] == ["gro_e_e"]
    assert list(finding.unused) == ["Ціна"]
