"""Reducers by the law, over all contributions to a column of one key: short, slow, one function each.

- A register is decided by the places (version, commit, row) of its contributions and of the tombstones.
- An accumulator is reset by commit order: a tombstone takes back the contributions of earlier commits, whatever their
  versions, and of its own commit those of earlier rows, by (version of the row, row). Those that are left are combined
  in that order; nulls are no contributions.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from model.sums import SumOverflow, sum_of, whole

Place = tuple[int, int, int]


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
    add = sum_of(element)

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


def _map_of(of: Callable[[list[object]], object], without: object) -> Callable[[list[object]], object]:
    def combine(maps: list[object]) -> object:
        by_key: dict[object, list[object]] = {}
        for each in maps:
            assert isinstance(each, list)
            for key, value in each:
                by_key.setdefault(key, []).extend([] if value is None else [value])
        reduced = {key: of(values) if values else without for key, values in by_key.items()}
        overflow = next((value for value in reduced.values() if isinstance(value, SumOverflow)), None)
        return sorted(reduced.items(), key=lambda item: _order(item[0])) if overflow is None else overflow

    return combine


def _struct(
    members: Mapping[str, Callable[[list[object]], object]], without: Mapping[str, object]
) -> Callable[[list[object]], object]:
    def combine(structs: list[object]) -> object:
        reduced: dict[str, object] = {}
        for name, of in members.items():
            values = [each[name] for each in structs if isinstance(each, dict) and each[name] is not None]
            reduced[name] = of(values) if values else without[name]
        return next((value for value in reduced.values() if isinstance(value, SumOverflow)), reduced)

    return combine


def _top(by: str, n: int) -> Callable[[list[object]], object]:
    def combine(lists: list[object]) -> object:
        elements = [element for each in lists if isinstance(each, list) for element in each if element is not None]
        ordered = sorted(enumerate(elements), key=lambda item: (_order(item[1][by]), -item[0]), reverse=True)
        return [element for _, element in ordered[:n]]

    return combine


def latest_n(n: int) -> Rule:
    """The elements of the newest places since the last reset; a list is itself from the newest to the oldest."""

    def reduce(contributions: Sequence[Contribution], tombstones: Sequence[Place]) -> Contribution | None:
        left = _since_reset(contributions, tombstones)
        if not left:
            return None
        newest = sorted(left, key=lambda c: (c.place[0], c.commit_place), reverse=True)
        elements = [e for c in newest if isinstance(c.value, list) for e in c.value if e is not None]
        return Contribution(newest[0].place, elements[:n], newest[0].row_version)

    return Rule(reduce, accumulates=True)


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
    kinds: Mapping[str, Callable[[list[object]], object]] = {"Sum": sum_of(element), "Min": _least, "Max": _most}
    return kinds[inner["type"]]


def _members(form: Mapping[str, object], of: str) -> Callable[[list[object]], object]:
    forms = form["members"]
    assert isinstance(forms, dict)
    types = _member_types(of)
    rules = {name: rule_of(each, types[name]) for name, each in forms.items()}
    return _struct(
        {name: _combined(rule) for name, rule in rules.items()}, {name: rule.without for name, rule in rules.items()}
    )


def _member_types(of: str) -> dict[str, str]:
    """Of a struct as Iceberg writes it: `struct<7: name: optional type, ...>`."""
    found = (re.fullmatch(r"(?:\d+: )?(\w+): (?:optional |required )?(.*)", each) for each in _split(of[7:-1]))
    return {member[1]: member[2] for member in found if member}


def _split(members: str) -> list[str]:
    """At the commas that are in no brackets."""
    parts, depth = [""], 0
    for sign in members:
        depth += {"<": 1, "(": 1, ">": -1, ")": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts]


def _combined(rule: Rule) -> Callable[[list[object]], object]:
    """What an accumulator makes of values in this order."""

    def combine(values: list[object]) -> object:
        reduced = rule.reduce([Contribution((0, 0, row), value, 0) for row, value in enumerate(values)], [])
        assert reduced is not None
        return reduced.value

    return combine


def _map(form: Mapping[str, object], of: str) -> Callable[[list[object]], object]:
    inner = form.get("of")
    if inner is None:
        return _map_merge
    assert isinstance(inner, dict)
    _, value = _split(of.removeprefix("map<")[:-1])
    rule = rule_of(inner, value)
    return _map_of(_combined(rule), rule.without)


def _sums(of: str, names: Sequence[str]) -> Callable[[list[object]], object]:
    types = _member_types(of)
    rules = {name: _saturating if name == "count" else sum_of(types[name]) for name in names}
    return _struct(rules, dict.fromkeys(names))


def _saturating(counts: list[object]) -> object:
    return max(-(1 << 63), min((1 << 63) - 1, sum(map(whole, counts))))


def _median(numbers: list[object]) -> object:
    return sorted(map(whole, numbers))[(len(numbers) - 1) // 2]


def _trail(lists: list[object]) -> object:
    return [step or "" for each in lists if isinstance(each, list) for step in each][-4:]


def _streak(contributions: Sequence[object]) -> object:
    """The longest stretch of neighbours that are not 0."""
    longest = here = 0
    for each in contributions:
        here = here + 1 if each else 0
        longest = max(longest, here)
    return longest


IN_PYTHON: Mapping[str, Callable[[Sequence[Any]], object]] = {
    "Range": lambda all_: max(all_) - min(all_),
    "Streak": _streak,
    "Joined": ",".join,
}


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
        "Sum": lambda: accumulator(sum_of(of)),
        "Min": lambda: accumulator(_least),
        "Max": lambda: accumulator(_most),
        "Count": lambda: accumulator(len, without=0),
        "BoolAnd": lambda: accumulator(all),
        "BoolOr": lambda: accumulator(any),
        "Collect": lambda: accumulator(_collect(bool(form.get("distinct")), limit)),
        "ArraySum": lambda: accumulator(_array_sum(of)),
        "MapMerge": lambda: accumulator(_map(form, of)),
        "TopN": lambda: accumulator(_top(str(form["by"]), whole(form["n"]))),
        "LatestN": lambda: latest_n(whole(form["n"])),
        "Average": lambda: accumulator(_sums(of, ["sum", "count"])),
        "Moments": lambda: accumulator(_sums(of, ["count", "sum", "sum2", "sum3", "sum4"])),
        "Struct": lambda: accumulator(_members(form, of)),
        "Own": lambda: accumulator({"Median": _median, "Trail": _trail}[str(form["name"]).partition("$")[2]]),
        "Python": lambda: accumulator(IN_PYTHON[str(form["name"]).rpartition(".")[2]]),
        "Daily": lambda: accumulator(_daily(whole(form["days"]), _of_day(form, of))),
        "BitmapOr": lambda: accumulator(_union),
        "Hll": lambda: accumulator(_union),
        "Theta": lambda: accumulator(_union),
        "Kll": lambda: accumulator(_all),
    }
    assert isinstance(name, str)
    return rules[name]()
