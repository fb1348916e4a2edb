"""Spark's own reader over an object store, by Hadoop's connector: the rows that `sql` shows.

The connector comes from Maven, with the modules of Amazon's SDK that it needs in place of the
bundle of all: 19 MB, not 560 MB.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import feather

from pipelines.places import Place
from pipelines.spark.environment import java
from pipelines.spark.environment.jars import JARS
from pipelines.spark.environment.place import Place as EnvironmentPlace
from tests.faults.story import STAGES, do, make_on_store
from tests.support.commands.commands import REPOSITORY
from tests.support.lakes.readers import assert_true, compared
from tests.support.stores.servers import S3

pytestmark = [
    pytest.mark.slow,
    pytest.mark.spark,
    pytest.mark.xdist_group("spark"),
    pytest.mark.timeout(900),
]

HADOOP, SDK = "3.4.2", "2.29.52"
"""Spark's own Hadoop, and the SDK that its connector was made with."""
MODULES = ("s3", "s3-transfer-manager", "sts", "kms", "apache-client", "netty-nio-client")
PACKAGES = [
    f"org.apache.hadoop:hadoop-aws:{HADOOP}",
    *(f"software.amazon.awssdk:{module}:{SDK}" for module in MODULES),
]
NEEDLESS = ("software.amazon.awssdk:bundle", "org.wildfly.openssl:wildfly-openssl")
READ = """
import json, sys
import pyarrow.feather as feather
from pyspark.sql import SparkSession

settings, tables = map(json.loads, sys.argv[1:3])
builder = SparkSession.builder
for name, value in settings.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
for uri, file in tables.items():
    feather.write_feather(spark.read.format("delta").load(uri).toArrow(), file)
spark.stop()
"""


def settings_of(bucket: S3) -> dict[str, str]:
    """Give what a user tells Spark; the credentials are in the environment."""
    jars = EnvironmentPlace.of_this_python().jars
    return {
        "spark.master": "local[2]",
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.jars": ",".join(str(jars / jar.file) for jar in JARS),
        "spark.jars.packages": ",".join(PACKAGES),
        "spark.jars.excludes": ",".join(NEEDLESS),
        "spark.jars.ivy": str(REPOSITORY / ".cache" / "s3a"),
        "spark.hadoop.fs.s3a.endpoint": bucket.endpoint,
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
    }


def test_spark_sees_on_a_store_what_sql_shows(moto_s3: S3, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    settings = make_on_store(folder, moto_s3)
    for stage in STAGES:
        do(folder, stage)
    files = {name: tmp_path / name for name, each in settings.tables.items() if compared(each)}
    tables = {moto_s3.uri(f"lake/{name}").replace("s3:", "s3a:"): files[name] for name in files}
    ran = subprocess.run(
        [
            sys.executable,
            "-c",
            READ,
            json.dumps(settings_of(moto_s3)),
            json.dumps(tables, default=str),
        ],
        cwd=tmp_path,
        env={**os.environ, "JAVA_HOME": str(java.find(EnvironmentPlace.of_this_python()).home)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if "unresolved dependency" in ran.stderr:
        pytest.skip("Maven, which has Hadoop's connector, cannot be reached")
    assert ran.returncode == 0, ran.stderr[-3000:]

    def read(place: Place) -> pa.Table:
        return feather.read_table(files[place.name])

    found = assert_true(settings, {"spark": read})
    assert found["events"]
    assert found["quarantine"]
