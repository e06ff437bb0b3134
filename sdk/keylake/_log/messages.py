"""Entries as a log gives them: writes of keylake, messages of other producers, and what is no write.

A message is a row as a JSON object, or a list of them, by the names that columns have when it is read. Its headers are
`verb` (update, upsert or delete; update is the default), `stream`, and `version` for a table whose versions are given.
"""

# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, get_args

import pyarrow as pa
from pydantic import TypeAdapter, ValidationError
from pyiceberg.types import NestedField

from keylake._definition.spec import TableSpec
from keylake._log.entries import Entry, LoggedVerb, header_of, packed_header
from keylake._rows.intention import Intention, write
from keylake._rows.rows import LocalRows
from keylake._rows.small import SmallRows, check_writable
from keylake._server.statements import TablePath
from keylake._values.conform import with_id
from keylake.errors import DefinitionError, KeylakeError, StoreFailed
from keylake.schema import Table, model_of

_FORM = "form"
_VERSION = re.compile(r"-?[0-9]{1,19}")
_JSON, _NOTHING, _OTHER = "json", "nothing", "other"

NOTHING = packed_header({_FORM: _NOTHING})
"""What has a number and is no write."""

OF_ANOTHER_LOG = packed_header({_FORM: _OTHER})
"""A write for a log that the topic was before."""


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a table now, by whose names messages are read."""

    spec: TableSpec
    fields: Mapping[str, NestedField]


def of_message(value: bytes | None, headers: Mapping[str, str], micros: int) -> bytes:
    """A message of another producer as an entry; what it says is looked at when it is read."""
    said = {_FORM: _JSON, "at": micros, **{name: headers[name] for name in _HEADERS if name in headers}}
    return packed_header(said) + (b"null" if value is None else value)


_HEADERS = ("verb", "stream", "version")


def entry_of(number: int, data: bytes, columns: Columns) -> Entry:
    """The entry that a log gives under a number.

    Raises `StoreFailed` for one that is no write of the table.
    """
    said, begin = header_of(number, data)
    form = said.get(_FORM)
    if form == _NOTHING:
        return Entry("update", 0, None, 0, {}, None, {})
    if form == _OTHER:
        raise _no_write(number, columns, "it was written for another log, which the topic was before.")
    if form == _JSON:
        try:
            return _of_json(said, data[begin:], columns)
        except (KeylakeError, ValidationError, ValueError, RecursionError) as error:
            raise _no_write(number, columns, _why(error)) from None
    return Entry.of(number, said, pa.py_buffer(data)[begin:])


def _no_write(number: int, columns: Columns, why: str) -> StoreFailed:
    return StoreFailed(
        f"Entry {number} of the log is no write of {columns.spec.name}: {why} Leave it out: "
        f"table.log.skip(until={number + 1})."
    )


def _of_json(said: Mapping[str, Any], text: bytes, columns: Columns) -> Entry:
    spec, verb = columns.spec, said.get("verb", "update")
    if verb not in get_args(LoggedVerb):
        raise DefinitionError(f"its header verb is {verb!r}, and none of {', '.join(get_args(LoggedVerb))}.")
    with suppress(json.JSONDecodeError, UnicodeDecodeError):  # of which the class of the rows tells better
        json.loads(text, parse_float=_check_number, parse_constant=_check_number)
    one, several = _models(spec)
    given = several.validate_json(text) if text.lstrip().startswith(b"[") else [one.model_validate_json(text)]
    if not given:
        return Entry(verb, said["at"], said.get("stream"), 0, {}, None, {})
    local = LocalRows.of(given, spec, "update")  # the columns that are there: a message says what it writes
    version: str | None = said.get("version")
    if version is not None and not _VERSION.fullmatch(version):
        raise DefinitionError(f"its header version is {version[:50]!r}, and no whole number.")
    statement = write(
        spec, TablePath(spec.name), Intention(verb, None if version is None else int(version)), local.names
    )
    check_writable(spec, verb, local.names)
    small = SmallRows.of(local, spec, statement)
    fields = {name: (each.field_id, with_id(each)) for name, each in columns.fields.items()}
    return Entry.of_rows(small, fields, said["at"], said.get("stream"))


def _check_number(text: str) -> None:
    """Refuses a number that is not what it is read as: with more digits than 8 bytes have, or too large."""
    if text.lstrip("-") in ("Infinity", "NaN") or Decimal(text) != Decimal(repr(float(text))):
        raise ValueError(f"{text[:50]} has more digits than a number in JSON is read with; write it as text")


@lru_cache(maxsize=16)
def _models(spec: TableSpec) -> tuple[type[Table], TypeAdapter[list[Table]]]:
    """The class of a row, and a list of such rows."""
    model: Any = model_of(spec)
    return model, TypeAdapter(list[model])  # pyright: ignore[reportInvalidTypeForm]


def _why(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        return f"{where + ': ' if where else ''}{first['msg']}."
    if isinstance(error, KeylakeError):
        return str(error)
    return f"{error}."
