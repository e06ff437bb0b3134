"""Batches of rows into keyed tables: one commit for each table, whatever becomes of the others."""

# pyright: reportUnknownParameterType=false
# Arrow's own types stand in signatures, and Arrow carries no types for a checker.

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from keylake._server.statements import quoted, sql_type
from keylake._table.intention import Intention
from keylake.errors import KeylakeError

if TYPE_CHECKING:
    from keylake.lake import Lake
    from keylake.results import Commit
    from keylake.table import KeyedTable


@dataclass(frozen=True)
class Batch:
    """Rows of the form of `CHANGES` for one keyed table, with their offsets."""

    table: KeyedTable
    rows: pa.Table
    offsets: Mapping[str, tuple[int, int]]
    stream: str


@dataclass(frozen=True)
class Outcome:
    """What became of a batch: a commit, or an error, and then nothing of it was written."""

    batch: Batch
    commit: Commit | None
    error: KeylakeError | None = None


def write_batches(lake: Lake, batches: Sequence[Batch]) -> Iterator[Outcome]:
    """Write each batch to its table."""
    for batch in batches:
        try:
            yield Outcome(batch, _written(lake, batch))
        except KeylakeError as error:
            yield Outcome(batch, None, error)


def _written(lake: Lake, batch: Batch) -> Commit:
    from pyspark.sql.connect.functions import expr

    spec = batch.table.spec
    rows = batch.rows.select(["op", "row", "version"]).rename_columns(["_op", "_row", "_version"])
    schema = ", ".join(f"{quoted(column.name)} {sql_type(column.type)}" for column in spec.columns)
    names = ", ".join(f"'{name}'" for name in spec.value_columns)
    intention = Intention(
        "apply_changes",
        op="_op",
        version="_version",
        columns_from="_columns",
        offsets=batch.offsets,
        stream=batch.stream,
    )
    with lake._session.local_frame(rows) as sent:  # pyright: ignore[reportPrivateUsage]
        read = sent.select(
            "_op",
            "_version",
            expr(f"from_json(_row, '{schema}', map('mode', 'FAILFAST'))").alias("_r"),
            expr(f"array_intersect(json_object_keys(_row), array({names}))").alias("_columns"),
        )
        return batch.table._write(read.select("_op", "_version", "_columns", "_r.*"), intention)  # pyright: ignore[reportPrivateUsage]
