"""A commit happens once, however often it is tried, and nobody's commit is taken for another's."""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pytest

from fencepost.errors import LakeError
from pipelines.lake import log
from pipelines.lake.append import TRIES, Conflict, Diverged, Unknown, append_once, committed
from pipelines.lake.data_files import DataFile
from pipelines.lake.evidence import MARK, Evidence
from pipelines.lake.layout import commit_path
from pipelines.lake.obsolete import Obsolete
from pipelines.lake.store import Store
from pipelines.places import Place, place_of
from pipelines.places import replace as replace_file
from schemas.quarantine import QUARANTINE

NAME = QUARANTINE.name
TABLES = {NAME: QUARANTINE}
MINE = Evidence("evaluate", "p1", "grid", 1, 2, 1, 1, 7)
THEIRS = replace(MINE, plan="p2")


class Unsure(Store):
    """A store whose answers are lost: by the letter of each append, made or not, heard or not."""

    fates = ""

    def append(
        self,
        name: str,
        at: int,
        files: Sequence[DataFile],
        evidence: Evidence,
        replaces: Obsolete | None = None,
    ) -> None:
        fate, self.fates = self.fates[:1], self.fates[1:]
        if fate == "c":  # another is first
            other = Store.open(self.root, self.tables)
            other.append(name, at, [], THEIRS)
        if fate != "n":
            super().append(name, at, files, evidence, replaces)
        if fate in ("n", "u"):
            raise Unknown("the line went dead")


@pytest.fixture(params=["disk", "s3"])
def store(request, tmp_path) -> Unsure:
    root: Place = tmp_path / "lake"
    if request.param == "s3":
        root = place_of(request.getfixturevalue("moto_s3").uri("lake"), tmp_path)
    Store.create(root, TABLES, buckets=1)
    store = Unsure.open(root, TABLES)
    assert isinstance(store, Unsure)
    return store


def rows_of(store: Store, line: int = 1) -> list[DataFile]:
    row = {"feed": "grid", "arrival": 1, "reason": "late", "detail": "", "path": ""}
    return store.write_rows(NAME, [row | {"file": 0, "line": line, "raw": ""}])


def lines(store: Store) -> list[int]:
    return sorted(store.rows(NAME)["line"].to_pylist())


def keys(store: Store) -> list[tuple[str, str]]:
    return [evidence.key for evidence in store.evidence(NAME, 0)]


@pytest.mark.parametrize(
    ("fates", "had_to"),
    [
        ("", True),  # it goes well
        ("n", True),  # not made, and nobody knows
        ("u", False),  # made, and nobody knows
        ("c", True),  # beaten
        ("ccnc", True),
        ("cnu", False),
        ("nnnu", False),
    ],
)
@pytest.mark.fault(11)
def test_whatever_befalls_it_a_commit_is_made_once(store, fates, had_to) -> None:
    since = store.version(NAME)
    store.fates = fates
    asked: list[int] = []

    def files() -> list[DataFile]:
        asked.append(1)
        return rows_of(store)

    assert append_once(store, NAME, MINE, files, since) is had_to
    assert asked == [1]
    assert (lines(store), keys(store).count(MINE.key)) == ([1], 1)
    assert append_once(store, NAME, MINE, files, since) is False
    assert asked == [1]
    assert (lines(store), keys(store).count(MINE.key)) == ([1], 1)


@pytest.mark.fault(4, 10)
def test_what_another_process_committed_meanwhile_is_found(store) -> None:
    since = store.version(NAME)
    other = Store.open(store.root, TABLES)
    assert append_once(other, NAME, MINE, lambda: rows_of(other), since)
    assert not append_once(store, NAME, MINE, lambda: rows_of(store, 2), since)
    assert lines(store) == [1]


@pytest.mark.fault(10)
def test_a_zombie_that_names_an_old_version_commits_nothing(store) -> None:
    at = store.version(NAME)
    zombie = Store.open(store.root, TABLES)
    files = rows_of(zombie, 2)
    append_once(store, NAME, THEIRS, lambda: rows_of(store), at)
    with pytest.raises(Conflict, match=f"is at version {at + 1}, {at} was expected"):
        zombie.append(NAME, at, files, MINE)
    assert (lines(store), keys(store)) == ([1], [THEIRS.key])


@pytest.mark.fault(10, 21)
def test_two_who_name_the_same_version_cannot_both_make_it(store, monkeypatch) -> None:
    at = store.version(NAME)
    late = Store.open(store.root, TABLES)
    assert late.version(NAME) == at
    store.append(NAME, at, rows_of(store), THEIRS)
    monkeypatch.setattr(late.log(NAME), "refresh", lambda: at)  # suspended after its look
    with pytest.raises(Conflict, match="was created by another"):
        late.append(NAME, at, rows_of(late, 2), MINE)
    assert lines(store) == [1]


def test_who_wakes_after_the_log_was_cleaned_commits_nothing(store, monkeypatch) -> None:
    at = store.version(NAME)
    late = Store.open(store.root, TABLES)
    assert late.version(NAME) == at
    store.append(NAME, at, rows_of(store), THEIRS)
    store.delta(NAME).create_checkpoint()
    commit_path(store.folder(NAME), at + 1).unlink()
    monkeypatch.setattr(log, "FRESH", 0)  # it sleeps for longer than that
    monkeypatch.setattr(late.log(NAME), "refresh", lambda: at)
    with pytest.raises(Conflict, match="before the checkpoint"):
        late.append(NAME, at, rows_of(late, 2), MINE)
    assert not commit_path(store.folder(NAME), at + 1).exists()
    assert lines(Store.open(store.root, TABLES)) == [1]


def test_evidence_that_was_cleaned_away_is_missed_aloud(store) -> None:
    since = store.version(NAME)
    append_once(store, NAME, MINE, lambda: rows_of(store), since)
    append_once(store, NAME, THEIRS, lambda: rows_of(store, 2), since)
    store.delta(NAME).create_checkpoint()
    commit_path(store.folder(NAME), since + 1).unlink()
    later = Store.open(store.root, TABLES)
    with pytest.raises(LakeError, match=f"commit {since + 1} of the table '{NAME}' is no longer"):
        append_once(later, NAME, MINE, lambda: rows_of(store), since)


@pytest.mark.fault(4, 12)
def test_the_same_evidence_with_other_rows_stops_everything(store) -> None:
    since = store.version(NAME)
    append_once(store, NAME, MINE, lambda: rows_of(store), since)
    for other in (replace(MINE, rows=2), replace(MINE, hash=8)):
        with pytest.raises(Diverged, match="holds 1 row of evaluate grid 1–2"):
            append_once(store, NAME, other, lambda: rows_of(store, 2), since)
    assert lines(store) == [1]


@pytest.mark.fault(28)
def test_evidence_goes_by_step_and_plan_and_by_nothing_else(store) -> None:
    since = store.version(NAME)
    append_once(store, NAME, MINE, lambda: rows_of(store), since)
    for k, other in enumerate((replace(MINE, plan="p2"), replace(MINE, what="done")), 2):
        assert append_once(store, NAME, other, partial(rows_of, store, k), since)
    assert lines(store) == [1, 2, 3]
    later = replace(MINE, lane="other", first=9, last=9, generation=4)
    assert committed(store, NAME, later, since)


@pytest.mark.fault(28)
def test_evidence_from_before_the_plan_is_not_asked(store) -> None:
    append_once(store, NAME, MINE, lambda: rows_of(store), store.version(NAME))
    now = store.version(NAME)
    assert not committed(store, NAME, MINE, now)
    assert committed(store, NAME, MINE, now - 1)


def test_who_is_always_beaten_gives_up_in_words(store) -> None:
    store.fates = "n" * (TRIES + 1)
    with pytest.raises(LakeError, match=f"could not be committed to in {TRIES} attempts"):
        append_once(store, NAME, MINE, lambda: rows_of(store), store.version(NAME))
    assert lines(store) == []
    assert len(store.fates) == 1


@pytest.mark.fault(14)
def test_a_commit_that_is_cut_off_is_refused_and_told(store) -> None:
    append_once(store, NAME, MINE, lambda: rows_of(store), 0)
    path = commit_path(store.folder(NAME), store.version(NAME))
    replace_file(path, path.read_bytes()[:-20])
    with pytest.raises(LakeError, match="is empty or cut off"):
        Store.open(store.root, TABLES).version(NAME)


def test_evidence_survives_the_log() -> None:
    assert Evidence.from_json(MINE.to_json()) == MINE


@pytest.mark.parametrize(
    "text",
    [None, "", "{", "[]", "7", "{}", '{"what": "evaluate"}', json.dumps({MARK: 2, "what": "x"})],
)
def test_what_others_say_of_their_commits_is_no_evidence(text) -> None:
    assert Evidence.from_json(text) is None


def test_evidence_with_a_damaged_field_is_an_error_in_words():
    whole = Evidence("evaluate", "plan", "ticks", 1, 2, 1, 3, 4).to_json()
    with pytest.raises(LakeError, match="damaged words"):
        Evidence.from_json(whole.replace('"last"', '"mast"'))
