"""Iceberg's own procedures and statements on keyed tables: some are refused, the others change no answer."""

import datetime

import pyarrow as pa
import pytest

import keylake as kl
from integration.refusals import refused, refused_in_sql
from integration.twin import fresh_name

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("a", pa.int64())])


@pytest.fixture(scope="module")
def table(lake: kl.Lake) -> kl.KeyedTable:
    """Four keys in one bucket, one of them updated, another deleted; three files."""
    table = lake.create(
        kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("procedures"), key="id", buckets=1, versions="explicit")
    )
    table.upsert([{"id": key, "a": key} for key in range(4)], version=10)
    table.update([{"id": 1, "a": 100}], version=10)
    table.delete([{"id": 3}], version=10)
    return table


def rows(table: kl.KeyedTable) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in table.read().collect())


@pytest.mark.parametrize(
    ("call", "instead"),
    [
        ("rewrite_data_files(table => '{t}', options => map('rewrite-all', 'true'))", "compact"),
        ("rewrite_position_delete_files(table => '{t}')", "compact"),
        ("add_files(table => '{t}', source_table => '`parquet`.`/nowhere`')", "upsert"),
        ("cherrypick_snapshot(table => '{t}', snapshot_id => 1)", "cherry_pick"),
        ("publish_changes(table => '{t}', wap_id => 'x')", "publish"),
        ("remove_orphan_files(table => '{t}')", "clean"),
        ("expire_snapshots(table => '{t}')", "clean"),
        ("create_changelog_view(table => '{t}')", "changes"),
    ],
)
def test_procedures_of_iceberg_that_know_no_versions_are_refused(
    lake: kl.Lake, table: kl.KeyedTable, call: str, instead: str
) -> None:
    head = table.history(1)[0].snapshot_id
    parts = ("", ".branch_main", ".changes", f".snapshot_id_{head}")
    for name in (f"{lake.catalog}.{table.name}", *(table.name + part for part in parts)):
        with refused_in_sql(lake, table.name, "UNSUPPORTED", call.partition("(")[0], instead):
            lake.spark.sql(f"CALL {lake.catalog}.system.{call.format(t=name)}").collect()


def test_the_other_procedures_of_iceberg_change_no_answer(lake: kl.Lake, table: kl.KeyedTable) -> None:
    before, head = rows(table), table.history(compactions=True)[0].snapshot_id
    for call in (
        f"ancestors_of(table => '{table.name}')",
        f"rewrite_manifests(table => '{table.name}')",
        f"compute_table_stats(table => '{table.name}')",
        f"compute_partition_stats(table => '{table.name}')",
        f"rollback_to_snapshot(table => '{table.name}', snapshot_id => {head})",
        f"set_current_snapshot(table => '{table.name}', snapshot_id => {head})",
    ):
        lake.spark.sql(f"CALL {lake.catalog}.system.{call}").collect()
        assert rows(table) == before, call


def test_a_folder_is_of_one_table(lake: kl.Lake) -> None:
    """A second one upon the same metadata would lose its files, as no table knows those of the other."""
    name, second = fresh_name("registered"), fresh_name("registered")
    made = lake.create(kl.TableSpec.from_arrow(SCHEMA, name=name, key="id", buckets=1))
    made.upsert([{"id": 1, "a": 1}])
    log = lake.spark.sql(f"SELECT file FROM {lake.catalog}.{name}.metadata_log_entries ORDER BY timestamp DESC")
    call = f"CALL {lake.catalog}.system.register_table(table => '{second}', metadata_file => '{log.collect()[0].file}')"
    with refused_in_sql(lake, name, "UNSUPPORTED", f"is the metadata of table {name}", "drop that one first"):
        lake.spark.sql(call).collect()
    assert second not in [table.name for table in lake.tables()]
    lake.drop(name)
    lake.spark.sql(call).collect()
    assert rows(lake.table(second)) == [(1, 1)]


def test_plain_tables_keep_icebergs_procedures(lake: kl.Lake) -> None:
    name = fresh_name("foreign")
    lake.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {lake.catalog}.foreign").collect()
    lake.spark.sql(f"CREATE TABLE {lake.catalog}.{name} (id BIGINT) USING iceberg").collect()
    for _ in range(2):
        lake.spark.sql(f"INSERT INTO {lake.catalog}.{name} VALUES (1)").collect()
    done = lake.spark.sql(
        f"CALL {lake.catalog}.system.rewrite_data_files(table => '{name}', options => map('rewrite-all', 'true'))"
    ).collect()
    assert done[0]["rewritten_data_files_count"] == 2
    lake.spark.sql(f"ALTER TABLE {lake.catalog}.{name} WRITE ORDERED BY id").collect()


def test_procedures_are_shown_and_described(lake: kl.Lake) -> None:
    shown = {row["procedure_name"] for row in lake.spark.sql(f"SHOW PROCEDURES IN {lake.catalog}.system").collect()}
    assert {"compact", "adopt_commit", "publish", "rewrite_manifests"} <= shown
    described = lake.spark.sql(f"DESCRIBE PROCEDURE {lake.catalog}.system.adopt_commit").collect()
    text = " ".join(row[0] for row in described)
    assert "table STRING, snapshot_id BIGINT, rule STRING, version STRING DEFAULT NULL" in text


@pytest.mark.parametrize(
    ("statement", "word"),
    [
        ("ADD PARTITION FIELD bucket(4, a)", "partitioning"),
        ("DROP PARTITION FIELD id_bucket", "partitioning"),
        ("REPLACE PARTITION FIELD id_bucket WITH bucket(4, id)", "partitioning"),
        ("WRITE ORDERED BY a", "sort order"),
        ("WRITE DISTRIBUTED BY PARTITION", "sort order"),
        ("DROP IDENTIFIER FIELDS id", "key"),
        ("SET IDENTIFIER FIELDS id", "key"),
    ],
)
def test_the_layout_of_a_keyed_table_is_not_altered(
    lake: kl.Lake, table: kl.KeyedTable, statement: str, word: str
) -> None:
    with refused_in_sql(lake, table.name, "UNSUPPORTED", word, "keyed table"):
        lake.spark.sql(f"ALTER TABLE {lake.catalog}.{table.name} {statement}").collect()


def test_misspelt_properties_make_no_plain_table(lake: kl.Lake, table: kl.KeyedTable) -> None:
    name = fresh_name("foreign")
    lake.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {lake.catalog}.foreign").collect()
    full = f"{lake.catalog}.{name}"
    words = {"'keylake.key' = 'id'": "'keylake.spec'", "'keylake.compaction' = '{}'": "USING keylake"}
    for properties, word in words.items():
        for columns, query in (("(id BIGINT)", ""), ("", "AS SELECT 1L AS id")):
            with refused_in_sql(lake, name, "DEFINITION", word):
                statement = f"CREATE TABLE {full} {columns} USING iceberg TBLPROPERTIES ({properties}) {query}"
                lake.spark.sql(statement).collect()
    with refused_in_sql(lake, name, "DEFINITION", "spec_version"):
        lake.spark.sql(f"CREATE TABLE {full} TBLPROPERTIES ('keylake.spec' = '{{}}') AS SELECT 1L AS id").collect()
    lake.spark.sql(f"CREATE TABLE {full} (id BIGINT) USING iceberg").collect()
    with refused_in_sql(lake, name, "UNSUPPORTED", "'keylake.spec'", "create a keyed table"):
        lake.spark.sql(f"ALTER TABLE {full} SET TBLPROPERTIES ('keylake.spec' = '{{}}')").collect()
    with refused_in_sql(lake, table.name, "DEFINITION", "'keylake.kye'", "'keylake.retention'"):
        lake.spark.sql(f"ALTER TABLE {lake.catalog}.{table.name} SET TBLPROPERTIES ('keylake.kye' = 'id')").collect()


def test_a_time_in_the_future_has_no_state_yet(lake: kl.Lake, table: kl.KeyedTable) -> None:
    newest = table.history(compactions=True)[0].committed_at
    future = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=1)
    with refused(lake, table.name, kl.DefinitionError, "future", newest.strftime("%Y-%m-%d")):
        table.read(at=future).count()
    assert table.read(at=datetime.datetime.now(datetime.UTC)).count() == 3
