"""The places at which two Arrow arrays of one type differ: NaN is NaN, 0.0 is not -0.0, maps are lists of pairs."""

# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from keylake.local.decisions import Flags


def differ(before: Any, after: Any) -> Flags:
    """The places whose two values are not the same, as flags.

    >>> differ(pa.array([0.0, None, float("nan")]), pa.array([-0.0, None, float("nan")])).tolist()
    [True, False, False]
    >>> differ(pa.array([[1, None], [2]]), pa.array([[1, None], [2, 3]])).tolist()
    [False, True]
    """
    if isinstance(before.type, pa.BaseExtensionType):
        return differ(before.storage, after.storage)
    is_set, is_set_after = (_flags(each.is_valid()) for each in (before, after))
    found: Flags = is_set != is_set_after
    both = np.flatnonzero(is_set & is_set_after)
    if len(both):
        pair = [before, after] if len(both) == len(before) else [each.take(pa.array(both)) for each in (before, after)]
        found[both] = _set_values(*pair)
    return found


def _set_values(before: Any, after: Any) -> Flags:
    """The same where no value is null."""
    type_, found = before.type, np.zeros(len(before), np.bool_)
    if pa.types.is_struct(type_):
        for one, other in zip(before.flatten(), after.flatten(), strict=True):
            found |= differ(one, other)
        return found
    if pa.types.is_map(type_):
        as_list = pa.list_(pa.struct([pa.field("key", type_.key_type), pa.field("value", type_.item_type)]))
        return _set_values(before.cast(as_list), after.cast(as_list))
    if pa.types.is_list(type_):
        return _lists(before, after)
    if pa.types.is_floating(type_):
        return np.asarray(_bits(before) != _bits(after), np.bool_)
    return _flags(pc.not_equal(before, after))


def _lists(before: Any, after: Any) -> Flags:
    lengths = [pc.list_value_length(each).to_numpy() for each in (before, after)]
    found: Flags = lengths[0] != lengths[1]
    alike = np.flatnonzero(~found)
    one, other = (each.take(pa.array(alike)).flatten() for each in (before, after))
    owner = np.repeat(alike, lengths[0][alike])
    found[owner[differ(one, other)]] = True
    return found


def _bits(values: Any) -> npt.NDArray[np.signedinteger]:
    numbers = values.to_numpy()
    whole = np.int32 if numbers.dtype == np.float32 else np.int64
    return np.where(np.isnan(numbers), np.array(np.nan, numbers.dtype), numbers).view(whole)


def _flags(column: Any) -> Flags:
    flags: Flags = column.to_numpy(zero_copy_only=False)
    return flags
