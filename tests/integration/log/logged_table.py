"""A table with a log, as a client of a server has it, and as a process without one has it."""

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

import keylake as kl
import keylake.local
from integration.twin import fresh_name

SCHEMA = pa.schema([("id", pa.int64()), ("a", pa.int64()), ("b", pa.string())])


@dataclass
class Both:
    """A table as a client of a server has it, and as a process without one has it."""

    table: kl.KeyedTable
    here: keylake.local.LocalTable

    @property
    def folder(self) -> Path:
        return Path(self.here.log.state().place)


def made(lake: kl.Lake, local: keylake.local.LocalLake, log: kl.FileLog | None = None, **words: object) -> Both:
    spec = kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("log"), key="id", buckets=2, **words)  # type: ignore[arg-type]
    table = lake.create(spec)
    both = Both(table, local.table(spec.name))
    both.table.log.begin(log)
    return both


def shown(table: kl.KeyedTable | keylake.local.LocalTable, *, fresh: bool = False) -> dict[int, tuple[object, object]]:
    frame = table.read(fresh=fresh)
    rows = (frame.toArrow() if isinstance(table, kl.KeyedTable) else frame.to_arrow()).to_pylist()  # type: ignore[union-attr]
    return {row["id"]: (row["a"], row["b"]) for row in rows}
