"""A refused delivery is unanswered until something answers it, and the view says the same."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import InputError
from pipelines.ingest.refusals import Dismissed, dismiss, unanswered
from pipelines.project.settings import Feed
from pipelines.serve.views.duckdb import duckdb_session
from tests.support.lakes.landing_place import T0, Place, ticks
from tests.support.lakes.ledger import AXES, Ledger
from tests.support.lakes.on_disk import on_disk

BAD = "stream,ts\na,2026-11-18T12:00:00Z\n"
SHARED = Ledger().in_memory()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A lake that refused one of two deliveries."""
    place = Place.make(tmp_path)
    place.land("good.csv", ticks(1))
    place.land("bad.csv", BAD)
    place.ingest()
    return place


def paths(place: Place) -> list[str]:
    """Name what is unanswered."""
    return [each.path for each in unanswered(place.store)]


def answers(place: Place) -> list[tuple[str, Any, Any]]:
    """What the view says of each refused delivery, in order: path, answer, by which."""
    sql = "SELECT path, answer, answered_by FROM refused_deliveries ORDER BY n"
    with duckdb_session(on_disk(place.store.root), place.settings.tables) as session:
        return list(session.execute(sql).fetchall())


def test_a_refused_delivery_is_unanswered_however_many_runs_follow(place: Place) -> None:
    for name in ("c.csv", "d.csv"):
        (one,) = unanswered(place.store)
        assert (one.name, one.reason) == ("ticks/bad.csv", "unreadable")
        assert "no column 'stream_id'" in one.detail
        assert one.found_at == "2026-11-18T12:00:00.000000Z"
        place.land(name, ticks(ord(name[0])))
        place.ingest()
    assert answers(place) == [("bad.csv", None, None)]


def test_mended_in_place_the_next_run_answers_it(place: Place) -> None:
    place.land("bad.csv", ticks(2))
    place.ingest()
    assert paths(place) == []
    assert answers(place) == [("bad.csv", "taken", 3)]


def test_a_retry_once_the_declaration_is_mended_answers_it(tmp_path: Path) -> None:
    place = Place.make(tmp_path, Feed("ticks", ("price",), Path("ticks")))
    place.land("bad.csv", "ticker,ts,price\na,2026-11-18T12:00:00Z,1\n")
    place.ingest()
    place.declare("ticks", stream_column="ticker")
    place.retry()
    assert (paths(place), answers(place)) == ([], [("bad.csv", "taken", 2)])


def test_refused_again_the_newest_refusal_is_the_one_that_is_unanswered(place: Place) -> None:
    place.retry()
    assert [each.n for each in unanswered(place.store)] == [3]
    assert answers(place) == [("bad.csv", "refused again", 3), ("bad.csv", None, None)]


def test_the_same_content_taken_under_another_name_answers_it(tmp_path: Path) -> None:
    feed = Feed("ticks", ("price", "volume"), Path("ticks"), partition_in_path=True)
    place = Place.make(tmp_path, feed)
    nameless = place.land("nameless.csv", ticks(1))
    place.ingest()
    assert paths(place) == ["nameless.csv"]
    nameless.rename(nameless.with_name("2026-11-18.csv"))
    place.ingest()
    assert (paths(place), answers(place)) == ([], [("nameless.csv", "taken", 2)])


def test_content_that_was_taken_meanwhile_is_not_taken_again_by_a_retry(tmp_path: Path) -> None:
    place = Place.make(tmp_path, Feed("ticks", ("price",), Path("ticks")))
    text = "ticker,ts,price\na,2026-11-18T12:00:00Z,1\n"
    place.land("bad.csv", text)
    place.ingest()
    place.declare("ticks", stream_column="ticker")
    place.land("copy.csv", text)
    place.ingest()
    assert paths(place) == []
    assert place.retry().loaded == []
    assert len(place.tuples()) == 1


def test_a_repeat_needs_no_answer_and_a_changed_file_does(place: Place) -> None:
    place.land("again.csv", ticks(1))
    place.land("good.csv", ticks(3))
    place.ingest()
    assert paths(place) == ["bad.csv", "good.csv"]
    assert ("again.csv", "not needed", None) in answers(place)


def test_a_dismissal_is_kept_with_its_note_and_to_repeat_it_changes_nothing(place: Place) -> None:
    assert dismiss(place.store, ["ticks/bad.csv"], "a test", T0) == Dismissed(
        ["ticks/bad.csv"], [], []
    )
    version = place.store.version("dismissals")
    assert dismiss(place.store, ["ticks/bad.csv"], "other", T0) == Dismissed(
        [], ["ticks/bad.csv"], []
    )
    assert place.store.version("dismissals") == version
    assert (paths(place), answers(place)) == ([], [("bad.csv", "dismissed", None)])
    (row,) = place.store.rows("dismissals").to_pylist()
    assert (row["n"], row["feed"], row["path"], row["note"]) == (1, "ticks", "bad.csv", "a test")


def test_a_dismissal_holds_until_a_retry_names_the_delivery(place: Place) -> None:
    dismiss(place.store, ["ticks/bad.csv"], None, T0)
    assert place.retry().refused == []
    assert [each.n for each in place.retry(names=["ticks/bad.csv"]).refused] == [3]
    assert paths(place) == ["bad.csv"]


def test_a_retry_that_names_a_delivery_takes_up_no_other(place: Place) -> None:
    place.land("worse.csv", "nonsense\n")
    place.ingest()
    assert [each.path for each in place.retry(names=["ticks/worse.csv"]).refused] == ["worse.csv"]


def test_an_unknown_name_is_refused_and_nothing_is_dismissed(place: Place) -> None:
    with pytest.raises(InputError, match=r"'ticks/bda.csv'.*Did you mean 'ticks/bad.csv'"):
        dismiss(place.store, ["ticks/bad.csv", "ticks/bda.csv"], None, T0)
    with pytest.raises(InputError, match=r"no refused delivery is called 'ticks/good.csv'"):
        dismiss(place.store, ["ticks/good.csv"], None, T0)
    with pytest.raises(InputError, match=r"no delivery is called 'ticks/b.csv'"):
        place.retry(names=["ticks/b.csv"])
    assert paths(place) == ["bad.csv"]


def test_what_was_answered_needs_no_dismissal(place: Place) -> None:
    place.land("bad.csv", ticks(2))
    place.ingest()
    assert dismiss(place.store, ["ticks/bad.csv"], None, T0).answered == ["ticks/bad.csv"]
    assert place.store.rows("dismissals").num_rows == 0


def test_a_version_that_stops_its_feed_cannot_be_dismissed(tmp_path: Path) -> None:
    ledger = Ledger()
    path = "_delta_log/00000000000000000003.json"
    ledger.arrive("ticks", "refused", path=path, reason="updates", detail="rows go", files=[])
    store = ledger.written(tmp_path / "lake")
    with pytest.raises(InputError, match=r"its feed is stopped until it is retried: .*--reason"):
        dismiss(store, [f"ticks/{path}"], None, T0)


_Arrival = st.tuples(
    st.sampled_from(["planned", "done", "refused"]),
    st.sampled_from(["unreadable", "repeat", "changed"]),
    st.lists(st.sampled_from("abc"), max_size=2, unique=True),
    st.sampled_from(["x", "y", "z"]),
    st.booleans(),
    st.sampled_from(["ticks", "ticks", "locations"]),
    st.booleans(),
)


@given(st.lists(_Arrival, max_size=7))
def test_differential_the_view_and_the_run_agree_on_what_is_unanswered(story: list[Any]) -> None:
    ledger = Ledger(AXES)
    for state, reason, files, content, of_rows, feed, dismissed in story:
        n = ledger.arrive(
            feed,
            state,
            files=files,
            path="".join(files),
            content=content,
            lines=["[[1, 2]]"] if of_rows else None,
            reason=reason if state == "refused" else None,
        )
        if dismissed and state == "refused" and not of_rows:
            ledger.add("dismissals", n=n, feed=feed, path="p", dismissed_at=datetime(2026, 1, 1))  # noqa: DTZ001
    sql = "SELECT n FROM refused_deliveries WHERE answer IS NULL ORDER BY n"
    found = [n for (n,) in ledger.in_memory(SHARED).execute(sql).fetchall()]

    class Rows:
        """What `unanswered` reads of a store."""

        rows = staticmethod(ledger.arrow)

        @staticmethod
        def fold(name: str, begin: Callable[[], Any]) -> Any:
            folded = begin()
            folded.add(ledger.arrow(name))
            return folded

    assert [each.n for each in unanswered(Rows())] == found  # type: ignore[arg-type]
