"""What a merge holds in memory is bounded: many overlapping files of large values in one bucket, and a small heap."""

from pathlib import Path

import pytest
from pyspark.sql import DataFrame

import keylake as kl
from keylake import Int64, column, key, ordering

FILES, ROWS, HASHES = 200, 28, 782  # a hash has 128 characters: values of 100 kB, 560 MB of them altogether


class Documents(kl.Table, name="memory.documents", buckets=1):
    """Large values."""

    id: Int64 = key()
    at: Int64 = ordering()
    body: str | None = column()


@pytest.mark.slow
def test_two_hundred_overlapping_files_fit_a_small_heap(tmp_path: Path) -> None:
    body = f"array_join(transform(sequence(1, {HASHES}), n -> sha2(concat_ws('-', id, at, n), 512)), '')"
    settings = {"spark.sql.shuffle.partitions": "1", "spark.keylake.maintenance.enabled": "false"}
    with kl.connect(warehouse=tmp_path, memory="512m", settings=settings) as lake:
        documents = lake.create(Documents)
        for number in range(FILES):
            keys = lake.spark.range(ROWS).selectExpr(f"id * {FILES} + (id * 7 + {number}) % {FILES} AS id")
            documents.upsert(keys.selectExpr("id", f"{number}L AS at").selectExpr("*", f"{body} AS body"))
        (files,) = lake.spark.sql(
            f"SELECT count(*), sum(file_size_in_bytes) FROM {lake.catalog}.memory.documents.files"
        ).collect()
        assert files[0] == FILES
        assert files[1] > 150 << 20
        found = checksum(documents.read())
        documents.compact("settle")
        assert checksum(documents.read()) == found
        report = documents.compact("full")
        assert [merge.files_merged for merge in report] == [FILES]
        assert checksum(documents.read()) == found
        (expected,) = (
            lake.spark.range(ROWS * FILES)
            .selectExpr("id", f"(id - (id div {FILES}) * 7) % {FILES} AS raw")
            .selectExpr("id", f"if(raw < 0, raw + {FILES}, raw) AS at")
            .selectExpr(f"{body} AS body")
            .selectExpr("count(*)", "sum(length(body))", "sum(crc32(body))")
            .collect()
        )
    assert found == tuple(expected)


def checksum(frame: DataFrame) -> tuple[object, ...]:
    return tuple(frame.selectExpr("count(*)", "sum(length(body))", "sum(crc32(body))").collect()[0])
