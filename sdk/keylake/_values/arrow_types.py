"""Iceberg types as Arrow types, and back.

Two Arrow forms of a type are in use. The *natural* form says the type exactly (a uuid is a uuid); `arrow_schema()`
gives it. The *Spark* form is what Spark takes in and gives out: Spark knows neither uuid, which it sees as string, nor
fixed, which it sees as binary.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
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
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from keylake.errors import DefinitionError
from keylake.types import numbered

DOC = b"doc"  # the field metadata that holds the text of a column, as pyiceberg writes it

_NATURAL: dict[type[IcebergType], Any] = {
    BooleanType: pa.bool_(),
    IntegerType: pa.int32(),
    LongType: pa.int64(),
    FloatType: pa.float32(),
    DoubleType: pa.float64(),
    DateType: pa.date32(),
    TimeType: pa.time64("us"),
    TimestampType: pa.timestamp("us"),
    TimestamptzType: pa.timestamp("us", tz="UTC"),
    StringType: pa.string(),
    BinaryType: pa.binary(),
    UUIDType: pa.uuid(),
}


def natural(type_: IcebergType) -> Any:
    """The Arrow type that says an Iceberg type exactly.

    >>> natural(FixedType(16)), natural(DecimalType(10, 2))
    (FixedSizeBinaryType(fixed_size_binary[16]), Decimal128Type(decimal128(10, 2)))
    """
    if isinstance(type_, FixedType):
        return pa.binary(len(type_))
    if isinstance(type_, DecimalType):
        return pa.decimal128(type_.precision, type_.scale)
    if isinstance(type_, ListType):
        return pa.list_(pa.field("element", natural(type_.element_type), nullable=not type_.element_required))
    if isinstance(type_, MapType):
        value = pa.field("value", natural(type_.value_type), nullable=not type_.value_required)
        return pa.map_(natural(type_.key_type), value)
    if isinstance(type_, StructType):
        return pa.struct([natural_field(f.name, f.field_type, f.required, f.doc or "") for f in type_.fields])
    return _NATURAL[type(type_)]


def natural_field(name: str, type_: IcebergType, required: bool, doc: str) -> Any:
    """A column as a field of an Arrow schema.

    >>> natural_field("user_id", LongType(), True, "")
    pyarrow.Field<user_id: int64 not null>
    """
    return pa.field(name, natural(type_), nullable=not required, metadata={DOC: doc.encode()} if doc else None)


def empty_table(schema: Any) -> Any:
    """No rows of a schema; Arrow's own `empty_table` knows no uuid inside of another type.

    >>> empty_table(pa.schema([("ids", pa.list_(pa.uuid()))])).num_rows
    0
    """
    return pa.table([pa.nulls(0, field.type) for field in schema], schema=schema)


def for_spark(type_: IcebergType) -> Any:
    """The Arrow type in which Spark takes in and gives out an Iceberg type.

    >>> for_spark(UUIDType()), for_spark(FixedType(16))
    (DataType(string), DataType(binary))
    """
    if isinstance(type_, UUIDType):
        return pa.string()
    if isinstance(type_, FixedType):
        return pa.binary()
    if isinstance(type_, ListType):
        return pa.list_(pa.field("element", for_spark(type_.element_type), nullable=not type_.element_required))
    if isinstance(type_, MapType):
        value = pa.field("value", for_spark(type_.value_type), nullable=not type_.value_required)
        return pa.map_(for_spark(type_.key_type), value)
    if isinstance(type_, StructType):
        return pa.struct([pa.field(f.name, for_spark(f.field_type), nullable=not f.required) for f in type_.fields])
    return natural(type_)


def has_names_of(type_: IcebergType, found: Any) -> bool:
    """An Arrow type, or schema, has the members of an Iceberg type by name, down to the innermost structs.

    >>> struct = StructType(NestedField(1, "zip", LongType(), required=False))
    >>> has_names_of(struct, pa.schema([("zip", pa.int32())])), has_names_of(struct, pa.schema([("city", pa.int64())]))
    (True, False)
    """
    if isinstance(type_, StructType):
        members = list(found)
        return [field.name for field in type_.fields] == [member.name for member in members] and all(
            has_names_of(field.field_type, member.type) for field, member in zip(type_.fields, members, strict=True)
        )
    if isinstance(type_, ListType):
        return has_names_of(type_.element_type, found.value_type)
    if isinstance(type_, MapType):
        return has_names_of(type_.key_type, found.key_type) and has_names_of(type_.value_type, found.item_type)
    return True


def from_arrow(type_: Any, where: str) -> IcebergType:
    """The Iceberg type that holds every value of an Arrow type; `where` begins the sentence of an error.

    >>> print(from_arrow(pa.large_list(pa.int16()), "Column 'scores'"))
    list<int>
    """
    return numbered(_from_arrow(type_, where))


def _from_arrow(type_: Any, where: str) -> IcebergType:
    if isinstance(type_, pa.DictionaryType | pa.RunEndEncodedType):
        return _from_arrow(type_.value_type, where)
    if isinstance(type_, pa.UuidType):
        return UUIDType()
    if isinstance(type_, pa.BaseExtensionType) and is_text_extension(type_):
        return StringType()
    known = _scalar(type_)
    if known is not None:
        return known
    types = pa.types
    if types.is_decimal(type_) and type_.precision <= 38 and 0 <= type_.scale <= type_.precision:
        return DecimalType(type_.precision, type_.scale)
    if types.is_fixed_size_binary(type_) and type_.byte_width > 0:
        return FixedType(type_.byte_width)
    if types.is_map(type_):
        value = type_.item_field
        return MapType(1, _from_arrow(type_.key_type, where), 2, _from_arrow(value.type, where), not value.nullable)
    if is_list(type_):
        element = type_.value_field
        return ListType(1, _from_arrow(element.type, where), not element.nullable)
    if types.is_struct(type_):
        if any(b"variant" in (field.metadata or {}) for field in type_):  # as Spark marks it
            raise DefinitionError(
                f"{where} is a VARIANT, which no file of Iceberg v2 can hold. Cast it to a type, or to_json() it."
            )
        return StructType(*(_nested_field(field, where) for field in type_))
    raise DefinitionError(f"{where} has the Arrow type {type_}, which no column can hold. {_instead(type_)}")


def _nested_field(field: Any, where: str) -> NestedField:
    type_ = _from_arrow(field.type, f"{where}, field {field.name!r},")
    return NestedField(0, field.name, type_, required=not field.nullable, doc=doc_of(field) or None)


def is_text_extension(type_: Any) -> bool:
    """An extension type is text with a meaning, as JSON is; of others only their makers know what they store.

    >>> is_text_extension(pa.json_())
    True
    """
    return bool(type_.extension_name == "arrow.json")


def is_list(type_: Any) -> bool:
    """An Arrow type is a list of any kind.

    >>> is_list(pa.large_list(pa.int8()))
    True
    """
    types = pa.types
    tests = (types.is_list, types.is_large_list, types.is_fixed_size_list, types.is_list_view, types.is_large_list_view)
    return any(test(type_) for test in tests)


def has_uuids_inside(type_: Any) -> bool:
    """An Arrow type is a list, struct or map with uuids somewhere in it.

    >>> has_uuids_inside(pa.list_(pa.uuid())), has_uuids_inside(pa.uuid())
    (True, False)
    """
    fields = [type_.field(place) for place in range(type_.num_fields)]
    return any(isinstance(field.type, pa.UuidType) or has_uuids_inside(field.type) for field in fields)


def doc_of(field: Any) -> str:
    """The text of a column in an Arrow schema.

    >>> doc_of(natural_field("day", DateType(), True, "The day in UTC."))
    'The day in UTC.'
    """
    metadata: dict[bytes, bytes] = field.metadata or {}
    return metadata.get(DOC, b"").decode()


def _scalar(type_: Any) -> IcebergType | None:
    types = pa.types
    if types.is_timestamp(type_):
        return TimestampType() if type_.tz is None else TimestamptzType()
    tests: list[tuple[Any, IcebergType]] = [
        (types.is_boolean, BooleanType()),
        (types.is_int64, LongType()),
        (types.is_uint32, LongType()),
        (lambda t: types.is_integer(t) and t.bit_width <= 32, IntegerType()),
        (types.is_float64, DoubleType()),
        (types.is_floating, FloatType()),
        (types.is_date, DateType()),
        (types.is_time, TimeType()),
        (lambda t: types.is_string(t) or types.is_large_string(t) or types.is_string_view(t), StringType()),
        (lambda t: types.is_binary(t) or types.is_large_binary(t) or types.is_binary_view(t), BinaryType()),
    ]
    return next((iceberg for test, iceberg in tests if test(type_)), None)


def _instead(type_: Any) -> str:
    if pa.types.is_uint64(type_):
        return "Its upper half exceeds a long: cast it to int64, or to decimal128(20, 0)."
    if pa.types.is_decimal(type_):
        return "A decimal has 1 to 38 digits, and at most all of them behind the point: cast it to such a decimal128."
    if pa.types.is_null(type_):
        return "It says nothing about the values: give the column a type, for example with pyarrow.field(name, type)."
    if pa.types.is_duration(type_) or pa.types.is_interval(type_):
        return "Store a number of microseconds as int64."
    return "Cast it to a type of Iceberg."
