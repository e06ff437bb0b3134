"""Footers of data files are kept by the process, and are never used for another file."""

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
    twin = SHAPE.create(lake, fresh_name("footers"))
    values = {"c": 0.5, "d": [1], "e": None}
    twin.upsert([{"id": key, "a": key, "b": f"text {key * 7919}", **values} for key in range(rows)], version=1)
    ((location,),) = lake.spark.sql(f"SELECT file_path FROM {twin.sql_name}.files").collect()
    return twin, Path(urlsplit(location).path)


def padded(rows: pa.Table, path: Path, size: int) -> None:
    """Writes a file of a size: what is missing is a note in its footer."""
    note = 0
    for _ in range(4):
        with pq.ParquetWriter(path, rows.schema, compression="none", store_schema=False) as file:
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
    few = stored.slice(0, 100)
    place = few.schema.get_field_index("a")
    padded(few.set_column(place, few.schema.field(place), pc.add(few["a"], 1000)), path, size)
    path.with_name(f".{path.name}.crc").unlink()
    read = twin.table.read(columns=["id", "a"]).toArrow().sort_by("id").to_pylist()
    assert read == [{"id": key, "a": key + 1000} for key in range(100)]
    assert twin.table.read(columns=["id"], where="a >= 1000").toArrow().num_rows == 100
    lake.spark.sql(f"DROP TABLE {twin.sql_name}").collect()  # its metadata does not fit
