"""Reducers: how several writes of one column become one value. Plain value objects.

- *Registers* keep one of the values, the newest by version: `Latest`, the default, and `LatestNotNull`.
- *Accumulators* combine all values that were written, the column's contributions: `Sum`, `Min`, ... A null is no
  contribution. A tombstone takes back the contributions of all earlier commits, whatever their versions. A write
  that is repeated counts twice unless it carries an `idempotency_key`; `Min`, `Max`, `First`, `BoolAnd`, `BoolOr`,
  `MapMerge`, `BitmapOr`, `Hll`, `Theta` and `Collect(distinct=True)` give the same answer all the same.
"""

from keylake.reducers.collections import ArraySum, Collect, Daily, LatestN, MapMerge, TopN
from keylake.reducers.forms import REDUCERS, from_json
from keylake.reducers.numbers import BoolAnd, BoolOr, Count, First, Max, Min, Sum
from keylake.reducers.own import Own
from keylake.reducers.python import Python, reducer
from keylake.reducers.registers import LATEST, Latest, LatestNotNull, Reducer
from keylake.reducers.structs import Average, Moments, Struct
from keylake.reducers.unions import BitmapOr, Hll, Kll, Theta

__all__ = [
    "LATEST",
    "REDUCERS",
    "ArraySum",
    "Average",
    "BitmapOr",
    "BoolAnd",
    "BoolOr",
    "Collect",
    "Count",
    "Daily",
    "First",
    "Hll",
    "Kll",
    "Latest",
    "LatestN",
    "LatestNotNull",
    "MapMerge",
    "Max",
    "Min",
    "Moments",
    "Own",
    "Python",
    "Reducer",
    "Struct",
    "Sum",
    "Theta",
    "TopN",
    "from_json",
    "reducer",
]
