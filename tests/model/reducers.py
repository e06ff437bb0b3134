"""Reducers by the law, over all contributions to a column of one key: short, slow, one function each.

- A register is decided by the places (version, commit, row) of its contributions and of the tombstones.
- An accumulator is reset by commit order: a tombstone takes back the contributions of earlier commits, whatever their
  versions, and of its own commit those of earlier rows, by (version of the row, row). Those that are left are combined
  in that order; nulls are no contributions.
"""

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import TypeVar

Place = tuple[int, int, int]
Number = TypeVar("Number", int, Decimal)


@dataclass(frozen=True)
class Contribution:
    """One value of one column, its place, and the version of the row that carries it."""

    place: Place
    value: object
    row_version: int

    @property
    def commit_place(self) -> Place:
        """Where it stands in the order of commits."""
        _, commit, row = self.place
        return (commit, self.row_version, row)


# A reducer sees all contributions to a column of one key and the places of all its tombstones. It decides itself what a
# tombstone removes, since not all kinds of reducer agree on that.
Reducer = Callable[[Sequence[Contribution], Sequence[Place]], Contribution | None]


@dataclass(frozen=True)
class Rule:
    """How a column is reduced.

    `accumulates` says that it combines contributions, `without` how a row reads that has none.
    """

    reduce: Reducer
    accumulates: bool = False
    without: object = None


@dataclass(frozen=True)
class SumOverflow:
    """A sum that its type cannot hold, in the place of the value: a read of it is an error."""

    total: object


def latest(contributions: Sequence[Contribution], tombstones: Sequence[Place]) -> Contribution | None:
    """The newest contribution that no tombstone removes."""
    alive = [c for c in contributions if all(c.place > tombstone for tombstone in tombstones)]
    return max(alive, key=lambda c: c.place, default=None)


def latest_not_null(contributions: Sequence[Contribution], tombstones: Sequence[Place]) -> Contribution | None:
    """As `latest`, among the contributions that are not null."""
    return latest([c for c in contributions if c.value is not None], tombstones)


LATEST = Rule(latest)


def accumulator(combine: Callable[[list[object]], object], without: object = None) -> Rule:
    """A reducer that combines all values since the last reset; its version is that of the newest."""

    def reduce(contributions: Sequence[Contribution], tombstones: Sequence[Place]) -> Contribution | None:
        left = _since_reset(contributions, tombstones)
        if not left:
            return None
        newest = max(left, key=lambda c: c.place)
        return Contribution(newest.place, combine([c.value for c in left]), newest.row_version)

    return Rule(reduce, accumulates=True, without=without)


def first(contributions: Sequence[Contribution], tombstones: Sequence[Place]) -> Contribution | None:
    """The contribution of the smallest place since the last reset."""
    return min(_since_reset(contributions, tombstones), key=lambda c: c.place, default=None)


def _since_reset(contributions: Sequence[Contribution], tombstones: Sequence[Place]) -> list[Contribution]:
    resets = [(commit, version, row) for version, commit, row in tombstones]
    left = [c for c in contributions if c.value is not None and all(c.commit_place > reset for reset in resets)]
    return sorted(left, key=lambda c: c.commit_place)


def _sum(of: str) -> Callable[[list[object]], object]:
    if of in ("float", "double"):
        return lambda values: _floating(values, of)
    if of.startswith("decimal"):
        precision = int(of[len("decimal(") :].split(",", maxsplit=1)[0])
        return lambda values: _checked(sum(map(_decimal, values), Decimal(0)), _digits(precision))
    bits = 31 if of == "int" else 63
    return lambda values: _checked(sum(map(_int, values)), lambda total: -(1 << bits) <= total < 1 << bits)


def _digits(precision: int) -> Callable[[Decimal], bool]:
    return lambda total: len(total.as_tuple().digits) <= precision


def _checked(total: Number, fits: Callable[[Number], bool]) -> object:
    return total if fits(total) else SumOverflow(total)


def _int(value: object) -> int:
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


def _order(value: object) -> tuple[object, ...]:
    """Numbers with NaN above all and -0.0 below 0.0; anything else as it is."""
    if isinstance(value, float):
        return (math.isnan(value), 0.0 if math.isnan(value) else value, math.copysign(1, value))
    return (value.encode() if isinstance(value, str) else value,)


def _least(values: list[object]) -> object:
    return min(values, key=_order)


def _most(values: list[object]) -> object:
    return max(values, key=_order)


def _array_sum(of: str) -> Callable[[list[object]], object]:
    element = of.removeprefix("list<").removesuffix(">")
    zero: object = 0.0 if element in ("float", "double") else Decimal(0) if element.startswith("decimal") else 0
    add = _sum(element)

    def combine(arrays: list[object]) -> object:
        lists = [array for array in arrays if isinstance(array, list)]
        length = max(map(len, lists))
        at = [[zero if i >= len(a) or a[i] is None else a[i] for a in lists] for i in range(length)]
        sums = [add(values) for values in at]
        return next((total for total in sums if isinstance(total, SumOverflow)), sums)

    return combine


def _collect(distinct: bool, limit: int | None) -> Callable[[list[object]], object]:
    def combine(lists: list[object]) -> object:
        kept: list[object] = []
        for each in lists:
            assert isinstance(each, list)
            for element in each:
                if element is not None and not (distinct and any(_same(element, other) for other in kept)):
                    kept.append(element)
        return kept[:limit]

    return combine


def _same(one: object, other: object) -> bool:
    both_nan = isinstance(one, float) and isinstance(other, float) and math.isnan(one) and math.isnan(other)
    return both_nan or one == other


def _map_merge(maps: list[object]) -> object:
    merged: dict[object, object] = {}
    for each in maps:
        assert isinstance(each, list)
        merged |= dict(each)
    return list(merged.items())


def _daily(days: int, of: Callable[[list[object]], object]) -> Callable[[list[object]], object]:
    def combine(contributions: list[object]) -> object:
        structs = [each for each in contributions if isinstance(each, dict)]
        newest: date = max(each["day"] for each in structs)
        by_day: list[list[object]] = [[] for _ in range(days)]
        for each in structs:
            for number, value in enumerate(each["values"] or []):
                back = (newest - each["day"]).days + number
                if value is not None and back < days:
                    by_day[back].append(value)
        length = max((number + 1 for number, values in enumerate(by_day) if values), default=0)
        values = [of(values) if values else None for values in by_day[:length]]
        overflow = next((value for value in values if isinstance(value, SumOverflow)), None)
        return {"day": newest, "values": values} if overflow is None else overflow

    return combine


def _union(sets: list[object]) -> object:
    """Of bitmaps and sketches given as sets of numbers, which tests use in the place of bytes."""
    return frozenset().union(*sets)  # type: ignore[arg-type]


def _all(parts: list[object]) -> object:
    """Of sketches of quantiles given as tuples of values, which tests use in the place of bytes."""
    return tuple(value for part in parts if isinstance(part, tuple) for value in part)


def _of_day(form: Mapping[str, object], of: str) -> Callable[[list[object]], object]:
    """What Daily does with the contributions of a day; the type is that of the whole column."""
    inner = form["of"]
    assert isinstance(inner, dict)
    element = of.split("list<")[1].split(">", maxsplit=1)[0]
    kinds: Mapping[str, Callable[[list[object]], object]] = {"Sum": _sum(element), "Min": _least, "Max": _most}
    return kinds[inner["type"]]


def rule_of(form: Mapping[str, object], of: str = "long") -> Rule:
    """A reducer by the form that specs keep.

    Args:
        form: the type and the options, as in `{"type": "Collect", "limit": 3}`
        of: the type of the column, in Iceberg's words
    """
    name = form["type"]
    limit = form.get("limit")
    assert limit is None or isinstance(limit, int)
    rules: Mapping[str, Callable[[], Rule]] = {
        "Latest": lambda: LATEST,
        "LatestNotNull": lambda: Rule(latest_not_null),
        "First": lambda: Rule(first, accumulates=True),
        "Sum": lambda: accumulator(_sum(of)),
        "Min": lambda: accumulator(_least),
        "Max": lambda: accumulator(_most),
        "Count": lambda: accumulator(len, without=0),
        "BoolAnd": lambda: accumulator(all),
        "BoolOr": lambda: accumulator(any),
        "Collect": lambda: accumulator(_collect(bool(form.get("distinct")), limit)),
        "ArraySum": lambda: accumulator(_array_sum(of)),
        "MapMerge": lambda: accumulator(_map_merge),
        "Daily": lambda: accumulator(_daily(_int(form["days"]), _of_day(form, of))),
        "BitmapOr": lambda: accumulator(_union),
        "Hll": lambda: accumulator(_union),
        "Theta": lambda: accumulator(_union),
        "Kll": lambda: accumulator(_all),
    }
    assert isinstance(name, str)
    return rules[name]()
