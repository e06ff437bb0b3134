"""Keys of every allowed type, at their extremes: written, replaced, deleted, looked up and found by a filter."""

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import functions

import keylake as kl
import keylake.local
from integration.random_runs import of_every
from integration.twin import Twin, by_key, comparable, frame_of, fresh_name
from integration.writing.key_types import KEYS


def create(lake: kl.Lake, key: Mapping[str, pa.DataType], buckets: int, partition_by: Sequence[str] = ()) -> Twin:
    columns = [pa.field("a", pa.int64()), pa.field("b", pa.string())]
    schema = pa.schema([*(pa.field(name, type_, nullable=False) for name, type_ in key.items()), *columns])
    name = fresh_name("key_types")
    rest = [column for column in key if column not in partition_by]
    spec = kl.TableSpec.from_arrow(
        schema,
        name=name,
        key=list(key),
        versions="explicit",
        buckets=buckets,
        bucket_by=rest,
        partition_by=partition_by,
    )
    return Twin.create(lake, spec, schema)


def write(twin: Twin, keys: Sequence[dict[str, object]]) -> None:
    """Every key once, every second again, every third deleted, and one of these brought back."""
    twin.upsert([key | {"a": number, "b": f"first {number}"} for number, key in enumerate(keys)], version=1)
    twin.update([key | {"b": f"second {number}"} for number, key in enumerate(keys) if number % 2 == 0], version=3)
    twin.delete([key for number, key in enumerate(keys) if number % 3 == 1], version=2)
    twin.update([key | {"a": -1} for key in keys[1:2]], version=4)


@of_every("kind", {kind: kind for kind in KEYS}, today=4)
def test_a_key_of_one_column(lake: kl.Lake, kind: str) -> None:
    type_, values = KEYS[kind]
    twin = create(lake, {"k": type_}, buckets=2)
    write(twin, [{"k": value} for value in values])
    twin.check()
    expected = twin.expected()
    for value in (values[0], values[1], values[len(values) // 2], values[-1]):
        assert twin.get({"k": value}) == expected.get((comparable(value),)), value
    for value in (values[0], values[-1]):
        assert twin.explained({"k": value}) == expected.get((comparable(value),)), value


@of_every("kind", {kind: kind for kind in KEYS}, today=4)
def test_filters_on_a_key(lake: kl.Lake, kind: str) -> None:
    """A filter gives what it would give over all rows, whatever it prunes."""
    type_, values = KEYS[kind]
    twin = create(lake, {"k": type_}, buckets=3)
    write(twin, [{"k": value} for value in values])
    everything = twin.table.read().toArrow()
    middle = sorted(str(value) for value in values)[len(values) // 2] if kind == "uuid" else values[len(values) // 2]
    k, at = functions.col("k"), functions.lit(middle)
    for where in (k == at, k >= at, k < at, k.isin(at, at), k != at):
        kept = by_key(frame_of(lake, everything).where(where).toArrow(), ["k"])
        assert by_key(twin.table.read(where=where).toArrow(), ["k"]) == kept, str(where)


@of_every("kind", {kind: kind for kind in KEYS}, today=4)
def test_a_key_that_partitions(lake: kl.Lake, warehouse: Path, kind: str) -> None:
    """Rows of one key are in one partition, for each writer and reader, and after each rewrite."""
    type_, values = KEYS[kind]
    twin = create(lake, {"k": type_, "id": pa.int64()}, buckets=1, partition_by=["k"])
    keys: list[dict[str, object]] = [{"k": value, "id": 1} for value in values[:6]]
    write(twin, keys)
    for policy in (None, "settle", "full"):
        if policy:
            twin.table.compact(policy)
        twin.check()
        assert twin.table.check("pages").is_ok
        for key in (keys[0], keys[-1]):
            assert twin.get(key) == twin.expected().get((comparable(key["k"]), 1)), key
        with keylake.local.open(warehouse) as here:
            assert by_key(here.table(twin.table.name).read().to_arrow(), ["k", "id"]) == twin.expected()


@pytest.mark.slow
def test_a_key_of_many_columns(lake: kl.Lake) -> None:
    kinds = {f"k{number}": kind for number, kind in enumerate(KEYS)}
    twin = create(lake, {name: KEYS[kind][0] for name, kind in kinds.items()}, buckets=4)
    longest = max(len(values) for _, values in KEYS.values())
    rows = [
        {name: KEYS[kind][1][(number * stride) % len(KEYS[kind][1])] for name, kind in kinds.items()}
        for stride, number in product((1, 5), range(longest))
    ]
    distinct = list({tuple(row.values()): row for row in rows}.values())
    write(twin, distinct)
    twin.check()
    expected = twin.expected()
    for row in distinct[:3]:
        assert twin.get(row) == expected.get(tuple(map(comparable, row.values()))), row
    assert twin.explained(distinct[0]) == expected.get(tuple(map(comparable, distinct[0].values())))


def test_a_key_is_not_cut_where_its_columns_meet(lake: kl.Lake) -> None:
    twin = create(lake, {"j": pa.string(), "k": pa.string()}, buckets=2)
    pairs = [("a", "bc"), ("ab", "c"), ("abc", ""), ("", "abc"), ("a\0", "b"), ("a", "\0b")]
    twin.upsert([{"j": j, "k": k, "a": n, "b": None} for n, (j, k) in enumerate(pairs)], version=1)
    twin.update([{"j": j, "k": k, "b": k} for j, k in pairs[::2]], version=2)
    twin.check()
