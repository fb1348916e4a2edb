"""Behind a server of Spark Connect, and in a session that is not ours, the rows are the same.

The server's Python has nothing of ours: the session is sent the archive.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.standalone import connect_server, python
from tests.faults.story import JOINED, copied, differing, do, land, make, rows_of
from tests.support.commands.commands import REPOSITORY

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.slow,
    pytest.mark.xdist_group("second cluster"),
    pytest.mark.timeout(600),
]

RUN = """
import sys
from pathlib import Path
from pipelines.project.settings import load
from pipelines.runs.run import run, runner_of

for project in sys.argv[1:]:
    settings = load(Path(project))
    runner = runner_of(settings)
    print(runner.slots, runner.streams, len(run(settings, runner).ingested.loaded), flush=True)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with connect_server(tmp_path_factory.mktemp("connect")) as address:
        yield address


def test_a_connect_server_writes_the_rows_of_one_process(server: str, tmp_path: Path) -> None:
    make(tmp_path / "crossed")
    make(tmp_path / "joined", story=JOINED)
    projects = []
    for name in ("crossed", "joined"):
        do(tmp_path / name, "registered")
        projects.append(copied(tmp_path / name, tmp_path / f"{name}-there"))
        land(projects[-1], "taken-in")
        do(tmp_path / name, "taken-in")
    environ = {"FENCEPOST_RUNNER": "spark", "FENCEPOST_MASTER": server}
    driver = python(RUN, projects, tmp_path, PYTHONPATH=str(REPOSITORY), **environ)
    out, err = driver.communicate(timeout=300)
    assert out.splitlines() == ["2 False 4", "2 False 8"], err
    for name in ("crossed", "joined"):
        assert differing(rows_of(tmp_path / f"{name}-there"), rows_of(tmp_path / name)) == []
