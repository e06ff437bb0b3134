"""Every verb and every kind of join once, on any release of Spark. Not collected; `test_spark_versions` runs it."""

from pathlib import Path

import pyarrow as pa
import pytest

import keylake as kl
from integration.query_plans import changed_settings, explained, rows_of
from integration.twin import fresh_name

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("n", pa.int64()),
        ("text", pa.string()),
        ("list", pa.list_(pa.int32())),
        ("place", pa.struct([("x", pa.float64())])),
    ]
)
ROWS = 4000
NO_BROADCASTS = {"spark.sql.autoBroadcastJoinThreshold": "-1"}


def create(lake: kl.Lake, **words: object) -> kl.KeyedTable:
    spec = kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("verbs"), key=["id"], **{"buckets": 4, **words})
    return lake.create(spec)


def rows(first: int, after: int) -> list[dict[str, object]]:
    return [
        {"id": number, "n": number % 7, "text": f"text {number}", "list": [number], "place": {"x": 0.5 * number}}
        for number in range(first, after)
    ]


@pytest.fixture(scope="module")
def table(lake: kl.Lake) -> kl.KeyedTable:
    """Three commits that overlap: what is read of it is merged."""
    made = create(lake)
    made.upsert(rows(0, ROWS))
    made.update([{"id": number, "n": -1} for number in range(0, ROWS, 2)])
    made.delete([{"id": number} for number in range(0, ROWS, 5)])
    return made


def sql_name(lake: kl.Lake, table: kl.KeyedTable) -> str:
    return f"{lake.catalog}.{table.name}"


def test_what_is_read(table: kl.KeyedTable) -> None:
    assert table.read().count() == ROWS - ROWS // 5
    assert table.read(where="n = -1").count() == ROWS // 2 - ROWS // 10
    assert table.get(id=3)["text"] == "text 3"  # type: ignore[index]
    assert table.get(id=5) is None
    assert [(cell.value, len(cell.lost)) for cell in table.explain_row(id=2).columns[:2]] == [(-1, 1), ("text 2", 0)]
    assert table.read().select("place.x").toArrow().num_rows == ROWS - ROWS // 5


def test_a_large_write_in_sql(lake: kl.Lake) -> None:
    """By ranges of keys, which are cut after a look at the rows."""
    made = create(lake)
    with changed_settings(lake, {"spark.sql.adaptive.advisoryPartitionSizeInBytes": "20k"}):
        lake.spark.sql(
            f"INSERT INTO {sql_name(lake, made)} SELECT id, id % 7 AS n, string(id) AS text, array(1) AS list, "
            "named_struct('x', 1.5D) AS place FROM range(20000)"
        ).collect()
    assert made.read().count() == 20_000


def test_statements_on_rows(lake: kl.Lake) -> None:
    """One of them is cut by ranges of keys, too."""
    made = create(lake, versions="explicit")
    made.upsert(rows(0, ROWS), version=1)
    name = sql_name(lake, made)
    lake.spark.sql("SET spark.keylake.write.version = 2").collect()
    try:
        with changed_settings(lake, {"spark.sql.adaptive.advisoryPartitionSizeInBytes": "20k"}):
            lake.spark.sql(f"UPDATE {name} SET n = n + 1, place.x = 2 WHERE id IN (SELECT id FROM {name})").collect()
        lake.spark.sql(f"DELETE FROM {name} WHERE n > (SELECT min(n) FROM {name})").collect()
    finally:
        lake.spark.conf.unset("spark.keylake.write.version")
    left = made.read().select("id", "n", "place.x").collect()
    assert [tuple(row) for row in sorted(left)] == [(number, 1, 2.0) for number in range(0, ROWS, 7)]
    lake.spark.sql(f"TRUNCATE TABLE {name}").collect()
    assert made.read().count() == 0


def test_changes_branches_and_what_is_taken_back(lake: kl.Lake) -> None:
    made = create(lake)
    first = made.upsert(rows(0, 100))
    second = made.apply_changes([{**rows(0, 1)[0], "n": 99, "op": "U"}, {**rows(1, 2)[0], "op": "D"}], op="op")
    kinds = [row["_change"] for row in made.changes(after=first, until=second).collect()]
    assert sorted(kinds) == ["delete", "update"]
    made.undo(after=first, until=second)
    assert made.read().count() == 100
    made.compact()
    made.overwrite(rows(0, 10))
    assert made.read().count() == 10


def test_an_export(lake: kl.Lake, table: kl.KeyedTable, tmp_path: Path) -> None:
    table.serving.publish_kv(tmp_path / "kv", columns=["n", "text"])
    assert any((tmp_path / "kv").rglob("*.parquet"))


def test_a_plain_copy(lake: kl.Lake, table: kl.KeyedTable) -> None:
    copy = f"{table.name}_copy"
    assert table.serving.publish_iceberg(copy).mode == "full"
    assert lake.spark.table(f"{lake.catalog}.{copy}").count() == table.read().count()


@pytest.mark.parametrize("how", ["INNER", "LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI"])
def test_joins_by_key(lake: kl.Lake, table: kl.KeyedTable, how: str) -> None:
    other = create(lake)
    other.upsert(rows(ROWS // 2, ROWS * 3 // 2))
    columns = "l.*" if how.startswith("LEFT ") else "l.*, r.n AS m"
    query = f"SELECT {columns} FROM {sql_name(lake, table)} l {how} JOIN {sql_name(lake, other)} r ON l.id = r.id"
    with changed_settings(lake, NO_BROADCASTS):
        found = rows_of(lake, query)
        assert found
        assert "Exchange" not in explained(lake, query)
        with changed_settings(lake, {"spark.sql.sources.v2.bucketing.enabled": "false"}):
            assert rows_of(lake, query) == found


def test_a_merge_join(lake: kl.Lake, table: kl.KeyedTable) -> None:
    name = sql_name(lake, table)
    query = f"SELECT l.*, r.text AS other FROM {name} l LEFT JOIN {name} r ON l.id = r.id"
    with changed_settings(lake, {**NO_BROADCASTS, "spark.sql.adaptive.enabled": "false"}):
        assert "KeyedMergeJoin" in explained(lake, query)
        assert len(rows_of(lake, query)) == ROWS - ROWS // 5


def test_a_grouping_and_a_window(lake: kl.Lake, table: kl.KeyedTable) -> None:
    name = sql_name(lake, table)
    for query in (
        f"SELECT id, count(*) c FROM {name} GROUP BY id",
        f"SELECT id, row_number() OVER (PARTITION BY id ORDER BY n) c FROM {name}",
    ):
        assert "Exchange" not in explained(lake, query)
        assert len(rows_of(lake, query)) == ROWS - ROWS // 5


def test_samples_that_are_no_table(lake: kl.Lake, table: kl.KeyedTable) -> None:
    frame = lake.spark.range(2 * ROWS)
    for samples, count in (([{"id": 1}, {"id": 2 * ROWS}], 2), (frame, 2 * ROWS), (table, ROWS - ROWS // 5)):
        with changed_settings(lake, NO_BROADCASTS):
            joined = kl.join(samples, [table["n"].prefixed("x_"), table["text"].prefixed("y_")], on="id")
            assert joined.toArrow().num_rows == count


def test_a_table_as_a_class(lake: kl.Lake) -> None:
    class Seen(kl.Table, name=fresh_name("verbs"), buckets=2):
        id: int = kl.key()
        city: str | None = kl.column()

    seen = lake.create(Seen)
    seen.upsert([Seen(id=1, city="Oslo")])
    assert seen.get(id=1) == Seen(id=1, city="Oslo")
