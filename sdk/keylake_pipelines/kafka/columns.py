"""Columns of tables as rows of messages tell them: found, added and widened from batch to batch.

    found by tasks ── add ──▶ TableCreated, ColumnAdded, ColumnModified, which come in a step before the rows

What tables were told of in earlier runs is known from the beginning on. A table that is seen for the first time is told
with all of its columns, each as an added one, too: what its keyed table has is not known here.

A type that a schema says is exact. JSON without one says: true and false are boolean; whole numbers long, or
decimal(38, 0); other numbers double; text, lists and objects string. Two types of a column become the one that holds
the values of both.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import reduce

from pyiceberg.types import (
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
)

from keylake.types import numbered
from keylake_pipelines.source.members import Rewriting
from keylake_pipelines.source.tables import (
    ColumnAdded,
    ColumnModified,
    SourceColumn,
    SourceSchema,
    SourceTable,
    TableChange,
    TableCreated,
)

_DIGITS: dict[type[IcebergType], int] = {IntegerType: 10, LongType: 19}
_MOST_DIGITS = 38


@dataclass
class FoundTables:
    """The tables that rows have told of, with their columns in the order in which they were seen."""

    _columns: dict[str, dict[str, IcebergType]] = field(default_factory=dict[str, dict[str, IcebergType]])
    _keys: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    rewriting: dict[str, Rewriting] = field(default_factory=dict[str, Rewriting])
    """By table, how rows of the last batch become those of its columns: by their names, whatever the case, and as text
    where the type is string and other kinds of values were seen."""

    @classmethod
    def of(cls, schemas: Iterable[SourceSchema]) -> FoundTables:
        """Tables that are known already, of which only what is new is told.

        >>> orders = SourceSchema(SourceTable(("shop", "orders")), (SourceColumn("n", StringType()),), ("n",))
        >>> FoundTables.of([orders]).add([("shop.orders", '{"key": ["n"], "columns": {"n": ["long", "double"]}}')])
        ()
        """
        known = {str(each.table): each for each in schemas}
        return cls(
            {name: {column.name: column.type for column in each.columns} for name, each in known.items()},
            {name: each.key for name, each in known.items()},
        )

    def add(self, found: Iterable[tuple[str, str]]) -> tuple[TableChange, ...]:
        """Add pairs of a table and a finding, `{"key": [names], "columns": {name: [types]}}`; returns what is new.

        >>> tables = FoundTables()
        >>> created, added = tables.add([("shop.orders", '{"key": ["id"], "columns": {"id": ["long"]}}')])
        >>> tables.add([("shop.orders", '{"key": ["id"], "columns": {"id": ["long"], "n": ["double"]}}')])
        (ColumnAdded(table=SourceTable(parts=('shop', 'orders')), column=SourceColumn(name='n', type=DoubleType(), comment=''), after=None),)
        >>> tables.add([("shop.orders", '{"key": ["id"], "columns": {"N": ["double"]}}')]), tables.rewriting
        ((), {'shop.orders': Rewriting(names={'N': 'n'}, texts=(), without=())})
        """  # noqa: E501
        said: dict[str, dict[str, list[IcebergType]]] = {}
        other_names: dict[str, dict[str, str]] = {}
        for table, text in found:
            entry = json.loads(text)
            columns = said.setdefault(table, {})
            names = {name.lower(): name for name in (*columns, *self._columns.get(table, ()))}
            for seen, types in entry["columns"].items():
                name = names.setdefault(seen.lower(), seen)
                if name != seen:
                    other_names.setdefault(table, {})[seen] = name
                columns.setdefault(name, []).extend(map(_type, types))
            if entry["key"] or table not in self._keys:
                self._keys[table] = tuple(entry["key"])
        changes = tuple(change for table, columns in said.items() for change in self._changes(table, columns))
        self.rewriting = {}
        for table, columns in said.items():
            texts = tuple(name for name, types in columns.items() if self._is_mixed(table, name, types))
            if texts or table in other_names:
                self.rewriting[table] = Rewriting(other_names.get(table, {}), texts)
        return changes

    def schemas(self) -> tuple[SourceSchema, ...]:
        """All tables, as they are known."""
        return tuple(map(self._schema, self._columns))

    def _is_mixed(self, table: str, column: str, seen: Iterable[IcebergType]) -> bool:
        """Values of a column that is text are not all written as text."""
        is_text = isinstance(self._columns[table][column], StringType)
        return is_text and not all(isinstance(each, StringType) for each in seen)

    def _changes(self, name: str, seen: dict[str, list[IcebergType]]) -> Iterable[TableChange]:
        table = SourceTable(tuple(name.split(".")))
        known = self._columns.get(name)
        if known is None:
            self._columns[name] = {column: reduce(widened, types) for column, types in seen.items()}
            schema = self._schema(name)
            yield TableCreated(schema)
            yield from (ColumnAdded(table, column) for column in schema.columns)
            return
        for column, types in seen.items():
            have = known.get(column)
            known[column] = reduce(widened, types if have is None else [have, *types])
            changed = SourceColumn(column, known[column])
            if have is None:
                yield ColumnAdded(table, changed)
            elif have != known[column]:
                yield ColumnModified(table, changed)

    def _schema(self, name: str) -> SourceSchema:
        columns = tuple(SourceColumn(column, type_) for column, type_ in self._columns[name].items())
        return SourceSchema(SourceTable(tuple(name.split("."))), columns, self._keys[name])


def _type(said: object) -> IcebergType:
    """The type that Iceberg's JSON names.

    >>> print(_type({"type": "list", "element-id": 0, "element": "long", "element-required": False}))
    list<long>
    """
    field_ = NestedField.model_validate({"id": 1, "name": "x", "type": said, "required": False})
    return numbered(field_.field_type)


def widened(one: IcebergType, other: IcebergType) -> IcebergType:
    """The type that holds the values of both; text does where no other one can.

    >>> print(widened(LongType(), DecimalType(10, 2)), widened(LongType(), DoubleType()))
    decimal(21, 2) double
    >>> print(widened(DateType(), LongType()))
    string
    """
    if one == other:
        return one
    kinds = {type(one), type(other)}
    if kinds <= {IntegerType, LongType}:
        return LongType()
    if kinds <= {FloatType, DoubleType, IntegerType, LongType, DecimalType} and kinds & {FloatType, DoubleType}:
        return DoubleType()
    if kinds <= {IntegerType, LongType, DecimalType}:
        return _decimal(one, other)
    if kinds == {DateType, TimestampType}:
        return TimestampType()
    return _nested(one, other)


def _decimal(one: IcebergType, other: IcebergType) -> IcebergType:
    scale = max(each.scale for each in (one, other) if isinstance(each, DecimalType))
    whole = max(
        each.precision - each.scale if isinstance(each, DecimalType) else _DIGITS[type(each)] for each in (one, other)
    )
    return DecimalType(whole + scale, scale) if whole + scale <= _MOST_DIGITS else StringType()


def _nested(one: IcebergType, other: IcebergType) -> IcebergType:
    if isinstance(one, ListType) and isinstance(other, ListType):
        return numbered(ListType(1, widened(one.element_type, other.element_type), element_required=False))
    if isinstance(one, MapType) and isinstance(other, MapType):
        value = widened(one.value_type, other.value_type)
        return numbered(MapType(1, StringType(), 2, value, value_required=False))
    if isinstance(one, StructType) and isinstance(other, StructType):
        members = {each.name: each.field_type for each in one.fields}
        for each in other.fields:
            have = members.get(each.name)
            members[each.name] = each.field_type if have is None else widened(have, each.field_type)
        return numbered(StructType(*(NestedField(0, name, type_, required=False) for name, type_ in members.items())))
    return StringType()
