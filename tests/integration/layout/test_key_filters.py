"""Filters of keys in data files: what they leave out, what they never hide, and who reads them."""

from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import keylake as kl
import keylake.local
from integration.histories import COMPOUND, Shape
from integration.query_plans import changed_settings, counted
from integration.random_runs import of_every
from integration.twin import Twin, fresh_name
from keylake.local.keyfilters import filters_of
from keylake.local.parquet import ParquetFiles

BY_TASKS = {"spark.keylake.read.driver-bytes": "0"}
RUNS = 6
ROWS = 60


def value_of(type_: pa.DataType, number: int) -> object:
    """A value of a key that stands for a number."""
    if pa.types.is_date(type_):
        return date(2026, 1, 1) + timedelta(days=number)
    if pa.types.is_decimal(type_):
        return Decimal(number - 500).scaleb(-type_.scale)
    if pa.types.is_string(type_):
        return f"key {number}"
    if pa.types.is_binary(type_):
        return f"key {number}".encode()
    if pa.types.is_fixed_size_binary(type_) or isinstance(type_, pa.UuidType):
        return UUID(int=number * 7919 << 70 | number)
    return number - 500


def key_of(twin: Twin, number: int) -> dict[str, object]:
    return {name: value_of(twin.schema.field(name).type, number) for name in twin.table.spec.key}


def written(lake: kl.Lake, key: Mapping[str, pa.DataType], draw: Random) -> Twin:
    """A table of several runs in two buckets, each of keys that are drawn from twice as many."""
    twin = Shape("explicit", key=key, buckets=2, reducers={}).create(lake, fresh_name("key_filters"))
    for version in range(1, RUNS + 1):
        numbers = draw.sample(range(0, 2000, 2), ROWS)
        rows = [
            key_of(twin, number) | {"a": number, "b": f"{version}", "c": 0.5, "d": [version], "e": None}
            for number in numbers
        ]
        twin.upsert(rows, version=version)
    return twin


KEYS: dict[str, Mapping[str, pa.DataType]] = {
    "long": {"id": pa.int64()},
    "int": {"id": pa.int32()},
    "text": {"id": pa.string()},
    "binary": {"id": pa.binary()},
    "date": {"id": pa.date32()},
    "decimal of an int": {"id": pa.decimal128(9, 2)},
    "decimal of a long": {"id": pa.decimal128(18, 2)},
    "decimal of bytes": {"id": pa.decimal128(38, 2)},
    "uuid": {"id": pa.uuid()},
    "compound": COMPOUND,
}


@pytest.mark.slow
@of_every("name", list(KEYS), today=3)
def test_look_ups_give_the_rows_of_the_model(lake: kl.Lake, warehouse: Path, name: str) -> None:
    """Keys that are there and keys that are not: by one, by many, by tasks, and without a server."""
    draw = Random(41)
    twin = written(lake, KEYS[name], draw)
    numbers = sorted(draw.sample(range(2000), 60))
    keys = [key_of(twin, number) for number in numbers]
    expected = twin.model.read()
    there = [expected.get(tuple(key.values())) for key in keys]
    assert None in there
    assert any(there)
    values = [None if row is None else (row["a"], row["b"]) for row in there]

    def of(rows: list[Any]) -> list[object]:
        return [None if row is None else (row["a"], row["b"]) for row in rows]

    assert of([twin.table.get(key) for key in keys]) == values
    assert of(twin.table.get_many(keys)) == values
    with changed_settings(lake, BY_TASKS):
        assert of([twin.table.get(key) for key in keys[:10]]) == values[:10]
    with keylake.local.open(warehouse) as opened:
        local = opened.table(twin.table.name)
        assert of([local.get(key) for key in keys]) == values
        assert of(local.get_many(keys)) == values


@pytest.mark.slow
def test_files_without_the_key_are_not_opened(lake: kl.Lake) -> None:
    twin = written(lake, {"id": pa.int64()}, Random(42))
    opened = left_out = 0
    with changed_settings(lake, BY_TASKS):
        for number in range(1, 80, 2):  # none of which is there
            frame = lake.spark.sql(f"SELECT * FROM {twin.sql_name} WHERE id = {number}")
            assert frame.collect() == []
            numbers = counted(frame)
            opened += numbers["filesOpened"]
            left_out += numbers["filesLeftOut"]
    assert left_out > 40 * (RUNS - 2)
    assert opened < left_out / 10


@pytest.mark.slow
def test_the_only_run_is_not_asked(lake: kl.Lake) -> None:
    twin = written(lake, {"id": pa.int64()}, Random(43))
    twin.table.compact("full")
    with changed_settings(lake, BY_TASKS):
        frame = lake.spark.sql(f"SELECT * FROM {twin.sql_name} WHERE id = 1")
        assert frame.collect() == []
        assert counted(frame)["filesLeftOut"] == 0


def test_no_key_column_is_decoded_without_need(lake: kl.Lake, warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    twin = written(lake, {"id": pa.int64()}, Random(44))
    decoded: list[str] = []
    kept = ParquetFiles.kept

    def watched(self: ParquetFiles, stored: Any, *more: Any) -> dict[int, Any]:
        decoded.append(stored.path)
        return kept(self, stored, *more)

    monkeypatch.setattr(ParquetFiles, "kept", watched)
    with keylake.local.open(warehouse) as opened:
        table = opened.table(twin.table.name)
        assert [table.get(id=number) for number in range(-499, -419, 2)] == [None] * 40
    assert len(decoded) < 40


def data_files(lake: kl.Lake, twin: Twin) -> list[Path]:
    rows = lake.spark.sql(f"SELECT file_path FROM {twin.sql_name}.files").collect()
    return [Path(row[0].removeprefix("file:")) for row in rows]


@pytest.mark.slow
def test_a_flipped_bit_of_a_filter_hides_no_row(lake: kl.Lake, warehouse: Path) -> None:
    """Each look-up gives its row, or says which file is damaged."""
    draw = Random(45)
    twin = written(lake, {"id": pa.int64()}, draw)
    keys = sorted({key for (key,) in twin.model.read()})
    told: list[str] = []
    for path in data_files(lake, twin):
        (place,) = filters_of(pq.read_metadata(path).metadata).values()
        good = path.read_bytes()
        content = bytearray(good)
        for at in range(place.begin, place.begin + place.size, 3):
            content[at] &= draw.randrange(256)
        path.write_bytes(content)
        path.with_name(f".{path.name}.crc").unlink()  # the checksum that Hadoop has of files of a disk
        try:
            with keylake.local.open(warehouse) as opened:
                local = opened.table(twin.table.name)
                for look_up in (local.get, twin.table.get):
                    for key in draw.sample(keys, 12):
                        try:
                            row = look_up(id=key)
                        except kl.StoreFailed as error:
                            told.append(f"{path.name}: {error}")
                        else:
                            assert row is not None
            assert lake.check(twin.table.name, "pages").damage
        finally:
            path.write_bytes(good)
    assert told
    for each in told:
        name, _, error = each.partition(": ")
        assert name in error
        assert "the filter of its keys does not fit its checksum" in error


def test_filters_are_small_and_other_engines_read_them(lake: kl.Lake) -> None:
    twin = Shape("explicit", buckets=1, reducers={}).create(lake, fresh_name("key_filters"))
    rows = 5000
    values = {"b": "text", "c": 0.5, "d": [1], "e": None}
    twin.upsert([{"id": key * 3, "a": key, **values} for key in range(rows)], version=1)
    (path,) = data_files(lake, twin)
    with duckdb.connect() as other:
        said = other.execute(
            "SELECT bloom_filter_offset, bloom_filter_length FROM parquet_metadata(?) WHERE path_in_schema = 'id'",
            [str(path)],
        ).fetchone()
        asked = "SELECT bloom_filter_excludes FROM parquet_bloom_probe(?, 'id', ?)"
        assert not any(other.execute(asked, [str(path), key * 3]).fetchone()[0] for key in range(0, rows, 50))  # type: ignore[index]
        others = [other.execute(asked, [str(path), key * 3 + 1]).fetchone()[0] for key in range(0, rows, 50)]  # type: ignore[index]
    assert sum(others) > 90
    assert said is not None
    assert said[1] <= 2 * rows + 100
    assert len(filters_of(pq.read_metadata(path).metadata)) == 1
