"""Plain Iceberg tables and folders of Parquet files that become keyed tables."""

import datetime
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import Row

import keylake as kl
from integration.random_runs import FIRST
from integration.refusals import refused, refused_in_sql
from integration.twin import fresh_name
from model.model import KeyedTable


def rows(lake: kl.Lake, name: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in lake.spark.table(f"{lake.catalog}.{name}").collect())


def called(lake: kl.Lake, arguments: str) -> Row:
    (row,) = lake.spark.sql(f"CALL {lake.catalog}.system.register({arguments})").collect()
    return row


def history_of(lake: kl.Lake, name: str) -> list[int]:
    return [row[0] for row in lake.spark.sql(f"SELECT snapshot_id FROM {lake.catalog}.{name}.snapshots").collect()]


@pytest.fixture
def plain(lake: kl.Lake) -> str:
    return plain_table(lake)


@pytest.fixture(scope="module")
def shared(lake: kl.Lake) -> str:
    """One that tests leave as it is."""
    name = plain_table(lake)
    lake.spark.sql(f"ALTER TABLE {lake.catalog}.{name} ADD COLUMNS (n BIGINT, x DOUBLE)").collect()
    return name


def plain_table(lake: kl.Lake) -> str:
    """An append-only table of two commits, in which every key stands twice."""
    name = fresh_name("plain")
    lake.spark.sql(
        f"CREATE TABLE {lake.catalog}.{name} (id BIGINT NOT NULL COMMENT 'who', day DATE NOT NULL, at TIMESTAMP, "
        "a STRING) PARTITIONED BY (day) TBLPROPERTIES ('team' = 'growth')"
    ).collect()
    for first, value in ((0, "old"), (5, "new")):
        lake.spark.sql(
            f"INSERT INTO {lake.catalog}.{name} SELECT id % 10, DATE'2026-11-01', timestamp_seconds(id + {first}), "
            f"'{value}' FROM range({first}, {first} + 10)"
        ).collect()
    return name


def newest(count: int = 10) -> list[tuple[int, str]]:
    """What is to be read: the second commit wrote every key but 5 to 9 at a later time."""
    return [(key, "new") for key in range(count)]


@pytest.mark.slow
def test_a_table_becomes_another_one(lake: kl.Lake, plain: str) -> None:
    into = fresh_name("registered")
    done = called(
        lake,
        f"table => '{plain}', into => '{into}', key => array('id', 'day'), ordering => 'at', buckets => 4, "
        "bucket_by => array('id'), partition_by => array('day')",
    )
    assert (done.table, done.rows_read, done.keys_written, done.rows_folded) == (into, 20, 10, 10)
    assert [(row[0], row[3]) for row in rows(lake, into)] == newest()
    spec = lake.table(into).spec
    assert (list(spec.key), spec.ordering, spec.buckets) == (["id", "day"], "at", 4)
    assert (list(spec.bucket_by), list(spec.partition_by)) == (["id"], ["day"])
    assert {column.name: column.doc for column in spec.columns}["id"] == "who"
    (commit,) = lake.table(into).history()
    assert commit.snapshot_id == done.snapshot_id
    assert len(rows(lake, plain)) == 20


@pytest.mark.slow
def test_in_place(lake: kl.Lake, plain: str) -> None:
    """One commit behind those of the plain table, which stay."""
    before = history_of(lake, plain)
    lake.spark.sql(f"ALTER TABLE {lake.catalog}.{plain} SET IDENTIFIER FIELDS id, day").collect()
    done = lake.register(plain, ordering="at", buckets=2)
    assert (done.table, done.rows_read, done.keys_written, done.rows_folded) == (plain, 20, 10, 10)
    assert [(row[0], row[3]) for row in rows(lake, plain)] == newest()
    assert sorted(lake.table(plain).spec.key) == ["day", "id"]
    assert history_of(lake, plain) == [*before, done.snapshot_id]
    assert [each.reads for each in lake.table(plain).health().over_time] == [1.0]
    assert len(lake.spark.sql(f"SELECT * FROM {lake.catalog}.{plain} VERSION AS OF {before[-1]}").collect()) == 20
    ((_, team),) = lake.spark.sql(f"SHOW TBLPROPERTIES {lake.catalog}.{plain} ('team')").collect()
    assert team == "growth"
    with refused(lake, plain, kl.Unsupported, plain, "keyed table already"):
        lake.register(plain, key=["id"])


@pytest.mark.slow
def test_repeated_keys_need_an_order(lake: kl.Lake, plain: str, warehouse: Path) -> None:
    into = fresh_name("registered")
    with refused(lake, plain, kl.BadRows, plain, "2 rows", "id=", "ordering"):
        lake.register(plain, key=["id"])
    with refused(lake, into, kl.BadRows, plain, "2 rows", "id="):
        lake.register(plain, into=into, key=["id"])
    assert not list(warehouse.glob(f"**/{into.rpartition('.')[2]}"))
    lake.spark.sql(f"DELETE FROM {lake.catalog}.{plain} WHERE a = 'old'").collect()
    assert lake.register(plain, key=["id"]).rows_folded == 0
    assert [(row[0], row[3]) for row in rows(lake, plain)] == newest()


def test_an_empty_table_is_registered(lake: kl.Lake, plain: str) -> None:
    lake.spark.sql(f"DELETE FROM {lake.catalog}.{plain}").collect()
    done = lake.register(plain, key=["id"])
    assert (done.rows_read, done.keys_written) == (0, 0)
    lake.spark.sql(f"INSERT INTO {lake.catalog}.{plain} (id, a) VALUES (1, 'x'), (1, 'y')").collect()
    assert [(row[0], row[3]) for row in rows(lake, plain)] == [(1, "y")]


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ("into => '{into}'", "DEFINITION", ["{plain}", "key =>"]),
        ("into => '{into}', key => array('z')", "DEFINITION", ["'z'"]),
        ("into => '{into}', key => array('id'), ordering => 'z'", "DEFINITION", ["'z'"]),
        ("into => '{into}', key => array('id'), buckets => 0", "DEFINITION", ["buckets", "0"]),
        ("into => '{into}', key => array('id'), bucket_by => array('id')", "DEFINITION", ["buckets =>"]),
        ("into => '{into}', key => array('id'), partition_by => array('a')", "DEFINITION", ["a"]),
        ("into => '{into}', key => array('id'), versions => 'explicit'", "VERSION_MISSING", ["version"]),
        ("into => '{into}', key => array('n'), ordering => 'at'", "BAD_ROWS", ["null"]),
        ("into => '{into}', key => array('x')", "DEFINITION", ["x"]),
        ("into => '{plain}', key => array('id'), ordering => 'at'", "TABLE_EXISTS", ["{plain}"]),
        ("path => '/tmp', key => array('id')", "DEFINITION", ["both table and path"]),
    ],
)
def test_tables_that_cannot_be_registered(
    lake: kl.Lake, shared: str, arguments: str, kind: str, words: list[str]
) -> None:
    into = fresh_name("registered")
    before = history_of(lake, shared)
    said = [word.format(plain=shared, into=into) for word in words]
    with refused_in_sql(lake, into, kind, *said):
        called(lake, f"table => '{shared}', " + arguments.format(plain=shared, into=into))
    assert history_of(lake, shared) == before


@pytest.mark.slow
def test_files_that_do_not_go_together(lake: kl.Lake, tmp_path: Path) -> None:
    """No file is left out silently."""
    into = fresh_name("registered")
    ids = pa.table({"id": [1, 2]})
    for folder, name, content in (
        ("damaged", "a.parquet", None),
        ("types", "a.parquet", ids),
        ("types", "b.parquet", pa.table({"id": ["x"]})),
        ("beside", "k=1/a.parquet", ids),
        ("beside", "a.parquet", ids),
        ("partitions", "k=1/a.parquet", ids),
        ("partitions", "j=1/a.parquet", ids),
    ):
        file = tmp_path / folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            file.write_text("no Parquet, and long enough for a footer")
        else:
            pq.write_table(content, file)
    for folder in ("damaged", "types", "beside", "partitions"):
        with refused(lake, into, kl.DefinitionError, str(tmp_path / folder)):
            lake.register(path=tmp_path / folder, into=into, key=["id"])
    assert lake.register(path=tmp_path / "beside/k=1/a.parquet", into=into, key=["id"]).keys_written == 2


def test_what_is_not_there(lake: kl.Lake, tmp_path: Path) -> None:
    into = fresh_name("registered")
    missing = tmp_path / "missing"
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty/readme.txt").write_text("no rows")
    with refused(lake, into, kl.TableNotFound, "nowhere.orders"):
        lake.register("nowhere.orders", into=into, key=["id"])
    with refused(lake, into, kl.TableNotFound, str(missing), "no path"):
        lake.register(path=missing, into=into, key=["id"])
    with refused(lake, into, kl.TableNotFound, str(tmp_path / "empty"), "no Parquet files"):
        lake.register(path=tmp_path / "empty", into=into, key=["id"])
    with refused(lake, into, kl.DefinitionError, "into"):
        lake.register(path=tmp_path, key=["id"])
    with refused(lake, into, kl.DefinitionError, "either table nor path"):
        lake.register(into=into, key=["id"])


@pytest.mark.slow
def test_a_commit_meanwhile(lake: kl.Lake, plain: str) -> None:
    """A table that moves while it is read stays as it is then: no row of the other commits is lost."""
    insert = f"INSERT INTO {lake.catalog}.{plain} SELECT id, DATE'2026-11-02', now(), 'more' FROM range({{}})"
    lake.spark.sql(insert.format(100_000)).collect()
    commits = 0
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(lake.register, plain, key=["id"], ordering="at")
        while not running.done():
            lake.spark.sql(insert.format(1)).collect()
            commits += 1
        error = running.exception()
    assert isinstance(error, kl.CommitConflict)
    assert plain.rpartition(".")[2] in str(error)
    assert lake.spark.table(f"{lake.catalog}.{plain}").count() == 100_020 + commits
    assert lake.register(plain, key=["id"], ordering="at").keys_written == 100_000


@pytest.mark.slow
def test_folders_of_hudi(lake: kl.Lake, tmp_path: Path) -> None:
    """Its own columns go; folders are columns; files may lack columns that later ones have."""
    into = fresh_name("registered")
    for day, more in (("2026-11-01", {}), ("2026-11-02", {"b": pa.array([1.5, None])})):
        folder = tmp_path / f"day={day}"
        folder.mkdir()
        columns = {
            "_hoodie_commit_time": pa.array(["20261101", "20261101"]),
            "_hoodie_commit_seqno": pa.array(["20261101_0_0", "20261101_0_1"]),
            "_hoodie_record_key": pa.array(["1", "2"]),
            "id": pa.array([1, 2]),
            "a": pa.array([f"{day} 1", f"{day} 2"]),
        }
        pq.write_table(pa.table(columns | more), folder / "one_0-1-0.parquet")
    done = lake.register(path=tmp_path, into=into, key=["id", "day"], partition_by=["day"], bucket_by=["id"], buckets=2)
    assert (done.rows_read, done.keys_written, done.rows_folded) == (4, 4, 0)
    days = [datetime.date(2026, 11, 1), datetime.date(2026, 11, 2)]
    table = lake.spark.table(f"{lake.catalog}.{into}").select("id", "day", "a", "b")
    found = {(row[0], row[1]): (row[2], row[3]) for row in table.collect()}
    assert found == {
        (1, days[0]): ("2026-11-01 1", None),
        (2, days[0]): ("2026-11-01 2", None),
        (1, days[1]): ("2026-11-02 1", 1.5),
        (2, days[1]): ("2026-11-02 2", None),
    }


@pytest.mark.parametrize("ordering", [None, "at"])
def test_folders_of_paimon(lake: kl.Lake, tmp_path: Path, ordering: str | None) -> None:
    """Sequence numbers are versions, unless an ordering is said; deletes are tombstones; the model says the same."""
    random = Random(FIRST)
    into = fresh_name("registered")
    log = [
        {"_SEQUENCE_NUMBER": number, "_VALUE_KIND": random.randrange(4), "id": random.randrange(12)}
        | {"at": random.randrange(20), "a": f"written {number}"}
        for number in range(100)
    ]
    kinds = pa.field("_VALUE_KIND", pa.int8())
    shuffled = [{"_KEY_id": row["id"]} | row for row in random.sample(log, len(log))]
    for number in range(3):
        folder = tmp_path / f"bucket-{number}"
        folder.mkdir()
        rows_of = pa.Table.from_pylist(shuffled[number::3])
        place = rows_of.schema.get_field_index(kinds.name)
        rows_of = rows_of.set_column(place, kinds, rows_of[kinds.name].cast(kinds.type))
        pq.write_table(rows_of, folder / "data-0.parquet")
    (tmp_path / "snapshot").mkdir()
    (tmp_path / "snapshot/snapshot-1").write_text("{}")

    model = KeyedTable(["id"], ["at", "a"], "ordering" if ordering else "explicit", ordering)
    said = [row | {"op": "D" if row["_VALUE_KIND"] == 3 else "U"} for row in log if row["_VALUE_KIND"] != 1]
    model.apply_changes(said, "op", version=None if ordering else "_SEQUENCE_NUMBER")
    done = lake.register(path=tmp_path, into=into, ordering=ordering)
    assert (done.rows_read, done.keys_written) == (100, len({row["id"] for row in said}))
    table = lake.table(into)
    assert list(table.spec.key) == ["id"]
    assert (table.spec.versions, table.spec.ordering) == ("ordering" if ordering else "explicit", ordering)
    assert {row[0]: row[1:] for row in rows(lake, into)} == {
        key: tuple(row.values()) for (key,), row in model.read().items()
    }
    if ordering is None:  # a write from before has no effect
        late, new = (5, 9, "late", -1), (4, 9, "new", 100)
        frame = lake.spark.createDataFrame([late, new], "id LONG, at LONG, a STRING, v LONG")
        before = rows(lake, into)
        table.upsert(frame, version="v")
        assert rows(lake, into) == sorted([*(row for row in before if row[0] != 4), (4, 9, "new")])
