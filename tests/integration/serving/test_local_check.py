"""The check of a table without a server finds what the server's finds, and says the same of it."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import keylake as kl
import keylake.local
from integration.twin import fresh_name
from keylake.local.table import LocalTable

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("a", pa.int64()), ("t", pa.string())])
ROWS = [{"id": number, "a": number * 7919 % 1000, "t": f"text {number}"} for number in range(400)]


@pytest.fixture
def table(lake: kl.Lake) -> kl.KeyedTable:
    spec = kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("checked"), key="id", buckets=2, versions="explicit")
    table = lake.create(spec)
    table.upsert(ROWS, version=1)
    return table


@pytest.fixture
def local(table: kl.KeyedTable, warehouse: Path) -> LocalTable:
    return keylake.local.open(warehouse).table(table.name)


def files(warehouse: Path, table: kl.KeyedTable, pattern: str) -> list[Path]:
    folder = warehouse.joinpath(*table.name.split("."))
    for crc in folder.rglob(".*.crc"):
        crc.unlink()  # Hadoop's, which no store has
    return sorted(folder.rglob(pattern), key=lambda path: (path.stat().st_mtime_ns, str(path)))


def said(report: kl.CheckReport) -> list[tuple[object, ...]]:
    """The findings without words in which readers differ."""
    return [
        (
            *(each.kind, each.file_kind, Path(each.path).name, each.column, each.row_group),
            *(each.rows, each.buckets, each.branches, each.tags, each.snapshots),
        )
        for each in report.damage
    ]


def test_a_whole_table_is_the_same_for_both(lake: kl.Lake, table: kl.KeyedTable, local: LocalTable) -> None:
    table.branch("tmp_side").update([{"id": 1, "a": 5}], version=2)
    table.upsert(ROWS[:10], version=3)
    table.compact("settle")
    lake.spark.sql(f"ALTER TABLE lake.{table.name} CREATE TAG kept").collect()
    here, there = local.check("pages"), table.check("pages")
    assert here.is_ok
    assert here.looked_at == there.looked_at
    assert (here.buckets, here.readable_buckets) == (there.buckets, ("0", "1"))
    assert str(here).startswith(f"{table.name}: all is well (pages)\n")
    with pytest.raises(kl.DefinitionError, match="'files' or 'pages'"):
        local.check("bytes")  # type: ignore[arg-type]


def test_damage_is_the_same_for_both(table: kl.KeyedTable, local: LocalTable, warehouse: Path) -> None:
    table.upsert(ROWS[:10], version=3)
    file, other = files(warehouse, table, "*.parquet")[:2]
    manifest, listing = files(warehouse, table, "*-m0.avro")[0], files(warehouse, table, "snap-*.avro")[0]
    chunk = pq.read_metadata(file).row_group(0).column(2)
    page = bytearray(file.read_bytes())
    page[chunk.data_page_offset + chunk.total_compressed_size - 3] ^= 4
    cases: list[tuple[Path, bytes | None, str]] = [
        (file, None, "missing"),
        (file, file.read_bytes()[:-30], "truncated"),
        (file, file.read_bytes() + b"more", "wrong_size"),
        (file, bytes(page), "checksum"),
        (manifest, None, "missing"),
        (manifest, manifest.read_bytes()[:-9], "truncated"),
        (listing, None, "missing"),
        (listing, listing.read_bytes()[:900], "unreadable"),
    ]
    for damaged, content, kind in cases:
        good = damaged.read_bytes()
        damaged.unlink() if content is None else damaged.write_bytes(content)
        try:
            here, there = local.check("pages"), table.check("pages")
        finally:  # all tables of the session are looked at in its end
            damaged.write_bytes(good)
        assert [each.kind for each in here.damage] == [kind], here
        assert said(here) == said(there), kind
        assert (here.readable_buckets, here.unreadable_rows) == (there.readable_buckets, there.unreadable_rows)
        assert here.damage[0].next_step
    assert local.check("pages").is_ok
    good = file.read_bytes()
    file.write_bytes(other.read_bytes()[: len(good)].ljust(len(good), b"-"))
    assert [each.kind for each in local.check().damage] == ["footer"]
    file.write_bytes(good)
