"""Arrow values of any type as the Arrow type in which Spark takes in a column: exactly, or not at all.

Plain values are cast, nested ones taken apart, fitted and put together.

Values are never changed to fit: no rounding, truncating, wrapping or parsing. But 2.0 is a whole number, and an int64
that holds 5 is an int: what counts is the value, not the type it happens to have.
"""

# pyright: reportAttributeAccessIssue=false
# Arrow makes most of its compute functions when it is imported, out of sight of a checker.

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.types import IcebergType, ListType, MapType, StructType

from keylake._values import arrow_types
from keylake._values.exact import exact, first
from keylake._values.misfit import misfit_at, why_never
from keylake._values.nested import list_of, map_of, match_fields, nulls_of, struct_of

Array = Any  # Arrow carries no types for a checker


def fit(array: Array, type_: IcebergType) -> Array:
    """The values of an Arrow array as a column's type.

    >>> from pyiceberg.types import IntegerType
    >>> fit(pa.array([[1.0, None], None]), ListType(1, IntegerType(), False)).to_pylist()
    [[1, None], None]
    """
    array = _plain(array)
    if array.null_count == len(array):
        return pa.nulls(len(array), arrow_types.for_spark(type_))
    if isinstance(type_, ListType) and arrow_types.is_list(array.type):
        return list_of(_lengths(array, array), lambda: fit(array.flatten(), type_.element_type), type_)
    if isinstance(type_, MapType) and pa.types.is_map(array.type):
        return _fit_map(array, type_)
    if isinstance(type_, StructType) and pa.types.is_struct(array.type):
        return _fit_struct(array, type_)
    if isinstance(type_, ListType | MapType | StructType):
        raise misfit_at(array, first(array.is_valid()), type_, why_never(array.type, type_))
    return exact(array, type_)


def _plain(array: Array) -> Array:
    """The array without the ways of storing it that say nothing about its values."""
    if isinstance(array.type, pa.DictionaryType):
        return _plain(_without_views(array.dictionary).take(array.indices))
    if isinstance(array.type, pa.RunEndEncodedType):
        ends = array.run_ends.to_numpy()
        at = np.searchsorted(ends, np.arange(array.offset, array.offset + len(array)), side="right")
        return _plain(_without_views(array.values).take(pa.array(at)))
    if isinstance(array.type, pa.BaseExtensionType) and arrow_types.is_text_extension(array.type):
        return _plain(array.storage)
    return array


def _without_views(array: Array) -> Array:
    """The array in a form of which Arrow takes single values; it takes none of views."""
    type_ = _without_view(array.type)
    return array if type_ == array.type else pc.cast(array, type_)


def _without_view(type_: Any) -> Any:
    if pa.types.is_string_view(type_):
        return pa.large_string()
    if pa.types.is_binary_view(type_):
        return pa.large_binary()
    if pa.types.is_struct(type_):
        return pa.struct([each.with_type(_without_view(each.type)) for each in type_])
    if arrow_types.is_list(type_):
        element = type_.value_field
        return pa.large_list(element.with_type(_without_view(element.type)))
    return type_


def _lengths(lists: Array, array: Array) -> Any:
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    return np.ma.masked_array(lengths, mask=nulls_of(array))


def _fit_map(array: Array, type_: MapType) -> Array:
    pair = pa.struct([pa.field("key", array.type.key_type), pa.field("value", array.type.item_type)])
    pairs = array.cast(pa.list_(pair))
    keys, values = pairs.flatten().flatten()
    lengths = _lengths(pairs, array)
    return map_of(lengths, lambda: fit(keys, type_.key_type), lambda: fit(values, type_.value_type), type_)


def _fit_struct(array: Array, type_: StructType) -> Array:
    found = match_fields([field.name for field in array.type], type_, lambda: first(array.is_valid()))
    children = array.flatten()
    types = {field.name: field.field_type for field in type_.fields}
    parts = {name: partial(fit, children[position], types[name]) for name, position in found.items()}
    return struct_of(nulls_of(array), parts, type_)
