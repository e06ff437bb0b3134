"""Accumulators over arrays: one value per key from its contributions, exact as the server's."""

# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.types import DecimalType, DoubleType, FloatType, IcebergType, IntegerType, ListType, NestedField

from keylake.errors import BadRows, Unsupported
from keylake.local.decisions import NOWHERE, Entries, Numbers, Stamp
from keylake.reducers import BoolAnd, BoolOr, Collect, Count, First, Max, Min, Reducer, Sum

_KNOWN = (Sum, Min, Max, Count, First, BoolAnd, BoolOr, Collect)
_EXPANSION, _UNITS = (0, 1), 2
_UNIT = Fraction(1, 2**1074)


def check_accumulator(table: str, field: NestedField, reducer: Reducer) -> None:
    """Refuses a column whose contributions are combined by the server only."""
    kind = field.field_type
    known = type(reducer) in _KNOWN
    if isinstance(reducer, Collect) and reducer.distinct and isinstance(kind, ListType):
        known = kind.element_type.is_primitive and not isinstance(kind.element_type, FloatType | DoubleType)
    if not known:
        raise Unsupported(
            f"Column {field.name!r} of {table} has the reducer {reducer!r}, which needs the server. "
            "Read it through Spark, or name other columns."
        )


def picked(entries: Entries, given: Stamp, values: Any, reducer: Reducer) -> Numbers:
    """The entry of each key whose value the reducer takes as it is; -1 for none. Of Min, Max, BoolAnd and BoolOr."""
    is_set = given.is_set & pc.is_valid(values).to_numpy(zero_copy_only=False)
    ranks = _ranks(values)
    smallest = isinstance(reducer, Min | BoolAnd)
    return entries.newest(Stamp(is_set, -ranks if smallest else ranks))


def _ranks(values: Any) -> Numbers:
    """Numbers in the order of values: NaN is the largest, -0.0 below 0.0."""
    if pa.types.is_floating(values.type):
        numbers = pc.fill_null(values, 0.0).to_numpy(zero_copy_only=False).astype(np.float64)
        bits = np.where(np.isnan(numbers), np.nan, numbers).view(np.int64)
        return np.where(bits < 0, np.int64(-(2**63)) - bits - 1, bits)
    ranks: Numbers = pc.rank(values, tiebreaker="dense").to_numpy(zero_copy_only=False).astype(np.int64)
    return ranks


def summed(
    entries: Entries, given: Stamp, values: Any, states: Any, field: NestedField, key_text: Callable[[int], str]
) -> Any:
    """The exact sum of each key; an error where the type cannot hold it.

    `states` may be None; where a row has one, it says more than the value. `key_text` names a key in errors.
    """
    type_ = field.field_type
    has_state = _valid(states) if states is not None else np.zeros(len(entries.key), np.bool_)
    is_set = given.is_set & (_valid(values) | has_state)
    entry = np.flatnonzero(is_set)
    counts = np.bincount(entries.key[entry], minlength=entries.keys)
    exact = isinstance(type_, FloatType | DoubleType | DecimalType) or has_state.any()
    if exact:
        slow = (counts > 1)[entries.key[entry]] | has_state[entry]
        alone = np.full(entries.keys, NOWHERE, np.int64)
        alone[entries.key[entry[~slow]]] = entry[~slow]
        told = values.take(pa.array(alone, mask=alone == NOWHERE)).to_pylist()
        stored = values if states is None else states
        of_key: dict[int, list[int]] = {}
        for each in entry[slow].tolist():
            of_key.setdefault(int(entries.key[each]), []).append(each)
        for key, several in of_key.items():
            parts = [(stored if has_state[each] else values)[each].as_py() for each in several]
            total = _sum(parts, type_)
            if total is None:
                raise _overflow(field, key_text(key))
            told[key] = total
        return pa.array(told, values.type)
    return _whole_sums(entries, entry, counts, values, field, key_text)


def _valid(values: Any) -> Any:
    return pc.is_valid(values).to_numpy(zero_copy_only=False)


def _whole_sums(
    entries: Entries, entry: Numbers, counts: Any, values: Any, field: NestedField, key_text: Callable[[int], str]
) -> Any:
    """Sums of whole numbers in halves of 32 bits, which cannot overflow."""
    numbers = pc.fill_null(values, 0).to_numpy(zero_copy_only=False).astype(np.int64)[entry]
    high, low = np.zeros(entries.keys, np.int64), np.zeros(entries.keys, np.int64)
    np.add.at(high, entries.key[entry], numbers >> 32)
    np.add.at(low, entries.key[entry], numbers & 0xFFFFFFFF)
    high, low = high + (low >> 32), low & 0xFFFFFFFF
    most = 2**31 - 1
    wrong = np.flatnonzero((high < -most - 1) | (high > most))
    sums = (high << 32) + low
    if isinstance(field.field_type, IntegerType):
        wrong = np.flatnonzero((sums < -most - 1) | (sums > most) | (high < -1) | (high > 0))
    if wrong.size:
        raise _overflow(field, key_text(int(wrong[0])))
    return pa.array(sums, mask=counts == 0).cast(values.type)


def _overflow(field: NestedField, key: str) -> BadRows:
    return BadRows(
        f"The sum of column {field.name!r} for the key {key} does not fit {field.field_type}. "
        "Read other columns, or widen the type: the files have the exact sum."
    )


def _sum(parts: list[Any], type_: IcebergType) -> Any:
    """The sum of values and states; None where the type cannot hold it."""
    if isinstance(type_, FloatType | DoubleType):
        return _float_sum(parts, single=isinstance(type_, FloatType))
    scale = type_.scale if isinstance(type_, DecimalType) else 0
    with decimal.localcontext(decimal.Context(prec=200)):
        total = sum(
            int.from_bytes(part, "big", signed=True)
            if isinstance(part, bytes)
            else int(decimal.Decimal(part).scaleb(scale))
            for part in parts
        )
        if isinstance(type_, DecimalType):
            if abs(total) >= 10**type_.precision:
                return None
            return decimal.Decimal(total).scaleb(-scale)
    bits = 31 if isinstance(type_, IntegerType) else 63
    if not -(2**bits) <= total < 2**bits:
        return None
    return total


def _float_sum(parts: list[Any], single: bool) -> float:
    numbers: list[float] = []
    units = 0
    for part in parts:
        if not isinstance(part, bytes):
            numbers.append(part)
        elif part[0] == _UNITS:
            units += int.from_bytes(part[1:], "big", signed=True)
        elif part[0] in _EXPANSION:
            numbers.extend(np.frombuffer(part[1:], ">f8").tolist())
        else:
            raise Unsupported(
                f"A sum is stored in the form {part[0]}, which this version does not know. Upgrade keylake."
            )
    odd = [each for each in numbers if not math.isfinite(each)]
    if odd:
        return sum(odd)
    if not units and all(each == 0 for each in numbers):
        return 0.0 if any(math.copysign(1, each) > 0 for each in numbers) else -0.0
    exact = sum(map(Fraction, numbers), units * _UNIT)
    if not single:
        return _nearest(exact)
    return _nearest_single(exact)


def _nearest(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.copysign(math.inf, exact)


def _nearest_single(exact: Fraction) -> float:
    """Rounded once: a double half-way between two floats does not say what is left."""
    double = _nearest(exact)
    with np.errstate(over="ignore"):
        near = np.float32(double)
    if not np.isfinite(near) or float(near) == double:
        return float(near)
    other = np.nextafter(near, np.float32(math.copysign(math.inf, double - float(near))))
    if np.isfinite(other) and (float(near) + float(other)) / 2 == double and Fraction(double) != exact:
        return float(max(near, other) if exact > Fraction(double) else min(near, other))
    return float(near)


def counted(entries: Entries, given: Stamp, values: Any) -> Any:
    """The number of contributions of each key; 0 without any."""
    numbers = pc.fill_null(values, 0).to_numpy(zero_copy_only=False).astype(np.int64)
    counts = np.zeros(entries.keys, np.int64)
    np.add.at(counts, entries.key, np.where(given.is_set, numbers, 0))
    return pa.array(counts)


def collected(entries: Entries, given: Stamp, values: Any, reducer: Collect) -> Any:
    """The elements of all lists in commit order, without nulls."""
    entry = np.flatnonzero(given.is_set & _valid(values))
    lists = values.take(pa.array(entry))
    key = entries.key[entry]
    parent = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)
    elements = lists.flatten()
    real = np.flatnonzero(_valid(elements))
    elements, owner = elements.take(pa.array(real)), key[parent[real]]
    keep = np.arange(len(owner))
    if reducer.distinct and len(owner):
        codes = elements.dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)
        _, first = np.unique(owner * (int(codes.max()) + 1) + codes, return_index=True)
        keep = np.sort(first)
    owner = owner[keep]
    starts = np.searchsorted(owner, np.arange(entries.keys + 1))
    if reducer.limit is not None:
        within = np.arange(len(owner)) - starts[owner] < reducer.limit
        keep, owner = keep[within], owner[within]
        starts = np.searchsorted(owner, np.arange(entries.keys + 1))
    has = np.zeros(entries.keys, np.bool_)
    has[key] = True
    return pa.ListArray.from_arrays(
        pa.array(starts.astype(np.int32)), elements.take(pa.array(keep)), type=values.type, mask=pa.array(~has)
    )
