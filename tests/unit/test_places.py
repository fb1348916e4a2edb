"""A place on an object store does what a path does, and its writers have one winner."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.request import Request, urlopen

import obstore
import pytest
from moto.server import ThreadedMotoServer
from obstore.exceptions import AlreadyExistsError, GenericError

from fencepost.errors import InputError, StorageError, StoreUnavailable
from pipelines import places
from pipelines.places import Remote, connection, is_remote, objects, place_of
from pipelines.places.credentials import s3_keys

SECRET = "sEcReTsEcReT"  # noqa: S105
BUCKET = Remote("s3://bucket", "")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    served = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    served.start()
    host, port = served.get_host_and_port()
    try:
        yield f"http://{host}:{port}"
    finally:
        served.stop()


@pytest.fixture
def store(server: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Remote:
    """A folder of a bucket, for one test alone."""
    for name, value in (
        ("AWS_ENDPOINT_URL", server),
        ("AWS_ACCESS_KEY_ID", "someone"),
        ("AWS_SECRET_ACCESS_KEY", SECRET),
        ("AWS_REGION", "us-east-1"),
    ):
        monkeypatch.setenv(name, value)
    with urlopen(Request(f"{server}/bucket", method="PUT"), timeout=10):  # noqa: S310
        nodeid: str = request.node.nodeid
    return BUCKET / nodeid.partition("::")[2]


@pytest.fixture(params=["disk", "store"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> places.Place:
    if request.param == "disk":
        return tmp_path
    found: Remote = request.getfixturevalue("store")
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s3://bucket/lake", "s3://bucket/lake"),
        ("s3a://bucket/a/./b/", "s3://bucket/a/b"),
        ("S3://bucket", "s3://bucket"),
        ("gs://bucket/x", "gs://bucket/x"),
        ("abfss://c@acc.dfs.core.windows.net/x", "abfss://c@acc.dfs.core.windows.net/x"),
        ("az://c/x", "az://c/x"),
        ("file:///mnt/a%20b", "/mnt/a b"),
        ("lake", "/begin/lake"),
        ("/lake", "/lake"),
    ],
)
def test_a_text_names_a_place(text: str, expected: str) -> None:
    assert str(place_of(text, Path("/begin"))) == expected


@pytest.mark.parametrize(
    "text",
    [
        "hdfs://name/lake",
        "http://x/lake",
        f"s3://key:{SECRET}@bucket/lake",
        f"az://c/x?sig={SECRET}",
        "s3://bucket/a/../b",
        "s3:///lake",
        "file://other/lake",
    ],
)
def test_a_text_that_names_no_place_is_refused_without_its_secrets(text: str) -> None:
    with pytest.raises(InputError) as refused:
        place_of(text, Path("/begin"))
    assert SECRET not in str(refused.value)


def test_a_remote_place_has_the_names_of_a_path() -> None:
    part = BUCKET / "lake" / "events/part-1.parquet"
    assert (part.name, part.stem, part.suffix) == ("part-1.parquet", "part-1", ".parquet")
    assert str(part.parent) == "s3://bucket/lake/events"
    assert part.with_name("b") == BUCKET / "lake/events/b"
    assert part.below(BUCKET / "lake") == "events/part-1.parquet"
    assert part.below(BUCKET) == "lake/events/part-1.parquet"
    assert not part.is_relative_to(BUCKET / "la")
    assert is_remote(part)
    assert not is_remote(Path("/lake"))
    with pytest.raises(ValueError, match="leads out"):
        part / "../x"
    with pytest.raises(ValueError, match="not below"):
        part.below(BUCKET / "other")


def test_a_file_is_created_once_replaced_and_read(place: places.Place) -> None:
    file = place / "_note.json"
    with pytest.raises(FileNotFoundError):
        places.read(file)
    assert not file.exists()
    places.create(file, b"one")
    with pytest.raises(FileExistsError):
        places.create(file, b"two")
    assert places.read(file) == b"one"
    places.replace(file, b"three")
    assert file.read_text() == "three"
    assert file.exists()
    assert place.is_dir()
    file.unlink()
    file.unlink(missing_ok=True)
    with pytest.raises(FileNotFoundError):
        file.unlink()


def test_a_listing_gives_what_is_below_by_path(place: places.Place) -> None:
    for path in ("b/2", "a", "b/1", "b-c", "lane=a b/x"):
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        places.replace(place / path, path.encode())
    found = list(places.listed(place))
    assert [each.path for each in found] == ["a", "b-c", "b/1", "b/2", "lane=a b/x"]
    assert [each.size for each in found] == [len(each.path) for each in found]
    assert all(each.changed > 1_500_000_000_000_000 for each in found)
    assert [each.path for each in places.listed(place, after="b/1")] == ["b/2", "lane=a b/x"]
    assert [each.path for each in places.listed(place / "b")] == ["1", "2"]
    assert sorted(each.name for each in place.iterdir()) == ["a", "b", "b-c", "lane=a b"]
    assert list(places.listed(place / "nothing")) == []


@pytest.mark.parametrize("size", [3, objects.PART + 5])
def test_what_is_written_appears_whole_or_not_at_all(place: places.Place, size: int) -> None:
    file = place / "large"
    with pytest.raises(ZeroDivisionError), places.written(file) as half:
        half.write(bytes(1 // 0))
    assert not file.exists()
    with places.written(file) as whole:
        whole.write(b"x" * (size - 1))
        assert not file.exists()
        whole.write(b"y")
    assert places.read(file) == b"x" * (size - 1) + b"y"
    assert len(list(place.iterdir())) == 1


def test_a_copy_is_fetched_once(store: Remote, tmp_path: Path) -> None:
    places.replace(store / "index", b"index")
    copy = places.fetched(store / "index", tmp_path / "cache")
    (store / "index").unlink()
    assert places.fetched(store / "index", tmp_path / "cache") == copy
    assert copy.read_bytes() == b"index"
    assert places.fetched(copy, tmp_path / "other") == copy


def test_a_state_is_content_and_entity_tag(store: Remote) -> None:
    one = store / "one"
    assert places.state(one) is None
    places.create(one, b"1")
    content, tag = places.state(one) or (b"", "")
    assert content == b"1"
    places.replace(one, b"2")
    assert (places.state(one) or (b"", tag))[1] != tag


def test_of_many_creators_one_wins(store: Remote) -> None:
    start = threading.Barrier(4)

    def create(which: int) -> bool:
        start.wait()
        try:
            places.create(store / "one", str(which).encode())
        except FileExistsError:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        won = list(pool.map(create, range(4)))
    assert won.count(True) == 1
    assert places.read(store / "one") == str(won.index(True)).encode()


@pytest.mark.parametrize("answer", ["500 lost", "409", "timed out"])
def test_a_lost_answer_of_a_conditional_write_is_found_out(
    store: Remote, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    real, calls = obstore.put, []

    def put(*args: object, **options: object) -> object:
        calls.append(args)
        if len(calls) > 1:
            return real(*args, **options)  # type: ignore[arg-type]
        if answer == "409":
            raise AlreadyExistsError("x - status code: 409 Conflict: busy")
        real(*args, **options)  # type: ignore[arg-type]
        if answer == "timed out":
            raise GenericError("Generic S3 error: - HTTP error: operation timed out")
        raise GenericError("x - Server returned non-2xx status code: 500 Internal: lost")

    monkeypatch.setattr(obstore, "put", put)
    places.create(store / "commit", b"ours")
    assert len(calls) == 2
    assert places.read(store / "commit") == b"ours"
    with pytest.raises(FileExistsError):
        places.create(store / "commit", b"theirs")


def test_a_store_that_stays_away_is_named_in_plain_words(
    store: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setattr(connection, "PATIENCE", 0.2)
    for request in (
        lambda: places.read(store / "x"),
        lambda: places.create(store / "x", b""),
        lambda: list(places.listed(store)),
    ):
        with pytest.raises(StoreUnavailable, match=r"s3://bucket/.*did not answer") as away:
            request()
        assert SECRET not in str(away.value)
        assert away.value.__cause__ is None


@pytest.mark.usefixtures("store")
def test_a_bucket_that_is_not_there_is_no_missing_file() -> None:
    with pytest.raises(StorageError, match="no such bucket"):
        places.read(Remote("s3://absent-bucket", "x"))
    with pytest.raises(StorageError, match="no such bucket"):
        list(places.listed(Remote("s3://absent-bucket", "x")))


def test_a_profile_stands_in_for_variables(store: Remote, tmp_path, monkeypatch) -> None:
    places.replace(store / "x", b"x")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.delenv(name)
    (tmp_path / ".aws").mkdir()
    keys = f"aws_access_key_id = someone\naws_secret_access_key = {SECRET}\n"
    (tmp_path / ".aws" / "credentials").write_text(f"[default]\n[work]\n{keys}")
    (tmp_path / ".aws" / "config").write_text("[profile work]\nregion = eu-central-1\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_PROFILE", "work")
    assert s3_keys() == {"access_key_id": "someone", "secret_access_key": SECRET}
    assert places.delta_options(store)["AWS_REGION"] == "eu-central-1"
    assert places.read(store / "x") == b"x"
    assert "KEY_ID 'someone'" in (places.duckdb_secret(store) or "")
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", "/token")
    assert s3_keys() == {}
    assert "credential_chain" in (places.duckdb_secret(store) or "")
    monkeypatch.delenv("AWS_WEB_IDENTITY_TOKEN_FILE")
    (tmp_path / ".aws" / "credentials").write_text(f"{keys}\n[work")
    with pytest.raises(StorageError, match="cannot be read") as refused:
        s3_keys()
    assert SECRET not in str(refused.value)


def test_engines_get_the_same_store(store: Remote) -> None:
    assert places.delta_options(Path("/lake")) == {}
    assert places.duckdb_secret(Path("/lake")) is None
    assert places.delta_options(store)["AWS_ALLOW_HTTP"] == "true"
    secret = places.duckdb_secret(store)
    assert secret is not None
    assert "URL_STYLE 'path'" in secret
    assert "USE_SSL false" in secret
