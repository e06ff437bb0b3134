"""Values of every type, at their extremes and nested, come back as they were written, merged column by column."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import keylake as kl
from integration.refusals import refused
from integration.twin import Twin, fresh_name
from integration.value_types import TYPES, row


@pytest.fixture(scope="module")
def twin(lake: kl.Lake) -> Twin:
    """A table with a column of every type."""
    columns = [pa.field(f"c_{kind}", type_) for kind, (type_, _) in TYPES.items()]
    schema = pa.schema([pa.field("k", pa.int32(), nullable=False), *columns])
    spec = kl.TableSpec.from_arrow(schema, name=fresh_name("value_types"), key=["k"], versions="explicit", buckets=1)
    return Twin.create(lake, spec, schema)


def test_values_come_back_as_they_were_written(twin: Twin) -> None:
    """Merged with nothing, then with rows that carry some of the columns, then with deletions."""
    twin.upsert([row(key) for key in range(60)], version=1)
    twin.check()
    names = list(TYPES)
    for start in range(3):
        some = [f"c_{kind}" for kind in names[start::3]]
        rows = [{"k": key} | {name: row(key + 1 + start)[name] for name in some} for key in range(start, 70, 2)]
        twin.update(rows, version=2 + start)
    twin.delete([{"k": key} for key in range(0, 70, 5)], version=3)
    twin.check()


@pytest.mark.parametrize("kind", TYPES)
def test_one_column_alone(twin: Twin, kind: str) -> None:
    if not twin.commits:
        test_values_come_back_as_they_were_written(twin)
    twin.check([f"c_{kind}"])


def test_values_as_python_rows(lake: kl.Lake, twin: Twin) -> None:
    """The same through a list of dicts, whose types are the table's."""
    name = fresh_name("value_types")
    spec = kl.TableSpec.from_arrow(twin.schema, name=name, key="k", versions="explicit", buckets=2)
    other = Twin.create(lake, spec, twin.schema)
    other.upsert([row(key) for key in range(20)], version=1, form="rows")
    other.check()


HITS = pa.map_(pa.string(), pa.int64())
TWICE = [("a", 1), ("a", 2)]
NESTED = {
    "map": (HITS, TWICE),
    "in a struct": (pa.struct([("n", pa.int64()), ("hits", HITS)]), {"n": 1, "hits": TWICE}),
    "in a list": (pa.list_(HITS), [[("a", 1)], TWICE]),
    "in a map": (pa.map_(pa.int32(), HITS), [(1, TWICE)]),
    "deep": (pa.list_(pa.struct([("of", pa.map_(pa.int32(), pa.list_(HITS)))])), [None, {"of": [(1, [TWICE])]}]),
}


@pytest.mark.parametrize("kind", NESTED)
def test_a_map_has_a_key_once_wherever_it_is(lake: kl.Lake, kind: str, tmp_path: Path) -> None:
    """In files it may be twice; Spark lets such rows pass."""
    type_, value = NESTED[kind]
    schema = pa.schema([pa.field("k", pa.int32(), nullable=False), pa.field("v", type_)])
    table = lake.create(kl.TableSpec.from_arrow(schema, name=fresh_name("value_types"), key="k", buckets=1))
    rows = pa.table({"k": pa.array([7], pa.int32()), "v": pa.array([value], type_)})
    parquet.write_table(rows, tmp_path / "rows.parquet")
    with refused(lake, table.name, kl.BadRows, "'v'", "twice", "k=7"):
        table.upsert(lake.spark.read.parquet(str(tmp_path)))


def test_a_uuid_in_a_list_is_one(lake: kl.Lake) -> None:
    schema = pa.schema([pa.field("k", pa.int32(), nullable=False), pa.field("v", pa.list_(pa.uuid()))])
    table = lake.create(kl.TableSpec.from_arrow(schema, name=fresh_name("value_types"), key="k", buckets=1))
    with refused(lake, table.name, kl.BadRows, "'no uuid'"):
        table.upsert(lake.spark.sql("SELECT 7 AS k, array('00000000-0000-0000-0000-000000000000', 'no uuid') AS v"))
    lake.drop(table.name)  # pyarrow cannot read such lists


def test_a_partition_of_a_long_text(lake: kl.Lake) -> None:
    """Longer than a file system lets a folder's name be."""
    schema = pa.schema([pa.field("k", pa.string(), nullable=False), pa.field("n", pa.int64(), nullable=False)])
    schema = schema.append(pa.field("v", pa.int64()))
    spec = kl.TableSpec.from_arrow(
        schema,
        name=fresh_name("value_types"),
        key=["k", "n"],
        partition_by="k",
        bucket_by="n",
        buckets=1,
        versions="explicit",
    )
    twin = Twin.create(lake, spec, schema)
    texts = ["x" * 300, "x" * 300 + "y", "größe" * 60, "/" * 100, "x" * 5000]
    twin.upsert([{"k": text, "n": n, "v": n} for text in texts for n in range(100)], version=1)
    twin.update([{"k": text, "n": n, "v": -1} for text in texts[:3] for n in range(50)], version=2)
    twin.check()
    for policy in ("settle", "full"):
        twin.table.compact(policy)
        twin.check()
    assert twin.get({"k": texts[0], "n": 7}) == {"v": -1}
