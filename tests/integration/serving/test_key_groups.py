"""Groups of keys, as an online store has them: where rows lie, and what reads make of that."""

from datetime import date, datetime, timedelta, timezone
from decimal import Context, Decimal
from itertools import pairwise
from uuid import UUID

import pyarrow as pa
import pytest

import keylake as kl
from integration.query_plans import explained, planned
from integration.raw import catalog_of, in_spark
from integration.serving.grouped_keys import create, keys_of_all_types
from integration.twin import Twin, by_key, comparable, frame_of, fresh_name
from keylake._definition.grouping import HASHES


@pytest.fixture(scope="module")
def pages(lake: kl.Lake) -> Twin:
    """Two hundred keys in eight buckets and 64 groups, in three commits that have to be merged."""
    twin = create(lake, {"page": pa.string()}, 8, 64, "murmur3_32")
    for version in (1, 2, 3):
        twin.upsert([{"page": f"p{n}", "a": n * version} for n in range(0, 200, version)], version=version)
    twin.delete([{"page": "p11"}], version=4)
    return twin


@pytest.mark.parametrize("hash_name", HASHES)
def test_the_server_puts_keys_of_all_types_where_python_does(lake: kl.Lake, hash_name: str) -> None:
    types, keys = keys_of_all_types(*(["binary"] if hash_name == "java_string" else []))
    twin = create(lake, types, 24, 8192, hash_name)
    twin.upsert([key | {"a": number} for number, key in enumerate(keys)], version=1)
    found = lake.spark.sql(f"SELECT a, _group, _bucket FROM {twin.sql_name}").toArrow().to_pylist()
    spec = twin.table.spec
    for spelled in (lambda value: value, otherwise):  # of any spelling, the same place
        expected = {number: [spelled(value) for value in key.values()] for number, key in enumerate(keys)}
        assert {row["a"]: (row["_group"], row["_bucket"]) for row in found} == {
            number: (spec.group_of(*key), spec.bucket_of(*key)) for number, key in expected.items()
        }


def otherwise(value: object) -> object:
    """A key as people also write it: a uuid as text, a midnight for a date, a decimal without its zeros."""
    match value:
        case UUID():
            return str(value).upper()
        case datetime():
            return value if value.tzinfo is None else value.astimezone(timezone(timedelta(hours=5, minutes=30)))
        case date():
            return datetime(value.year, value.month, value.day)
        case Decimal():
            return value.normalize(Context(prec=76))
        case _:
            return value


def test_a_file_is_sorted_by_group_and_key_and_a_group_lies_in_one_bucket(lake: kl.Lake, pages: Twin) -> None:
    raw = in_spark(lake, catalog_of(lake).load_table(tuple(pages.table.name.split("."))))
    rows = raw.select("_file", "_pos", "_bucket", "_group", "page").orderBy("_file", "_pos").collect()
    for one, two in pairwise(rows):
        assert one["_file"] != two["_file"] or (one["_group"], one["page"]) < (two["_group"], two["page"])
    assert all(row["_bucket"] == row["_group"] * 8 // 64 for row in rows)


def test_a_lookup_opens_one_bucket_and_the_place_of_its_group(lake: kl.Lake, pages: Twin) -> None:
    expected = pages.expected()
    for page in ("p0", "p7", "p11", "p199", "nobody"):
        assert pages.get({"page": page}) == expected.get((comparable(page),))
    plan = planned(lake, f"SELECT a FROM {pages.sql_name} WHERE page = 'p7'")
    assert plan["buckets read"] == 1


@pytest.mark.parametrize("where", ["page == 'p12'", "page >= 'p15'", "page < 'p2' and a > 3", "page in ('p3', 'p4')"])
def test_filters_on_a_key_that_does_not_sort_first(lake: kl.Lake, pages: Twin, where: str) -> None:
    kept = frame_of(lake, pages.table.read().toArrow()).where(where).toArrow()
    assert by_key(pages.table.read(where=where).toArrow(), ["page"]) == by_key(kept, ["page"])


def test_rows_of_a_bucket_come_by_group_and_key_without_a_sort(lake: kl.Lake, pages: Twin) -> None:
    query = f"SELECT _bucket, _group, page, a FROM {pages.sql_name}"
    frame = lake.spark.sql(query).sortWithinPartitions("_bucket", "_group", "page")
    assert "Sort" not in frame._explain_string()  # pyright: ignore[reportPrivateUsage]
    assert len(frame.collect()) == len(pages.expected())
    counts = lake.spark.sql(f"SELECT _group, count(*) AS n FROM {pages.sql_name} GROUP BY _group").collect()
    assert sum(row["n"] for row in counts) == len(pages.expected())
    assert "_group" not in pages.table.read().columns


def test_the_smallest_and_largest_key_are_those_of_all_groups(lake: kl.Lake) -> None:
    twin = create(lake, {"id": pa.int64()}, 4, 16, "xxhash64")
    twin.upsert([{"id": n, "a": n} for n in range(-50, 50)], version=1)
    row = lake.spark.sql(f"SELECT min(id), max(id), count(*) FROM {twin.sql_name}").collect()[0]
    assert tuple(row) == (-50, 49, 100)
    twin.table.compact(policy="full")
    twin.check()
    files = twin.table.files().toArrow().to_pylist()
    assert min(file["lower"]["id"] for file in files) == -50
    assert max(file["upper"]["id"] for file in files) == 49


def test_a_hash_class_that_the_server_does_not_allow(lake: kl.Lake) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("a", pa.int64())])
    words = {"name": fresh_name("key_groups"), "key": "id", "groups": 64}
    with pytest.raises(kl.DefinitionError, match=r"com\.example\.Slots is not allowed here.*spark\.keylake\.hashes"):
        lake.create(kl.TableSpec.from_arrow(schema, **words, hash="com.example.Slots"))
    table = lake.create(kl.TableSpec.from_arrow(schema, **words, hash="crc32"))
    spec = table.spec.property_json().replace("crc32", "com.example.Slots")
    with catalog_of(lake).load_table(table.name).transaction() as behind_its_back:
        behind_its_back.set_properties({"keylake.spec": spec})
    table = lake.table(table.name)
    for use in (lambda: table.upsert([{"id": 1, "a": 1}]), lambda: table.get(id=1)):
        with pytest.raises(
            kl.DefinitionError, match=r"com\.example\.Slots is not allowed here.*spark\.keylake\.hashes"
        ):
            use()
    assert explained(lake, f"SELECT * FROM {lake.catalog}.{table.name}")  # a read of all rows computes no hash
