"""Settings read from text, and what is said of them."""

from pathlib import Path

import pytest

from fencepost.errors import Faults
from pipelines.project.settings import Settings, understood


def understood_in(folder: Path, text: str) -> Settings:
    return understood(text, folder / "fencepost.toml")


def faults(text: str, folder: Path = Path("/project")) -> list[str]:
    """What is said of a file, line by line, but for the last line."""
    with pytest.raises(Faults) as told:
        understood_in(folder, text)
    *lines, last = str(told.value).replace("/project/fencepost.toml: ", "").splitlines()
    assert last.endswith(", nothing done.")
    return lines
