"""Changes of a table's columns: one call is one commit, and no file is touched.

alter(add=, drop=, ...) ── ColumnChanges ── JSON ── server: columns, their versions and the names in the spec
"""

# pyright: reportUnknownParameterType=false
# Arrow's own types stand in signatures, and Arrow carries no types for a checker.

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.types import IcebergType, ListType, MapType, NestedField, StructType

from keylake._definition.columns import Column
from keylake._definition.spec import Names, TableSpec, names_of
from keylake._table.handle import Verbs
from keylake._values import arrow_types
from keylake.errors import BadRows, DefinitionError, SchemaMismatch, check_type
from keylake.types import numbered, type_of, without_none

ColumnType: TypeAlias = Any
"""A type as in the class of a table (`Float64`, `list[str]`), an Arrow type, or an Iceberg type."""


@dataclass(frozen=True)
class ColumnChanges:
    """Changes of columns, checked against the columns that are known.

    >>> spec = TableSpec.from_arrow(pa.schema([("id", pa.int64()), ("clicks", pa.int32())]), name="a.b", key="id")
    >>> ColumnChanges(spec, rename={"click": "views"}).to_json()
    Traceback (most recent call last):
    keylake.errors.SchemaMismatch: a.b has no column 'click'. Did you mean 'clicks'?
    """

    spec: TableSpec
    add: Mapping[str, ColumnType] = field(default_factory=dict[str, ColumnType])
    drop: Sequence[str] = ()
    rename: Mapping[str, str] = field(default_factory=dict[str, str])
    widen: Mapping[str, ColumnType] = field(default_factory=dict[str, ColumnType])
    comment: Mapping[str, str] = field(default_factory=dict[str, str])
    after: Mapping[str, str | None] = field(default_factory=dict[str, "str | None"])

    def to_json(self) -> str:
        """The changes as the server takes them."""
        changes = [self._change("drop", name) for name in self.drop]
        changes += [self._change("rename", old, name=new) for old, new in self.rename.items()]
        changes += [self._change("widen", name, schema=_schema(name, each, "")) for name, each in self.widen.items()]
        changes += [self._added(name, each) for name, each in self.add.items()]
        there = {name: text for name, text in self.comment.items() if name not in self.add}
        changes += [self._change("comment", name, comment=text) for name, text in there.items()]
        moved = {name: neighbour for name, neighbour in self.after.items() if name not in self.add}
        changes += [self._change("move", name, after=neighbour) for name, neighbour in moved.items()]
        if not changes:
            raise DefinitionError("Nothing is to change. Give add=, drop=, rename=, widen=, comment= or after=.")
        return json.dumps(changes)

    def _change(self, change: str, column: str, /, **words: object) -> dict[str, object]:
        return {"change": change, "path": self._known(column), **words}

    def _added(self, name: str, type_: ColumnType) -> dict[str, object]:
        path = _path(name)
        if len(path) == 1 and name.lower() in (
            known.lower() for known in self.spec.column_names if known not in self.drop
        ):
            raise DefinitionError(f"{self.spec.name} has a column {name!r} already. Give the new one another name.")
        schema = _schema(path[-1], type_, self.comment.get(name, ""))
        place = {"after": self.after[name]} if name in self.after else {}
        return {"change": "add", "path": path, "schema": schema, **place}

    def _known(self, name: str) -> list[str]:
        path = _path(name)
        if path[0].lower() not in (known.lower() for known in self.spec.column_names):
            raise SchemaMismatch(f"{self.spec.name} has no column {path[0]!r}. {self.spec.hint(path[0])}")
        return path


class ColumnVerbs(Verbs):
    """The verb that changes the columns of a table."""

    def alter(
        self,
        *,
        add: Mapping[str, ColumnType] | None = None,
        drop: Names | None = None,
        rename: Mapping[str, str] | None = None,
        widen: Mapping[str, ColumnType] | None = None,
        comment: Mapping[str, str] | None = None,
        after: Mapping[str, str | None] | None = None,
    ) -> TableSpec:
        """Change the columns of the table, with all of its branches, in one commit that touches no file.

        `add` and `widen` map names to types: as in the class of a table (`Float64`, `list[str]`), of Arrow, or of
        Iceberg. `after` says behind which column one stands, None at the front. A dot leads into a struct ("home.zip"),
        into `element` of a list, and into `value` of a map. Names are those before the change.

        A renamed column keeps its values and versions. A name that is dropped and added again starts empty. Key columns
        and the ordering column can be renamed and moved only. Types widen: int to long, float to double, a decimal to
        more digits before the point.

        Writers and readers go on meanwhile. Other handles learn of it when they need it. Returns the new definition.

        Raises `DefinitionError` for a change that cannot be, `SchemaMismatch` for a column that the table does not
        have, and `Unsupported` on an experiment and for columns that a class of a user combines. Nothing is changed
        then.

        Example::

            profiles.alter(add={"score": Float64}, rename={"clicks": "views"}, comment={"score": "From 0 to 1."})
        """
        self._handle.check_no_experiment("columns that change (alter)")
        for word, given in {"add": add, "rename": rename, "widen": widen, "comment": comment, "after": after}.items():
            check_type(word, given, Mapping | None, "a mapping from the names of columns")
        for word, texts in {"rename": rename, "comment": comment}.items():
            for name, text in (texts or {}).items():
                check_type(f"{word} of column {name!r}", text, str, "text")
        for name, neighbour in (after or {}).items():
            check_type(
                f"after of column {name!r}", neighbour, str | None, "the name of a column, or None for the front"
            )
        dropped = () if drop is None else names_of(drop)

        def changed() -> TableSpec:
            changes = ColumnChanges(
                self.spec, add or {}, dropped, rename or {}, widen or {}, comment or {}, after or {}
            ).to_json()
            return TableSpec.from_json(str(self._handle.on_main.value("alter_columns", changes=changes)))

        self._learn(replace(self._handle, spec=self._knowing(changed)))
        return self.spec


def _path(name: object) -> list[str]:
    check_type("The name of a column", name, str, "text")
    return str(name).split(".")


def _schema(name: str, type_: ColumnType, doc: str) -> dict[str, Any]:
    """A type as an Iceberg schema of one column."""
    column = Column(name, iceberg_type(type_, f"Column {name!r}"), doc=doc)
    struct = numbered(StructType(NestedField(0, column.name, column.type, required=False, doc=doc or None)))
    assert isinstance(struct, StructType)
    found: dict[str, Any] = json.loads(Schema(*struct.fields).model_dump_json())
    return found


def new_columns(spec: TableSpec, columns: Mapping[str, pa.DataType], beside: Collection[str]) -> dict[str, IcebergType]:
    """The columns of rows that a table does not have, with the types that hold all their values.

    What is nested may be null in the table, whatever the rows promise. `beside` are columns that are none of the table.

    >>> spec = TableSpec.from_arrow(pa.schema([("id", pa.int64())]), name="a.b", key="id")
    >>> new_columns(spec, {"ID": pa.int64(), "n": pa.int8(), "op": pa.string()}, ["op"])
    {'n': IntegerType()}
    """
    known = {name.lower() for name in (*spec.column_names, *beside)}
    found: dict[str, IcebergType] = {}
    for name, type_ in columns.items():
        if name.lower() in known:
            continue
        if pa.types.is_null(type_):
            raise BadRows(
                f"Column {name!r} is null in every row, so its type is not known. "
                f"Add it with alter(add={{{name!r}: ...}}), or leave it out."
            )
        found[name] = _nullable(arrow_types.from_arrow(type_, f"Column {name!r}"))
    return found


def _nullable(type_: IcebergType) -> IcebergType:
    if isinstance(type_, ListType):
        return ListType(type_.element_id, _nullable(type_.element_type), element_required=False)
    if isinstance(type_, MapType):
        value = _nullable(type_.value_type)
        return MapType(type_.key_id, type_.key_type, type_.value_id, value, value_required=False)
    if isinstance(type_, StructType):
        return StructType(
            *(NestedField(f.field_id, f.name, _nullable(f.field_type), required=False) for f in type_.fields)
        )
    return type_


def iceberg_type(type_: ColumnType, where: str) -> IcebergType:
    """The Iceberg type that is meant; `where` begins the sentence of an error.

    >>> print(iceberg_type(list[int], "Column 'scores'"), iceberg_type(pa.int16(), "Column 'n'"))
    list<long> int
    """
    if isinstance(type_, IcebergType):
        return type_
    if isinstance(type_, pa.DataType):
        return arrow_types.from_arrow(type_, where)
    return type_of(without_none(type_)[0], where)
