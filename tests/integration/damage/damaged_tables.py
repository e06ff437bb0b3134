"""Small tables whose metadata is damaged, with commits that a server has not seen."""

from pathlib import Path

import pyarrow as pa

import keylake as kl
import keylake.local

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("a", pa.int64())])


def newest_file(warehouse: Path, table: kl.KeyedTable, pattern: str) -> Path:
    folder = warehouse.joinpath(*table.name.split("."), "metadata")
    return max(folder.glob(pattern), key=lambda path: path.stat().st_mtime_ns)


def rows_of(table: kl.KeyedTable) -> list[tuple[int, int]]:
    return sorted((row.id, row.a) for row in table.read().collect())


def unseen(warehouse: Path, table: kl.KeyedTable, number: int) -> None:
    """A commit of which the server has read nothing yet."""
    with keylake.local.open(warehouse) as here:
        here.table(table.name).upsert([{"id": number, "a": number}])
