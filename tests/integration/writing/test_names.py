"""Names with signs of their own work everywhere a name stands."""

from pathlib import Path

import pyarrow as pa
import pytest

import keylake as kl
import keylake.local
from integration.refusals import refused, refused_in_sql
from integration.twin import Twin, fresh_name

NAMES = [
    "with space",
    "quote'd",
    'double"quote',
    "back`tick",
    "größe",
    "日本",
    "select",
    "a-b",
    "100%",
    "UPPER",
    "ctrl\\n",
    "😀",
]


def test_columns_of_any_name(lake: kl.Lake) -> None:
    schema = pa.schema(
        [pa.field("key column", pa.int64(), nullable=False), *(pa.field(name, pa.int64()) for name in NAMES)]
    )
    spec = kl.TableSpec.from_arrow(schema, name=fresh_name("names"), key="key column", versions="explicit", buckets=2)
    twin = Twin.create(lake, spec, schema)
    twin.upsert([{"key column": k} | {name: k * n for n, name in enumerate(NAMES)} for k in range(5)], version=1)
    for form in ("arrow", "spark", "rows"):
        some = [{"key column": k} | dict.fromkeys(NAMES[::2], -k) for k in range(3)]
        twin.update(some, version=2, form=form)
    own = [{"key column": k, name: 7, "v": 3} for k in range(2) for name in NAMES[:1]]
    twin.update(own, version={NAMES[0]: "v"})
    twin.update([{"key column": 4, **dict.fromkeys(NAMES, 9), "changed": NAMES[2:4]}], 4, columns_from="changed")
    twin.delete([{"key column": 1}], version=9)
    twin.check()
    twin.check(NAMES[3:6])
    twin.check_stamps()
    assert twin.get({"key column": 2}) == twin.expected()[2,]
    assert lake.table(spec.name).spec == spec


@pytest.mark.parametrize("key", [["größe"], ["quote'd"], ["a b", 'c"d'], ["back`tick", "日本"]])
def test_keys_of_any_name(lake: kl.Lake, key: list[str]) -> None:
    schema = pa.schema([*(pa.field(name, pa.string(), nullable=False) for name in key), pa.field("v a", pa.int64())])
    spec = kl.TableSpec.from_arrow(schema, name=fresh_name("names"), key=key, versions="commit", buckets=2)
    twin = Twin.create(lake, spec, schema)
    twin.upsert([dict.fromkeys(key, value) | {"v a": 1} for value in ("x", "y", "'", '"', "`")])
    twin.update([dict.fromkeys(key, "'") | {"v a": 2}])
    twin.check()
    assert twin.get(dict.fromkeys(key, "'")) == {"v a": 2}


@pytest.mark.parametrize("part", ["with space", "quote'd", "größe", "select", "a-b", "UPPER", "back``tick", "has.dot"])
def test_tables_of_any_name(lake: kl.Lake, part: str) -> None:
    """They work, or are refused before anything is sent."""
    schema = pa.schema([pa.field("k", pa.int64(), nullable=False), pa.field("a", pa.int64())])
    name = f"`{part}`.`table {part}`"
    try:
        spec = kl.TableSpec.from_arrow(schema, name=name, key="k", versions="commit", buckets=1)
    except kl.DefinitionError:
        return
    table = lake.create(spec)
    table.upsert([{"k": 1, "a": 1}])
    table.update([{"k": 1, "a": 2}])
    assert lake.table(name).get(k=1) is not None
    assert table.read().collect() == [(1, 2)]
    assert len(table.history()) == 2
    assert table.name in [listed.name for listed in lake.tables()]
    lake.drop(name)
    assert table.name not in [listed.name for listed in lake.tables()]


def test_column_names_are_matched_as_the_session_matches_them(lake: kl.Lake) -> None:
    schema = pa.schema([pa.field("Id", pa.int64(), nullable=False), pa.field("Clicks", pa.int64())])
    spec = kl.TableSpec.from_arrow(schema, name=fresh_name("names"), key="Id", versions="commit", buckets=1)
    table = lake.create(spec)
    table.upsert(pa.table({"ID": [1], "clicks": [2]}))
    lake.spark.sql(f"INSERT INTO {lake.catalog}.{spec.name} (iD, CLICKS) VALUES (1, 3)").collect()
    assert table.read(columns=["clicks"]).collect() == [(3,)]
    assert table.read().columns == ["Id", "Clicks"]


def test_a_table_named_like_a_read_with_options(lake: kl.Lake) -> None:
    schema = pa.schema([pa.field("k", pa.int64(), nullable=False), pa.field("a", pa.int64())])
    name = f"{fresh_name('names')}.with_options_{'0' * 8}"
    table = lake.create(kl.TableSpec.from_arrow(schema, name=name, key="k", buckets=1))
    first = table.upsert([{"k": 1, "a": 1}])
    table.upsert([{"k": 1, "a": 2}])
    assert table.read().collect() == [(1, 2)]
    assert table.read(at=first).collect() == [(1, 1)]
    assert table.appended(after=first).select("k", "a").collect() == [(1, 2)]
    written = f"SELECT a FROM {lake.catalog}.{name} WITH ('after' = '{first.snapshot_id}')"
    assert lake.spark.sql(written).collect() == [(2,)]


def test_names_of_a_definition_are_matched_as_the_session_matches_them(lake: kl.Lake) -> None:
    words = (
        "'ordering' = 'AT', 'reduce.v' = 'LatestNotNull', 'column_group.home' = 'CITY, street', 'groups' = '8', "
        "'hash' = 'xxhash64'"
    )
    columns = "Id INT, Day DATE, At TIMESTAMP, V INT, City STRING, Street STRING, PRIMARY KEY (id, dAY)"
    clauses = "USING keylake PARTITIONED BY (day) CLUSTERED BY (ID) INTO 2 BUCKETS"
    name = fresh_name("in_any_case")
    lake.spark.sql(f"CREATE TABLE {lake.catalog}.{name} ({columns}) {clauses} TBLPROPERTIES ({words})").collect()
    spec = lake.table(name).spec
    assert (spec.key, spec.ordering, spec.partition_by, spec.bucket_by) == (("Id", "Day"), "At", ("Day",), ("Id",))
    assert spec.column("V").reducer == kl.LatestNotNull()
    assert spec.column_groups[0].columns == ("City", "Street")
    query = fresh_name("in_any_case")
    lake.spark.sql(
        f"CREATE TABLE {lake.catalog}.{query} USING keylake TBLPROPERTIES ('key' = 'ID', 'reduce.V' = 'Sum') "
        "AS SELECT 1 AS Id, 2L AS v"
    ).collect()
    assert lake.table(query).spec.key == ("Id",)
    lake.spark.sql(f"ALTER TABLE {lake.catalog}.{query} ADD COLUMN Late BIGINT").collect()
    lake.spark.sql(f"ALTER TABLE {lake.catalog}.{query} SET TBLPROPERTIES ('reduce.late' = 'Sum')").collect()
    assert lake.table(query).spec.column("Late").reducer == kl.Sum()
    for twice in ("'reduce.v' = 'Sum', 'reduce.V' = 'Max'", "'key' = 'id, ID'"):
        other = fresh_name("in_any_case")
        key = "" if "key" in twice else ", PRIMARY KEY (Id)"
        with refused_in_sql(lake, other, "DEFINITION", "'V'" if "reduce" in twice else "'Id'"):
            lake.spark.sql(
                f"CREATE TABLE {lake.catalog}.{other} (Id INT, V BIGINT{key}) USING keylake TBLPROPERTIES ({twice})"
            ).collect()
    lake.spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        other = fresh_name("in_any_case")
        with refused_in_sql(lake, other, "DEFINITION", "'id'"):
            lake.spark.sql(
                f"CREATE TABLE {lake.catalog}.{other} (Id INT, v INT, PRIMARY KEY (id)) USING keylake"
            ).collect()
    finally:
        lake.spark.conf.unset("spark.sql.caseSensitive")


def test_keys_by_names_in_any_case(lake: kl.Lake, warehouse: Path) -> None:
    schema = pa.schema([pa.field("Id", pa.int64(), nullable=False), ("v", pa.int64())])
    table = lake.create(kl.TableSpec.from_arrow(schema, name=fresh_name("in_any_case"), key="Id", buckets=1))
    table.upsert([{"ID": 1, "V": 2}])
    for row in (table.get(id=1), table.get({"ID": 1}), table.get(key={"ID": 1})):
        assert row is not None
        assert row["v"] == 2
    assert table.explain_row(iD=1)["v"].value == 2
    assert table.explain_row(key={"id": 1})["v"].value == 2
    with keylake.local.open(warehouse) as opened:
        local = opened.table(table.name)
        for found in (local.get(id=1), local.get(key={"ID": 1}), *local.get_many([{"ID": 1}])):
            assert found is not None
            assert found["v"] == 2
        with pytest.raises(kl.SchemaMismatch, match="'other'"):
            local.get(other=1)
    with refused(lake, table.name, kl.SchemaMismatch, "'Id'", "'other'"):
        table.get(other=1)


@pytest.mark.slow
def test_names_in_values_and_lists_in_any_case(lake: kl.Lake, tmp_path: Path) -> None:
    """Names that Spark does not resolve: those in rows, of joins, and of what is published."""
    schema = pa.schema([pa.field("Id", pa.int64(), nullable=False), pa.field("Score", pa.int64())])
    spec = kl.TableSpec.from_arrow(schema, name=fresh_name("names"), key="Id", versions="explicit", buckets=2)
    table = lake.create(spec)
    rows = pa.table({"id": [1, 2], "SCORE": [3, 4], "changed": [["score"], ["SCORE"]]})
    table.update(rows, version=1, columns_from="CHANGED")
    twice = rows.set_column(2, "changed", pa.array([["score", "Score"], ["score"]]))
    with refused(lake, table.name, kl.BadRows, "'Score' twice"):
        table.update(twice, version=2, columns_from="changed")
    assert table["score"].names == table["SCORE"].names == ("Score",)
    with refused(lake, table.name, kl.DefinitionError, "have one twice"):
        table["score", "SCORE"]
    when = pa.array([table.history()[0].committed_at], pa.timestamp("us", "UTC"))
    samples = pa.table({"iD": [2], "At": when})
    for on in ("ID", "id", "iD"):
        assert kl.join(samples, [table["score"]], on=on, as_of="AT").collect()[0]["Score"] == 4
    published = table.serving.publish_kv(tmp_path, columns=["score"])
    assert published.rows == 2
    with refused(lake, table.name, kl.SchemaMismatch, "'scores' is not in the table"):
        table.serving.publish_kv(tmp_path, columns=["scores"])
