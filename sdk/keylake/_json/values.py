"""Values of a payload as values of a column, in Spark's SQL: whether one fits the type, and what it is then.

A value that fits is not changed: a whole number goes into a number that holds it exactly, a number with a point or an
exponent into the nearest double or float, or into a decimal with all of its digits. Text goes into dates, timestamps,
uuids (in the ISO form) and binary (base64) if it is one. A string column takes text as it is, and other values as JSON.

Expressions are texts: `value` is the text of an expression of type VARIANT that is not null.
"""

from __future__ import annotations

from dataclasses import dataclass

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
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    UUIDType,
)

from keylake._server.statements import literal, sql_type

OBJECT = "map<string,variant>"
_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = _DAY + "[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?"
_ISO: dict[type[IcebergType], str] = {
    DateType: _DAY,
    TimestampType: _TIME,
    TimestamptzType: _TIME + "(Z|[+-][0-9]{2}:[0-9]{2})",
    UUIDType: "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
}
_KIND_OF: dict[type[IcebergType], str] = {
    DateType: "DATE",
    TimestampType: "TIMESTAMP_NTZ",
    TimestamptzType: "TIMESTAMP",
    BinaryType: "BINARY",
    FixedType: "BINARY",
}
_INFINITY = "double('Infinity')"
_TEXTS = (StringType, DateType, TimestampType, TimestamptzType, UUIDType, BinaryType, FixedType)


def got(value: str, type_: str) -> str:
    """A VARIANT as a value of a type of Spark; null where it is none.

    >>> got("x", "bigint")
    "try_variant_get(x, '$', 'bigint')"
    """
    return f"try_variant_get({value}, '$', {literal(type_)})"


def kind(said: str) -> str:
    """The kind of a VARIANT with this `schema_of_variant`: of lists and objects, without what is in them."""
    return f"CASE WHEN {said} LIKE 'ARRAY<%' THEN 'ARRAY' WHEN {said} LIKE 'OBJECT<%' THEN 'OBJECT' ELSE {said} END"


def is_null(value: str) -> str:
    """The condition in SQL that there is no value, or the null of JSON."""
    return f"({value} IS NULL OR is_variant_null({value}))"


def is_text(type_: IcebergType) -> bool:
    """Text is a value of the type as it is, rather than JSON for one."""
    return isinstance(type_, _TEXTS)


def fits(value: str, type_: IcebergType, schema: str) -> str:
    """The condition under which a VARIANT of this `schema_of_variant` is a value of the type; never null."""
    return f"coalesce({_Fit(value, type_, 0, schema).condition()}, false)"


def converted(value: str, type_: IcebergType, schema: str) -> str:
    """The value of the type that a VARIANT is, if it fits."""
    return _Fit(value, type_, 0, schema).result()


@dataclass(frozen=True)
class _Fit:
    """A value and the type that it is to have; `depth` tells the elements of lists in lists apart.

    The value stands in its expressions several times, so that it is a column or a variable of a lambda: for members of
    objects, too, or the text would grow with each level of them.
    """

    value: str
    type: IcebergType
    depth: int
    kind: str

    @property
    def double(self) -> str:
        return got(self.value, "double")

    @property
    def bigint(self) -> str:
        return got(self.value, "bigint")

    def condition(self) -> str:
        type_ = self.type
        if isinstance(type_, ListType | MapType | StructType):
            return self._nested_condition()
        if isinstance(type_, StringType):
            return "true"
        if isinstance(type_, BooleanType):
            return f"{self.kind} = 'BOOLEAN'"
        if isinstance(type_, LongType):
            return self._whole()
        if isinstance(type_, IntegerType):
            return f"({self._whole()} AND {self.bigint} BETWEEN -2147483648 AND 2147483647)"
        if isinstance(type_, DoubleType):
            return self._double()
        if isinstance(type_, FloatType):
            return f"({self._double()} AND {self._float()})"
        if isinstance(type_, DecimalType):
            scale = f"try_cast(rtrim(')', split_part({self.kind}, ',', 2)) AS INT)"
            digits = f"({self.kind} = 'BIGINT' OR {self.kind} LIKE 'DECIMAL(%' AND {scale} <= {type_.scale})"
            return f"({digits} AND {self.result()} IS NOT NULL)"
        return self._text_condition()

    def result(self) -> str:
        type_, value = self.type, self.value
        if isinstance(type_, ListType | MapType | StructType):
            return self._nested_result()
        if isinstance(type_, StringType):
            return f"if({self.kind} = 'STRING', {got(value, 'string')}, to_json({value}))"
        if isinstance(type_, BinaryType | FixedType):
            return f"if({self.kind} = 'BINARY', {got(value, 'binary')}, {self._base64()})"
        if isinstance(type_, TimestampType | TimestamptzType):
            stored = sql_type(type_)
            return f"if({self.kind} = 'STRING', try_cast({got(value, 'string')} AS {stored}), {got(value, stored)})"
        if isinstance(type_, FloatType):
            return f"CAST({self.double} AS FLOAT)"
        return got(value, sql_type(type_))

    # -------------------------------------------------------------------------------------------------- numbers, text

    def _whole(self) -> str:
        """Numbers of every kind whose value is whole and has 64 bits."""
        binary = f"{self.kind} IN ('DOUBLE', 'FLOAT') AND rint({self.double}) = {self.double}"
        return (
            f"({self.kind} = 'BIGINT' OR {self.kind} LIKE 'DECIMAL(%,0)' AND {self.bigint} IS NOT NULL "
            f"OR {binary} AND abs({self.double}) < 9.2233720368547748E18D)"
        )

    def _double(self) -> str:
        back = f"try_cast({self.double} AS BIGINT) <=> {self.bigint} AND {self.bigint} < 9223372036854775807"
        large = f"try_cast({self.double} AS DECIMAL(38, 0)) <=> {got(self.value, 'decimal(38,0)')}"
        finite = f"{self.kind} IN ('DOUBLE', 'FLOAT') AND abs({self.double}) < {_INFINITY}"
        return (
            f"(CASE WHEN {self.kind} = 'BIGINT' THEN {back} WHEN {self.kind} LIKE 'DECIMAL(%,0)' THEN {large} "
            f"ELSE {self.kind} LIKE 'DECIMAL(%' OR {finite} END)"
        )

    def _float(self) -> str:
        there = f"CAST({self.double} AS FLOAT)"
        is_whole = f"{self.kind} = 'BIGINT' OR {self.kind} LIKE 'DECIMAL(%,0)'"
        return f"if({is_whole}, CAST({there} AS DOUBLE) = {self.double}, abs(CAST({there} AS DOUBLE)) < {_INFINITY})"

    def _text_condition(self) -> str:
        """Types whose values are text in JSON, and have a kind of their own in VARIANT."""
        kind_of, iso = _KIND_OF.get(type(self.type)), _ISO.get(type(self.type))
        text = got(self.value, "string")
        if isinstance(self.type, BinaryType | FixedType):
            length = f" = {len(self.type)}" if isinstance(self.type, FixedType) else " >= 0"
            return f"({self.kind} IN ('BINARY', 'STRING') AND octet_length({self.result()}){length})"
        if iso is None:
            return "false"
        is_text = f"({self.kind} = 'STRING' AND {text} RLIKE '^{iso}$' AND {self.result()} IS NOT NULL)"
        return is_text if kind_of is None else f"({self.kind} = '{kind_of}' OR {is_text})"

    def _base64(self) -> str:
        """The bytes of text in either alphabet of base64."""
        return f"try_to_binary(translate({got(self.value, 'string')}, '-_', '+/'), 'base64')"

    # --------------------------------------------------------------------------------------------------------- nested

    @property
    def _name(self) -> str:
        return f"e{self.depth}"

    @property
    def _members(self) -> str:
        return got(self.value, OBJECT)

    def _inner(self, value: str, type_: IcebergType) -> _Fit:
        return _Fit(value, type_, self.depth + 1, f"schema_of_variant({value})")

    def _condition_of(self, value: str, type_: IcebergType, *, required: bool) -> str:
        inner = self._inner(value, type_).condition()
        return f"(NOT {is_null(value)} AND {inner})" if required else f"({is_null(value)} OR {inner})"

    def _result_of(self, value: str, type_: IcebergType) -> str:
        return f"if({is_null(value)}, NULL, {self._inner(value, type_).result()})"

    def _nested_condition(self) -> str:
        type_, name = self.type, self._name
        if isinstance(type_, ListType):
            each = self._condition_of(name, type_.element_type, required=type_.element_required)
            return f"({self.kind} LIKE 'ARRAY<%' AND forall({got(self.value, 'array<variant>')}, {name} -> {each}))"
        if isinstance(type_, MapType):
            if not isinstance(type_.key_type, StringType):
                return "false"
            each = self._condition_of(name, type_.value_type, required=type_.value_required)
            return f"({self.kind} LIKE 'OBJECT<%' AND forall(map_values({self._members}), {name} -> {each}))"
        assert isinstance(type_, StructType)
        known = ", ".join(literal(member.name) for member in type_.fields)
        no_others = f"{name}.key IN ({known}) OR {is_null(f'{name}.value')}"
        members = [
            f"forall(array({self._member(member.name)}), {name} -> {condition})"
            for member in type_.fields
            for condition in (self._condition_of(name, member.field_type, required=member.required),)
        ]
        others = f"forall(map_entries({self._members}), {name} -> {no_others})"
        return f"({self.kind} LIKE 'OBJECT<%' AND {others} AND {' AND '.join(members)})"

    def _nested_result(self) -> str:
        type_, name = self.type, self._name
        if isinstance(type_, ListType):
            each = self._result_of(name, type_.element_type)
            return f"transform({got(self.value, 'array<variant>')}, {name} -> {each})"
        if isinstance(type_, MapType):
            each = self._result_of(name, type_.value_type)
            return f"transform_values({self._members}, (k{name}, {name}) -> {each})"
        assert isinstance(type_, StructType)
        members = [
            f"{literal(member.name)}, get(transform(array({self._member(member.name)}), {name} -> {each}), 0)"
            for member in type_.fields
            for each in (self._result_of(name, member.field_type),)
        ]
        return f"named_struct({', '.join(members)})"

    def _member(self, name: str) -> str:
        return f"try_element_at({self._members}, {literal(name)})"
