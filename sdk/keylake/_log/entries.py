"""Entries of a log: the rows of one write, in the types of the table, with the versions that they have.

An entry names columns by Iceberg's field ids, so that it survives a rename: what was dropped since is left out, and a
type that was widened is widened. Versions are given when a write enters the log; where they are commits, the order of
the log counts.
"""

# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false

from __future__ import annotations

import datetime
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import pyarrow as pa
from pyiceberg.utils.datetime import micros_to_timestamptz

from keylake._server.statements import Verb
from keylake.errors import StoreFailed

LoggedVerb = Literal["upsert", "update", "delete"]

_LENGTH = struct.Struct("<I")
_VERSION = "v"
_CARRIED = "c"  # and the field id: the rows in which a column is written, where it is not in all


class WrittenRows(Protocol):
    """Rows of a small write in the types of the table."""

    @property
    def verb(self) -> Verb: ...

    @property
    def rows(self) -> Any: ...

    @property
    def versions(self) -> Any: ...

    @property
    def carried(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True, eq=False)
class Entry:
    """A write as the log has it; without `versions` the order of the log counts.

    `columns` and `carried` are by field id. A column has the Arrow field that it was written with, for the ids inside.
    """

    verb: LoggedVerb
    micros: int  # since 1970, when it was appended
    stream: str | None
    rows: int
    columns: Mapping[int, tuple[pa.Field, Any]]
    versions: Any  # an Arrow array of long, or None
    carried: Mapping[int, Any]

    @property
    def at(self) -> datetime.datetime:
        """The time at which it was appended."""
        return micros_to_timestamptz(self.micros)

    def packed(self) -> bytes:
        """The entry in bytes."""
        said = {"verb": self.verb, "at": self.micros, "stream": self.stream}
        header = packed_header({key: value for key, value in said.items() if value is not None})
        fields = [pa.field(str(id_), field.type) for id_, (field, _) in self.columns.items()]
        arrays = [array for _, array in self.columns.values()]
        for id_, flags in self.carried.items():
            fields.append(pa.field(f"{_CARRIED}{id_}", pa.bool_()))
            arrays.append(flags)
        if self.versions is not None:
            fields.append(pa.field(_VERSION, pa.int64()))
            arrays.append(self.versions)
        batch = pa.record_batch(arrays, schema=pa.schema(fields))
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        rows: bytes = sink.getvalue().to_pybytes()
        return header + rows

    @classmethod
    def of_rows(
        cls, rows: WrittenRows, fields: Mapping[str, tuple[int, pa.Field]], micros: int, stream: str | None
    ) -> Entry:
        """The entry of rows of a small write, with the id and the Arrow field of each column."""
        count = rows.rows.num_rows
        return cls(
            rows.verb,  # type: ignore[arg-type]
            micros,
            stream,
            count,
            {fields[name][0]: (fields[name][1], _one(rows.rows.column(name))) for name in rows.rows.column_names},
            None if rows.versions is None else pa.array(rows.versions),
            {fields[name][0]: flags for name, flags in rows.carried.items() if flags.true_count < count},
        )

    @classmethod
    def of(cls, number: int, said: Mapping[str, Any], data: Any) -> Entry:
        """The entry that a header and bytes say, whose checksum was right."""
        try:
            with pa.ipc.open_stream(data) as reader:
                batch = reader.read_next_batch()
            verb: LoggedVerb = said["verb"]
            micros: int = said["at"]
        except (KeyError, pa.ArrowException, StopIteration) as error:
            raise newer(number, error) from None
        arrays: dict[str, Any] = dict(zip(batch.schema.names, batch.columns, strict=True))
        fields = {field.name: field for field in batch.schema}
        return cls(
            verb,
            micros,
            said.get("stream"),
            batch.num_rows,
            {int(name): (fields[name], array) for name, array in arrays.items() if name.isdigit()},
            arrays.get(_VERSION),
            {int(name[1:]): array for name, array in arrays.items() if name.startswith(_CARRIED)},
        )


def packed_header(said: Mapping[str, object]) -> bytes:
    """The header of an entry, and its length before it.

    >>> header_of(0, packed_header({"verb": "update"}) + b"rows")
    ({'verb': 'update'}, 22)
    """
    header = json.dumps(said).encode()
    return _LENGTH.pack(len(header)) + header


def header_of(number: int, data: bytes) -> tuple[Mapping[str, Any], int]:
    """The header of an entry, and where its rows begin."""
    begin = _LENGTH.size + _LENGTH.unpack_from(data)[0]
    try:
        said = json.loads(data[_LENGTH.size : begin])
    except ValueError as error:
        raise newer(number, error) from None
    return said, begin


def newer(number: int, error: Exception) -> StoreFailed:
    """The error of an entry that this version does not understand."""
    return StoreFailed(
        f"Entry {number} of the log is of a newer keylake, or of another program ({type(error).__name__}). "
        "Upgrade keylake."
    )


def _one(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
