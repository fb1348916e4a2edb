"""A standalone cluster of two workers writes the rows of one process, whatever is killed.

Its executors have nothing of ours but what the driver ships: tests/cluster/standalone.py.
"""

import time
import zipfile

import pytest

from tests.cluster.drivers import NOWHERE, go_on, kill_one, landed, said, started
from tests.faults.story import differing, do, rows_of

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.slow,
    pytest.mark.xdist_group("cluster"),
    pytest.mark.timeout(600),
]


def test_executors_that_lack_our_code_end_the_run_in_words_and_refuse_nothing(
    cluster, uncut, tmp_path
) -> None:
    """An archive of their own says that they have it; it does not."""
    project = landed(uncut, "crossed", tmp_path / "project")
    with zipfile.ZipFile(tmp_path / "theirs.zip", "w") as theirs:
        theirs.writestr("nothing.txt", "")
    with (project / "fencepost.toml").open("a") as toml:
        toml.write(f'[run.spark]\n"spark.archives" = "{tmp_path}/theirs.zip#theirs"\n')
    before = rows_of(project)
    driver = started(cluster, tmp_path, NOWHERE, project)
    out, err = driver.communicate(timeout=300)
    assert out.splitlines() == ["ended 2"], err
    assert "Spark's executors cannot do the work: " in err
    assert "No module named 'pipelines'" in err
    rows = rows_of(project)
    assert [name for name in before if name != "arrivals" and rows[name] != before[name]] == []
    assert not any("refused" in row for row in rows["arrivals"])
    do(project, "taken-in")
    assert differing(rows_of(project), rows_of(uncut / "crossed")) == []


@pytest.mark.fault(9)
def test_an_executor_killed_in_each_stage_changes_no_row(
    cluster, uncut, tmp_path, record_property
) -> None:
    points = ("ingest.planned", "epochs.planned")
    project = landed(uncut, "crossed", tmp_path / "project")
    driver = started(cluster, tmp_path, ",".join(points), project)
    seen = []
    while (line := said(driver)) in points:
        seen.append(line)
        kill_one(cluster, lambda: go_on(driver))
    record_property("kills", len(seen))
    assert line == "ended 0", driver.communicate()[1]
    assert {*seen} == {*points}
    driver.communicate(timeout=60)
    assert differing(rows_of(project), rows_of(uncut / "crossed")) == []


@pytest.mark.fault(9)
def test_a_worker_that_is_killed_changes_no_row(cluster, uncut, tmp_path) -> None:
    project = landed(uncut, "joined", tmp_path / "project")
    driver = started(cluster, tmp_path, "ingest.planned", project)
    assert said(driver) == "ingest.planned"
    go_on(driver)
    cluster.processes[1].kill()
    cluster.processes[1].wait()
    try:
        out, err = driver.communicate(timeout=300)
    finally:
        del cluster.processes[1]
        cluster.start_worker()
    assert out.splitlines() == ["ended 0"], err
    assert differing(rows_of(project), rows_of(uncut / "joined")) == []


@pytest.mark.fault(4, 5)
def test_a_driver_killed_in_each_stage_changes_no_row(
    cluster, uncut, tmp_path, record_property
) -> None:
    project = landed(uncut, "crossed", tmp_path / "project")
    points = ("ingest.planned", "epochs.planned", "epochs.events")
    for point in points:
        driver = started(cluster, tmp_path, point, project)
        assert said(driver) == point
        go_on(driver)
        time.sleep(0.2)
        driver.kill()
        driver.communicate()
    record_property("kills", len(points))
    driver = started(cluster, tmp_path, NOWHERE, project)
    out, err = driver.communicate(timeout=300)
    assert out.splitlines() == ["ended 0"], err
    assert differing(rows_of(project), rows_of(uncut / "crossed")) == []
