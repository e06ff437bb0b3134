"""The catalog of an embedded lake, which is asked in SQL of our own, beside pyiceberg's of the same file."""

import sqlite3
import threading
from pathlib import Path

import pytest
from pyiceberg.exceptions import NoSuchTableError

import keylake as kl
from keylake import local
from keylake.local.folder_catalog import FolderCatalog
from keylake.local.sql_catalog import KeptSqlCatalog


class _Shade(kl.Table, name="a.b.shades", buckets=2):
    name: str = kl.key()
    code: int | None


def changed(folder: Path, statement: str) -> None:
    with sqlite3.connect(folder / "catalog.db") as database:
        database.execute(statement)
    database.close()


def test_both_catalogs_of_a_folder_give_the_same_tables(tmp_path: Path) -> None:
    table = local.create(_Shade, tmp_path)
    folder = FolderCatalog("lake", tmp_path)
    plain = KeptSqlCatalog("lake", **folder.properties)
    for names in ("a.b.shades", ("a", "b", "shades")):
        one, other = folder.load_table(names), plain.load_table(names)
        assert (one.metadata, one.metadata_location) == (other.metadata, other.metadata_location)
        assert one.name() == other.name() == ("a", "b", "shades")
    table.upsert([{"name": "red", "code": 1}])
    one = folder.load_table("a.b.shades")
    assert one.metadata == plain.load_table("a.b.shades").metadata
    assert one.metadata.current_snapshot_id is not None
    with pytest.raises(NoSuchTableError):
        folder.load_table("a.b.red")
    with pytest.raises(NoSuchTableError):
        FolderCatalog("other", tmp_path).load_table("a.b.shades")
    plain.close()
    folder.close()


@pytest.mark.parametrize("wrong", ["iceberg_type = 'VIEW'", "metadata_location = NULL"])
def test_what_is_no_table_is_not_there(tmp_path: Path, wrong: str) -> None:
    local.create(_Shade, tmp_path)
    changed(tmp_path, f"UPDATE iceberg_tables SET {wrong}")
    with pytest.raises(NoSuchTableError):
        FolderCatalog("lake", tmp_path).load_table("a.b.shades")
    with local.open(tmp_path) as lake, pytest.raises(kl.TableNotFound):
        lake.table("a.b.shades")


def test_a_file_that_is_no_database_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "catalog.db").write_bytes(b"no database" * 1000)
    with local.open(tmp_path) as lake, pytest.raises(kl.ServerUnreachable, match="file is not a database"):
        lake.table("a.b.shades")


def test_a_file_that_goes_is_not_made_again(tmp_path: Path) -> None:
    local.create(_Shade, tmp_path)
    with local.open(tmp_path) as lake:
        (tmp_path / "catalog.db").unlink()
        with pytest.raises(kl.ServerUnreachable, match="unable to open"):
            lake.table("a.b.shades")
    assert not (tmp_path / "catalog.db").exists()


def test_a_reader_waits_for_a_commit_that_locks_the_database(tmp_path: Path) -> None:
    local.create(_Shade, tmp_path).upsert([{"name": "red", "code": 1}])
    writer = sqlite3.connect(tmp_path / "catalog.db", isolation_level=None, check_same_thread=False)
    writer.execute("BEGIN EXCLUSIVE")
    released = threading.Timer(0.3, lambda: writer.execute("ROLLBACK"))
    released.start()
    with local.open(tmp_path) as lake:
        row = lake.table("a.b.shades").get(name="red")
    released.join()
    writer.close()
    assert row is not None


def test_a_lake_is_read_in_a_folder_that_is_read_only(tmp_path: Path) -> None:
    local.create(_Shade, tmp_path).upsert([{"name": "red", "code": 1}])
    for each in (tmp_path / "catalog.db", tmp_path):
        each.chmod(0o555)
    try:
        with local.open(tmp_path) as lake:
            assert lake.table("a.b.shades").get(name="red") is not None
    finally:
        tmp_path.chmod(0o755)
