"""Reads that fail leave no file open in the server."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import keylake as kl
from integration.twin import fresh_name

SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), pa.field("v", pa.int64())])
MAGIC = 4
FOOTER = 8  # its length, and the magic again

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are seen in /proc only")


def open_files(folder: Path) -> list[str]:
    """What any process has open below a folder."""
    found = []
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            target = str(link.readlink())
        except OSError:
            continue  # of another user, or closed meanwhile
        if target.startswith(str(folder)) and target.endswith(".parquet"):
            found.append(target)
    return found


def spoil(file: Path) -> None:
    """Overwrites the pages, and leaves the footer."""
    content = bytearray(file.read_bytes())
    footer = int.from_bytes(content[-FOOTER:-MAGIC], "little") + FOOTER
    content[MAGIC:-footer] = bytes(len(content) - footer - MAGIC)
    file.write_bytes(content)


@pytest.fixture
def spoilt(lake: kl.Lake) -> Iterator[tuple[kl.KeyedTable, kl.Commit, Path]]:
    """A table whose newest file cannot be read, the commit before it, and the folder of the file."""
    table = lake.create(kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("open_files"), key="k", buckets=1))
    first = table.upsert([{"k": number, "v": number} for number in range(1000)])
    (old,) = (row.path for row in table.files().collect())
    table.update([{"k": number, "v": -number} for number in range(0, 1000, 2)])
    (new,) = (Path(row.path.removeprefix("file:")) for row in table.files().collect() if row.path != old)
    spoil(new)
    yield table, first, new.parent
    lake.drop(table.name)


def test_a_change_feed_that_fails(spoilt: tuple[kl.KeyedTable, kl.Commit, Path]) -> None:
    table, first, folder = spoilt
    with pytest.raises(Exception, match=r"."):
        table.changes(after=first).collect()
    assert open_files(folder.parent) == []


def test_a_merge_that_fails(spoilt: tuple[kl.KeyedTable, kl.Commit, Path]) -> None:
    table, _, folder = spoilt
    with pytest.raises(Exception, match=r"."):
        table.read().collect()
    assert open_files(folder.parent) == []
