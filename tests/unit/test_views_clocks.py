"""Views of time where each stream waits for its own clock: its watermark is what ends a visit."""

from tests.support.lakes.ledger import Ledger, answered, at
from tests.support.stories.histories import OwnClocks


def test_where_streams_have_their_own_clocks_a_query_ends_for_each_by_its_own():
    ledger = Ledger()
    ledger.register({"id": "q", "valid_to": at(10)}, {"id": "r"})
    first = ledger.arrive("ticks")
    for stream, newest in (("a", 12), ("b", 9)):
        ledger.add("ticks", stream_id=stream, ts=at(newest), arrival=first)
        for query in "qr":
            ledger.event("I", query, stream, 4)
    own = OwnClocks(lateness=1, idle=10).declared
    ledger.epoch("ticks", 1, [first], watermark=at(2), declared=own)
    inside = "SELECT query_id, stream_id FROM inside_now"
    assert answered(ledger.in_memory(), inside) == [("q", "b"), ("r", "a"), ("r", "b")]
    ledger.register({"id": "r", "removed": True})
    told = "SELECT query_id, stream_id, left_ts, ended_by FROM visits"
    assert answered(ledger.in_memory(), told) == [
        ("q", "a", at(10), "valid_to"),
        ("q", "b", None, None),
        ("r", "a", at(11), "removal"),
        ("r", "b", at(8), "removal"),
    ]
