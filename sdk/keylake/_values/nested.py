"""Lists, maps and structs put together from parts that were fitted apart.

A misfit inside a part knows its position there; each level tells it as a position of its own, up to the row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyiceberg.types import IcebergType, ListType, MapType, StructType

from keylake._values import arrow_types
from keylake._values.misfit import Misfit

Array = Any  # Arrow carries no types for a checker
Part = Callable[[], Array]


def list_of(lengths: Any, elements: Part, type_: ListType) -> Array:
    """A list array of lists of these lengths (masked where null) over elements that lie one behind the other."""
    offsets, ends = _offsets(lengths)
    try:
        fitted = elements()
        _check_no_null(fitted, type_.element_required, type_.element_type)
    except Misfit as misfit:
        raise misfit.within("element", _around(ends, misfit.position)) from None
    return pa.ListArray.from_arrays(offsets, fitted, type=arrow_types.for_spark(type_))


def map_of(lengths: Any, keys: Part, values: Part, type_: MapType) -> Array:
    """A map array of maps of these lengths (masked where null) over keys and values that lie one behind the other."""
    offsets, ends = _offsets(lengths)
    parts: list[Array] = []
    for step, part, required in (("key", keys, True), ("value", values, type_.value_required)):
        try:
            parts.append(part())
            _check_no_null(parts[-1], required, type_.key_type if step == "key" else type_.value_type)
        except Misfit as misfit:
            raise misfit.within(step, _around(ends, misfit.position)) from None
    _check_keys_once(parts[0], ends, type_)
    return pa.MapArray.from_arrays(offsets, parts[0], parts[1], type=arrow_types.for_spark(type_))


def struct_of(nulls: Any, fields: Mapping[str, Part], type_: StructType) -> Array:
    """A struct array of these fields, null where the mask says so."""
    children: list[Array] = []
    for field in type_.fields:
        try:
            missing = field.name not in fields
            child = pa.nulls(len(nulls), arrow_types.for_spark(field.field_type)) if missing else fields[field.name]()
            _check_no_null(child, field.required, field.field_type, nulls)
        except Misfit as misfit:
            raise misfit.within(field.name, misfit.position) from None
        children.append(child)
    return pa.StructArray.from_arrays(children, fields=list(arrow_types.for_spark(type_)), mask=pa.array(nulls))


def match_fields(names: Sequence[str], type_: StructType, position: Callable[[], int]) -> dict[str, int]:
    """The place of each field of a struct among the names, whatever their case.

    >>> struct = StructType()
    >>> match_fields([], struct, lambda: 0)
    {}
    """
    known = {field.name.lower(): field.name for field in type_.fields}
    found: dict[str, int] = {}
    for place, name in enumerate(names):
        field = known.get(name.lower())
        if field is None:
            raise Misfit(
                position(), name, "field", type_, f"the struct has no such field, only {', '.join(known.values())}"
            )
        if field in found:
            raise Misfit(position(), name, "field", type_, "the field is there twice")
        found[field] = place
    return found


def nulls_of(array: Array) -> Any:
    """The places where an array is null, as flags of numpy.

    >>> nulls_of(pa.array([1, None]))
    array([False,  True])
    """
    return array.is_null().to_numpy(zero_copy_only=False)


def _offsets(lengths: Any) -> tuple[Array, Any]:
    """Arrow's offsets, null where a list is, and the ends of the lists as numbers."""
    mask = np.ma.getmaskarray(lengths)
    ends = np.cumsum(np.where(mask, 0, lengths.data), dtype=np.int64)
    starts = np.concatenate([[0], ends]).astype(np.int32)
    return pa.array(starts, mask=np.concatenate([mask, [False]])), ends


def _around(ends: Any, position: int) -> int:
    """The list in which an element lies."""
    return int(np.searchsorted(ends, position, side="right"))


def _check_no_null(array: Array, required: bool, type_: IcebergType, nulls: Any = None) -> None:
    if required and array.null_count:
        missing = nulls_of(array) if nulls is None else nulls_of(array) & ~nulls
        if missing.any():
            raise Misfit(int(missing.argmax()), None, "null", type_, "it is never null")


def _check_keys_once(keys: Array, ends: Any, type_: MapType) -> None:
    if not len(keys):
        return
    if pa.types.is_nested(keys.type):
        codes = np.unique([repr(key) for key in keys.to_pylist()], return_inverse=True)[1]
    else:
        codes = keys.dictionary_encode().indices.to_numpy(zero_copy_only=False)
    maps = np.searchsorted(ends, np.arange(len(keys)), side="right")
    order = np.lexsort((codes, maps))
    twice = (np.diff(maps[order]) == 0) & (np.diff(codes[order]) == 0)
    if twice.any():
        position = int(order[1:][twice].min())
        key = keys[position].as_py()
        raise Misfit(int(maps[position]), key, "key", type_, "the key stands twice in one map")
