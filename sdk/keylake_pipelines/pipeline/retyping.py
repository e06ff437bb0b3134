"""A column of a keyed table becomes one of another type, which Iceberg does not widen it to.

    column n long ── n__retyped double is added ── values are copied, each at its version ── n is dropped,
                                                                                         n__retyped is called n

Readers see the old column until the last step. What was cut off goes on: values that are copied twice are equal.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pyiceberg.types import (
    BinaryType,
    FixedType,
    IcebergType,
    NestedField,
    PrimitiveType,
    StringType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

import keylake as kl
from keylake.errors import BadRows, CommitConflict, DefinitionError, KeylakeError, SchemaMismatch, Unsupported
from keylake.extension import literal, quoted, session_of, sql_type
from keylake.reducers import LATEST

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from keylake.lake import Lake
    from keylake.table import KeyedTable

_LOOKS = 3
_OLD, _NEW, _VERSION = "_of_keylake_old", "_of_keylake_new", "_of_keylake_version"
_TEXT_FORMS = "map('ignoreNullFields', 'false', 'timeZone', 'UTC', 'timestampFormat', {}, 'timestampNTZFormat', {})"
_JSON = _TEXT_FORMS.format(literal("yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"), literal("yyyy-MM-dd'T'HH:mm:ss.SSSSSS"))


@dataclass(frozen=True)
class Retyped:
    """A column that has another type now, and how many of its values were written again.

    >>> print(Retyped("lake.orders", "n", "long", "double", 12))
    column 'n' of lake.orders is double now, and was long: 12 values were written again
    """

    table: str
    column: str
    before: str
    type: str
    values: int

    def __str__(self) -> str:
        return (
            f"column {self.column!r} of {self.table} is {self.type} now, and was {self.before}: "
            f"{self.values:,} values were written again"
        )


def retype(lake: Lake, name: str, column: str, wanted: str) -> Retyped:
    """Give a column of a keyed table another type, which holds all of its values as they are.

    Values keep their versions, so that what is written later wins as it would have. Text holds values of every type;
    lists, structs and maps become the text of their JSON.

    Errors: `BadRows` for a value that would be changed, `SchemaMismatch` for a column that is not there,
    `DefinitionError` for one of the key or of a reducer, `CommitConflict` where somebody else writes the column
    meanwhile. Nothing is changed then.
    """
    table = lake.table(name)
    type_ = type_named(wanted)
    before = _checked(table, column)
    if str(before.type) == str(type_):
        raise DefinitionError(f"Column {before.name!r} of {name} is {before.type} already. Name another type.")
    beside = f"{before.name}__retyped"
    there = {each.name.lower(): each for each in table.spec.columns}
    if beside.lower() in there and str(there[beside.lower()].type) != str(type_):  # of a change that was given up
        table.alter(drop=[beside])
    if beside.lower() not in {each.lower() for each in table.spec.column_names}:
        comment = {beside: before.doc} if before.doc else None
        table.alter(add={beside: type_}, after={beside: before.name}, comment=comment)
    try:
        copied = _copied(lake, table, before, beside, type_)
    except KeylakeError:
        with suppress(KeylakeError):  # a server that is away is told as the reason
            table.alter(drop=[beside])
        raise
    table.alter(drop=[before.name], rename={beside: before.name})
    return Retyped(name, before.name, str(before.type), str(type_), copied)


def type_named(text: str) -> IcebergType:
    """A type by its name in Iceberg.

    >>> type_named("decimal(21, 2)")
    DecimalType(precision=21, scale=2)
    >>> type_named("varchar")
    Traceback (most recent call last):
    keylake.errors.DefinitionError: 'varchar' is no type of a column. Use one such as string, long, double, decimal(38, 2), date or timestamptz.
    """  # noqa: E501
    try:
        found = NestedField.model_validate({"id": 1, "name": "x", "type": text, "required": False}).field_type
    except (ValidationError, ValueError):
        found = None
    if not isinstance(found, PrimitiveType) or isinstance(found, TimeType | UUIDType | FixedType):
        raise DefinitionError(
            f"{text!r} is no type of a column. Use one such as string, long, double, decimal(38, 2), date or "
            "timestamptz."
        )
    return found


def _checked(table: KeyedTable, name: str) -> kl.Column:
    spec = table.spec
    column = next((each for each in spec.columns if each.name.lower() == name.lower()), None)
    if column is None:
        raise SchemaMismatch(f"{spec.name} has no column {name!r}. {spec.hint(name)}")
    if column.name in spec.key:
        raise DefinitionError(
            f"Column {column.name!r} is of the key of {spec.name}, whose types stay. Let a pipeline make another table."
        )
    if column.reducer != LATEST or any(column.name in group.columns for group in spec.column_groups):
        raise DefinitionError(
            f"Column {column.name!r} of {spec.name} has a reducer or a column group. Add a column of another name "
            "(alter)."
        )
    if spec.versions != "explicit":
        raise Unsupported(
            f"{spec.name} has {spec.versions} versions, and types are changed in tables of pipelines, which have "
            "explicit ones. Add a column of another name (alter)."
        )
    return column


def _copied(lake: Lake, table: KeyedTable, before: kl.Column, beside: str, type_: IcebergType) -> int:
    """Write the values into the other column, and again where somebody has written meanwhile; how many they are."""
    session = session_of(lake)
    known = {commit.snapshot_id for commit in table.history()}
    for _ in range(_LOOKS):
        rows = _values(table, before, type_)
        key = list(table.spec.key)
        with session.asking():
            _check_exact(rows, key, before, type_)
        names = [*map(quoted, key), f"{_NEW} AS {quoted(beside)}", _VERSION]
        commit = table.update(rows.selectExpr(*names), version=_VERSION)
        new = [each for each in table.history() if each.snapshot_id not in known | {commit.snapshot_id}]
        if not any(before.name in each.columns for each in new):
            return commit.rows
        known |= {commit.snapshot_id, *(each.snapshot_id for each in new)}
    raise CommitConflict(
        f"Somebody writes column {before.name!r} of {table.spec.name} all the time, so its type was not changed. Stop "
        "the pipeline (keylake stop), and ask again."
    )


def _values(table: KeyedTable, before: kl.Column, type_: IcebergType) -> DataFrame:
    """The key, the value as it is and in the new type, and its version; without rows that the column is absent of."""
    name = quoted(before.name)
    rows = table.read(columns=[*table.spec.key, before.name, "_merge_info"])
    version = f"_merge_info.version - _merge_info.columns.{name}"
    key = map(quoted, table.spec.key)
    found = rows.selectExpr(*key, f"{name} AS {_OLD}", f"{version} AS {_VERSION}").where(f"{_VERSION} IS NOT NULL")
    return found.selectExpr("*", f"{_in_new_type(before.type, type_)} AS {_NEW}")


def _in_new_type(old: IcebergType, new: IcebergType) -> str:
    match new, old:
        case StringType(), TimestampType() | TimestamptzType():
            return f"get_json_object(to_json(struct({_OLD} AS v), {_JSON}), '$.v')"
        case StringType(), BinaryType() | FixedType():
            return f"base64({_OLD})"
        case StringType(), PrimitiveType():
            return f"CAST({_OLD} AS STRING)"
        case StringType(), _:
            return f"to_json({_OLD}, {_JSON})"
        case _:
            return f"try_cast({_OLD} AS {sql_type(new)})"


def _check_exact(rows: DataFrame, key: list[str], before: kl.Column, type_: IcebergType) -> None:
    """Refuse values that another type would change; text holds all of them."""
    if isinstance(type_, StringType):
        return
    if not isinstance(before.type, PrimitiveType):
        raise DefinitionError(f"Column {before.name!r} is {before.type}. Its values become text only: use string.")
    from pyspark.errors import AnalysisException

    back = f"try_cast({_NEW} AS {sql_type(before.type)})"
    try:
        bad: list[Any] = rows.where(f"NOT ({back} <=> {_OLD})").limit(1).collect()
    except AnalysisException:
        raise DefinitionError(
            f"Column {before.name!r} is {before.type}, whose values are none of {type_}. Use string, or a wider type; "
            "nothing was changed."
        ) from None
    if bad:
        at = ", ".join(f"{name}={bad[0][name]!r}" for name in key)
        raise BadRows(
            f"Column {before.name!r} has {bad[0][_OLD]!r} at {at}, which {type_} would change. Use string, or a wider "
            "type; nothing was changed."
        )
