"""Metadata and manifests that are damaged: told at once, in one sentence; compressed metadata has a checksum."""

import gzip
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from typer.testing import CliRunner

import keylake as kl
import keylake.local
from integration.damage.damaged_tables import SCHEMA, newest_file, rows_of, unseen
from integration.twin import fresh_name
from keylake.cli.app import app

COMPRESSED = "'write.metadata.compression-codec' = 'gzip'"


@pytest.fixture
def table(lake: kl.Lake) -> kl.KeyedTable:
    table = lake.create(kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("garbled"), key="id", buckets=2))
    table.upsert([{"id": 1, "a": 1}])
    return table


@contextmanager
def garbled(file: Path, content: bytes) -> Iterator[None]:
    good = file.read_bytes()
    for crc in file.parent.glob(".*.crc"):
        crc.unlink()  # Hadoop's, which no store has
    file.write_bytes(content)
    try:
        yield
    finally:  # all tables of the session are looked at in its end
        file.write_bytes(good)


@pytest.mark.parametrize(
    ("pattern", "good", "bad", "says"),
    [
        ("*.metadata.json", b'"format-version"', b'"format-version#', r"metadata \S+\.metadata\.json is damaged \("),
        ("*-m0.avro", b"\x16avro.schema", b"6avro.schema", r"the manifests of \S+ are damaged \("),
    ],
)
def test_garbled_metadata_is_told_in_one_sentence(
    table: kl.KeyedTable, warehouse: Path, pattern: str, good: bytes, bad: bytes, says: str
) -> None:
    unseen(warehouse, table, 2)
    file = newest_file(warehouse, table, pattern)
    content = file.read_bytes()
    assert good in content
    with garbled(file, content.replace(good, bad, 1)):
        with pytest.raises((kl.StoreFailed, PySparkException), match=f"(?i){says}"):
            rows_of(table)
        with pytest.raises(kl.StoreFailed, match=f"(?i){says}.*from a backup"):
            table.get(id=1)
    assert rows_of(table) == [(1, 1), (2, 2)]


@pytest.mark.slow
def test_compressed_metadata_is_read_and_written_by_all(lake: kl.Lake, table: kl.KeyedTable, warehouse: Path) -> None:
    """The server writes compressed files, pyiceberg plain ones; either reads both."""
    lake.spark.sql(f"ALTER TABLE lake.{table.name} SET TBLPROPERTIES ({COMPRESSED})").collect()
    second = table.upsert([{"id": 2, "a": 2}])
    assert newest_file(warehouse, table, "*.json").name.endswith(".gz.metadata.json")
    unseen(warehouse, table, 3)
    assert not newest_file(warehouse, table, "*.json").name.endswith(".gz.metadata.json")
    assert rows_of(table) == [(1, 1), (2, 2), (3, 3)]
    table.update([{"id": 1, "a": 10}])
    assert newest_file(warehouse, table, "*.json").name.endswith(".gz.metadata.json")
    table.undo(after=table.history()[1])
    assert table.check("pages").is_ok
    assert table.repair_plan().steps == ()
    table.compact("full")
    table.layout.clean(kl.RetentionPolicy(days=0, snapshots=1))
    table.rollback(to=table.history(compactions=True)[0])
    assert rows_of(table) == [(1, 1), (2, 2), (3, 3)]
    assert second.snapshot_id not in {each.snapshot_id for each in table.history()}
    assert table.check().is_ok
    with keylake.local.open(warehouse) as here:
        local = here.table(table.name)
        assert [row["a"] for row in sorted(local.read().to_arrow().to_pylist(), key=lambda row: row["id"])] == [1, 2, 3]


def unpacks_to(packed: bytes, content: bytes) -> bool:
    """A stream of gzip has a content, bit by bit, with the checksum and the length that it says."""
    try:
        return gzip.decompress(packed) == content
    except (OSError, EOFError, zlib.error):
        return False


def test_a_changed_bit_of_compressed_metadata_is_told(lake: kl.Lake, table: kl.KeyedTable, warehouse: Path) -> None:
    lake.spark.sql(f"ALTER TABLE lake.{table.name} SET TBLPROPERTIES ({COMPRESSED})").collect()
    table.upsert([{"id": 2, "a": 2}])
    file, draw = newest_file(warehouse, table, "*.json"), Random(44)
    good = file.read_bytes()
    for place in (*(draw.randrange(10, len(good)) for _ in range(40)), len(good) - 1, len(good) - 8):
        content = bytearray(good)
        content[place] ^= 1 << draw.randrange(8)
        if unpacks_to(bytes(content), gzip.decompress(good)):
            continue  # a bit on which no byte of the content depends, such as those behind the last block
        with (
            garbled(file, bytes(content)),
            keylake.local.open(warehouse) as here,
            pytest.raises(kl.StoreFailed, match=r"Metadata \S+gz\.metadata\.json is damaged: "),
        ):
            here.table(table.name)


@pytest.mark.slow
def test_a_damaged_table_does_not_stop_the_others(lake: kl.Lake, table: kl.KeyedTable, warehouse: Path) -> None:
    other = lake.create(kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("garbled"), key="id", buckets=2))
    with keylake.local.open(warehouse) as here:
        unseen(warehouse, table, 2)
        file = newest_file(warehouse, table, "*.metadata.json")
        with garbled(file, b"{"):
            for listed in (lake.tables(), here.tables()):
                problems = {each.name: each.problem for each in listed}
                assert problems[other.name] is None
                assert "is damaged" in (problems[table.name] or "")
            rows = lake.spark.sql("CALL lake.system.tables()").collect()
            assert {row.table: (row.versions, row.problem is None) for row in rows}[table.name] == (None, False)
            shown = CliRunner().invoke(app, ["tables", "--lake", str(warehouse), "--json"])
            problems = {each["name"]: each["problem"] for each in json.loads(shown.stdout)}
            assert "is damaged" in (problems[table.name] or "")
            with pytest.raises(kl.TableNotFound, match=rf"Did you mean '?{other.name}"):
                lake.table(other.name[:-1])
            with pytest.raises(kl.TableNotFound, match="There is no table"):
                here.table(other.name + "_")
            assert lake.history_branches() is not None
            third = lake.create(pa.table({"id": [1]}), name=fresh_name("garbled"), key="id", versions="commit")
            assert third.get(id=1) is not None
            metadata = newest_file(warehouse, third, "*.metadata.json")
            call = f"CALL lake.system.register_table(table => '{third.name}_2', metadata_file => '{metadata}')"
            with pytest.raises(PySparkException, match=f"is the metadata of table {third.name}"):
                lake.spark.sql(call)
    assert {each.problem for each in lake.tables()} == {None}
