"""Which `fencepost.toml` counts, what stands over it, and what is said of an unreadable one."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from fencepost.errors import Faults, InputError
from pipelines.project.settings import ENVIRONMENT, load
from tests.support.commands.files import written

FEED = '[feeds.ticks]\naxes = ["price"]\nsource = "landing"\n'


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FENCEPOST_CONFIG", raising=False)
    for over in ENVIRONMENT.values():
        for variable in over.values():
            monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Path]:
    """A working folder."""
    with contextlib.chdir(tmp_path):
        yield tmp_path


def test_the_nearest_file_counts_and_paths_begin_at_its_folder(here):
    written(here, "fencepost.toml", FEED)
    below = here / "a" / "b"
    below.mkdir(parents=True)
    with contextlib.chdir(below):
        assert (load().file, load().root) == (here / "fencepost.toml", here / "lake")
        written(here / "a", "fencepost.toml", FEED)
        assert load().feeds["ticks"].source == here / "a" / "landing"
        assert load(here).root == load(Path("../../fencepost.toml")).root == here / "lake"


def test_the_file_or_folder_that_the_environment_names_stands_over_the_nearest(here, monkeypatch):
    written(here, "fencepost.toml", FEED)
    (here / "other").mkdir()
    written(here / "other", "fencepost.toml", FEED)
    for named in ("other", "other/fencepost.toml", str(here / "other")):
        monkeypatch.setenv("FENCEPOST_CONFIG", named)
        assert load().root == here / "other" / "lake"
        assert load(Path()).root == here / "lake"
    monkeypatch.setenv("FENCEPOST_CONFIG", "gone")
    with pytest.raises(Faults, match=r"^gone: cannot be read: No such file"):
        load()


@pytest.mark.usefixtures("here")
def test_without_a_file_it_is_said_how_to_get_one():
    with pytest.raises(InputError, match=r"no fencepost\.toml in .*: `fencepost init` makes one"):
        load()
    with pytest.raises(Faults, match=r"^other\.toml: cannot be read: No such file"):
        load(Path("other.toml"))


def test_the_environment_stands_over_the_file(here, monkeypatch):
    written(here, "fencepost.toml", FEED + '[run]\nrunner = "here"\nread_path = "files"\n')
    for name, said in {
        "LAKE": "elsewhere",
        "RUNNER": "spark",
        "READ_PATH": "",
        "CORES": "7",
        "MEMORY": "3g",
        "REPORTS_ADDRESS": "http://127.0.0.1:3009/",
    }.items():
        monkeypatch.setenv(f"FENCEPOST_{name}", said)
    (here / "sub").mkdir()
    with contextlib.chdir("sub"):
        settings = load()
    assert (
        settings.root,
        settings.runner,
        settings.read_path,
        settings.cores,
        settings.memory,
        settings.reports_address,
    ) == (
        here / "sub" / "elsewhere",
        "spark",
        "files",
        7,
        "3g",
        "http://127.0.0.1:3009",
    )
    assert load(lake=Path("this")).root == here / "this"


def test_a_fault_of_the_environment_names_its_variable(here, monkeypatch):
    written(here, "fencepost.toml", FEED)
    monkeypatch.setenv("FENCEPOST_CORES", "many")
    monkeypatch.setenv("FENCEPOST_LAKE", "my lake")
    with pytest.raises(Faults) as told:
        load()
    lake, cores, last = str(told.value).splitlines()
    assert lake.startswith(
        f"FENCEPOST_LAKE: some engines cannot read '{here}/my lake', a path with"
    )
    assert cores == (
        "FENCEPOST_CORES: 'many' was given, where a whole number of 1 or more was expected"
    )
    assert last == "2 faults, nothing done."
    with pytest.raises(Faults, match="--lake: some engines cannot read"):
        load(lake=Path("/ä"))


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (
            b"[lake]\r\npath = lake\r\n",
            ["fencepost.toml:2: is not TOML: invalid value", "    path = lake", "           ^"],
        ),
        (
            b'[lake]\npath = "',
            ["fencepost.toml: is not TOML: unterminated string (at end of document)"],
        ),
        (b"[lake]\n# caf\xe9", ["fencepost.toml:2: is not UTF-8"]),
        (b"x = " + b"[" * 5000, ["fencepost.toml: is not TOML: maximum recursion depth exceeded"]),
        (b"x = " + b"9" * 5000, ["fencepost.toml: is not TOML: exceeds the limit (4300 digits)"]),
    ],
    ids=["value", "end", "bytes", "depth", "digits"],
)
def test_what_is_not_toml_is_told_with_its_place(here, content, lines):
    written(here, "fencepost.toml", content)
    with pytest.raises(Faults) as told:
        load()
    *said, last = str(told.value).splitlines()
    assert [one[: len(line)] for one, line in zip(said, lines, strict=True)] == lines
    assert last == "1 fault, nothing done."


def test_a_mark_of_the_byte_order_and_windows_line_ends_are_no_fault(here):
    written(here, "fencepost.toml", "\ufeff" + FEED.replace("\n", "\r\n"))
    assert list(load().feeds) == ["ticks"]


@pytest.mark.fault(61)
def test_a_path_that_leads_in_a_circle_is_told(here):
    (here / "circle").symlink_to("circle")
    written(here, "fencepost.toml", FEED.replace("landing", "circle/in"))
    with pytest.raises(Faults, match="source: 'circle/in' leads nowhere: Symlink loop"):
        load()


@pytest.mark.fault(65)
@pytest.mark.parametrize(
    "given",
    [
        "javascript:alert(1)",
        "file:///srv",
        "https://",
        "https://a b",
        "http://u:p@h",
        "http://h/?q",
    ],
)
def test_reports_are_found_at_an_address_of_the_web_alone(here, given):
    written(here, "fencepost.toml", f"[run]\nreports_address = '{given}'\n{FEED}")
    with pytest.raises(Faults) as told:
        load()
    expected = 'an address like "https://fencepost.example.com/reports"'
    assert f"[run] reports_address: '{given}' was given, where {expected} was expected" in str(
        told.value
    )
