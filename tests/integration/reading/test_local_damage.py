"""Files of a table that are damaged, cut short or garbled: reads without a server give no other rows, no raw errors."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import keylake as kl
import keylake.local
from integration.twin import fresh_name
from keylake.local.avro_frames import check_frames
from keylake.local.footers import check_name

SCHEMA = pa.schema(
    [pa.field("id", pa.int64(), nullable=False), ("a", pa.int64()), ("t", pa.string()), ("l", pa.list_(pa.int64()))]
)
ROWS = [{"id": n, "a": n * 7919 % 100_003, "t": f"text {n}", "l": [n]} for n in range(500)]
FLIPS = 12
MARKER_BYTES = 16


@pytest.fixture
def folder(lake: kl.Lake, warehouse: Path) -> Path:
    """Where a table lies that the server and this process have written to, in other buckets each."""
    name = fresh_name("damaged")
    table = lake.create(kl.TableSpec.from_arrow(SCHEMA, name=name, key="id", buckets=1))
    table.upsert(ROWS[:250])
    with keylake.local.open(warehouse) as opened:
        opened.table(name).upsert(ROWS[250:])
    return warehouse.joinpath(*name.split("."))


def read(folder: Path, **words: Any) -> str:
    name = ".".join(folder.parts[-2:])
    with keylake.local.open(folder.parents[1], **words) as opened:
        table = opened.table(name)
        return repr((table.read().to_arrow().to_pylist(), table.get_many([{"id": n} for n in (3, 300)])))


@contextmanager
def changed(file: Path, content: bytes) -> Iterator[None]:
    good = file.read_bytes()
    file.write_bytes(content)
    try:
        yield
    finally:  # all tables of the session are looked at in its end
        file.write_bytes(good)


def flipped(good: bytes, draw: Random) -> bytes:
    content = bytearray(good)
    content[draw.randrange(4, len(content))] ^= 1 << draw.randrange(8)
    return bytes(content)


def newest(folder: Path, pattern: str) -> Path:
    return max(folder.rglob(pattern), key=lambda path: path.stat().st_mtime_ns)


def error_of(call: Callable[[], str], expected: str | None = None) -> kl.KeylakeError | None:
    """The error of a read; None where it gives the rows."""
    try:
        found = call()
    except kl.KeylakeError as error:
        return error
    assert expected in (None, found)
    return None


PATTERNS = {"*.parquet": "ile ", "*-m0.avro": "anifest ", "snap-*.avro": "anifest list ", "*.metadata.json": "etadata "}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_damage_is_never_read_as_rows(folder: Path, pattern: str) -> None:
    rows, draw, told = read(folder), Random(35), 0
    files = sorted(folder.rglob(pattern)) if pattern == "*.parquet" else [newest(folder, pattern)]
    for file in files:
        good = file.read_bytes()
        cases = [flipped(good, draw) for _ in range(FLIPS)]
        for content in (*cases, good[: len(good) // 2], good[:3], os.urandom(len(good))):
            with changed(file, content):
                error = error_of(lambda: read(folder), rows)
                told += error is not None
                is_named = isinstance(error, kl.StoreFailed) and PATTERNS[pattern] in str(error)
                assert is_named or content in cases, error
    assert told > 2 * len(files)
    assert read(folder) == rows


def test_every_changed_bit_of_entries_in_a_manifest_is_told(folder: Path) -> None:
    """A bound of a key that is another one hid a file from look-ups, and nothing else of the manifest showed it."""
    file, rows = newest(folder, "*-m0.avro"), read(folder)
    good, silent = file.read_bytes(), 0
    content = bytearray(good)
    for place in range(good.index(good[-MARKER_BYTES:]) + MARKER_BYTES, len(good)):
        for bit in range(8):
            content[place] ^= 1 << bit
            try:
                check_frames(bytes(content))
            except ValueError:
                pass
            else:  # the number of entries, or a bit that only fills the last byte of what is compressed
                silent += 1
                with changed(file, bytes(content)):
                    error_of(lambda: read(folder), rows)
            content[place] ^= 1 << bit
    assert silent <= 16


def test_a_changed_bit_of_metadata_is_no_other_error(folder: Path) -> None:
    """Names of fields, properties and parts of summaries; ids; the stored definition; paths."""
    file, rows, draw = newest(folder, "*.metadata.json"), read(folder), Random(36)
    good = file.read_bytes()
    for _ in range(60):
        content = flipped(good, draw)
        with changed(file, content):
            assert isinstance(error_of(lambda: read(folder), rows), kl.StoreFailed | None)
    for said, instead in METADATA:
        assert said in good, said
        with (
            changed(file, good.replace(said, instead, 1)),
            pytest.raises(kl.StoreFailed, match=r"etadata .*is damaged"),
        ):
            read(folder)


METADATA = [
    (b'{"id":3,"name":"t"', b'{"id":93,"name":"t"'),
    (b'{"id":3,"name":"t"', b'{"id":2,"name":"t"'),
    (b'"source-id":1,', b'"source-id":90,'),
    (b'"required":true', b'"requiret":true'),
    (b'"keylake.verb"', b'"keqlake.verb"'),
    (b'"keylake.spec"', b'"keylake.spgc"'),
    (b'"properties":', b'"qroperties":'),
    (b'\\"versions\\"', b'\\"versikns\\"'),
    (b'"name":"deleted"', b'"name":"deletet"'),
    (b'"bucket[1]"', b'"bucket[3]"'),
    (b'"transform":"identity"', b'"transform":"idgntity"'),
    (b'"schema-id":0}]', b'"schema-id":8}]'),
]


@pytest.mark.parametrize("name", [b"current-snapshot-id", b"snapshot-id"])
def test_metadata_with_another_newest_commit_is_damaged(folder: Path, name: bytes) -> None:
    file = newest(folder, "*.metadata.json")
    good = file.read_bytes()
    place = good.index(b'"' + name + b'"')
    with changed(file, good[: place + 1] + bytes([good[place + 1] ^ 1]) + good[place + 2 :]):
        assert isinstance(error_of(lambda: read(folder)), kl.StoreFailed)


def test_a_page_names_its_column_and_row_group(folder: Path) -> None:
    for file in folder.rglob("*.parquet"):
        good, footer = bytearray(file.read_bytes()), pq.read_metadata(file)
        (column,) = (each for each in range(footer.num_columns) if footer.schema.column(each).path == "a")
        chunk = footer.row_group(0).column(column)
        good[(chunk.dictionary_page_offset or chunk.data_page_offset) + chunk.total_compressed_size // 2] ^= 4
        with changed(file, bytes(good)):
            with pytest.raises(kl.StoreFailed, match=rf"Column 'a' in row group 0 of file .*{file.name} is damaged: "):
                read(folder)
            with pytest.raises(kl.StoreFailed, match="Column 'a' in row group 0"):
                changes(folder)
            assert "CRC" not in str(error_of(lambda: read(folder, page_checksums=False)))


def test_a_file_in_the_place_of_another_is_told(folder: Path) -> None:
    here, there = sorted(folder.rglob("*.parquet"))
    for file, other in ((here, there), (there, here)):
        content = other.read_bytes()
        noted = pq.read_metadata(other).metadata[b"keylake.file"].decode()
        assert noted == other.name
        with changed(file, content):
            with pytest.raises(ValueError, match=f"file {noted} lies in its place"):
                check_name(pq.read_metadata(file), str(file))
            with pytest.raises(kl.StoreFailed, match=file.name):
                read(folder)


def changes(folder: Path) -> None:
    with keylake.local.open(folder.parents[1]) as opened:
        opened.table(".".join(folder.parts[-2:])).changes()


def test_writes_to_a_damaged_table_write_nothing(folder: Path) -> None:
    file = newest(folder, "snap-*.avro")
    files = {path for path in folder.rglob("*.parquet") if not path.name.startswith(".")}
    with keylake.local.open(folder.parents[1]) as opened:
        table = opened.table(".".join(folder.parts[-2:]))
        with (
            changed(file, b"Obj"),
            pytest.raises(kl.StoreFailed, match=rf"Manifest list .*{file.name} is damaged: it ends"),
        ):
            table.update([{"id": 1, "a": 1}])
        assert {path for path in folder.rglob("*.parquet") if not path.name.startswith(".")} == files
        table.update([{"id": 1, "a": 1}])
        (folder / "data").chmod(0o500)
        try:
            if not os.access(folder / "data", os.W_OK):
                with pytest.raises(kl.StoreFailed, match=r"The store does not take .* Nothing was written"):
                    table.update([{"id": 1, "a": 2}])
        finally:
            (folder / "data").chmod(0o700)


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        (b'"keylake.rows":"250"', b'"keylake.rows":"a few"'),
        (b'"keylake.columns":"[', b'"keylake.columns":"{['),
        (b'"total-data-files":"2"', b'"total-data-files":"many"'),
    ],
)
def test_a_fact_of_a_commit_that_cannot_be_read(folder: Path, good: bytes, bad: bytes) -> None:
    file = newest(folder, "*.metadata.json")
    content = file.read_bytes()
    assert good in content
    with changed(file, content.replace(good, bad)), keylake.local.open(folder.parents[1]) as opened:
        table = opened.table(".".join(folder.parts[-2:]))
        assert table.get(id=3) is not None
        if b"total" in good:
            assert [each.kind for each in table.check().damage] == ["counts"]
        else:
            with pytest.raises(kl.StoreFailed, match=r"The metadata of \S+ is damaged: what it says cannot be read"):
                table.history()


def test_lengths_in_entries_of_a_manifest_are_looked_at(lake: kl.Lake, warehouse: Path) -> None:
    """The frames are whole, and there is no checksum: pyiceberg's fast decoder would read past the end."""
    table = lake.create(kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("damaged"), key="id", buckets=1))
    plain = "SET TBLPROPERTIES ('write.manifest.compression-codec' = 'uncompressed')"
    lake.spark.sql(f"ALTER TABLE lake.{table.name} {plain}").collect()
    table.upsert(ROWS[:9])
    folder = warehouse.joinpath(*table.name.split("."))
    file, rows = newest(folder, "*-m0.avro"), read(folder)
    good = file.read_bytes()
    assert good.count(b"\x0ePARQUET") == 1
    for length in (b"\x0f", b"\x7e", b"\xfe"):
        with changed(file, good.replace(b"\x0ePARQUET", length + b"PARQUET")):
            error = error_of(lambda: read(folder), rows)
            assert isinstance(error, kl.StoreFailed), length
            assert f"Manifest {file} is " in str(error) or "bytes, and the table says" in str(error)
