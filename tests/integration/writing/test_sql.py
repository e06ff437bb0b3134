"""Keyed tables in plain SQL and plain frames: writes of any subset of columns, merged reads, and what is refused."""

from datetime import UTC, datetime

import pyarrow as pa
import pytest
from pyspark.sql import functions

import keylake as kl
from integration.histories import COMPOUND, Shape
from integration.refusals import refused_in_sql, snapshots
from integration.twin import Twin, fresh_name

SCHEMA = pa.schema(
    [
        pa.field("k", pa.int64(), nullable=False),
        pa.field("t", pa.timestamp("us", tz="UTC")),
        pa.field("a", pa.int64()),
        pa.field("b", pa.string()),
    ]
)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
ONE = datetime(2026, 1, 1, 13, tzinfo=UTC)


def create(lake: kl.Lake, ordering: str | None = None, versions: kl.Versions | None = None) -> Twin:
    name = fresh_name("sql")
    spec = kl.TableSpec.from_arrow(SCHEMA, name=name, key="k", ordering=ordering, versions=versions, buckets=2)
    return Twin.create(lake, spec, SCHEMA)


def test_insert_of_some_columns_is_a_partial_update(lake: kl.Lake) -> None:
    twin = create(lake)
    lake.spark.sql(f"INSERT INTO {twin.sql_name} (k, a, b) VALUES (1, 10, 'x'), (2, 20, 'y')").collect()
    lake.spark.sql(f"INSERT INTO {twin.sql_name} (b, k) VALUES ('z', 1)").collect()
    lake.spark.sql(f"INSERT INTO {twin.sql_name} (k) VALUES (3)").collect()
    lake.spark.sql(f"INSERT INTO {twin.sql_name} BY NAME SELECT 2 AS k, CAST(NULL AS BIGINT) AS a").collect()
    twin.model.update([{"k": 1, "a": 10, "b": "x"}, {"k": 2, "a": 20, "b": "y"}])
    twin.model.update([{"k": 1, "b": "z"}])
    twin.model.update([{"k": 3}])
    twin.model.update([{"k": 2, "a": None}])
    twin.check()


def test_insert_of_all_columns_by_position(lake: kl.Lake) -> None:
    twin = create(lake)
    lake.spark.sql(f"INSERT INTO {twin.sql_name} VALUES (1, TIMESTAMP '2026-01-01 12:00:00Z', 10, 'x')").collect()
    twin.model.update([{"k": 1, "t": NOON, "a": 10, "b": "x"}])
    twin.check()


@pytest.mark.slow
def test_numbers_of_a_statement_are_fractions_that_show_so(lake: kl.Lake) -> None:
    """0.1 in SQL is a decimal to Spark, as is what is computed of it. Digits that no fraction shows are refused."""
    name = fresh_name("stated")
    full = f"{lake.catalog}.{name}"
    lake.spark.sql(f"CREATE TABLE {full} (id INT, d DOUBLE, f FLOAT, PRIMARY KEY (id)) USING keylake").collect()
    for statement in (
        "VALUES (1, 0.1, -2.50), (2, 3, NULL)",
        "(id, f) VALUES (3, 0.25)",
        "SELECT 4, 1.5, 0.5",
        "(f, id) SELECT f, id FROM VALUES (5, 0.125) AS v (id, f)",
        "BY NAME SELECT 6 AS id, 1234567.5 AS d",
        "(id, d) SELECT 7, d + 0.1 FROM VALUES (0.5) AS v (d)",
    ):
        lake.spark.sql(f"INSERT INTO {full} {statement}").collect()
    assert [tuple(row) for row in lake.spark.table(full).orderBy("id").collect()] == [
        (1, 0.1, -2.5), (2, 3.0, None), (3, None, 0.25), (4, 1.5, 0.5), (5, None, 0.125), (6, 1234567.5, None),
        (7, 0.6, None),
    ]  # fmt: skip
    for statement in (
        "(id, f) VALUES (8, 0.5), (9, 0.123456789)",
        "(id, d) SELECT 10, d + 0.1234567890123456789 FROM VALUES (0.5) AS v (d)",
    ):
        with refused_in_sql(lake, name, "BAD_ROWS", "decimal", "456789 without changing it"):
            lake.spark.sql(f"INSERT INTO {full} {statement}").collect()


def test_insert_with_an_ordering_column(lake: kl.Lake) -> None:
    twin = create(lake, ordering="t")
    late, early = "TIMESTAMP '2026-01-01 13:00:00Z'", "TIMESTAMP '2026-01-01 12:00:00Z'"
    lake.spark.sql(f"INSERT INTO {twin.sql_name} (k, t, a) VALUES (1, {late}, 10)").collect()
    lake.spark.sql(f"INSERT INTO {twin.sql_name} (k, t, a, b) VALUES (1, {early}, 11, 'x')").collect()
    twin.model.update([{"k": 1, "t": ONE, "a": 10}])
    twin.model.update([{"k": 1, "t": NOON, "a": 11, "b": "x"}])
    twin.check()
    twin.check_stamps()


def test_append_of_a_frame_of_some_columns(lake: kl.Lake) -> None:
    twin = create(lake)
    lake.spark.range(5).selectExpr("id AS k", "id * 2 AS a", "'x' AS b").writeTo(twin.sql_name).append()
    lake.spark.range(3).selectExpr("'y' AS b", "id AS k").writeTo(twin.sql_name).append()
    twin.model.update([{"k": k, "a": k * 2, "b": "x"} for k in range(5)])
    twin.model.update([{"k": k, "b": "y"} for k in range(3)])
    twin.check()


def test_verbs_as_options_of_a_frame(lake: kl.Lake) -> None:
    twin = create(lake, versions="explicit")
    frame = lake.spark.range(4).selectExpr("id AS k", "id AS a", "10 + id AS v")
    frame.writeTo(twin.sql_name).options(verb="update", version="v").append()
    frame.selectExpr("k").where("k < 2").writeTo(twin.sql_name).options(verb="delete", version_value="11").append()
    twin.model.update([{"k": k, "a": k, "v": 10 + k} for k in range(4)], "v")
    twin.model.delete([{"k": 0}, {"k": 1}], 11)
    lake.spark.sql(f"INSERT INTO {twin.sql_name} WITH ('version_value' = '12') (k, a) VALUES (0, 7)").collect()
    twin.model.update([{"k": 0, "a": 7}], 12)
    twin.check()


def test_options_that_are_wrong_are_refused(lake: kl.Lake) -> None:
    twin = create(lake, versions="explicit")
    bare = lake.spark.sql("SELECT 1L AS k, 2L AS a")
    versioned = lake.spark.sql("SELECT 1L AS k, 2L AS a, 3L AS v")
    for frame, kind, words, options in (
        (versioned, "UNSUPPORTED", ("merge",), {"verb": "merge", "version": "v"}),
        (bare, "VERSION_MISSING", ("give version=, in SQL WITH ('version_value' = '7')",), {"verb": "update"}),
        (versioned, "SCHEMA_MISMATCH", ("'v'",), {"verb": "update"}),
        (versioned, "VERSION_MISSING", ("twice",), {"verb": "update", "version": "v", "version_value": "3"}),
        (bare, "SCHEMA_MISMATCH", ("'w'",), {"verb": "update", "version": "w"}),
        (bare, "BAD_ROWS", ("version_value", "1.5"), {"verb": "update", "version_value": "1.5"}),
        (bare, "SCHEMA_MISMATCH", ("op",), {"verb": "apply_changes", "version_value": "3"}),
        (bare, "UNSUPPORTED", ("overwrite",), {"verb": "overwrite", "version_value": "3"}),
    ):
        with refused_in_sql(lake, twin.table.name, kind, *words):
            frame.writeTo(twin.sql_name).options(**options).append()


@pytest.mark.slow
def test_reads_are_merged_wherever_they_stand(lake: kl.Lake) -> None:
    twin = create(lake, versions="explicit")
    twin.upsert([{"k": k, "t": NOON, "a": k, "b": "x"} for k in range(10)], version=1)
    twin.update([{"k": k, "a": 100} for k in range(0, 10, 2)], version=2)
    twin.delete([{"k": 9}, {"k": 8}], version=3)
    twin.check()
    t = twin.sql_name

    def one(query: str) -> object:
        return lake.spark.sql(query).first()[0]

    assert one(f"SELECT count(*) FROM {t}") == 8
    assert one(f"SELECT sum(a) FROM {t}") == 416
    assert one(f"SELECT count(*) FROM {t} WHERE a = 0") == 0, "a filter on a value sees merged values only"
    assert one(f"SELECT count(*) FROM {t} WHERE a = 8") == 0
    assert one(f"SELECT count(*) FROM {t} WHERE a = 100 AND k > 1") == 3
    assert one(f"SELECT count(a) FROM {t} WHERE b IS NULL") == 0
    assert one(f"SELECT max(l.a) FROM {t} l JOIN {t} r ON l.k = r.k WHERE r.k IN (1, 2, 9)") == 100
    assert one(f"SELECT count(*) FROM (SELECT k FROM {t} LIMIT 3)") == 3
    assert one(f"SELECT max(k) FROM {t}") == 7
    assert one(f"SELECT min(a) FROM {t}") == 1, "an answer from the files' bounds would be 0"
    assert lake.spark.table(t).where("k = 4").select("a", "b").collect() == [(100, "x")]


@pytest.mark.slow
def test_members_of_structs_one_by_one(lake: kl.Lake) -> None:
    """Spark asks for the members that a query names; others lay in their place."""
    inner = pa.struct([("w", pa.string()), ("z", pa.string())])
    place = pa.struct([("v", pa.int64()), ("x", pa.int64()), ("y", inner)])
    schema = pa.schema([pa.field("k", pa.int64(), nullable=False), ("place", place), ("places", pa.list_(inner))])
    spec = kl.TableSpec.from_arrow(schema, name=fresh_name("sql"), key="k", versions="explicit", buckets=2)
    table = lake.create(spec)
    name = f"lake.{table.name}"

    def rows(query: str) -> list[tuple[object, ...]]:
        return sorted(tuple(row) for row in lake.spark.sql(query.format(name)).collect())

    for version in (1, 2):  # one run, then two that are merged
        made = [
            {"k": k, "place": {"v": -k, "x": k, "y": {"w": "w", "z": f"z{k}"}}, "places": [{"w": "w", "z": f"z{k}"}]}
            for k in range(3)
        ]
        table.upsert(pa.Table.from_pylist(made, schema=schema), version=version)
        assert rows("SELECT place.x FROM {}") == [(0,), (1,), (2,)]
        assert rows("SELECT place.y.z, k FROM {} WHERE place.y.z > 'z0'") == [("z1", 1), ("z2", 2)]
        assert rows("SELECT places.z FROM {} WHERE place.x = 1") == [(["z1"],)]
        assert rows("SELECT max(place.x), min(place.y.z) FROM {}") == [(2, "z0")]
        assert rows("SELECT l.place.y.z FROM {0} l JOIN {0} r ON l.k = r.k WHERE r.place.x = 2") == [("z2",)]
        assert rows("SELECT _merge_info.written, k FROM {} WHERE _merge_info.version > 0") == [(0, k) for k in range(3)]
        assert rows("SELECT _merge_info.columns.places FROM {}") == [(0,)] * 3
        assert rows("SELECT k FROM {} WHERE _merge_info.deleted IS NOT NULL") == []


def test_merge_info_is_there_and_not_in_the_star(lake: kl.Lake) -> None:
    twin = Shape("explicit", COMPOUND).create(lake, fresh_name("sql"))
    twin.update([{"id": 1, "day": NOON.date(), "a": 1}], version=5)
    assert lake.spark.table(twin.sql_name).columns == list(twin.schema.names)
    described = [row.col_name for row in lake.spark.sql(f"DESCRIBE {twin.sql_name}").collect()]
    assert not [name for name in described if name.startswith(("_merge_info", "_bucket"))]
    row = lake.spark.sql(f"SELECT *, _merge_info, _bucket FROM {twin.sql_name}").first()
    assert (row.id, row._merge_info.version, row._merge_info.written, row._merge_info.deleted) == (1, 5, 0, None)
    assert (row._merge_info.columns.a, row._merge_info.columns.b) == (0, None)
    assert 0 <= row._bucket < 3
    twin.check_stamps()


@pytest.mark.slow
def test_time_travel_in_sql(lake: kl.Lake) -> None:
    twin = create(lake, versions="explicit")
    first = twin.upsert([{"k": 1, "t": NOON, "a": 1, "b": "x"}], version=1)
    second = twin.update([{"k": 1, "a": 2}, {"k": 2, "a": 2}], version=2)
    twin.delete([{"k": 1}], version=3)
    times = {commit.snapshot_id: commit.committed_at for commit in twin.table.history()}
    lake.spark.sql(f"ALTER TABLE {twin.sql_name} CREATE TAG `the second` AS OF VERSION {second.snapshot_id}").collect()
    lake.spark.sql(f"ALTER TABLE {twin.sql_name} CREATE BRANCH later AS OF VERSION {second.snapshot_id}").collect()
    at_second = [(1, 2), (2, 2)]
    for clause, rows in (
        (f"VERSION AS OF {first.snapshot_id}", [(1, 1)]),
        ("VERSION AS OF 'the second'", at_second),
        ("VERSION AS OF 'later'", at_second),
        (f"TIMESTAMP AS OF {times[second.snapshot_id].timestamp():.6f}", at_second),
        ("", [(2, 2)]),
    ):
        found = lake.spark.sql(f"SELECT k, a FROM {twin.sql_name} {clause} ORDER BY k").collect()
        assert [(row.k, row.a) for row in found] == rows, clause
    assert lake.spark.table(f"{twin.sql_name}.branch_later").count() == 2


def test_inserts_that_do_not_fit_are_refused(lake: kl.Lake) -> None:
    commit, ordering, explicit = create(lake), create(lake, ordering="t"), create(lake, versions="explicit")
    for twin, kind, words, insert in (
        (commit, "BAD_ROWS", ("'k'", "null"), "(k, a) VALUES (CAST(NULL AS BIGINT), 1)"),
        (commit, "SCHEMA_MISMATCH", ("'k'",), "(a) VALUES (1)"),
        (commit, "BAD_ROWS", ("'a'", "1.5"), "(k, a) VALUES (1, 1.5D)"),
        (commit, "BAD_ROWS", ("'a'", "string", "long"), "(k, a) VALUES (1, '12')"),
        (ordering, "VERSION_MISSING", ("'t'",), "(k, a) VALUES (1, 1)"),
        (ordering, "BAD_ROWS", ("'t'", "null"), "(k, t) VALUES (1, CAST(NULL AS TIMESTAMP))"),
        (explicit, "VERSION_MISSING", ("version",), "(k, a) VALUES (1, 1)"),
    ):
        with refused_in_sql(lake, twin.table.name, kind, *words):
            lake.spark.sql(f"INSERT INTO {twin.sql_name} {insert}").collect()


def test_a_filter_on_the_key_prunes(lake: kl.Lake) -> None:
    twin = create(lake, versions="explicit")
    twin.upsert([{"k": k, "t": NOON, "a": k, "b": "x"} for k in range(2000)], version=1)
    twin.update([{"k": k, "a": -k} for k in range(0, 2000, 7)], version=2)

    def plan(where: str) -> str:
        return str(lake.spark.sql(f"EXPLAIN FORMATTED SELECT * FROM {twin.sql_name} WHERE {where}").first()[0])

    assert "buckets read: 2," in plan("a = 14")
    assert "buckets read: 1," in plan("k = 14")
    assert "buckets read: 0," in plan("k > 5000")
    frame = lake.spark.table(twin.sql_name).where("k = 14")
    assert frame.collect()[0].a == -14
    assert lake.spark.table(twin.sql_name).where(functions.col("k").between(20, 22)).count() == 3


@pytest.mark.slow
def test_keyed_and_plain_tables_side_by_side(lake: kl.Lake) -> None:
    twin = create(lake)
    plain = f"{lake.catalog}.{fresh_name('sql')}"
    lake.spark.sql(f"CREATE TABLE {plain} (k BIGINT, note STRING) USING iceberg").collect()
    lake.spark.sql(f"INSERT INTO {plain} VALUES (1, 'one'), (1, 'uno')").collect()
    lake.spark.sql(f"INSERT INTO {twin.sql_name} (k, a) VALUES (1, 10), (2, 20)").collect()
    lake.spark.sql(f"INSERT INTO {twin.sql_name} (k, a) SELECT k, 11 FROM {plain}").collect()
    joined = lake.spark.sql(f"SELECT note, a FROM {plain} JOIN {twin.sql_name} USING (k) ORDER BY note").collect()
    assert [(row.note, row.a) for row in joined] == [("one", 11), ("uno", 11)]
    lake.spark.sql(f"DELETE FROM {plain} WHERE note = 'uno'").collect()
    lake.spark.sql(f"UPDATE {plain} SET note = 'ein' WHERE k = 1").collect()
    assert lake.spark.table(plain).collect() == [(1, "ein")]
    assert snapshots(lake, twin.table.name)
    with pytest.raises(kl.NotKeyed, match=r"not keyed|no key"):
        lake.table(plain.removeprefix(f"{lake.catalog}."))
