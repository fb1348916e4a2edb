"""`fencepost init` as a user types it: what it makes, what it leaves alone, what it refuses."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from deltalake import DeltaTable

from pipelines.lake.store import Store
from pipelines.project.settings import ENVIRONMENT, load
from pipelines.project.templates import FOR_DAGSTER
from schemas import RESERVED
from tests.support.commands.commands import REPOSITORY, Said, fencepost
from tests.support.commands.files import written

OWN = '[feeds.sensors]\naxes = ["celsius"]\nsource = "in"\n'


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty working folder, and no word of the environment on it."""
    monkeypatch.delenv("FENCEPOST_CONFIG", raising=False)
    for over in ENVIRONMENT.values():
        for variable in over.values():
            monkeypatch.delenv(variable, raising=False)
    with contextlib.chdir(tmp_path):
        yield tmp_path


def init(*arguments: object) -> Said:
    return fencepost("init", *arguments)


def everything(folder: Path) -> dict[str, bytes | None]:
    """All that lies in a folder, and what is in it."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


@contextlib.contextmanager
def powerless(folder: Path) -> Iterator[None]:
    """Be somebody who may not write to a folder, even where the tests run as root."""
    user = os.geteuid()
    folder.chmod(0o555)
    try:
        if user == 0:
            os.seteuid(65534)
        yield
    finally:
        if user == 0:
            os.seteuid(0)
        folder.chmod(0o755)


def test_it_makes_a_lake_its_landing_folders_and_a_file_that_declares_them(here):
    said = init()
    assert (said.code, said.err) == (0, "")
    settings = load()
    assert settings.file == here / "fencepost.toml"
    store = Store.open(settings.root, settings.tables)
    assert set(store.tables) == {*RESERVED, "ticks", "locations"}
    assert all(store.version(name) >= 0 for name in store.tables)
    assert store.buckets == settings.buckets
    assert (here / "landing" / "ticks").is_dir()
    assert (here / "landing" / "locations").is_dir()
    made, _, after = said.out.partition("\n\n")
    assert [line.split()[:2] for line in made.splitlines()] == [
        ["made", "lake/"],
        ["made", "landing/ticks/"],
        ["made", "landing/locations/"],
        ["made", "fencepost.toml"],
        ["made", "dagster.yaml"],
        ["made", "workspace.yaml"],
    ]
    assert after.count("\n  fencepost ") == 3


def test_a_second_time_it_leaves_all_as_it_is_and_says_so(here):
    init("demo", "--lake", "demo/tables")
    before = everything(here)
    said = init("demo")
    assert everything(here) == before
    assert said.code == 0
    assert said.out.count("exists     demo/") == 6
    assert "made " not in said.out


def test_for_scripts_it_says_in_one_object_what_it_made_and_where(here):
    first = init("demo", "--json").summary
    assert first["config"] == str(here / "demo" / "fencepost.toml")
    assert first["lake"] == str(here / "demo" / "lake")
    assert first["feeds"] == {"ticks": ["price", "volume"], "locations": ["x", "y", "speed"]}
    assert len(first["made"]) == 6
    assert all(Path(path).exists() for path in first["made"])
    again = init("demo", "--json").summary
    assert (again["made"], again["was_there"]) == ([], first["made"])


def test_the_commands_it_tells_to_type_next_can_be_typed(here):
    said = init("my demo", "--lake", "tables")
    assert load(here / "my demo").root == here / "tables"
    commands = said.out.partition("\n\n")[2].replace("\\\n", "").splitlines()[1:]
    assert commands[0] == "  cd 'my demo'"
    with contextlib.chdir("my demo"):
        words = commands[1].split()
        assert words[:2] == ["fencepost", "generate"]
        assert fencepost(*words[1:]).code == 0
        assert Path("landing/ticks/market.csv").stat().st_size
        assert Path("alerts.jsonl").stat().st_size


def test_with_a_file_of_ones_own_its_folders_and_its_lake_are_made(here):
    written(here, "fencepost.toml", OWN + '[lake]\npath = "tables"\nbuckets = 3\n')
    before = (here / "fencepost.toml").read_text()
    said = init()
    assert said.code == 0
    assert "exists     fencepost.toml" in said.out
    assert "fencepost queries import RULES.jsonl" in said.out
    assert (here / "fencepost.toml").read_text() == before
    assert (here / "in").is_dir()
    settings = load()
    assert Store.open(settings.root, settings.tables).buckets == 3
    assert DeltaTable(str(here / "tables" / "sensors")).schema().to_arrow() is not None


def test_what_dagster_reads_is_the_text_that_the_repository_has(here):
    init()
    for name in FOR_DAGSTER:
        assert (here / name).read_text() == (REPOSITORY / name).read_text()


def test_a_workspace_of_ones_own_is_left_as_it_is(here):
    written(here, "workspace.yaml", "load_from: []\n")
    said = init()
    assert said.code == 0
    assert "exists     workspace.yaml" in said.out
    assert (here / "workspace.yaml").read_text() == "load_from: []\n"


def test_a_feed_that_was_added_gets_its_table_and_its_folder(here):
    init()
    with (here / "fencepost.toml").open("a") as file:
        file.write(OWN)
    said = init()
    assert said.code == 0
    assert "made       in/" in said.out
    assert (here / "lake" / "sensors" / "_delta_log").is_dir()


def test_a_feed_that_comes_from_a_delta_table_has_no_landing_folder(here):
    written(here, "fencepost.toml", OWN + 'format = "delta"\n')
    assert init().code == 0
    assert not (here / "in").exists()


def test_the_lake_that_the_environment_names_is_the_one_made_and_written_down(here, monkeypatch):
    monkeypatch.setenv("FENCEPOST_LAKE", "named")
    assert init("demo").code == 0
    monkeypatch.delenv("FENCEPOST_LAKE")
    assert load(Path("demo")).root == here / "named"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["a b"], "some engines cannot read"),
        ([".", "--lake", "ä"], "some engines cannot read"),
        (["file"], "file: is a file, where a folder was expected"),
        (["file/below"], "file: is a file, where a folder was expected"),
        ([".", "--lake", "file"], "file: is a file, where a folder was expected"),
        ([".", "--lake", "used"], "used is not empty and no lake: name another"),
        ([".", "--lake", "landing"], "is the lake, or lies in it"),
    ],
)
def test_what_cannot_be_made_is_told_before_anything_is(here, arguments, told):
    written(here, "file", "")
    (here / "used").mkdir()
    written(here / "used", "diary.txt", "")
    before = everything(here)
    said = init(*arguments)
    assert (said.code, said.out) == (2, "")
    assert told in said.err
    assert everything(here) == before


def test_a_file_of_ones_own_with_faults_is_told_and_nothing_is_made(here):
    written(here, "fencepost.toml", OWN.replace("source", "sorce"))
    said = init()
    assert said.code == 2
    assert "[feeds.sensors] unknown key 'sorce'" in said.err
    written(here, "fencepost.toml", OWN)
    said = init("--lake", "other")
    assert said.code == 2
    assert f"names the lake {here / 'lake'}, but --lake names other: change one of them" in said.err
    written(here, "in", "a file")
    assert "in: is a file, where a folder was expected" in init().err
    assert sorted(everything(here)) == ["fencepost.toml", "in"]


@pytest.mark.fault(19)
def test_where_one_may_not_write_it_is_told_and_nothing_is_made():
    folder = Path(tempfile.mkdtemp())
    try:
        with powerless(folder):
            said = init(folder / "demo")
        assert said.code == 2
        assert said.err == (
            f"{folder}: nothing can be made in this folder: Permission denied\n"
            "1 fault, nothing made.\n"
        )
        assert list(folder.iterdir()) == []
    finally:
        shutil.rmtree(folder)
