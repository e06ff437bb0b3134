"""What a merge holds in memory is bounded: many overlapping files of large values in one bucket, and a small heap."""

from pathlib import Path
from random import Random
from zlib import crc32

import pytest
from pyspark.sql import DataFrame

import keylake as kl
from keylake import Int64, column, key, ordering

FILES, ROWS, LENGTH = 200, 28, 100_096  # 560 MB of values altogether


class Documents(kl.Table, name="memory.documents", buckets=1):
    """Large values."""

    id: Int64 = key()
    at: Int64 = ordering()
    body: str | None = column()


def body(key: int, at: int) -> str:
    """A text of 100 kB that does not get smaller than half of it."""
    return Random(key * FILES + at).randbytes(LENGTH // 2).hex()


@pytest.mark.nightly
def test_two_hundred_overlapping_files_fit_a_small_heap(tmp_path: Path) -> None:
    settings = {
        "spark.sql.shuffle.partitions": "1",
        "spark.keylake.maintenance.enabled": "false",
        "spark.keylake.write.driver-rows": "0",  # tasks write
    }
    with kl.connect(warehouse=tmp_path, memory="512m", settings=settings) as lake:
        documents = lake.create(Documents)
        length = crc = 0
        for number in range(FILES):
            keys = [row * FILES + (row * 7 + number) % FILES for row in range(ROWS)]
            rows = [{"id": key, "at": number, "body": body(key, number)} for key in keys]
            length += sum(len(row["body"]) for row in rows)
            crc += sum(crc32(row["body"].encode()) for row in rows)
            documents.upsert(rows)
        (files,) = lake.spark.sql(
            f"SELECT count(*), sum(file_size_in_bytes) FROM {lake.catalog}.memory.documents.files"
        ).collect()
        assert files[0] == FILES
        assert files[1] > 150 << 20
        expected = (FILES * ROWS, length, crc)
        assert checksum(documents.read()) == expected
        documents.compact("settle")
        assert checksum(documents.read()) == expected
        report = documents.compact("full")
        assert [merge.files_merged for merge in report] == [FILES]
        assert checksum(documents.read()) == expected


def checksum(frame: DataFrame) -> tuple[object, ...]:
    return tuple(frame.selectExpr("count(*)", "sum(length(body))", "sum(crc32(body))").collect()[0])
