"""The other side of Hudi: run by the Python of its environment, it answers a line of JSON with a line of JSON.

["write", staged batch, its schema, table, operation]    ["consume", query]    ["fetch", query]
"""

import json
import os
import sys
from collections.abc import Mapping
from decimal import Decimal

from pyspark.sql import SparkSession

BUCKETS = 8
OPTIONS = {
    "hoodie.table.name": "bench",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.datasource.write.recordkey.field": "key",
    "hoodie.datasource.write.precombine.field": "event_time",
    "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
    "hoodie.index.type": "BUCKET",
    "hoodie.bucket.index.num.buckets": str(BUCKETS),
    "hoodie.bucket.index.hash.field": "key",
    "hoodie.compact.inline": "false",
    "hoodie.parquet.compression.codec": "zstd",
}


def answer(spark: SparkSession, what: str, *words: str) -> list[list[object]]:
    """Do it; the rows that it gives."""
    if what == "write":
        batch, schema, table, operation = words
        frame = spark.read.schema(schema).parquet(batch)
        writer = frame.write.format("hudi").options(**OPTIONS).option("hoodie.datasource.write.operation", operation)
        writer.mode("append").save(table)
        spark.read.format("hudi").load(table).createOrReplaceTempView("hudi_table")
    elif what == "consume":
        spark.sql(words[0]).write.format("noop").mode("overwrite").save()
    else:
        rows = spark.sql(words[0]).collect()
        return [[str(value) if isinstance(value, Decimal) else value for value in row] for row in rows]
    return []


def main(settings: Mapping[str, str]) -> None:
    # Spark and its Java write to the standard output, too: answers keep it for themselves, the rest goes to the log.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    builder = SparkSession.builder.appName("hudi")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    for line in sys.stdin:
        try:
            said: dict[str, object] = {"rows": answer(spark, *json.loads(line))}
        except Exception as error:  # noqa: BLE001 - whatever it is, the other side tells it
            said = {"error": str(error)[:4000]}
        print(json.dumps(said, default=str), file=answers, flush=True)
    spark.stop()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
