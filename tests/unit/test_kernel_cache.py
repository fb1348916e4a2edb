"""Machine code is cached by all that it is compiled from."""

from pathlib import Path

import pytest

from fencepost.kernel_cache import fingerprint

KERNEL = "from numba import njit\n"
RECORD = "from typing import NamedTuple\n\n\nclass Pair(NamedTuple):\n    a: int\n    b: int\n"


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "kernels.py").write_text(KERNEL)
    (tmp_path / "columns.py").write_text(RECORD)
    (tmp_path / "words.py").write_text("A = 1\n")
    return tmp_path


def of(engine: Path) -> str:
    fingerprint.cache_clear()
    return fingerprint(engine)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("room/kernels.py", KERNEL + "LANES = 16\n"),
        ("columns.py", RECORD.replace("a: int\n    b: int", "b: int\n    a: int")),
        ("new_kernels.py", KERNEL),
    ],
)
def test_a_change_of_a_kernel_or_a_record_takes_a_new_folder(
    engine: Path, path: str, source: str
) -> None:
    before = of(engine)
    (engine / path).write_text(source)
    assert of(engine) != before


def test_what_no_kernel_is_compiled_from_changes_nothing(engine: Path) -> None:
    before = of(engine)
    (engine / "words.py").write_text("A = 2\n")
    assert of(engine) == before
