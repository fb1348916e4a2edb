"""How `fencepost eval` is told to read files: by options, each feed its own, and by a feed."""

import contextlib
from pathlib import Path

import pytest

from tests.support.commands.commands import Said, fencepost, rows
from tests.support.commands.files import written

HIGH = '{"id": "high", "feed": "trades", "where": "price >= 2", "within": "1m"}\n'
HEADER = "Symbol;Zeit;TradeID;Price;Venue\n"
GERMAN = (
    *("--stream-column", "Symbol", "--ts-column", "Zeit", "--ts-format", "%d.%m.%Y %H:%M:%S"),
    *("--timezone", "Europe/Berlin", "--decimal", ",", "--axes", "price"),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    written(tmp_path, "q.jsonl", HIGH)
    return tmp_path


def trades(*given: tuple[int, int, str]) -> str:
    """Rows of one stream: second, trade id, and price; the venue is the id's."""
    body = "".join(f"A;02.01.2026 10:00:{s:02};{n};{price};v{n}\n" for s, n, price in given)
    return HEADER + body


def evaluated(folder: Path, *tuples: str, more: tuple[str, ...] = ()) -> Said:
    given = [argument for each in tuples for argument in ("-t", each)]
    with contextlib.chdir(folder):
        return fencepost("eval", "-q", "q.jsonl", *given, "-o", "out", *more)


def test_times_decimals_and_names_are_read_as_options_say(folder):
    written(folder, "a.csv", trades((0, 5, "1,5"), (1, 6, "2,25")))
    said = evaluated(folder, "a.csv", more=GERMAN)
    assert said.code == 0, said.err
    (event,) = rows(folder / "out" / "events.csv")
    assert (event["ts"], event["price"]) == ("2026-01-02T09:00:01.000000Z", "2.25")


def test_an_event_carries_what_travels_with_its_tuple_even_if_that_waited(folder):
    written(folder, "a.csv", trades((0, 5, "1"), (20, 6, "3"), (30, 7, "1")))
    written(folder, "b.csv", trades((10, 4, "2"), (59, 9, "2")))
    more = (*GERMAN, "--payload", "Venue", "--allowed-lateness", "25s")
    assert evaluated(folder, "a.csv", "b.csv", more=more).code == 0
    events = [
        (e["ts"][17:19], e["type"], e["payload_Venue"]) for e in rows(folder / "out/events.csv")
    ]
    assert events == [("10", "I", "v4"), ("30", "O", "v7")]


def test_repeated_pieces_of_a_source_are_duplicates_by_their_sequence(folder):
    first, second, third = (0, 5, "1"), (0, 6, "3"), (0, 7, "1")
    written(folder, "a.csv", trades(second, first))
    written(folder, "b.csv", trades(second, third))
    more = (*GERMAN, "--sequence", "TradeID", "--json")
    summary = evaluated(folder, "a.csv", "b.csv", more=more).summary
    assert summary["quarantined"]["duplicate"] == 1
    found = [(e["type"], e["place"]) for e in rows(folder / "out" / "events.csv")]
    assert found == [("I", "1"), ("O", "2")]


def test_the_first_of_an_instant_is_taken_alone_where_asked(folder):
    written(folder, "a.csv", trades((0, 5, "1"), (0, 6, "3"), (1, 7, "1")))
    assert evaluated(folder, "a.csv", more=(*GERMAN, "--json")).summary["events"] == 2
    more = (*GERMAN, "--ties", "first", "--json")
    assert evaluated(folder, "a.csv", more=more).summary["quarantined"]["conflict"] == 1


def test_each_stream_may_wait_for_its_own_clock(folder):
    body = "stream_id,ts,price\na,2026-01-02T12:00:00Z,1\nb,2026-01-02T10:00:00Z,1\n"
    written(folder, "a.csv", body)
    written(folder, "b.csv", "stream_id,ts,price\nb,2026-01-02T09:59:30Z,3\n")
    by_feed = evaluated(folder, "a.csv", "b.csv", more=("--allowed-lateness", "1m", "--json"))
    assert by_feed.summary["quarantined"]["late"] == 1
    more = ("--allowed-lateness", "1m", "--lateness-by", "stream", "--json")
    by_stream = evaluated(folder, "a.csv", "b.csv", more=more)
    assert by_stream.summary["quarantined"]["late"] == 0


def test_of_two_feeds_each_is_read_in_its_own_way(folder):
    written(folder, "q.jsonl", HIGH + HIGH.replace("trades", "quotes").replace("high", "q"))
    written(folder, "a.csv", "sym,ts,price\nA,2026-01-02T10:00:00Z,1\nA,2026-01-02T10:00:01Z,3\n")
    written(folder, "b.csv", "dev|at|price\nB|1767348000|1\nB|1767348001|3\n")
    more = (
        *("--stream-column", "trades=sym", "--stream-column", "quotes=dev"),
        *("--ts-column", "quotes=at", "--ts-unit", "quotes=s", "--json"),
    )
    assert evaluated(folder, "trades=a.csv", "quotes=b.csv", more=more).summary["events"] == 2


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (("--stream-column", "quotes=sym"), "'quotes' is none of the feeds of --tuples: trades"),
        (("--ts-unit", "s", "--ts-unit", "ms"), "--ts-unit is given twice"),
        (("--stream", "A", "--stream-column", "B"), "one of them says it"),
        (("--date", "2026-01-02"), "timezone is missing"),
        (("--timezone", "Mars/Olympus"), "Mars/Olympus"),
        (("--ts-format", "%Q"), "%Q"),
        (("--stream-from-path", "(x"), "--stream-from-path"),
        (("--delimiter", ",,"), "',,' is no single character"),
        (("--idle", "1h"), "only a stream can be idle"),
        (("--guess", "--config", "."), "give one of them"),
        (("--guess", "--ts-column", "none"), "no column 'none'"),
    ],
)
def test_an_option_that_cannot_be_meant_is_refused_in_words(folder, more, why):
    written(folder, "a.csv", "stream_id,ts,price\nA,2026-01-02T10:00:00Z,1\n")
    said = evaluated(folder, "trades=a.csv", more=more)
    assert (said.code, why in said.err) == (2, True), said.err
    assert not (folder / "out").exists()


def test_a_feed_that_the_config_does_not_declare_is_named_with_those_that_it_does(folder):
    text = '[feeds.ticks]\naxes = ["price"]\nsource = "in"\n'
    written(folder, "fencepost.toml", text)
    written(folder, "a.csv", "stream_id,ts,price\nA,2026-01-02T10:00:00Z,1\n")
    said = evaluated(folder, "trades=a.csv", more=("--config", "fencepost.toml"))
    assert (said.code, "has no feed 'trades'; there are: ticks" in said.err) == (2, True), said.err
