"""Crossings of fences by Apache Sedona, in an environment of its own: see apart.py.

The folder has fixes.parquet (place, run, begins, ends, lon, lat) and fences.parquet (fence, wkb).
Each fix meets the fences that hold it in Sedona's spatial join, the fences' index broadcast; then
each fence's fixes are compared with their neighbours, by windows or by anti-joins. Both tables are
in memory before a time is taken, and what is found goes to a sink that drops it.
"""

import json
import sys
import time
from pathlib import Path

JAR = "org.apache.sedona:sedona-spark-shaded-4.0_2.13:1.8.0"
HOLDING = """
select /*+ broadcast(fences) */ place, run, begins, ends, fence
from fixes join fences on st_contains(shape, st_point(lon, lat))
"""
BY_WINDOWS = """
select stack(2,
  if(not begins and before is null, place, null), 1,
  if(not ends and after is null, place + 1, null), 0) as (place, kind), fence
from (
  select *,
    nullif(lag(place) over own = place - 1, false) as before,
    nullif(lead(place) over own = place + 1, false) as after
  from ({holding}) window own as (partition by run, fence order by place)
) where before is null or after is null
"""
BY_ANTI_JOINS = """
with holding as ({holding})
select now.place, 1 as kind, now.fence from holding now anti join holding old
  on old.place = now.place - 1 and old.fence = now.fence where not now.begins
union all
select old.place + 1, 0, old.fence from holding old anti join holding now
  on now.place = old.place + 1 and now.fence = old.fence where not old.ends
"""
FORMS = {"windows": BY_WINDOWS, "anti-joins": BY_ANTI_JOINS}


def main(folder: Path, repeats: int, threads: int, kept: str) -> dict[str, float]:
    """Time each form, and write the events of each."""
    from pyspark.sql import SparkSession

    settings = {
        "spark.master": f"local[{threads}]",
        "spark.driver.memory": "6g",
        "spark.ui.enabled": "false",
        "spark.jars.packages": JAR,
        "spark.jars.ivy": f"{kept}/ivy",
        "spark.sql.extensions": "org.apache.sedona.sql.SedonaSqlExtensions",
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.kryo.registrator": "org.apache.sedona.core.serde.SedonaKryoRegistrator",
        "spark.sql.shuffle.partitions": str(threads),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    for name, columns in {
        "fixes": ("*",),
        "fences": ("fence", "st_geomfromwkb(wkb) as shape"),
    }.items():
        rows = spark.read.parquet(str(folder / f"{name}.parquet")).selectExpr(*columns)
        rows = rows.repartition(threads).persist()
        rows.count()
        rows.createOrReplaceTempView(name)
    took = {}
    for name, form in FORMS.items():
        found = spark.sql(form.format(holding=HOLDING)).where("place is not null")
        found.write.mode("overwrite").parquet(str(folder / name))
        times = []
        for _ in range(repeats + 1):
            begin = time.perf_counter()
            found.write.format("noop").mode("overwrite").save()
            times.append(time.perf_counter() - begin)
        took[name] = min(times[1:])
    spark.stop()
    return took


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), **json.load(sys.stdin))))
