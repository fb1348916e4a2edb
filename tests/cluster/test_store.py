"""Lake and landing folder on an object store that fails, tasks on executors that die.

versitygw behind a proxy: driver and executors lose 30% of the answers to what they write, and 10%
of all requests are refused.
"""

from pathlib import Path

import pytest

from tests.cluster.drivers import go_on, kill_one, said, started
from tests.cluster.standalone import Standalone
from tests.faults.story import differing, do, land, make_on_store, rows_of
from tests.support.stores.proxy import proxied
from tests.support.stores.servers import S3, gateway_bucket

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.slow,
    pytest.mark.xdist_group("second cluster"),
    pytest.mark.timeout(900),
]

HANDED_ON = (
    "AWS_ENDPOINT_URL",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_REGION",
    "AWS_ALLOW_HTTP",
)
OF_DISKS = ("hashes", "content")
"""Columns of the ledger that say how a file was recognised: a store's say so by its entity tag."""


def on_store(folder: Path, bucket: S3) -> Path:
    """Make the story's project in a bucket, with rules; its files have landed."""
    make_on_store(folder, bucket)
    do(folder, "registered")
    land(folder, "taken-in")
    variables = "".join(f'"spark.executorEnv.{name}" = "env:{name}"\n' for name in HANDED_ON)
    with (folder / "fencepost.toml").open("a") as toml:
        toml.write(f"\n[run.spark]\n{variables}")
    return folder


@pytest.mark.fault(9)
def test_a_store_that_loses_answers_and_executors_that_are_killed_change_no_row(
    cluster: Standalone,
    uncut: Path,
    gateway: tuple[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    record_property,
) -> None:
    points = ["ingest.planned", "epochs.planned"]
    with proxied(gateway[0]) as proxy:
        bucket = gateway_bucket(*gateway).through(proxy.host)
        bucket.adopt(monkeypatch)
        project = on_store(tmp_path / "project", bucket)
        proxy.lost, proxy.refused = 0.3, 0.1
        driver = started(cluster, tmp_path, ",".join(points), project)
        kills = 0
        while (line := said(driver)) in points:
            if kills < points.index(line) + 1:
                kill_one(cluster, lambda: go_on(driver))
                kills += 1
            else:
                go_on(driver)
        _, err = driver.communicate(timeout=60)
        record_property("kills", kills)
        assert line == "ended 0", err
        proxy.lost = proxy.refused = 0.0
        assert proxy.faults > 30
        assert kills == 2
        found = rows_of(project, but=OF_DISKS)
    assert differing(found, rows_of(uncut / "crossed", but=OF_DISKS)) == []
