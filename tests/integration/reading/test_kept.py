"""What the process keeps: footers, never used for another file, and files of snapshots, under any names of columns."""

from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import keylake as kl
from integration.histories import Shape
from integration.query_plans import counted
from integration.twin import Twin, fresh_name

SHAPE = Shape("explicit", buckets=1, reducers={})


def of_one_file(lake: kl.Lake, rows: int) -> tuple[Twin, Path]:
    twin = SHAPE.create(lake, fresh_name("kept"))
    values = {"c": 0.5, "d": [1], "e": None}
    twin.upsert([{"id": key, "a": key, "b": f"text {key * 7919}", **values} for key in range(rows)], version=1)
    ((location,),) = lake.spark.sql(f"SELECT file_path FROM {twin.sql_name}.files").collect()
    return twin, Path(urlsplit(location).path)


def padded(rows: pa.Table, path: Path, size: int) -> None:
    """Writes a file of a size: what is missing is a note in its footer."""
    note = 0
    for _ in range(4):
        with pq.ParquetWriter(path, rows.schema, compression="zstd", store_schema=False) as file:
            file.write_table(rows)
            file.add_key_value_metadata({"note": "x" * note})
        missing = size - path.stat().st_size
        if missing == 0:
            return
        note += missing
    raise AssertionError(f"{path} cannot have {size} bytes")


def test_a_later_read_opens_no_footer(lake: kl.Lake) -> None:
    twin, _ = of_one_file(lake, rows=500)

    def opened() -> tuple[int, int]:
        frame = lake.spark.sql(f"SELECT * FROM {twin.sql_name}")
        assert frame.toArrow().num_rows == 500
        numbers = counted(frame)
        return numbers["filesOpened"], numbers["bytesRead"]

    first, again = opened(), opened()
    assert again[0] == first[0]
    assert again[1] < first[1]
    twin.check()


def test_a_file_in_the_place_of_another_is_read_as_it_is(lake: kl.Lake) -> None:
    twin, path = of_one_file(lake, rows=5000)
    twin.check()
    size = path.stat().st_size
    stored = pq.read_table(path)
    for column, values in {"a": pc.add(stored["a"], 1000), "b": pa.array([""] * 5000)}.items():
        place = stored.schema.get_field_index(column)
        stored = stored.set_column(place, stored.schema.field(place), values)
    padded(stored, path, size)
    path.with_name(f".{path.name}.crc").unlink()
    read = twin.table.read(columns=["id", "a"]).toArrow().sort_by("id").to_pylist()
    assert read == [{"id": key, "a": key + 1000} for key in range(5000)]
    assert twin.table.read(columns=["id"], where="a >= 1000").toArrow().num_rows == 5000
    lake.spark.sql(f"DROP TABLE {twin.sql_name}").collect()  # its metadata does not fit


def found(lake: kl.Lake, query: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in lake.spark.sql(query).collect()]


def test_the_manifests_of_a_snapshot_are_read_once(lake: kl.Lake) -> None:
    twin, _ = of_one_file(lake, rows=500)
    query = f"SELECT a, b FROM {twin.sql_name} WHERE id = "
    assert found(lake, f"{query}3") == [(3, f"text {3 * 7919}")]
    manifests = [Path(urlsplit(path).path) for (path,) in found(lake, f"SELECT path FROM {twin.sql_name}.manifests")]
    for path in manifests:
        path.rename(path.with_suffix(".away"))
    assert found(lake, f"{query}7") == [(7, f"text {7 * 7919}")]
    assert found(lake, f"{query}7000") == []
    for path in manifests:
        path.with_suffix(".away").rename(path)
    twin.update([{"id": 7, "a": 70}, {"id": 7000, "a": 1}], version=2)
    assert found(lake, f"{query}7") == [(70, f"text {7 * 7919}")]
    assert found(lake, f"{query}7000") == [(1, None)]


def test_columns_of_a_kept_snapshot_get_other_names(lake: kl.Lake) -> None:
    twin = Shape("commit", buckets=4, reducers={}).create(lake, fresh_name("kept"))
    for first in (0, 20, 40):
        twin.update([{"id": key, "a": key + 100} for key in range(first, first + 30)])
    head = twin.table.history(compactions=True)[0].snapshot_id
    table = twin.sql_name
    before = f"SELECT id, a FROM {table} WHERE id = 41"
    assert found(lake, before) == [(41, 141)]
    for change in ("id TO was", "a TO id"):
        lake.spark.sql(f"ALTER TABLE {table} RENAME COLUMN {change}").collect()
    assert found(lake, f"SELECT was, id FROM {table} WHERE was = 41") == [(41, 141)]
    assert found(lake, f"SELECT was, id FROM {table} WHERE was = 141") == []
    assert found(lake, f"SELECT was, id FROM {table} WHERE id = 141") == [(41, 141)]
    lake.spark.sql(f"INSERT INTO {table} (was, id) VALUES (41, 7)").collect()
    assert found(lake, f"SELECT was, id FROM {table} WHERE was = 41") == [(41, 7)]
    assert found(lake, f"SELECT id, a FROM {table} VERSION AS OF {head} WHERE id = 41") == [(41, 141)]
