"""Feeds, undo, branches and copies over a change of the columns, all read with the columns of the end."""

from pathlib import Path

import pytest
from pyarrow import parquet

import keylake as kl
from integration.schema.evolving import Evolving


def evolved(lake: kl.Lake) -> tuple[Evolving, list[int]]:
    """A table with five commits, and three changes of its columns in between."""
    table = Evolving(lake, "id BIGINT, a INT, b STRING, c INT, PRIMARY KEY (id)")
    heads = []
    for statement in (
        "INSERT INTO {t} VALUES (1, 1, 'x', 1), (2, 2, 'y', 2)",
        "INSERT INTO {t} (id, a, c) VALUES (1, 3, 4)",
        "ALTER TABLE {t} RENAME COLUMN a TO a2",
        "ALTER TABLE {t} DROP COLUMN c",
        "ALTER TABLE {t} ADD COLUMN c STRING",
        "ALTER TABLE {t} ALTER COLUMN a2 TYPE BIGINT",
        "INSERT INTO {t} (id, a2, c) VALUES (2, 5000000000, 'new'), (3, 1, NULL)",
        "INSERT INTO {t} (id, b) VALUES (1, 'z')",
    ):
        table.run(statement)
        if statement.startswith("INSERT"):
            heads.append(table.head)
    return table, heads


def changes(table: kl.KeyedTable, after: int, until: int | None = None) -> list[tuple[object, ...]]:
    found = table.changes(after=after, until=until).orderBy("id").collect()
    images = [(tuple(row["_before"]) if row["_before"] else None, tuple(row["_after"])) for row in found]
    return [
        (row["id"], row["_change"], sorted(row["_columns"]), *image) for row, image in zip(found, images, strict=True)
    ]


def test_changes_have_the_columns_of_the_end(lake: kl.Lake) -> None:
    table, heads = evolved(lake)
    assert table.columns == ["id", "a2", "b", "c"]
    expected = [
        (1, "update", ["a2", "b"], (1, "x", None), (3, "z", None)),
        (2, "update", ["a2", "c"], (2, "y", None), (5000000000, "y", "new")),
        (3, "insert", ["a2"], None, (1, None, None)),
    ]
    found = changes(table.table, heads[0])
    assert [each[:2] + each[3:] for each in found] == [each[:2] + each[3:] for each in expected]
    assert [each[2] for each in found[:2]] == [each[2] for each in expected[:2]]
    assert changes(table.table, heads[0], heads[1]) == [(1, "update", ["a2"], (1, "x", None), (3, "x", None))]
    table.table.compact("full")
    assert changes(table.table, heads[0]) == found
    written = table.table.appended(after=heads[1]).orderBy("id").collect()
    assert [tuple(row)[:4] for row in written] == [
        (1, None, "z", None), (2, 5000000000, None, "new"), (3, 1, None, None),
    ]  # fmt: skip


def test_undo_takes_back_rows_and_leaves_the_columns(lake: kl.Lake) -> None:
    table, heads = evolved(lake)
    table.table.undo(after=heads[0], until=heads[1])
    assert table.rows() == [(1, 1, "z", None), (2, 5000000000, "y", "new"), (3, 1, None, None)]
    table.table.undo(after=heads[1], until=heads[2])
    assert table.rows() == [(1, 1, "z", None), (2, 2, "y", None)]
    table.table.rollback(to=heads[1])
    assert table.rows() == [(1, 3, "x", None), (2, 2, "y", None)]
    assert table.columns == ["id", "a2", "b", "c"]


def test_an_undo_that_merges_again(lake: kl.Lake) -> None:
    table, heads = evolved(lake)
    table.table.compact("full")
    table.table.undo(after=heads[1], until=heads[2])
    assert table.rows() == [(1, 3, "z", None), (2, 2, "y", None)]


def test_branches_share_the_columns(lake: kl.Lake) -> None:
    table = Evolving(lake, "id BIGINT, a INT, b STRING, PRIMARY KEY (id)")
    table.run("INSERT INTO {t} VALUES (1, 1, 'x')")
    base = table.head
    draft = table.table.branch("tmp_draft")
    draft.update([{"id": 1, "a": 2}, {"id": 2, "a": 3}])
    table.run("ALTER TABLE {t} RENAME COLUMN a TO a2", "ALTER TABLE {t} ADD COLUMN c INT")
    draft = table.table.branch("tmp_draft")
    expected = [(1, 2, "x", None), (2, 3, None, None)]
    assert sorted(map(tuple, draft.read().collect())) == expected
    assert sorted(map(tuple, draft.read(where="a2 = 3").collect())) == expected[1:]
    last = draft.update([{"id": 2, "c": 7}])
    assert table.rows() == [(1, 1, "x", None)]
    table.run("ALTER TABLE {t} DROP COLUMN b")
    main = table.table
    main.cherry_pick(main.branch("tmp_draft"), after=base, until=last)
    assert table.rows() == [(1, 2, None), (2, 3, 7)]
    other = main.branch("tmp_other")
    other.update([{"id": 9, "a2": 9}])
    table.run("ALTER TABLE {t} RENAME COLUMN a2 TO a3")
    table.table.branch("tmp_other").publish()
    assert table.rows() == [(1, 2, None), (2, 3, 7), (9, 9, None)]
    assert table.rows("SELECT id FROM {t} WHERE a3 = 9 AND id = 9") == [(9,)]


@pytest.mark.slow
def test_settled_rows_and_joins(lake: kl.Lake) -> None:
    table, _ = evolved(lake)
    table.table.compact("settle")
    rows = [(1, 3, "z", None), (2, 5000000000, "y", "new"), (3, 1, None, None)]
    assert table.rows() == rows
    table.run("ALTER TABLE {t} RENAME COLUMN id TO key", "ALTER TABLE {t} DROP COLUMN b")
    assert table.rows("SELECT a2, c FROM {t} WHERE key = 2") == [(5000000000, "new")]
    table.run("INSERT INTO {t} (key, c) VALUES (1, 'late')")
    joined = "SELECT l.key, l.a2, r.c FROM {t} l JOIN {t} r ON l.key = r.key"
    assert table.rows(joined) == [(1, 3, "late"), (2, 5000000000, "new"), (3, 1, None)]
    table.same_after_compaction(joined)


def test_a_stream_of_changes_goes_on(lake: kl.Lake, tmp_path: Path) -> None:
    """A query that starts again has the columns of its start; what was told before keeps its own."""
    table = Evolving(lake, "id BIGINT, a INT, b STRING, PRIMARY KEY (id)")

    def feed() -> None:
        places = {"checkpointLocation": str(tmp_path / "checkpoint"), "path": str(tmp_path / "sink")}
        query = table.table.stream_changes().writeStream.format("json").options(**places)
        query.trigger(availableNow=True).start().awaitTermination()

    table.run("INSERT INTO {t} VALUES (1, 1, 'x')")
    feed()
    table.run(
        "ALTER TABLE {t} RENAME COLUMN a TO a2", "ALTER TABLE {t} DROP COLUMN b", "ALTER TABLE {t} ADD COLUMN c INT"
    )
    table.run("INSERT INTO {t} (id, a2, c) VALUES (1, 2, 3)")
    feed()
    images = lake.spark.read.json(str(tmp_path / "sink")).selectExpr("to_json(_before)", "to_json(_after)").collect()
    assert sorted(map(tuple, images), key=repr) == [('{"a2":1}', '{"a2":2,"c":3}'), (None, '{"a":1,"b":"x"}')]


def test_files_for_a_store_and_a_statement_of_the_table(lake: kl.Lake, tmp_path: Path) -> None:
    table, heads = evolved(lake)
    table.table.publish_kv(tmp_path / "now")
    table.table.publish_kv(tmp_path / "then", at=heads[1])
    files = {name: sorted((tmp_path / name).glob("*.parquet")) for name in ("now", "then")}
    found = {
        name: sorted(
            (row["id"], *(row[column] for column in columns))
            for file in files[name]
            for row in parquet.ParquetFile(file).read().to_pylist()
        )
        for name, columns in {"now": ("a2", "b", "c"), "then": ("a", "b", "c")}.items()
    }
    assert found == {
        "now": [(1, 3, "z", None), (2, 5000000000, "y", "new"), (3, 1, None, None)],
        "then": [(1, 3, "x", 4), (2, 2, "y", 2)],
    }
    shown = lake.spark.sql(f"SHOW CREATE TABLE {table.sql}").collect()[0][0]
    assert "spec_of_schema" not in shown
    again = f"{table.sql}_again"
    lake.spark.sql(shown.replace(table.sql, again)).collect()
    assert lake.spark.table(again).schema == lake.spark.table(table.sql).schema
    lake.spark.sql(f"INSERT INTO {again} SELECT * FROM {table.sql}").collect()
    assert table.rows(f"SELECT * FROM {again}") == table.rows()


@pytest.mark.slow
def test_statements_on_rows(lake: kl.Lake) -> None:
    table, heads = evolved(lake)
    table.run("ALTER TABLE {t} RENAME COLUMN id TO key", "ALTER TABLE {t} ADD COLUMN d INT")
    table.run("UPDATE {t} SET c = 'set', d = 1 WHERE c IS NULL AND key < 3", "UPDATE {t} SET d = d + 1 WHERE a2 = 3")
    assert table.rows() == [(1, 3, "z", "set", 2), (2, 5000000000, "y", "new", None), (3, 1, None, None, None)]
    table.run("DELETE FROM {t} WHERE d IS NULL AND c IS NULL", "ALTER TABLE {t} DROP COLUMN d")
    table.run("ALTER TABLE {t} ADD COLUMN d INT", "DELETE FROM {t} WHERE d = 2")
    assert table.rows("SELECT key, d FROM {t}") == [(1, None), (2, None)]
    table.same_after_compaction()
    assert table.rows(f"SELECT id, c FROM {{t}} VERSION AS OF {heads[0]}") == [(1, 1), (2, 2)]


@pytest.mark.slow
def test_an_overwrite_and_a_replacement(lake: kl.Lake) -> None:
    """A table that is replaced has columns of its own, and those of before at the commits of before."""
    table, heads = evolved(lake)
    table.run("INSERT OVERWRITE {t} (id, a2, b, c) SELECT id, a2, b, c FROM {t} WHERE id < 3")
    assert table.rows() == [(1, 3, "z", None), (2, 5000000000, "y", "new")]
    last = table.head
    table.run(
        "CREATE OR REPLACE TABLE {t} USING keylake TBLPROPERTIES ('key' = 'id') "
        "AS SELECT id, c AS a FROM {t} WHERE id = 2"
    )
    table.run("ALTER TABLE {t} RENAME COLUMN a TO b", "ALTER TABLE {t} ADD COLUMN c INT")
    table.run("INSERT INTO {t} (id, c) VALUES (3, 9)")
    assert table.rows() == [(2, "new", None), (3, None, 9)]
    assert table.rows(f"SELECT a2, c FROM {{t}} VERSION AS OF {last}") == [(3, None), (5000000000, "new")]
    assert table.rows(f"SELECT a, c FROM {{t}} VERSION AS OF {heads[1]} WHERE id = 1") == [(3, 4)]
    table.same_after_compaction()
