"""A file as rows of the form of `CHANGES`, and the columns that it has.

JSON lines   as they are; numbers that a double would change become text
Parquet      values in the forms that `CHANGES` has
CSV          with a line of names; text, and null for an empty field
"""

# pyright: reportUnknownParameterType=false
# Arrow's own types stand in signatures, and Arrow carries no types for a checker.

from __future__ import annotations

import base64
import csv
import datetime
import decimal
import json
import math
import uuid
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias, cast

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.types import IcebergType, StringType

from keylake.errors import BadRows, DefinitionError
from keylake.extension import iceberg_type
from keylake_pipelines.source.members import Rewriting
from keylake_pipelines.source.tables import SourceColumn

SUFFIXES = (".json", ".jsonl", ".csv", ".parquet")
_OPS = frozenset("crud")

Fields: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Words:
    """The fields of the rows that say what is done, and how new it is; None where no field does."""

    op: str | None
    version: str | None


@dataclass(frozen=True)
class FileRows:
    """The rows of a file, each as its text and what is said about it, and the columns of the file."""

    texts: list[str]
    ops: list[str | None]
    versions: list[int | None]  # None: the place of the row
    errors: list[str | None]
    columns: tuple[SourceColumn, ...]

    def as_text(self, names: Set[str]) -> FileRows:
        """The rows with the values of some columns as text."""
        rewriting = Rewriting(texts=names)
        both = zip(self.texts, self.errors, strict=True)
        return replace(self, texts=[text if error or not names else rewriting.row(text) for text, error in both])


def read(path: Path, words: Words) -> FileRows:
    """Read a file by its suffix; a line of JSON that is none has its error."""
    if path.suffix == ".parquet":
        table: Any = pq.read_table(path)
        columns = [SourceColumn(field.name, iceberg_type(field.type, field.name)) for field in table.schema]
        return _rows([(row, None, "") for row in table.to_pylist()], words, columns)
    if path.suffix == ".csv":
        with path.open(newline="", encoding="utf-8") as lines:
            found = [({k: v or None for k, v in row.items()}, None, "") for row in csv.DictReader(lines)]
        columns = [SourceColumn(name, StringType()) for name in (found[0][0] if found else ())]
        return _rows(found, words, columns)
    with path.open(encoding="utf-8") as lines:
        return _rows([_parsed(line) for line in lines if line.strip()], words, None)


def _parsed(line: str) -> tuple[Fields | None, str | None, str]:
    try:
        found: object = json.loads(line, parse_float=_exact, parse_constant=str)
    except ValueError as error:
        return None, f"The line is no JSON: {error}.", line.rstrip("\n")
    if not isinstance(found, dict):
        return None, "The line is JSON, and no object.", line.rstrip("\n")
    return cast("Fields", found), None, ""


def _exact(text: str) -> float | str:
    """A number with a point: a double where that is the same number, its text otherwise."""
    value = float(text)
    return value if math.isfinite(value) and decimal.Decimal(repr(value)) == decimal.Decimal(text) else text


def _rows(
    found: Iterable[tuple[Fields | None, str | None, str]], words: Words, columns: Sequence[SourceColumn] | None
) -> FileRows:
    rows = FileRows([], [], [], [], ())
    fields: dict[str, list[object]] = {}
    for row, unread, line in found:
        op, version, error = ("u", None, unread) if row is None else _said(row, words)
        written = json.dumps(row, default=_plain, ensure_ascii=False, separators=(",", ":"))
        rows.texts.append(line if row is None else written)
        rows.ops.append(None if error else op)
        rows.versions.append(version)
        rows.errors.append(error)
        for name, value in (row or {}).items():
            fields.setdefault(name, []).append(value)
    told = (words.op, words.version)
    if columns is None:
        columns = [SourceColumn(name, _type(name, values)) for name, values in fields.items()]
        rows = rows.as_text({each.name for each in columns if _is_mixed(each, fields[each.name])})
    return FileRows(rows.texts, rows.ops, rows.versions, rows.errors, tuple(c for c in columns if c.name not in told))


def _said(row: Fields, words: Words) -> tuple[str, int | None, str | None]:
    """The operation and the version that a row has in its fields, which are taken out of it, and its error."""
    op = "u" if words.op is None else row.pop(words.op, "u")
    if op not in _OPS:
        return "u", None, f"{words.op} is {op!r}. Use c, u, r or d."
    if words.version is None:
        return op, None, None
    version = row.pop(words.version, None)
    try:
        return op, int(version), None
    except (TypeError, ValueError):
        return op, None, f"{words.version} is {version!r}. Use a whole number."


def _type(name: str, values: Sequence[object]) -> IcebergType:
    """The type that holds all values of a field; text where there is none."""
    try:
        found: Any = pa.array(values).type
        return StringType() if pa.types.is_null(found) else iceberg_type(found, name)
    except (pa.ArrowException, OverflowError, DefinitionError):
        return StringType()


def _is_mixed(column: SourceColumn, values: Iterable[object]) -> bool:
    """Values of a column that is text are not all text."""
    return isinstance(column.type, StringType) and not all(isinstance(each, str | None) for each in values)


def _plain(value: object) -> object:
    match value:
        case datetime.datetime():
            return value.astimezone(datetime.timezone.utc).isoformat() if value.tzinfo else value.isoformat()
        case datetime.date() | datetime.time():
            return value.isoformat()
        case bytes():
            return base64.b64encode(value).decode()
        case decimal.Decimal() | uuid.UUID():
            return str(value)
        case _:
            raise BadRows(f"A value of the type {type(value).__name__} has no form in JSON. Leave its column out.")
