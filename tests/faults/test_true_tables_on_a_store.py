"""On an object store, too, the Delta tables are true at rest: readers of all kinds see one lake.

Spark's own reader, which takes Hadoop's connector there, is tried by tests/spark.
"""

from pathlib import Path

import pytest

from tests.faults.story import STORIES, do, make_on_store
from tests.support.crashes import Killed, killed_at
from tests.support.lakes.readers import assert_true
from tests.support.stores.servers import S3

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.mark.parametrize("story", STORIES)
def test_every_reader_sees_on_a_store_what_sql_shows(moto_s3: S3, tmp_path: Path, story) -> None:
    folder = tmp_path / "project"
    settings = make_on_store(folder, moto_s3, story=STORIES[story])
    for stage in ("registered", "taken-in", "registered-again"):
        do(folder, stage)
    assert_true(settings)
    with killed_at("epochs.planned"), pytest.raises(Killed):
        do(folder, "late")
    do(folder, "late")
    found = assert_true(settings)
    assert found["quarantine"]
    assert found["events" if story == "crossed" else "pairs"]
    do(folder, "maintained")
    after = assert_true(settings)  # only logs are shorter
    results = {name for name in found if settings.tables[name].role != "log"}
    assert {name: after[name] for name in results} == {name: found[name] for name in results}
