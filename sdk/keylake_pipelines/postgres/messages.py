"""The messages of pgoutput, PostgreSQL's own form of its logical log (version 1 of its protocol), decoded.

A transaction is Begin, changes, Commit; transactions come whole, in the order of their commits. A Relation comes before
the first change of a table, and again after its columns changed. Values are the text that PostgreSQL shows.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from enum import Enum
from operator import itemgetter
from typing import Final, TypeAlias

EPOCH = datetime(2000, 1, 1, tzinfo=timezone.utc)


class Absent(Enum):
    """The sign of a value that is not in the log: a large one, stored apart, which an update did not touch."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT
Value: TypeAlias = "str | Absent | None"
Values: TypeAlias = tuple[Value, ...]


@dataclass(frozen=True)
class Begin:
    """A transaction begins: the place of its commit, when that was, and its number."""

    commit: int
    at: datetime
    transaction: int


@dataclass(frozen=True)
class Commit:
    """A transaction ends: the place of its commit, and the place behind it."""

    commit: int
    end: int


@dataclass(frozen=True)
class RelationColumn:
    """A column as a table had it when its rows were changed."""

    name: str
    type: int  # the number (OID) of its type
    modifier: int


@dataclass(frozen=True)
class Relation:
    """The columns of a table at this place of the log; `identity` is d, f, i or n."""

    number: int
    schema: str
    name: str
    identity: str
    columns: tuple[RelationColumn, ...]


@dataclass(slots=True)
class Insert:
    """A row is new."""

    relation: int
    new: Values


@dataclass(slots=True)
class Update:
    """A row has changed; `old` is its key, or all of it, where that was logged."""

    relation: int
    new: Values
    old: Values | None
    old_is_whole: bool


@dataclass(slots=True)
class Delete:
    """A row is gone; `old` is its key (other values are null), or all of it."""

    relation: int
    old: Values


@dataclass(frozen=True)
class Truncate:
    """All rows of tables are gone."""

    relations: tuple[int, ...]


@dataclass(frozen=True)
class Other:
    """A message that changes no row: the name of a type, where a transaction came from, or a text."""

    kind: str


Message: TypeAlias = Begin | Commit | Relation | Insert | Update | Delete | Truncate | Other

_BEGIN = struct.Struct(">qqI")
_COMMIT = struct.Struct(">Bqqq")
_COLUMN = struct.Struct(">Ii")
_INT16 = struct.Struct(">h").unpack_from
_INT32 = struct.Struct(">i").unpack_from
_NUMBER = struct.Struct(">I").unpack_from

_NULL, _UNCHANGED, _TEXT, _OLD = ord("n"), ord("u"), ord("t"), ord("O")
_INSERT, _UPDATE, _DELETE = ord("I"), ord("U"), ord("D")
_FIRST = 8  # where values begin: behind the kind, the relation, the kind of the row, and how many values it has
_BETWEEN = 3  # what lies between an old row and the new one: a kind, and how many values that one has

# A text is behind a t and its size in four bytes, and has no byte 0 in it. So where all sizes fit into two bytes, two
# bytes of 0 behind a t are nothing else.
_HEAD = b"t\0\0"
_BEHIND_SIZE = itemgetter(slice(2, None))
_MOST_BYTES = 2**16


def decoded(data: bytes) -> Message:
    """The message that bytes have; raises ValueError if it is none of version 1 of the protocol."""
    kind = data[0]
    if kind == _INSERT:
        return Insert(_NUMBER(data, 1)[0], _last(data, _FIRST))
    if kind == _UPDATE:
        return _update(data)
    if kind == _DELETE:
        return Delete(_NUMBER(data, 1)[0], _last(data, _FIRST))
    if kind == ord("B"):
        commit, at, transaction = _BEGIN.unpack_from(data, 1)
        return Begin(commit, EPOCH + timedelta(microseconds=at), transaction)
    if kind == ord("C"):
        _, commit, end, _ = _COMMIT.unpack_from(data, 1)
        return Commit(commit, end)
    if kind == ord("R"):
        return _relation(data)
    if kind == ord("T"):
        (count,) = _INT32(data, 1)
        return Truncate(struct.unpack_from(f">{count}I", data, 6))
    if chr(kind) in "OYM":
        return Other(chr(kind))
    raise ValueError(f"A message of pgoutput begins with {data[:1]!r}.")


def _update(data: bytes) -> Update:
    (relation,) = _NUMBER(data, 1)
    kind = data[5]
    if kind == ord("N"):
        return Update(relation, _last(data, _FIRST), None, False)
    (count,) = _INT16(data, _FIRST - 2)
    if len(data) < _MOST_BYTES and data.count(_HEAD, _FIRST) == 2 * count:
        parts = data[_FIRST + len(_HEAD) :].split(_HEAD)
        parts[count - 1] = parts[count - 1][:-_BETWEEN]
        texts = tuple(map(bytes.decode, map(_BEHIND_SIZE, parts)))
        return Update(relation, texts[count:], texts[:count], kind == _OLD)
    old, end = _values(data, _FIRST)
    return Update(relation, _last(data, end + _BETWEEN), old, kind == _OLD)


def _last(data: bytes, at: int) -> Values:
    """The values that a message ends with; where all of them are texts, they are what lies between their heads."""
    if len(data) < _MOST_BYTES and data.count(_HEAD, at) == _INT16(data, at - 2)[0]:
        texts = data[at + len(_HEAD) :]
        if texts.isascii():
            return tuple(map(_BEHIND_SIZE, texts.decode().split(_HEAD.decode())))
        return tuple(map(bytes.decode, map(_BEHIND_SIZE, texts.split(_HEAD))))
    return _values(data, at)[0]


def _values(data: bytes, at: int) -> tuple[Values, int]:
    """The values from a place on, one after the other, and where they end."""
    values: list[Value] = []
    for _ in range(_INT16(data, at - 2)[0]):
        kind = data[at]
        at += 1
        if kind == _TEXT:
            begin = at + 4
            at = begin + _INT32(data, at)[0]
            values.append(data[begin:at].decode())
        elif kind == _NULL:
            values.append(None)
        elif kind == _UNCHANGED:
            values.append(ABSENT)
        else:
            raise ValueError(f"A value of pgoutput is of the kind {chr(kind)!r}.")
    return tuple(values), at


def _relation(data: bytes) -> Relation:
    (number,) = _NUMBER(data, 1)
    schema, at = _name(data, 5)
    name, at = _name(data, at)
    identity = chr(data[at])
    (count,) = _INT16(data, at + 1)
    at += 3
    columns: list[RelationColumn] = []
    for _ in range(count):
        column, at = _name(data, at + 1)  # behind a flag that says whether the column is part of the identity
        columns.append(RelationColumn(column, *_COLUMN.unpack_from(data, at)))
        at += _COLUMN.size
    return Relation(number, schema or "pg_catalog", name, identity, tuple(columns))


def _name(data: bytes, at: int) -> tuple[str, int]:
    end = data.index(0, at)
    return data[at:end].decode(), end + 1
