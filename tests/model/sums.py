"""Sums by the law: exact, rounded once, and an overflow where the type cannot hold them."""

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TypeVar

Number = TypeVar("Number", int, Decimal)


@dataclass(frozen=True)
class SumOverflow:
    """A sum that its type cannot hold, in the place of the value: a read of it is an error."""

    total: object


def sum_of(of: str) -> Callable[[list[object]], object]:
    """The exact sum of numbers of a type, rounded once."""
    if of in ("float", "double"):
        return lambda values: _floating(values, of)
    if of.startswith("decimal"):
        precision = int(of[len("decimal(") :].split(",", maxsplit=1)[0])
        return lambda values: _checked(sum(map(_decimal, values), Decimal(0)), _digits(precision))
    bits = 31 if of == "int" else 63
    return lambda values: _checked(sum(map(whole, values)), lambda total: -(1 << bits) <= total < 1 << bits)


def _digits(precision: int) -> Callable[[Decimal], bool]:
    return lambda total: len(total.as_tuple().digits) <= precision


def _checked(total: Number, fits: Callable[[Number], bool]) -> object:
    return total if fits(total) else SumOverflow(total)


def whole(value: object) -> int:
    """A value that is a whole number."""
    assert isinstance(value, int)
    return value


def _decimal(value: object) -> Decimal:
    assert isinstance(value, Decimal)
    return value


def _floating(values: list[object], of: str) -> float:
    """The exact sum, rounded once."""
    numbers = [value for value in values if isinstance(value, float)]
    assert len(numbers) == len(values)
    special = [number for number in numbers if not math.isfinite(number)]
    if special:
        return sum(special)
    if all(number == 0 for number in numbers):
        return -0.0 if all(math.copysign(1, number) < 0 for number in numbers) else 0.0
    exact = sum((Fraction(number) for number in numbers), Fraction(0))
    return _nearest_float(exact) if of == "float" else _nearest_double(exact)


def _nearest_double(exact: Fraction) -> float:
    try:
        return exact.numerator / exact.denominator  # int by int is rounded once
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _nearest_float(exact: Fraction) -> float:
    """Of the two floats next to it the nearer one; half-way, the even one."""
    guess = _nearest_double(exact)
    if abs(guess) > 3.5e38:
        return math.copysign(math.inf, guess)
    (near,) = struct.unpack("f", struct.pack("f", guess))
    candidates = [near, _next_float(near, 1), _next_float(near, -1)]
    return min(candidates, key=lambda c: (abs(Fraction(c) - exact), struct.unpack("I", struct.pack("f", c))[0] & 1))


def _next_float(number: float, step: int) -> float:
    (bits,) = struct.unpack("i", struct.pack("f", number))
    if number == 0:
        return struct.unpack("f", struct.pack("i", 1))[0] * step
    (found,) = struct.unpack("f", struct.pack("i", bits + (step if number > 0 else -step)))
    return float(found) if math.isfinite(found) else number
