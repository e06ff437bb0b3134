"""Memory is bounded: many overlapping files of large values in one bucket, and thousands of columns, in small heaps."""

from pathlib import Path
from random import Random
from zlib import crc32

import pyarrow as pa
import pytest
from pyarrow import parquet
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


WIDE, KEYS, UPSERTS = 2_000, 4_000, 5  # 64 MB of doubles, and a tenth of them with each upsert


def wide_rows(keys: list[int], at: int) -> pa.Table:
    """Values that say of which key, column and commit they are."""
    values = {
        f"c{number:04d}": pa.array([key + number / WIDE + at * KEYS for key in keys], pa.float64())
        for number in range(WIDE)
    }
    return pa.table({"id": pa.array(keys, pa.int64()), "at": pa.array([at] * len(keys), pa.int64()), **values})


@pytest.mark.nightly
def test_two_thousand_columns_fit_a_small_heap(tmp_path: Path) -> None:
    settings = {"spark.keylake.maintenance.enabled": "false"}
    with kl.connect(warehouse=tmp_path / "lake", memory="768m", settings=settings) as lake:
        empty = wide_rows([], 0)
        spec = kl.TableSpec.from_arrow(empty.schema, name="memory.wide", key="id", ordering="at", buckets=8)
        features = lake.create(spec)
        newest = dict.fromkeys(range(KEYS), 0)
        for at in range(UPSERTS + 1):
            keys = [key for key in range(KEYS) if at == 0 or key % 10 == at]
            newest |= dict.fromkeys(keys, at)
            staged = tmp_path / f"{at}.parquet"
            parquet.write_table(wide_rows(keys, at), staged)
            features.upsert(lake.spark.read.parquet(str(staged)))
        some = ["c0000", "c0999", "c1999"]
        expected = [sum(key + int(name[1:]) / WIDE + at * KEYS for key, at in newest.items()) for name in some]
        for compacted in (False, True):
            if compacted:
                features.compact("full")
            found = features.read().selectExpr("count(*)", *(f"sum({name})" for name in some)).collect()[0]
            assert found[0] == KEYS
            assert list(found[1:]) == pytest.approx(expected)
            features.read().write.format("noop").mode("overwrite").save()  # all columns
            row = features.get(id=3)
            assert row is not None
            assert row["c1999"] == pytest.approx(3 + 1999 / WIDE + 3 * KEYS)


def checksum(frame: DataFrame) -> tuple[object, ...]:
    return tuple(frame.selectExpr("count(*)", "sum(length(body))", "sum(crc32(body))").collect()[0])
