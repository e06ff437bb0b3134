"""The types of new columns, from the kinds of values that a batch has for a field.

| values | column |
|---|---|
| true, false | boolean |
| whole numbers of 64 bits | long |
| whole numbers, some of them larger | decimal(38, 0) |
| numbers, some of them with a point or an exponent | double |
| text | string |
| lists | list of the type that all elements have by these rules |
| objects | struct, each member by these rules |
| several of these | string |
| null, [] and {} only | no column yet |

VARIANT has dates, timestamps and binary besides. Kinds are those of Spark's `schema_of_variant`.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    IcebergType,
    ListType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
)

from keylake.types import numbered

_SCALARS: dict[str, IcebergType] = {
    "BOOLEAN": BooleanType(),
    "BIGINT": LongType(),
    "DOUBLE": DoubleType(),
    "FLOAT": DoubleType(),
    "STRING": StringType(),
    "DATE": DateType(),
    "TIMESTAMP": TimestamptzType(),
    "TIMESTAMP_NTZ": TimestampType(),
    "BINARY": BinaryType(),
}
_LARGE = DecimalType(38, 0)
_NUMBERS: tuple[IcebergType, ...] = (LongType(), _LARGE, DoubleType())  # each holds those before it, but for exactness
_TOKEN = re.compile(r"`(?:[^`]|``)*`|DECIMAL\(\d+,\d+\)|[^\s<>,:`]+|[<>,:]")


def column_type(kinds: Collection[str], nested: str | None) -> IcebergType | None:
    """The type of a column for values of these kinds; `nested` is what the lists and objects among them have in common.

    >>> print(column_type(["BIGINT", "DECIMAL(2,1)"], None), column_type(["BIGINT", "BOOLEAN"], None))
    double string
    >>> print(column_type(["ARRAY"], "ARRAY<OBJECT<zip: BIGINT, `a b`: VOID>>"))
    list<struct<2: zip: optional long>>
    >>> column_type(["ARRAY"], "ARRAY<VOID>") is None
    True
    """
    if not kinds:
        return None
    if nested is not None and {*kinds} <= {"ARRAY", "OBJECT"}:
        found = nested_type(nested)
        return None if found is None else numbered(found)
    types = {str(type_): type_ for type_ in (_SCALARS.get(kind, _number(kind)) for kind in kinds)}
    if all(type_ in _NUMBERS for type_ in types.values()):
        return max(types.values(), key=_NUMBERS.index)
    return next(iter(types.values())) if len(types) == 1 else StringType()


def nested_type(text: str) -> IcebergType | None:
    """The type of values that Spark describes so; None where nothing but null and empty values tell of it.

    >>> print(nested_type("OBJECT<a: VARIANT, A: BIGINT>"))
    string
    """
    type_, _ = _type(_TOKEN.findall(text), 0)
    return type_


def _number(kind: str) -> IcebergType:
    digits = re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", kind)
    if digits is None:
        return StringType()
    return _LARGE if digits[2] == "0" and int(digits[1]) > 18 else DoubleType()


def _type(tokens: list[str], at: int) -> tuple[IcebergType | None, int]:
    word = tokens[at]
    if word == "ARRAY":
        element, end = _type(tokens, at + 2)
        return None if element is None else ListType(1, element, element_required=False), end + 1
    if word == "OBJECT":
        return _object(tokens, at + 2)
    return None if word == "VOID" else _SCALARS.get(word, _number(word)), at + 1


def _object(tokens: list[str], at: int) -> tuple[IcebergType | None, int]:
    members: dict[str, IcebergType | None] = {}
    names: list[str] = []
    while tokens[at] != ">":
        name = tokens[at]
        name = name[1:-1].replace("``", "`") if name.startswith("`") else name
        members[name], at = _type(tokens, at + 2)
        names.append(name)
        at += tokens[at] == ","
    if not can_be_members(names):
        return StringType(), at + 1
    known = [(name, type_) for name, type_ in members.items() if type_ is not None]
    fields = [NestedField(0, name, type_, required=False) for name, type_ in known]
    return StructType(*fields) if fields else None, at + 1


def can_be_members(names: Collection[str]) -> bool:
    """A struct can have members of these names.

    >>> can_be_members(["zip", "ZIP"])
    False
    """
    lower = {name.lower() for name in names}
    return len(lower) == len(names) and all(name.strip() and "." not in name and name.isprintable() for name in names)


def leaves(type_: IcebergType) -> int:
    """The number of columns that a type counts for: as many as it has values that are stored by themselves.

    >>> leaves(StructType(NestedField(1, "zip", LongType(), False), NestedField(2, "street", StringType(), False)))
    2
    """
    if isinstance(type_, ListType):
        return leaves(type_.element_type)
    if isinstance(type_, StructType):
        return sum(leaves(member.field_type) for member in type_.fields)
    return 1


def new_members(column: str, have: IcebergType, seen: IcebergType) -> dict[str, IcebergType]:
    """The members that structs of a column lack for the values of a batch, by their paths.

    >>> have = StructType(NestedField(1, "zip", LongType(), False))
    >>> seen = StructType(NestedField(1, "Zip", LongType(), False), NestedField(2, "street", StringType(), False))
    >>> new_members("home", have, seen)
    {'home.street': StringType()}
    """
    if isinstance(have, ListType) and isinstance(seen, ListType):
        return new_members(f"{column}.element", have.element_type, seen.element_type)
    found: dict[str, IcebergType] = {}
    if isinstance(have, StructType) and isinstance(seen, StructType):
        members = {member.name: member.field_type for member in have.fields}
        taken = {name.lower() for name in members}
        for member in seen.fields:
            path = f"{column}.{member.name}"
            if member.name in members:
                found.update(new_members(path, members[member.name], member.field_type))
            elif member.name.lower() not in taken:
                found[path] = member.field_type
    return found
