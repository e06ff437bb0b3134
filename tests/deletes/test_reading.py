"""Equality deletes as Flink writes them, read through our catalog by one index for all tasks."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

import keylake as kl
from deletes.foreign_table import (
    File,
    ForeignTable,
    ForeignWriter,
    comparable,
    foreign_table,
    foreign_writer,
)
from integration.query_plans import changed_settings, counted, explained
from integration.refusals import refused


@pytest.fixture(scope="module")
def writer(lake: kl.Lake) -> Iterator[ForeignWriter]:
    with foreign_writer(lake) as writer:
        yield writer


@pytest.mark.slow
def test_one_index_serves_all_tasks(lake: kl.Lake, writer: ForeignWriter) -> None:
    """Each file is loaded once, whatever the tasks; the memory goes back when the last of them is done."""
    with foreign_table(lake, writer, "id BIGINT, value STRING, part INT", partition=["part"]) as table:
        for part in (0, 1):
            for first in (0, 10, 20):
                rows = [{"id": first + i, "value": f"v{i}", "part": part} for i in range(10)]
                table.commit(File(rows))
            table.commit(File([{"id": key, "part": part} for key in range(part, 30, 3)], deletes=["id"]))
            table.commit(File([{"id": key, "part": part} for key in range(5)], deletes=["id"]))
        table.check(["id", "value", "part"])
        table.check(["value"])
        assert "equality deletes: 4 files in 2 indexes" in explained(lake, f"SELECT * FROM {table.sql}")
        frame = lake.spark.read.option("split-size", "1").option("file-open-cost", "1").table(table.sql).select("value")
        assert len(frame.collect()) == len(table.stored)
        numbers = counted(frame)
        assert numbers["deleteFilesLoaded"] == 4
        assert numbers["deleteKeysLoaded"] == 2 * (10 + 5 - 2)
        assert numbers["rowsDeletedByKey"] == 60 - len(table.stored)
        assert numbers["deleteMemoryTaken"] == numbers["deleteMemoryFreed"] > 0


@pytest.mark.slow
def test_deletes_hold_under_every_projection(lake: kl.Lake, writer: ForeignWriter) -> None:
    """Stock Iceberg can take cached deletes of another projection for those of this one (iceberg#15039)."""
    with foreign_table(lake, writer, "id BIGINT, other STRING, s STRUCT<a: INT, b: ARRAY<INT>>") as table:
        table.commit(File([{"id": key, "other": f"o{key % 4}"} for key in range(20)]))
        table.commit(File([{"id": key} for key in range(7)], ["id"]), File([{"other": "o2"}, {"id": 9}], ["other"]))
        table.commit(File([{"id": 13, "other": "o1"}, {"id": 15, "other": "o1"}], ["id", "other"]))
        for columns in (["other"], ["id"], ["s"], ["other", "id"], ["id", "other"], ["s", "other"]):
            table.check(columns)
            # Stock Spark reads deletes where rows are to be marked.
            marked = lake.spark.sql(f"SELECT {', '.join(columns)}, _deleted FROM {table.sql}").collect()
            assert sum(not row["_deleted"] for row in marked) == len(table.stored)
        assert lake.spark.sql(f"SELECT count(*) FROM {table.sql}").collect()[0][0] == len(table.stored)
        assert lake.spark.sql(f"SELECT min(id) FROM {table.sql}").collect()[0][0] == 7
        both = lake.spark.sql(f"SELECT count(*) FROM {table.sql} a JOIN {table.sql} b USING (id)")
        assert both.collect()[0][0] == len(table.stored)
        # Both scans read the same columns, of which one does not show all: they are no exchange that could be shared.
        joined = (
            f"SELECT /*+ BROADCAST(b) */ a.other FROM {table.sql} a JOIN (SELECT {{}} FROM {table.sql}) b USING (other)"
        )
        shown, hidden = joined.format("other"), joined.format("id, other, _file")
        crossed = lake.spark.sql(f"SELECT count(*) FROM ({shown} UNION ALL {hidden})").collect()[0][0]
        assert crossed == 2 * len(lake.spark.sql(shown).collect())
        some = lake.spark.sql(f"SELECT id FROM {table.sql} WHERE other = 'o1' AND id > 9 LIMIT 100").collect()
        assert comparable(some) == comparable([[17]])


@pytest.mark.slow
def test_metadata_columns_and_branches(lake: kl.Lake, writer: ForeignWriter) -> None:
    """A row has the file and position that it lies at; where deleted rows are asked for, they are marked."""
    with foreign_table(lake, writer, "id BIGINT, part INT", partition=["part"]) as table:
        table.commit(File([{"id": key, "part": 1} for key in range(10)]))
        before = next(reversed(table.states))
        table.alter("CREATE BRANCH early")
        table.commit(File([{"id": key, "part": 1} for key in range(4)], ["id"]))
        rows = lake.spark.sql(f"SELECT id, _pos, _partition.part, _file FROM {table.sql} ORDER BY id").collect()
        assert [tuple(row)[:3] for row in rows] == [(key, key, 1) for key in range(4, 10)]
        assert {row[3].endswith(".parquet") for row in rows} == {True}
        marked = lake.spark.sql(f"SELECT id, _deleted FROM {table.sql}").collect()
        assert sorted(map(tuple, marked)) == [(key, key < 4) for key in range(10)]
        table.check(["id"], before)
        assert lake.spark.sql(f"SELECT id FROM {table.sql} VERSION AS OF 'early'").count() == 10
        lake.spark.sql(f"INSERT INTO {table.sql} VALUES (1, 1)").collect()
        lake.spark.sql(f"UPDATE {table.sql} SET id = 50 WHERE id = 5").collect()
        ids = [row[0] for row in lake.spark.sql(f"SELECT id FROM {table.sql} ORDER BY id").collect()]
        assert ids == [1, 4, 6, 7, 8, 9, 50]


@pytest.mark.slow
def test_a_table_becomes_keyed(lake: kl.Lake, writer: ForeignWriter) -> None:
    """What equality deletes take away is not in the keyed table, made of the table or in its place."""
    with foreign_table(lake, writer, "id BIGINT, value STRING") as table:
        table.commit(File([{"id": key, "value": f"v{key}"} for key in range(10)]))
        table.commit(
            File([{"id": key, "value": "new"} for key in range(4)]), File([{"id": key} for key in range(6)], ["id"])
        )
        stored = comparable(row.values.values() for row in table.stored)
        assert lake.register(table.name, into=f"{table.name}_keyed", key=["id"]).rows_read == 8
        assert comparable(lake.spark.table(f"{table.sql}_keyed").collect()) == stored
        assert lake.register(table.name, key=["id"]).keys_written == 8
        assert comparable(lake.spark.table(table.sql).collect()) == stored
        assert lake.spark.sql(f"SELECT count(*) FROM {table.sql}.files WHERE content = 2").collect()[0][0] == 0


@pytest.mark.slow
def test_an_index_that_does_not_fit_is_on_disk(lake: kl.Lake, writer: ForeignWriter) -> None:
    """The budget holds, the answer is the same, and no memory stays."""
    with foreign_table(lake, writer, "id BIGINT, value STRING") as table:
        table.commit(File([{"id": 3 * key, "value": f"v{key}"} for key in range(1000)]))
        table.commit(File([{"id": 2 * key} for key in range(250_000)], ["id"]))
        with changed_settings(lake, {"spark.keylake.equality-deletes.memory": "1m"}):
            frame = lake.spark.table(table.sql)
            assert comparable(frame.collect()) == comparable(row.values.values() for row in table.stored)
        numbers = counted(frame)
        assert numbers["deleteKeysLoaded"] == 250_000
        assert numbers["deleteBytesSpilled"] == 12 * 250_000
        assert numbers["deleteMemoryTaken"] == 0
        frame = lake.spark.table(table.sql)
        assert len(frame.collect()) == len(table.stored)
        numbers = counted(frame)
        assert numbers["deleteBytesSpilled"] == 0
        assert numbers["deleteMemoryTaken"] == numbers["deleteMemoryFreed"] <= 16 * 250_000


def delete_file(table: ForeignTable) -> Path:
    """The only delete file of a table."""
    (row,) = table.lake.spark.sql(f"SELECT file_path FROM {table.sql}.delete_files").collect()
    return Path(unquote(row[0]).removeprefix("file:"))


def fails(table: ForeignTable, words: str) -> None:
    """Reading and applying say what is wrong, and what can be done to a plain table."""
    said = rf"KEYLAKE_STORE_FAILED.*{words}.*; nothing was changed; put it back .*\(rollback_to_snapshot\) SQLSTATE"
    with pytest.raises(Exception, match=said):
        table.lake.spark.table(table.sql).collect()
    with refused(table.lake, table.name, kl.StoreFailed, "nothing was changed", "rollback_to_snapshot"):
        table.lake.apply_equality_deletes(table.name)


@pytest.mark.parametrize("kind", ["parquet", "avro"])
def test_a_damaged_file_is_named(lake: kl.Lake, writer: ForeignWriter, kind: str) -> None:
    """Nothing is read of a table whose deletes are not all there."""
    with foreign_table(lake, writer, "id BIGINT") as table:
        table.commit(File([{"id": key} for key in range(100)]))
        table.commit(File([{"id": key} for key in range(50)], ["id"], kind))
        path = delete_file(table)
        whole = path.read_bytes()
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
        path.write_bytes(whole[: len(whole) * 2 // 3])
        files = set(path.parent.iterdir())
        fails(table, rf"{path.name} is damaged")
        path.unlink()
        fails(table, rf"{path.name} is not there")
        assert set(path.parent.iterdir()) | {path} == files, "a failed call leaves no file"
        path.write_bytes(whole)
        table.check(["id"])
        first = next(iter(table.states))
        lake.spark.sql(f"CALL lake.system.rollback_to_snapshot('{table.name}', {first})").collect()
        assert lake.spark.table(table.sql).count() == 100


@pytest.mark.slow
def test_a_call_that_fails_leaves_no_file(lake: kl.Lake, writer: ForeignWriter) -> None:
    """Nor do those of its tasks that were done before."""
    with foreign_table(lake, writer, "id BIGINT, part INT", ["part"]) as table:
        for part in range(4):
            table.commit(File([{"id": key, "part": part} for key in range(100)]))
            table.commit(File([{"id": key, "part": part} for key in range(50)], ["id"]))
        deletes = f"SELECT file_path FROM {table.sql}.delete_files ORDER BY partition"
        paths = [Path(unquote(row[0]).removeprefix("file:")) for row in lake.spark.sql(deletes).collect()]
        whole = paths[-1].read_bytes()
        paths[-1].unlink()
        files = set(paths[0].parent.parent.rglob("*.*"))
        with refused(lake, table.name, kl.StoreFailed, f"{paths[-1].name} is not there"):
            lake.apply_equality_deletes(table.name)
        assert set(paths[0].parent.parent.rglob("*.*")) == files
        with refused(lake, table.name, kl.StoreFailed, f"{paths[-1].name} is not there"):
            lake.apply_equality_deletes(table.name, where="part = 3")
        assert lake.apply_equality_deletes(table.name, where="part < 3").delete_files_removed == 3
        paths[-1].write_bytes(whole)
        table.check(["id", "part"])


def test_a_budget_of_less_than_a_page(lake: kl.Lake, writer: ForeignWriter) -> None:
    """It is refused before anything is read."""
    with foreign_table(lake, writer, "id BIGINT") as table:
        table.commit(File([{"id": 1}]))
        table.commit(File([{"id": 1}], ["id"]))
        with (
            changed_settings(lake, {"spark.keylake.equality-deletes.memory": "10k"}),
            pytest.raises(Exception, match=r"spark\.keylake\.equality-deletes\.memory is 10240 bytes.*set 1m or more"),
        ):
            lake.spark.table(table.sql).collect()


def test_a_field_that_was_dropped(lake: kl.Lake, writer: ForeignWriter) -> None:
    """Its deletes hold as before."""
    with foreign_table(lake, writer, "id BIGINT, other STRING") as table:
        table.commit(File([{"id": key, "other": f"o{key % 2}"} for key in range(10)]))
        table.commit(File([{"other": "o1"}], ["other"]), File([{"id": 0}], ["id"]))
        table.alter("DROP COLUMN other")
        table.check(["id"])
        table.alter("RENAME COLUMN id TO number")
        total = f"SELECT sum(number) FROM {table.sql}"
        assert lake.spark.sql(total).collect()[0][0] == 2 + 4 + 6 + 8
        done = lake.apply_equality_deletes(table.name)
        assert (done.rows, done.delete_files_removed) == (1, 1), "that by the dropped column stays"
        assert lake.spark.sql(total).collect()[0][0] == 2 + 4 + 6 + 8


@pytest.mark.parametrize("version", [2, 3])
def test_a_data_file_without_rows_goes_with_its_positions(lake: kl.Lake, writer: ForeignWriter, version: int) -> None:
    """It is removed from the table, and no data is written."""
    with foreign_table(lake, writer, "id BIGINT", version=version) as table:
        for first in (0, 10):
            table.commit(File([{"id": key} for key in range(first, first + 10)]))
        table.delete("id", 3)
        table.delete("id", 13)
        table.commit(File([{"id": key} for key in range(12)], ["id"]))
        done = lake.apply_equality_deletes(table.name)
        assert (done.rows, done.data_files_removed, done.delete_files_written) == (11, 1, 1)
        table.check(["id"])
        (left,) = lake.spark.sql(f"SELECT record_count FROM {table.sql}.delete_files").collect()
        assert left[0] == 3


def test_a_table_that_was_of_format_1(lake: kl.Lake, writer: ForeignWriter) -> None:
    """Its files have no sequence numbers; there is nothing to apply before it is upgraded."""
    with foreign_table(lake, writer, "id BIGINT", version=1) as table:
        table.commit(File([{"id": key} for key in range(10)]))
        assert lake.apply_equality_deletes(table.name).commits == 0
        table.alter("SET TBLPROPERTIES ('format-version' = '2')")
        table.commit(File([{"id": 3}], ["id"]), File([{"id": 11}]))
        table.check(["id"])
        assert lake.apply_equality_deletes(table.name).rows == 1
        table.check(["id"])


def test_planning_is_not_distributed(lake: kl.Lake, writer: ForeignWriter) -> None:
    """Whatever the table says: the plan of the driver has the deletes of all files."""
    modes = {"read_data-planning-mode": "distributed", "read_delete-planning-mode": "distributed"}
    with foreign_table(lake, writer, "id BIGINT", **modes) as table:
        table.commit(File([{"id": key} for key in range(10)]))
        table.commit(File([{"id": 3}], ["id"]))
        assert "equality deletes: 1 files in 1 indexes" in explained(lake, f"SELECT * FROM {table.sql}")
        table.check(["id"])
