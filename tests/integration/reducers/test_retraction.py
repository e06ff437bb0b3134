"""Changelogs as Flink writes them, whose aggregates are those of the rows that are left; and baselines."""

from decimal import Decimal
from random import Random

import pyarrow as pa
import pytest

import keylake as kl
from integration.random_runs import seeds
from integration.refusals import refused
from integration.twin import fresh_name

MONEY = pa.decimal128(12, 2)
SCHEMA = pa.schema(
    [
        pa.field("page", pa.string(), nullable=False),
        ("spend", MONEY),
        ("orders", pa.int64()),
        ("weight", pa.struct([("sum", pa.float64()), ("count", pa.int64())])),
        ("longest", pa.int64()),
        ("title", pa.string()),
    ]
)
REDUCERS: dict[str, kl.Reducer] = {
    "spend": kl.Sum(),
    "orders": kl.Count(),
    "weight": kl.Average(),
    "longest": kl.Max(),
}


def pages(lake: kl.Lake, **reducers: kl.Reducer) -> kl.KeyedTable:
    return lake.create(
        kl.TableSpec.from_arrow(
            SCHEMA, name=fresh_name("pages"), key="page", versions="commit", buckets=2, reducers=reducers
        )
    )


def row(op: str, page: str, cents: int, title: str = "t") -> dict[str, object]:
    return {
        "op": op,
        "page": page,
        "spend": Decimal(cents) / 100,
        "orders": 1,
        "weight": {"sum": float(cents), "count": 1},
        "longest": None if op.startswith("-") else cents,
        "title": title,
    }


@pytest.mark.parametrize("seed", seeds(1, 5))
def test_a_changelog_aggregates_what_is_left(lake: kl.Lake, seed: int) -> None:
    random = Random(seed)
    table = pages(lake, **REDUCERS)
    orders: dict[int, tuple[str, int]] = {}
    for _ in range(6):
        log: list[dict[str, object]] = []
        for _ in range(random.randint(1, 15)):
            order = random.randint(0, 9)
            before = orders.get(order)
            after = None if random.random() < 0.3 else (random.choice("ab"), random.randint(-500, 500))
            log += [] if before is None else [row("-D" if after is None else "-U", *before)]
            log += [] if after is None else [row("+I" if before is None else "+U", *after)]
            orders.pop(order, None)
            orders |= {} if after is None else {order: after}
        table.apply_changes(pa.Table.from_pylist(log, pa.schema([*SCHEMA, ("op", pa.string())])), op="op")
        if random.random() < 0.3:
            table.compact(random.choice(["full", "settle"]))
        for read in table.read().collect():
            left = [cents for page, cents in orders.values() if page == read.page]
            assert (read.spend, read.orders) == (Decimal(sum(left)) / 100, len(left))
            assert tuple(read.weight) == (float(sum(left)), len(left))


def test_registers_stay_as_they_are(lake: kl.Lake) -> None:
    table = pages(lake, spend=kl.Sum())
    table.apply_changes([row("+I", "a", 5, "first")], op="op")
    table.apply_changes([row("-U", "a", 5, "first"), row("+U", "a", 7, "second"), row("-D", "a", 7, "gone")], op="op")
    found = table.get(page="a")
    assert (found.spend, found.title) == (Decimal("0.00"), "second")


def test_rows_of_registers_are_changed_and_deleted(lake: kl.Lake) -> None:
    table = pages(lake)
    table.apply_changes([row("+I", "a", 5), row("+I", "b", 6)], op="op")
    done = table.apply_changes([row("-U", "a", 5), row("+U", "a", 8), row("-D", "b", 6), row("-U", "c", 1)], op="op")
    assert [(found.page, found.longest) for found in table.read().collect()] == [("a", 8)]
    assert done.rows == 2
    assert table.get(page="c") is None


def test_what_gives_nothing_back_is_named(lake: kl.Lake) -> None:
    table = pages(lake, longest=kl.Max(), spend=kl.Sum())
    words = ("page=a", "'longest'", "Max", "leave the column null")
    with refused(lake, table.name, kl.BadRows, *words):
        table.apply_changes([row("-U", "a", 5) | {"longest": 7}], op="op")
    with refused(lake, table.name, kl.BadRows, "'-X'", "page=a", "-U, -D"):
        table.apply_changes([row("-X", "a", 5)], op="op")


def test_a_baseline_counts_once(lake: kl.Lake) -> None:
    """A column that is added later starts with what came before it."""
    table = lake.create(
        kl.TableSpec.from_arrow(
            pa.schema([pa.field("page", pa.string(), nullable=False), ("title", pa.string())]),
            name=fresh_name("baseline"),
            key="page",
            versions="explicit",
        )
    )
    table.upsert([{"page": "a", "title": "x"}], version=1)
    sql = f"{lake.catalog}.{table.name}"
    lake.spark.sql(f"ALTER TABLE {sql} ADD COLUMN clicks BIGINT").collect()
    lake.spark.sql(f"ALTER TABLE {sql} SET TBLPROPERTIES ('reduce.clicks' = 'Sum')").collect()
    table = lake.table(table.name)
    table.update([{"page": "a", "clicks": 1}], version=10)
    before = [{"page": "a", "clicks": 40}, {"page": "b", "clicks": 2}]
    first = table.backfill_from(before, version=9)
    again = table.backfill_from(lake.spark.createDataFrame(before), version=9)
    assert (first.repeated, again.repeated, again.snapshot_id) == (False, True, first.snapshot_id)
    table.update([{"page": "b", "clicks": 5}], version=11)
    for _ in range(2):
        assert {row.page: row.clicks for row in table.read().collect()} == {"a": 41, "b": 7}
        table.compact("full")
    with refused(lake, table.name, kl.Unsupported, "'title'", "Latest", "update"):
        table.backfill_from([{"page": "a", "title": "y"}], version=9)
    with refused(lake, table.name, kl.SchemaMismatch, "no column"):
        table.backfill_from([{"page": "a"}], version=9)
