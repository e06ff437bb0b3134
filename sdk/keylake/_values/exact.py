"""Arrow values of a plain type as the Arrow type in which Spark takes in a column: exactly, or not at all.

A cast that loses nothing, or a Misfit at the first value that would lose something. Arrow's own casts find most of it;
the rules below are for what they let through, or refuse too early.
"""

# pyright: reportAttributeAccessIssue=false
# Arrow makes most of its compute functions when it is imported, out of sight of a checker.

from __future__ import annotations

import decimal
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
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
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from keylake._values import arrow_types
from keylake._values.misfit import family, misfit_at, why_never, why_not

Array = Any  # Arrow carries no types for a checker


def exact(array: Array, type_: IcebergType) -> Array:
    """The values of an array as a column's type.

    >>> exact(pa.array([1.0, None]), LongType()).to_pylist()
    [1, None]
    >>> exact(pa.array([1.0, 2.5]), LongType())
    Traceback (most recent call last):
    keylake._values.misfit.Misfit: it is no whole number in the range of long
    """
    rule = _RULES.get((family(array.type), type(type_)))
    if rule is None:
        raise misfit_at(array, first(array.is_valid()), type_, why_never(array.type, type_))
    return rule(array, arrow_types.for_spark(type_), type_)


def first(flags: Array) -> int:
    """The position of the first true.

    >>> first(pa.array([False, True]))
    1
    """
    return int(pc.index(flags, pa.scalar(True)).as_py())


def _cast(array: Array, target: Any, type_: IcebergType) -> Array:
    return _cast_through(array, (target,), type_)


def _cast_through(array: Array, steps: Sequence[Any], type_: IcebergType) -> Array:
    """Casts to one type after the other, and finds the first value that is lost on the way."""

    def cast(part: Array) -> Array:
        for step in steps:
            part = pc.cast(part, step)
        return part

    try:
        return cast(array)
    except pa.ArrowInvalid:
        low, high = 0, len(array)  # array[:low] can be cast, array[:high] cannot
        while high - low > 1:
            middle = (low + high) // 2
            try:
                cast(array[low:middle])
                low = middle
            except pa.ArrowInvalid:
                high = middle
        raise misfit_at(array, low, type_, why_not(array.type, type_)) from None


def _text(array: Array, target: Any, type_: IcebergType) -> Array:
    # Arrow takes the bytes of text as they are, whoever made them; a cast from bytes looks at them.
    text = _cast_through(pc.cast(array, pa.large_binary()), (pa.large_string(),), type_)
    return _cast(text, target, type_)


def _if_equal(array: Array, fitted: Array, same: Array, type_: IcebergType) -> Array:
    """The fitted values, if each is the same as before; null flags are nulls."""
    differs = pc.invert(pc.fill_null(same, True))
    if pc.any(differs).as_py():
        raise misfit_at(array, first(differs), type_, why_not(array.type, type_))
    return fitted


def _narrow(array: Array, target: Any, type_: IcebergType) -> Array:
    # Arrow casts 0.1 to a float32 without a word.
    fitted = pc.cast(array, target, safe=False)
    same = pc.or_(pc.equal(pc.cast(fitted, array.type), array), pc.is_nan(array))
    return _if_equal(array, fitted, same, type_)


def _integer_to_float(array: Array, target: Any, type_: IcebergType) -> Array:
    # Arrow refuses every large number here, also those that a float holds exactly.
    fitted = pc.cast(array, target, safe=False)
    bound = 2.0 ** (array.type.bit_width - pa.types.is_signed_integer(array.type))
    inside = pc.less(pc.cast(fitted, pa.float64()), bound)  # beyond it, the way back would wrap
    back = pc.cast(pc.if_else(inside, fitted, pa.scalar(0, target)), array.type, safe=False)
    return _if_equal(array, fitted, pc.and_(inside, pc.equal(back, array)), type_)


def _integer_to_decimal(array: Array, target: Any, type_: IcebergType) -> Array:
    return _cast_through(array, (pa.decimal256(76, target.scale), target), type_)


def _decimal_to_float(array: Array, target: Any, type_: IcebergType) -> Array:
    # Arrow's own way back rounds. The decimal is the fraction, or what is written for it: 0.1 is the nearest to 0.1.
    fitted = pc.cast(pc.cast(array, pa.string()), target)
    written = pc.cast(fitted, pa.string())
    same = [
        value is None or decimal.Decimal(text) == value or decimal.Decimal(number) == value
        for value, number, text in zip(array.to_pylist(), fitted.to_pylist(), written.to_pylist(), strict=True)
    ]
    return _if_equal(array, fitted, pa.array(same, pa.bool_()), type_)


def _decimal(array: Array, target: Any, type_: IcebergType) -> Array:
    # Arrow lets digits that do not fit into 128 bits overflow when it moves the point, so it is moved in 256 bits.
    scale = array.type.scale
    steps = [pa.decimal128(38, scale)]
    if isinstance(type_, DecimalType):
        if target.scale - scale > 38:
            raise misfit_at(array, first(array.is_valid()), type_, why_not(array.type, type_))
        steps.append(pa.decimal256(76, target.scale))
    return _cast_through(array, (*steps, target), type_)


def _float(array: Array, target: Any, type_: IcebergType) -> Array:
    wide = pc.cast(array, pa.float32()) if pa.types.is_float16(array.type) else array
    if isinstance(type_, FloatType) and pa.types.is_float64(wide.type):
        return _narrow(wide, target, type_)
    return _cast(wide, target, type_)


def _midnight(array: Array, target: Any, type_: IcebergType) -> Array:
    fitted = pc.cast(array, target, safe=False)
    return _if_equal(array, fitted, pc.equal(pc.cast(fitted, array.type), array), type_)


def _fixed(array: Array, target: Any, type_: IcebergType) -> Array:
    assert isinstance(type_, FixedType)
    plain = pc.cast(array, pa.binary())
    return _if_equal(array, pc.cast(plain, target), pc.equal(pc.binary_length(plain), len(type_)), type_)


_UUID = r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"


def _uuid_of_text(array: Array, target: Any, type_: IcebergType) -> Array:
    text = pc.cast(array, target)
    return _if_equal(array, pc.utf8_lower(text), pc.match_substring_regex(text, _UUID), type_)


def _uuid(array: Array, target: Any, type_: IcebergType) -> Array:
    storage = array.storage if isinstance(array.type, pa.UuidType) else array
    if storage.type.byte_width != 16:
        raise misfit_at(array, first(array.is_valid()), type_, "it has not 16 bytes")
    # A null may hide any bytes; they are as good as others.
    raw = np.frombuffer(storage.buffers()[1], np.uint8, 16 * len(storage), 16 * storage.offset).reshape(-1, 16)
    digits = np.frombuffer(b"0123456789abcdef", np.uint8)[np.stack([raw >> 4, raw & 15], axis=2).reshape(-1, 32)]
    text = np.full((len(raw), 36), ord("-"), np.uint8)
    for start, end, shift in ((0, 8, 0), (8, 12, 1), (12, 16, 2), (16, 20, 3), (20, 32, 4)):
        text[:, start + shift : end + shift] = digits[:, start:end]
    offsets = np.arange(0, 36 * len(raw) + 1, 36, dtype=np.int32)
    found = pa.StringArray.from_buffers(len(raw), pa.py_buffer(offsets), pa.py_buffer(text.tobytes()))
    return pc.if_else(array.is_valid(), found, pa.scalar(None, target))


_Rule = Callable[[Array, Any, IcebergType], Array]
_RULES: dict[tuple[str, type[IcebergType]], _Rule] = {
    ("boolean", BooleanType): _cast,
    **{("integer", kind): _cast for kind in (IntegerType, LongType)},
    **{("float", kind): _float for kind in (IntegerType, LongType, FloatType, DoubleType)},
    **{("decimal", kind): _decimal for kind in (IntegerType, LongType, DecimalType)},
    **{("decimal", kind): _decimal_to_float for kind in (FloatType, DoubleType)},
    **{("integer", kind): _integer_to_float for kind in (FloatType, DoubleType)},
    ("integer", DecimalType): _integer_to_decimal,
    ("date", DateType): _cast,
    ("timestamp", DateType): _midnight,
    ("time", TimeType): _cast,
    ("timestamp", TimestampType): _cast,
    ("timestamptz", TimestamptzType): _cast,
    ("string", StringType): _text,
    ("binary", BinaryType): _cast,
    ("fixed", BinaryType): _cast,
    ("binary", FixedType): _fixed,
    ("fixed", FixedType): _fixed,
    ("uuid", UUIDType): _uuid,
    ("fixed", UUIDType): _uuid,
    ("string", UUIDType): _uuid_of_text,
}
