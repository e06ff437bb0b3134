"""The definition of a table as a class of dataframely, for frames of polars."""

from __future__ import annotations

from typing import Any

from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from keylake._definition.attributes import attributes_of, class_name_of
from keylake._definition.spec import TableSpec
from keylake._definition.table_names import name_parts
from keylake._frames.nested import has_maps
from keylake.errors import Unsupported

_PLAIN: dict[type[IcebergType], str] = {
    BooleanType: "Bool",
    IntegerType: "Int32",
    LongType: "Int64",
    FloatType: "Float32",
    DoubleType: "Float64",
    DateType: "Date",
    TimeType: "Time",
    StringType: "String",
    BinaryType: "Binary",
    FixedType: "Binary",
    UUIDType: "String",
}


def dataframely_schema(spec: TableSpec) -> Any:
    """The class of frames as `to_polars` gives them; its attributes are named as those of the table's class."""
    try:
        import dataframely as dy
    except ImportError:
        raise Unsupported(
            "to_dataframely() needs dataframely, which is not installed: pip install 'keylake[dataframely]'."
        ) from None
    attributes = attributes_of(spec.column_names, lambda name: hasattr(dy.Schema, name))
    columns: dict[str, Any] = {"__doc__": spec.comment or f"The rows of {spec.name}."}
    for each in spec.columns:
        attribute = attributes[each.name]
        words: dict[str, Any] = {"alias": None if attribute == each.name else each.name}
        # Of the ordering column a row has none where partial updates alone wrote it.
        words |= {"description": each.doc} if each.doc else {}
        if has_maps(each.type):
            columns[attribute] = dy.Any(**words)
        else:
            words |= {"primary_key": True} if each.name in spec.key else {"nullable": True}
            columns[attribute] = _column(dy, each.type, words)
    return type(class_name_of(name_parts(spec.name)[-1]), (dy.Schema,), columns)


def _column(dy: Any, type_: IcebergType, words: dict[str, Any]) -> Any:
    inner = {"nullable": True}
    match type_:
        case DecimalType():
            return dy.Decimal(type_.precision, type_.scale, **words)
        case TimestampType():
            return dy.Datetime(time_unit="us", **words)
        case TimestamptzType():
            return dy.Datetime(time_unit="us", time_zone="UTC", **words)
        case ListType():
            return dy.List(_column(dy, type_.element_type, inner), **words)
        case StructType():
            return dy.Struct({each.name: _column(dy, each.field_type, inner) for each in type_.fields}, **words)
        case _:
            return getattr(dy, _PLAIN[type(type_)])(**words)
