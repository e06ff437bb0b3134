"""Arrow rows as frames of Spark Connect, and back."""

# pyright: reportUnknownParameterType=false
# Arrow's own types stand in signatures, and Arrow carries no types for a checker.

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


SENT_ROWS = "io.keylake.spark.write.sent.SentRows"
_BYTES_OF_A_CHUNK = 4 * 2**20  # which one task reads


def schema_of(rows: pa.Table) -> Any:
    """Types are said, since Spark would guess a zone for timestamps that have none."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(rows.schema, prefer_timestamp_ntz=True)


def carrying(rows: pa.Table, spark: SparkSession) -> DataFrame:
    """A frame whose plan has the rows."""
    from pyspark.sql.connect.dataframe import DataFrame as ConnectFrame
    from pyspark.sql.connect.plan import LocalRelation

    connected: Any = spark
    return ConnectFrame(LocalRelation(_typed(rows)), connected)


def chunks_of(rows: pa.Table) -> Iterator[bytes]:
    """The rows as streams of Arrow, each of some megabytes and unlike any other: the server knows them by hashes.

    Of a hash that it had before it would take no rows, and would have none when they were forgotten.
    """
    known = _typed(rows).replace_schema_metadata({"sent": uuid.uuid4().hex})
    each = max(known.num_rows * _BYTES_OF_A_CHUNK // max(known.nbytes, 1), 1)
    for begin in range(0, known.num_rows, each):
        buffer = pa.BufferOutputStream()
        with pa.ipc.new_stream(buffer, known.schema) as stream:
            stream.write_table(known.slice(begin, each), max_chunksize=each)
        yield buffer.getvalue().to_pybytes()


def _typed(rows: pa.Table) -> pa.Table:
    """The rows with the types of Arrow that Spark reads its own from."""
    from pyspark.sql.pandas.types import to_arrow_schema

    return rows.cast(to_arrow_schema(schema_of(rows)))


def rows_of(frame: DataFrame) -> pa.Table:
    """The rows of a frame; times are in UTC. toArrow() would first ask for the schema, which comes with the rows."""
    connected: Any = frame
    rows, _ = connected._to_table()
    return in_utc(rows)


def in_utc(table: pa.Table) -> pa.Table:
    """Spark gives times in the zone of its session: the same moments in UTC."""
    for number, column in enumerate(table.schema):
        if pa.types.is_timestamp(column.type) and column.type.tz not in (None, "UTC"):
            table = table.set_column(
                number, column.name, table.column(number).cast(pa.timestamp(column.type.unit, "UTC"))
            )
    return table
