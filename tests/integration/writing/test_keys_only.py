"""Tables that are all key: a row exists or it does not."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import keylake as kl
from integration.twin import Twin, fresh_name

KEYS = {"one column": {"k": pa.int64()}, "two columns": {"k": pa.int64(), "name": pa.string()}}


def created(lake: kl.Lake, columns: dict[str, pa.DataType], **words: object) -> Twin:
    schema = pa.schema([pa.field(name, type_, nullable=False) for name, type_ in columns.items()])
    given = {"versions": "explicit", "buckets": 2, **words}
    spec = kl.TableSpec.from_arrow(schema, name=fresh_name("keys_only"), key=list(columns), **given)
    return Twin.create(lake, spec, schema)


def keys(twin: Twin, *numbers: int) -> list[dict[str, object]]:
    return [{"k": number} | ({"name": f"n{number}"} if "name" in twin.model.key else {}) for number in numbers]


@pytest.mark.slow
@pytest.mark.parametrize("columns", KEYS.values(), ids=KEYS.keys())
def test_rows_exist_or_do_not(lake: kl.Lake, columns: dict[str, pa.DataType]) -> None:
    twin = created(lake, columns)
    first = twin.upsert(keys(twin, *range(100)), version=1)
    twin.update(keys(twin, *range(50, 150)), version=3)
    twin.delete(keys(twin, *range(0, 150, 3)), version=2)
    second = twin.upsert(keys(twin, 0), version=4)
    twin.check()
    assert twin.table.read().count() == len(twin.expected())
    assert twin.get(keys(twin, 0)[0]) == {}
    assert twin.get(keys(twin, 3)[0]) is None
    changes = twin.table.changes(after=first, until=second).toArrow().to_pylist()
    assert {change["_change"] for change in changes} == {"insert", "delete"}
    for policy in ("settle", "full"):
        twin.table.compact(policy)
        twin.check()
    assert len(twin.table.files().collect()) == 2
    twin.table.undo(after=first, until=second)
    assert twin.table.read().count() == 100


def test_in_sql_and_with_its_versions(lake: kl.Lake) -> None:
    twin = created(lake, KEYS["one column"], versions="commit")
    lake.spark.sql(f"INSERT INTO {twin.sql_name} VALUES (1), (2)").collect()
    lake.spark.sql(f"INSERT INTO {twin.sql_name} VALUES (2), (3)").collect()
    rows = lake.spark.sql(f"SELECT k, _merge_info FROM {twin.sql_name} ORDER BY k").toArrow().to_pylist()
    assert [row["k"] for row in rows] == [1, 2, 3]
    assert all(set(row["_merge_info"]) == {"version", "written", "deleted"} for row in rows)
    joined = f"SELECT count(*) FROM {twin.sql_name} a JOIN {twin.sql_name} b USING (k)"
    assert lake.spark.sql(joined).collect() == [(3,)]


def test_as_files_for_an_online_store(lake: kl.Lake, tmp_path: Path) -> None:
    twin = created(lake, KEYS["one column"], groups=8, hash="crc32")
    twin.upsert(keys(twin, *range(20)), version=1)
    twin.delete(keys(twin, 3), version=2)
    twin.table.publish_kv(tmp_path / "kv")
    rows = [
        row for file in (tmp_path / "kv").rglob("*.parquet") for row in parquet.ParquetFile(file).read().to_pylist()
    ]
    assert sorted(row["k"] for row in rows) == [number for number in range(20) if number != 3]
