"""Any number as any type: it comes back as it was, or it is refused. Nothing in between."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from pyiceberg.types import DecimalType, DoubleType, FloatType, IcebergType, IntegerType, LongType

from keylake._values.exact import exact
from keylake._values.misfit import Misfit
from keylake._values.objects import fit_objects

Number = int | float | Decimal

TARGETS: list[IcebergType] = [
    IntegerType(),
    LongType(),
    FloatType(),
    DoubleType(),
    DecimalType(5, 2),
    DecimalType(38, 20),
]
EDGES = [2**n + d for n in (24, 31, 32, 53, 63, 64) for d in (-1, 0, 1)]


def wholes(bits: int, signed: bool) -> some.SearchStrategy[int]:
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    edges = [sign * edge for edge in EDGES for sign in (1, -1) if low <= sign * edge <= high]
    return some.integers(low, high) | some.sampled_from(edges or [0])


def fractions(width: int) -> some.SearchStrategy[float]:
    edges = [float(edge) for edge in EDGES if float(np.float32(edge)) == edge]
    return (
        some.floats(width=32 if width == 32 else 64) | some.sampled_from(edges) | some.sampled_from([0.5, -0.25, -0.0])
    )


SOURCES: dict[str, tuple[pa.DataType, some.SearchStrategy[Number]]] = {
    **{f"int{bits}": (getattr(pa, f"int{bits}")(), wholes(bits, signed=True)) for bits in (8, 32, 64)},
    **{f"uint{bits}": (getattr(pa, f"uint{bits}")(), wholes(bits, signed=False)) for bits in (16, 32, 64)},
    "float32": (pa.float32(), fractions(32)),
    "float64": (pa.float64(), fractions(64)),
    "decimal": (pa.decimal128(30, 5), some.decimals(-(10**24), 10**24, places=5)),
}
NEVER = {("float32", DecimalType), ("float64", DecimalType)}


def fits(value: Number, target: IcebergType) -> bool:
    """The plain meaning of "loses nothing"."""
    if isinstance(value, float) and not math.isfinite(value):
        return isinstance(target, FloatType | DoubleType)
    true = Fraction(value)
    if isinstance(target, IntegerType | LongType):
        bits = 31 if isinstance(target, IntegerType) else 63
        return true.denominator == 1 and -(2**bits) <= true < 2**bits
    if isinstance(target, DecimalType):
        scaled = true * 10**target.scale
        return scaled.denominator == 1 and abs(scaled) < 10**target.precision
    try:
        kept = float(np.float32(float(true))) if isinstance(target, FloatType) else float(true)
    except OverflowError:
        return False
    if (
        isinstance(value, Decimal)
        and Decimal(str(np.float32(kept) if isinstance(target, FloatType) else kept)) == value
    ):
        return True
    return math.isfinite(kept) and Fraction(kept) == true


def same(value: Number, kept: Number) -> bool:
    if isinstance(value, float) and isinstance(kept, float):
        return repr(value) == repr(kept)  # tells -0.0 and NaN
    if isinstance(value, Decimal) and isinstance(kept, float):
        return value in (Decimal(kept), Decimal(str(kept)), Decimal(str(np.float32(kept))))
    return Fraction(value) == Fraction(kept)


@pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")
@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("source", SOURCES)
def test_numbers(source: str, target: IcebergType) -> None:
    arrow, values = SOURCES[source]

    @settings(deadline=None)
    @given(some.lists(values | some.none(), min_size=1).filter(lambda row: any(value is not None for value in row)))
    def check(row: list[Number | None]) -> None:
        array = pa.array(row, arrow)
        known = array.to_pylist()
        wrong = [
            n for n, v in enumerate(known) if v is not None and ((source, type(target)) in NEVER or not fits(v, target))
        ]
        for take in (exact, lambda array, target: fit_objects(array.to_pylist(), target)):
            if wrong:
                with pytest.raises(Misfit) as raised:
                    take(array, target)
                assert raised.value.position == wrong[0]
            else:
                for value, kept in zip(known, take(array, target).to_pylist(), strict=True):
                    assert value is kept is None or same(value, kept)

    check()
