"""Full and read-only disks, files that are gone or damaged, cancelled calls: one sentence each, for any client."""

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

import keylake as kl
import keylake.local
from integration.faults.small_disks import run_alone
from integration.raw import catalog_of
from integration.twin import fresh_name

ON_MOUNTS = Path(__file__).with_name("store_on_mounts.py")
REPAIR = r"nothing was changed; put it back from a backup, go back to a commit without it \(rollback\)"


@pytest.fixture
def table(lake: kl.Lake) -> kl.KeyedTable:
    schema = pa.schema([("id", pa.int64()), ("a", pa.string())])
    table = lake.create(kl.TableSpec.from_arrow(schema, name=fresh_name("store"), key="id", buckets=1))
    table.upsert([{"id": number, "a": "x" * 50} for number in range(1000)])
    return table


@pytest.fixture
def folder(warehouse: Path, table: kl.KeyedTable) -> Path:
    """Where the files of the table lie."""
    return warehouse.joinpath(*table.name.split("."))


def fails(error: type[kl.KeylakeError], words: str, call: Callable[[], object]) -> None:
    with pytest.raises(error, match=words) as raised:
        call()
    said = str(raised.value)
    assert len(said) < 700
    assert not any(word in said for word in ("\n", "Exception", "org.apache", "Job aborted"))


def fails_in_sql(lake: kl.Lake, statement: str, words: str) -> None:
    """What a client of plain SQL sees: the condition, its state and the same sentence, and no trace."""
    with pytest.raises(PySparkException, match=words) as raised:
        lake.spark.sql(statement).collect()
    assert (raised.value.getCondition(), raised.value.getSqlState()) == ("KEYLAKE_STORE_FAILED", "58030")
    assert not any(word in str(raised.value) for word in ("\n", "org.apache", "Job aborted"))


@contextmanager
def replaced(path: Path, content: bytes | None) -> Iterator[None]:
    """A file or folder that is something else for a while, or is not there."""
    kept = path.with_name(f"{path.name}.kept")
    path.rename(kept)
    try:
        if content is not None:
            path.write_bytes(content)
        yield
    finally:
        path.unlink(missing_ok=True)
        kept.rename(path)


@pytest.mark.parametrize("damage", ["is not there", "is damaged"])
def test_a_data_file_that_cannot_be_read(lake: kl.Lake, table: kl.KeyedTable, folder: Path, damage: str) -> None:
    (file,) = folder.joinpath("data").rglob("*.parquet")
    content = None if damage == "is not there" else file.read_bytes()[:500]
    with replaced(file, content):
        words = rf"ile .*{file.name} {damage}.*{REPAIR}.*drop_files"
        fails(kl.StoreFailed, words, lambda: table.get(id=1))
        fails_in_sql(lake, f"SELECT * FROM lake.{table.name}", words)
        fails_in_sql(lake, f"SELECT * FROM lake.{table.name}.changes WITH ('after' = '0')", words)
    assert table.read().count() == 1000


def test_a_data_file_that_is_damaged_inside(lake: kl.Lake, table: kl.KeyedTable, folder: Path) -> None:
    (file,) = folder.joinpath("data").rglob("*.parquet")
    whole = file.read_bytes()
    with replaced(file, whole[:100] + bytes(len(whole) // 2) + whole[100 + len(whole) // 2 :]):
        fails_in_sql(lake, f"SELECT * FROM lake.{table.name}", rf"{file.name} is damaged \(.*{REPAIR}")


def test_a_folder_that_cannot_be_written_to(lake: kl.Lake, table: kl.KeyedTable, folder: Path) -> None:
    words = f"iles of lake.{table.name} could not be written: .*not a directory.*the table is as before.* write again"
    with replaced(folder / "data", b""):
        fails(kl.StoreFailed, words, lambda: table.upsert([{"id": 1, "a": "y"}]))
        fails_in_sql(lake, f"INSERT INTO lake.{table.name} SELECT 1L AS id, 'y' AS a", words)
    assert len(table.history()) == 1
    table.upsert([{"id": 1, "a": "y"}])


def test_metadata_that_is_not_there(lake: kl.Lake, table: kl.KeyedTable, warehouse: Path, folder: Path) -> None:
    words = f"he metadata of lake.{table.name} could not be read: .*metadata.json.*put the file back from a backup"
    with keylake.local.open(warehouse) as here:  # what the server itself has read or written, it keeps
        here.table(table.name).upsert([{"id": 1, "a": "y"}])
    with replaced(folder / "metadata", None):
        fails_in_sql(lake, f"SELECT * FROM lake.{table.name}", words)
        fails(kl.StoreFailed, words, lambda: lake.table(table.name))
    assert lake.table(table.name).read().count() == 1000


@pytest.mark.parametrize("form", ["keylake", "iceberg"])
def test_a_table_whose_metadata_is_gone_can_be_dropped(lake: kl.Lake, warehouse: Path, form: str) -> None:
    """Another process has made it: the server has not read its metadata."""
    name = fresh_name("gone")
    if form == "keylake":
        with keylake.local.open(warehouse) as here:
            here.create(kl.TableSpec.from_arrow(pa.schema([("id", pa.int64())]), name=name, key="id"))
    else:
        with closing(catalog_of(lake)) as behind:
            behind.create_namespace_if_not_exists("gone")
            behind.create_table(name, pa.schema([("id", pa.int64())]))
    shutil.rmtree(warehouse.joinpath(*name.split(".")) / "metadata")
    with pytest.raises(PySparkException, match=r"could not be read: .*metadata\.json"):
        lake.spark.sql(f"ALTER TABLE lake.{name} RENAME TO {name}_again").collect()
    lake.spark.sql(f"DROP TABLE lake.{name}").collect()
    assert not lake.spark.catalog.tableExists(f"lake.{name}")


def test_a_condition_that_cannot_be_read(table: kl.KeyedTable) -> None:
    fails(kl.DefinitionError, "This SQL cannot be read: .*near '>'", lambda: table.read(where="a > > 3"))


def test_a_cancelled_write(lake: kl.Lake, table: kl.KeyedTable) -> None:
    over = threading.Event()

    def interrupt() -> None:
        while not over.wait(0.5):
            lake.spark.interruptAll()

    interrupter = threading.Thread(target=interrupt)
    interrupter.start()
    endless = lake.spark.range(10**13).selectExpr("max(id) AS id", "'' AS a")
    try:
        fails(kl.Cancelled, r"was cancelled.*history\(\) tells", lambda: table.upsert(endless))
    finally:
        over.set()
        interrupter.join()
    assert len(table.history()) == 1


@pytest.mark.slow
def test_disks_that_are_full_or_read_only(tmp_path: Path) -> None:
    """In a mount namespace of its own, where a small disk needs no rights; root may write to any other."""
    run_alone(ON_MOUNTS, tmp_path)
