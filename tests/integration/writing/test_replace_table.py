"""Keyed tables that are replaced: in one step, the old one stays where it fails, and no row is read by another key."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import functions

import keylake as kl
from integration.refusals import refused_in_sql
from integration.twin import fresh_name

SAME = "USING keylake CLUSTERED BY (id) INTO 2 BUCKETS TBLPROPERTIES ('key' = 'id')"


def rows(lake: kl.Lake, name: str, at: int | None = None) -> list[tuple[object, ...]]:
    version = "" if at is None else f" VERSION AS OF {at}"
    return sorted(tuple(row) for row in lake.spark.sql(f"SELECT * FROM {lake.catalog}.{name}{version}").collect())


def head(lake: kl.Lake, name: str) -> int:
    return lake.table(name).history()[0].snapshot_id


@pytest.fixture
def name(lake: kl.Lake) -> str:
    """A keyed table with two commits."""
    name = fresh_name("replaced")
    lake.spark.sql(
        f"CREATE TABLE {lake.catalog}.{name} (id BIGINT COMMENT 'who', a STRING, PRIMARY KEY (id)) USING keylake "
        "CLUSTERED BY (id) INTO 2 BUCKETS TBLPROPERTIES ('team' = 'growth')"
    ).collect()
    lake.spark.sql(f"INSERT INTO {lake.catalog}.{name} SELECT id, 'old' FROM range(4)").collect()
    lake.spark.sql(f"INSERT INTO {lake.catalog}.{name} VALUES (0, 'new')").collect()
    return name


@contextmanager
def unchanged(lake: kl.Lake, name: str) -> Iterator[None]:
    """The table is as it was before the block, with its rows, definition and history."""

    def state() -> list[object]:
        shown = lake.spark.sql(f"SHOW CREATE TABLE {lake.catalog}.{name}").collect()
        return [rows(lake, name), shown, [each.snapshot_id for each in lake.table(name).history()]]

    before = state()
    yield
    assert state() == before


@pytest.mark.slow
def test_the_same_definition_goes_on(lake: kl.Lake, name: str) -> None:
    """Rows are overwritten; history, changes and undo go across, and a table can be made of its own rows."""
    before = head(lake, name)
    lake.spark.sql(
        f"CREATE OR REPLACE TABLE {lake.catalog}.{name} {SAME} AS "
        f"SELECT id + 1 AS id, concat(a, '!') AS a FROM {lake.catalog}.{name} WHERE id > 0"
    ).collect()
    assert rows(lake, name) == [(2, "old!"), (3, "old!"), (4, "old!")]
    assert rows(lake, name, before) == [(0, "new"), (1, "old"), (2, "old"), (3, "old")]
    table = lake.table(name)
    after = head(lake, name)
    assert len(table.history()) == 3
    changes = {(row["id"], row["_change"]) for row in table.changes(after=before, until=after).collect()}
    assert changes == {(0, "delete"), (1, "delete"), (2, "update"), (3, "update"), (4, "insert")}
    table.undo(after=before, until=after)
    assert rows(lake, name) == rows(lake, name, before)
    ((team, _),) = lake.spark.sql(f"SHOW TBLPROPERTIES {lake.catalog}.{name} ('team')").collect()
    assert team == "team"


def test_comments_and_properties_of_the_same_definition(lake: kl.Lake, name: str) -> None:
    before = head(lake, name)
    lake.spark.sql(
        f"REPLACE TABLE {lake.catalog}.{name} (id BIGINT COMMENT 'whom', a STRING COMMENT 'what', PRIMARY KEY (id)) "
        "USING keylake COMMENT 'again' CLUSTERED BY (id) INTO 2 BUCKETS TBLPROPERTIES ('team' = 'core')"
    ).collect()
    table = lake.table(name)
    assert rows(lake, name) == []
    assert [each.doc for each in table.spec.columns] == ["whom", "what"]
    assert table.spec.comment == "again"
    ((_, team),) = lake.spark.sql(f"SHOW TBLPROPERTIES {lake.catalog}.{name} ('team')").collect()
    assert team == "core"
    table.rollback(to=before)
    assert len(rows(lake, name)) == 4


@pytest.mark.slow
def test_another_definition(lake: kl.Lake, name: str) -> None:
    """It begins a history of its own, in which nothing of the old one can be taken for its rows."""
    before = head(lake, name)
    lake.table(name).acknowledge("reader", until=before)
    lake.spark.sql(
        f"CREATE OR REPLACE TABLE {lake.catalog}.{name} USING keylake PARTITIONED BY (day) "
        "CLUSTERED BY (id) INTO 4 BUCKETS TBLPROPERTIES ('key' = 'id, day', 'ordering' = 'at') AS "
        "SELECT CAST(id AS STRING) AS id, DATE'2026-11-01' AS day, now() AS at, 1 AS b FROM range(5)"
    ).collect()
    table = lake.table(name)
    assert [row[0] for row in rows(lake, name)] == ["0", "1", "2", "3", "4"]
    assert list(table.spec.key) == ["id", "day"]
    (commit,) = table.history()
    snapshots = lake.spark.sql(f"SELECT snapshot_id FROM {lake.catalog}.{name}.snapshots").collect()
    assert {row[0] for row in snapshots} >= {before, commit.snapshot_id}
    old = [(0, "new"), (1, "old"), (2, "old"), (3, "old")]
    assert rows(lake, name, before) == old
    query = f"SELECT * FROM {lake.catalog}.{name} VERSION AS OF {before}"
    lake.spark.sql(f"CREATE TABLE {lake.catalog}.{name}_back {SAME} AS {query}").collect()
    assert rows(lake, f"{name}_back") == old
    for statement in (
        "rollback(table => '{0}', to => {1})",
        "undo(table => '{0}', after => {1}, until => {2})",
        "restore_files(table => '{0}', where => 'true', at => {1})",
    ):
        with refused_in_sql(lake, name, "UNSUPPORTED", str(before), "another definition"):
            call = statement.format(name, before, commit.snapshot_id)
            lake.spark.sql(f"CALL {lake.catalog}.system.{call}").collect()
    with refused_in_sql(lake, name, "UNSUPPORTED", str(before), "another definition"):
        lake.spark.sql(f"SELECT * FROM {lake.catalog}.{name}.runs WITH ('snapshot-id' = '{before}')").collect()
    for read in ({"after": before, "until": commit.snapshot_id}, {"consumer": "reader"}):
        with pytest.raises(kl.KeylakeError, match="another definition"):
            table.changes(**read).collect()
    lake.spark.sql(f"INSERT INTO {lake.catalog}.{name} VALUES ('9', DATE'2026-11-02', now(), 2)").collect()
    table.compact()
    assert len(rows(lake, name)) == 6
    for part in ("files", "all_files", "entries", "all_entries", "partitions", "manifests", "history", "refs", "runs"):
        lake.spark.table(f"{lake.catalog}.{name}.{part}").collect()
    cleaned = table.clean(kl.RetentionPolicy(days=0, snapshots=1, orphan_days=0))
    assert cleaned.orphans_deleted == 0
    assert cleaned.snapshots_expired > 0
    assert len(rows(lake, name)) == 6


def test_branches_have_to_go_first(lake: kl.Lake, name: str) -> None:
    statement = f"REPLACE TABLE {lake.catalog}.{name} (id BIGINT, b INT, PRIMARY KEY (id)) USING keylake"
    lake.table(name).branch("tmp_try")
    with unchanged(lake, name), refused_in_sql(lake, name, "UNSUPPORTED", "tmp_try", "drop"):
        lake.spark.sql(statement).collect()
    lake.spark.sql(f"CREATE OR REPLACE TABLE {lake.catalog}.{name} {SAME} AS SELECT 7L AS id, 'x' AS a").collect()
    assert len(rows(lake, f"{name}.branch_tmp_try")) == 4
    lake.spark.sql(f"ALTER TABLE {lake.catalog}.{name} DROP BRANCH tmp_try").collect()
    lake.spark.sql(statement).collect()
    assert rows(lake, name) == []


@pytest.mark.parametrize("definition", ["same", "other"])
@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT if(id = 90, raise_error('half-way'), id) AS id, 'x' AS a FROM range(100)", ["half-way"]),
        ("SELECT if(id = 90, NULL, id) AS id, 'x' AS a FROM range(100)", ["[KEYLAKE_BAD_ROWS]"]),
    ],
)
def test_the_old_table_stays(
    lake: kl.Lake, warehouse: Path, name: str, definition: str, query: str, words: list[str]
) -> None:
    buckets = 2 if definition == "same" else 3
    folder = next(warehouse.glob(f"**/{name.rpartition('.')[2]}"))
    files = sorted(folder.glob("**/*.parquet"))
    with unchanged(lake, name):
        with pytest.raises(Exception) as raised:  # noqa: PT011 - the text is looked at below
            lake.spark.sql(
                f"CREATE OR REPLACE TABLE {lake.catalog}.{name} {SAME.replace('INTO 2', f'INTO {buckets}')} AS {query}"
            ).collect()
        assert not [word for word in words if word not in str(raised.value)], str(raised.value)
    assert sorted(folder.glob("**/*.parquet")) == files


@pytest.mark.slow
def test_other_columns_in_the_same_buckets(lake: kl.Lake, name: str) -> None:
    statement = f"CREATE OR REPLACE TABLE {lake.catalog}.{name} {SAME} AS SELECT {{}} FROM range(5)"
    at = [head(lake, name)]
    for columns in ("id, 'x' AS b", "CAST(id AS STRING) AS id, 1 AS a", "id, 'y' AS a"):
        lake.spark.sql(statement.format(columns)).collect()
        lake.spark.sql(f"INSERT INTO {lake.catalog}.{name} (id) SELECT id FROM {lake.catalog}.{name} LIMIT 2").collect()
        assert len(rows(lake, name)) == 5
        at.append(head(lake, name))
    assert [len(rows(lake, name, each)) for each in at] == [4, 5, 5, 5]
    assert rows(lake, name, at[1])[0] == (0, "x")
    assert rows(lake, name, at[2])[0] == ("0", 1)


def test_old_commits_are_read_by_the_definition_of_their_time(lake: kl.Lake, name: str) -> None:
    first = head(lake, name)
    lake.spark.sql(f"ALTER TABLE {lake.catalog}.{name} RENAME COLUMN a TO z").collect()
    lake.table(name).change_buckets(4)
    lake.spark.sql(f"INSERT INTO {lake.catalog}.{name} VALUES (8, 'z')").collect()
    last = head(lake, name)
    for key in ("id", "id, a"):
        columns = f"(id BIGINT, a STRING, b INT, PRIMARY KEY ({key}))"
        lake.spark.sql(f"REPLACE TABLE {lake.catalog}.{name} {columns} USING keylake").collect()
        lake.spark.sql(f"ALTER TABLE {lake.catalog}.{name} ADD COLUMN c INT").collect()
    lake.spark.sql(f"INSERT INTO {lake.catalog}.{name} VALUES (1, 'a', 2, 3)").collect()
    assert lake.spark.sql(f"SELECT * FROM {lake.catalog}.{name} VERSION AS OF {first}").columns == ["id", "a"]
    assert lake.spark.sql(f"SELECT * FROM {lake.catalog}.{name} VERSION AS OF {last}").columns == ["id", "z"]
    assert rows(lake, name, first) == [(0, "new"), (1, "old"), (2, "old"), (3, "old")]
    assert rows(lake, name, last) == [(0, "new"), (1, "old"), (2, "old"), (3, "old"), (8, "z")]
    assert rows(lake, name) == [(1, "a", 2, 3)]


def test_what_is_not_there_cannot_be_replaced(lake: kl.Lake, name: str) -> None:
    missing = fresh_name("replaced")
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        lake.spark.sql(f"REPLACE TABLE {lake.catalog}.{missing} {SAME} AS SELECT 1L AS id, 'x' AS a").collect()
    statement = f"CREATE OR REPLACE TABLE {lake.catalog}.{missing} {SAME} AS SELECT 1L AS id, 'x' AS a"
    lake.spark.sql(statement).collect()
    assert rows(lake, missing) == [(1, "x")]
    with unchanged(lake, name), refused_in_sql(lake, name, "DEFINITION", "LOCATION", "/elsewhere"):
        lake.spark.sql(
            f"CREATE OR REPLACE TABLE {lake.catalog}.{name} {SAME} LOCATION '/elsewhere' AS SELECT 1L AS id, 'x' AS a"
        ).collect()


def test_a_new_table_without_rows(lake: kl.Lake) -> None:
    """CREATE OR REPLACE without AS SELECT makes a table where there is none."""
    name = fresh_name("replaced")
    statement = f"CREATE OR REPLACE TABLE {lake.catalog}.{name} (id BIGINT PRIMARY KEY, a STRING) USING keylake"
    for _ in range(2):
        lake.spark.sql(statement).collect()
        assert rows(lake, name) == []
        lake.spark.sql(f"INSERT INTO {lake.catalog}.{name} VALUES (1, 'a')").collect()
        assert rows(lake, name) == [(1, "a")]


@pytest.mark.slow
def test_plain_and_keyed_tables(lake: kl.Lake, name: str) -> None:
    """A plain table can become a keyed one; the other way its old commits would show hidden columns."""
    for statement in ("CREATE OR REPLACE TABLE", "REPLACE TABLE"):
        with unchanged(lake, name), refused_in_sql(lake, name, "UNSUPPORTED", "USING keylake"):
            lake.spark.sql(f"{statement} {lake.catalog}.{name} USING iceberg AS SELECT 1 AS id").collect()
    plain = fresh_name("replaced")
    clauses = "PARTITIONED BY (id) TBLPROPERTIES ('key' = 'of its own')"
    lake.spark.sql(f"CREATE TABLE {lake.catalog}.{plain} {clauses} AS SELECT 1L AS id, 'x' AS a").collect()
    ((old,),) = lake.spark.sql(f"SELECT snapshot_id FROM {lake.catalog}.{plain}.snapshots").collect()
    lake.spark.sql(
        f"CREATE OR REPLACE TABLE {lake.catalog}.{plain} {SAME} AS SELECT id, a FROM {lake.catalog}.{plain}"
    ).collect()
    lake.spark.sql(f"INSERT INTO {lake.catalog}.{plain} VALUES (1, 'y')").collect()
    assert rows(lake, plain) == [(1, "y")]
    assert rows(lake, plain, old) == [(1, "x")]
    ((shown,),) = lake.spark.sql(f"SHOW CREATE TABLE {lake.catalog}.{plain}").collect()
    assert "of its own" not in shown


def test_frames(lake: kl.Lake, name: str) -> None:
    frame = lake.spark.range(2).withColumn("a", functions.lit("x"))
    target = frame.writeTo(f"{lake.catalog}.{name}").using("keylake").tableProperty("key", "id")
    target.partitionedBy(functions.partitioning.bucket(2, "id")).replace()
    assert len(lake.table(name).history()) == 3
    frame.selectExpr("id", "1 AS b").writeTo(f"{lake.catalog}.{name}").using("keylake").tableProperty(
        "key", "id"
    ).createOrReplace()
    assert rows(lake, name) == [(0, 1), (1, 1)]


@pytest.mark.slow
def test_options_of_a_write(lake: kl.Lake, name: str) -> None:
    """A replacement that is repeated is a no-op, and one to another branch would leave main as it was."""

    def replaced_by(value: str, option: str, said: str) -> None:
        frame = lake.spark.range(2).withColumn("a", functions.lit(value))
        target = frame.writeTo(f"{lake.catalog}.{name}").using("keylake").tableProperty("key", "id")
        target.partitionedBy(functions.partitioning.bucket(2, "id")).option(option, said).replace()

    replaced_by("first", "idempotency_key", "once")
    with unchanged(lake, name):
        replaced_by("second", "idempotency_key", "once")
    assert rows(lake, name) == [(0, "first"), (1, "first")]
    lake.table(name).branch("tmp_side")
    with unchanged(lake, name), refused_in_sql(lake, name, "UNSUPPORTED", "branch", "main"):
        replaced_by("third", "branch", "tmp_side")


@pytest.mark.parametrize("columns", ["user_id BIGINT PRIMARY KEY, city STRING", "id BIGINT PRIMARY KEY, b INT"])
def test_a_write_that_began_before_is_refused(lake: kl.Lake, name: str, columns: str) -> None:
    """Its files have the columns of the earlier definition: the new table could not be read with them."""
    table = lake.table(name)
    slow = "reflect('java.lang.Thread', 'sleep', 1500L)"
    frame = lake.spark.range(3).selectExpr("id", f"concat('late', {slow}) AS a")
    writer = ThreadPoolExecutor(1).submit(table.update, frame)
    time.sleep(0.7)
    lake.spark.sql(f"CREATE OR REPLACE TABLE {lake.catalog}.{name} ({columns}) USING keylake").collect()
    with pytest.raises(kl.CommitConflict, match="was replaced by one of another definition after the write"):
        writer.result()
    assert rows(lake, name) == []
    fresh = lake.table(name)
    fresh.update([{fresh.spec.key[0]: 1}])
    assert [row[0] for row in rows(lake, name)] == [1]
