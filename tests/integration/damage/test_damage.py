"""Data files with one bit that is not as it was written: an error that names the file, never other rows."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException

import keylake as kl
from integration.twin import fresh_name

ROWS = [{"id": number, "a": number * 7919 % 100003, "t": f"text {number % 50}"} for number in range(2000)]


@pytest.fixture
def table(lake: kl.Lake) -> kl.KeyedTable:
    schema = pa.schema([("id", pa.int64()), ("a", pa.int64()), ("t", pa.string())])
    spec = kl.TableSpec.from_arrow(schema, name=fresh_name("damage"), key="id", buckets=1, versions="explicit")
    table = lake.create(spec)
    table.upsert(ROWS, version=1)
    return table


@pytest.fixture
def file(warehouse: Path, table: kl.KeyedTable) -> Path:
    """The data file, without the checksums that Hadoop's local file system puts beside it, and no store does."""
    (file,) = warehouse.joinpath(*table.name.split("."), "data").rglob("*.parquet")
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    return file


def pages(file: Path, column: str) -> range:
    """Where the pages of a column lie, their headers and a dictionary among them."""
    chunks = pq.read_metadata(file).row_group(0)
    (chunk,) = (chunk for i in range(chunks.num_columns) if (chunk := chunks.column(i)).path_in_schema == column)
    first = chunk.dictionary_page_offset or chunk.data_page_offset
    return range(first, first + chunk.total_compressed_size)


@contextmanager
def flipped(file: Path, at: int, bit: int) -> Iterator[None]:
    whole = file.read_bytes()
    damaged = bytearray(whole)
    damaged[at] ^= 1 << bit
    file.write_bytes(damaged)
    try:
        yield
    finally:
        file.write_bytes(whole)


def read(table: kl.KeyedTable) -> list[dict[str, object]]:
    return sorted((row.asDict() for row in table.read().collect()), key=lambda row: row["id"])


@pytest.mark.parametrize("column", ["id", "a", "t"])
def test_a_flipped_bit_is_an_error_that_names_file_column_and_row_group(
    table: kl.KeyedTable, file: Path, column: str
) -> None:
    words = rf"{file.name} is damaged \(column {column} of row group 0 does not fit its checksum\); nothing was changed"
    where = pages(file, column)
    with flipped(file, where[-3], 2):
        with pytest.raises(PySparkException, match=words) as raised:
            read(table)
        assert raised.value.getCondition() == "KEYLAKE_STORE_FAILED"
        with pytest.raises(kl.StoreFailed, match=words):
            table.get(id=1999)
    assert read(table) == ROWS


def test_what_meets_damage_changes_nothing(lake: kl.Lake, table: kl.KeyedTable, file: Path) -> None:
    table.update([{"id": 1, "a": 7}], version=2)
    before = table.history(compactions=True)
    words = rf"{file.name} is damaged \(column a of row group 0 does not fit its checksum\)"
    calls: list[Callable[[], object]] = [
        lambda: table.compact("full"),
        table.refresh_merged,
        lambda: table.explain_row(id=5),
        lambda: table.changes(after=0).collect(),
    ]
    with flipped(file, pages(file, "a")[-3], 2):
        for call in calls:
            with pytest.raises((kl.StoreFailed, PySparkException), match=words):
                call()
    assert table.history(compactions=True) == before
    assert read(table) == [{**ROWS[1], "a": 7} if row["id"] == 1 else row for row in ROWS]
    assert len(table.compact("full")) > 0


def said_instead_of_rows(table: kl.KeyedTable) -> str | None:
    try:
        rows = read(table)
    except PySparkException as error:
        return str(error)
    assert rows == ROWS
    return None


@pytest.mark.slow
def test_no_flipped_bit_is_read_as_rows(table: kl.KeyedTable, file: Path) -> None:
    chance = random.Random(35)
    end = file.stat().st_size
    for _ in range(40):
        with flipped(file, chance.randrange(4, end), chance.randrange(8)):
            said = said_instead_of_rows(table)
            assert said is None or f"{file.name} is damaged" in said
