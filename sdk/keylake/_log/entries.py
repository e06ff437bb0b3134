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
from typing import Any, Literal

import pyarrow as pa
from pyiceberg.utils.datetime import micros_to_timestamptz

from keylake.errors import StoreFailed

LoggedVerb = Literal["upsert", "update", "delete"]

_LENGTH = struct.Struct("<I")
_VERSION = "v"
_CARRIED = "c"  # and the field id: the rows in which a column is written, where it is not in all


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
        header = json.dumps({key: value for key, value in said.items() if value is not None}).encode()
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
        return _LENGTH.pack(len(header)) + header + rows

    @classmethod
    def unpacked(cls, number: int, data: bytes) -> Entry:
        """The entry that bytes say, whose checksum was right."""
        begin = _LENGTH.size + _LENGTH.unpack_from(data)[0]
        try:
            said = json.loads(data[_LENGTH.size : begin])
            with pa.ipc.open_stream(pa.py_buffer(data)[begin:]) as reader:
                batch = reader.read_next_batch()
            verb: LoggedVerb = said["verb"]
        except (ValueError, KeyError, pa.ArrowException, StopIteration) as error:
            raise StoreFailed(
                f"Entry {number} of the log is of a newer keylake, or of another program ({type(error).__name__}). "
                "Upgrade keylake."
            ) from None
        arrays: dict[str, Any] = dict(zip(batch.schema.names, batch.columns, strict=True))
        fields = {field.name: field for field in batch.schema}
        return cls(
            verb,
            said["at"],
            said.get("stream"),
            batch.num_rows,
            {int(name): (fields[name], array) for name, array in arrays.items() if name.isdigit()},
            arrays.get(_VERSION),
            {int(name[1:]): array for name, array in arrays.items() if name.startswith(_CARRIED)},
        )
