"""A check that a reducer in Python gives the same value whatever contributions are combined first."""

# pyarrow carries no types.
# pyright: reportUnknownParameterType=false

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product
from random import Random

import pyarrow as pa

from keylake.reducers.reduced import Reduction

MOST_FOR_THREE = 8
DRAWN = 300
MOST_DRAWN = 7

Groups = tuple[tuple[int, ...], ...]
"""Contributions, by their places among the samples, in groups that are stored one by one."""


def counterexample(reduction: Reduction, samples: pa.Array, ordered: bool) -> str | None:
    """A sentence about what is wrong, with the smallest example that was found; none where nothing is.

    All few contributions are tried before many that are drawn, and of those contributions are left out as long as the
    rest still fails.
    """
    taken, refusal = _taken(reduction, samples)
    if not taken:
        return f"takes no sample of the type: {refusal}"
    trial = Trial(reduction, samples.take(pa.array(taken)), ordered)
    few = list(_few(len(taken)))
    found = trial.first_failure(few)
    if found is None and (drawn := trial.first_failure(list(_drawn(len(taken))))) is not None:
        found = trial.smaller(drawn)
    return None if found is None else trial.failure(found)


def _taken(reduction: Reduction, samples: pa.Array) -> tuple[list[int], str]:
    """The samples that the reducer takes; a contribution that raises is refused when it is written."""
    taken: list[int] = []
    refusal = ""
    for place in range(len(samples)):
        try:
            reduction.contribute(samples.slice(place, 1))
            taken.append(place)
        except Exception as error:  # noqa: BLE001 - whatever the code of a user raises
            refusal = f"{type(error).__name__}: {error}"
    return taken, refusal


def _few(count: int) -> Iterator[Groups]:
    for one in range(count):
        yield ((one,),)
    for pair in product(range(count), repeat=2):
        yield (pair[:1], pair[1:])
    for three in product(range(min(count, MOST_FOR_THREE)), repeat=3):
        yield (three[:1], three[1:])
        yield (three[:2], three[2:])


def _drawn(count: int) -> Iterator[Groups]:
    random = Random(0)
    for _ in range(DRAWN):
        groups: list[list[int]] = []
        for _ in range(random.randint(1, MOST_DRAWN)):
            if not groups or random.random() < 0.5:
                groups.append([])
            groups[-1].append(random.randrange(count))
        yield tuple(tuple(group) for group in groups)


class Trial:
    """Values of the same contributions, combined one after the other and in groups."""

    def __init__(self, reduction: Reduction, samples: pa.Array, ordered: bool) -> None:
        self._reduction = reduction
        self._samples = samples
        self._ordered = ordered

    def first_failure(self, cases: Sequence[Groups]) -> Groups | None:
        """The first of some cases that fails; all are tried in a few calls."""
        try:
            backwards = self._values(cases[::-1])[::-1]
            for case, values, again in zip(cases, self._values(cases), backwards, strict=True):
                if not _is_same([values[0]] * len(values), values) or not _is_same(values, again):
                    return case
        except Exception:  # noqa: BLE001 - whatever the code of a user raises
            return next(case for case in cases if self.failure(case) is not None)
        return None

    def smaller(self, case: Groups) -> Groups:
        """Leave contributions out as long as the rest still fails."""
        for group in range(len(case)):
            for place in range(len(case[group])):
                cut = (*case[:group], case[group][:place] + case[group][place + 1 :], *case[group + 1 :])
                left = tuple(each for each in cut if each)
                if left and self.failure(left) is not None:
                    return self.smaller(left)
        return case

    def failure(self, case: Groups) -> str | None:
        """A sentence about what is wrong with one case."""
        try:
            (values,) = self._values([case])
        except Exception as error:  # noqa: BLE001 - whatever the code of a user raises
            return f"fails with {self._text(case)}: {type(error).__name__}: {error}"
        other = next((value for value in values if not _is_same(values[0], value)), values[0])
        if _is_same(values[0], other):
            (values, beside) = self._values([case, case])
            if _is_same(values, beside):
                return None
            return f"gives other values for {self._text(case)} where other keys are in the same arrays"
        whole = (tuple(place for group in case for place in group),)
        how = "grouped" if self._ordered else "grouped or ordered"
        return (
            f"depends on how contributions are {how}: {self._text(whole)} give {values[0]!r} one "
            f"after the other, and {other!r} stored as {self._text(case)}; a compaction would change answers"
        )

    def _text(self, case: Groups) -> str:
        return " ".join(str([self._samples[place].as_py() for place in group]) for group in case)

    def _values(self, cases: Sequence[Groups]) -> list[list[object]]:
        """The values of each case: of all one after the other, in groups, and of the groups in the opposite order."""
        contributed = self._reduction.contribute(self._samples)
        whole = self._folded(contributed, [[place for group in case for place in group] for case in cases])
        stored = self._folded(contributed, [group for case in cases for group in case])
        numbers: list[list[int]] = []
        count = 0
        for case in cases:
            numbers.append(list(range(count, count + len(case))))
            count += len(case)
        found = [whole, self._folded_from_the_end(stored, numbers)]
        if not self._ordered:
            found.append(self._folded(stored, [each[::-1] for each in numbers]))
        values = [self._reduction.value(states).to_pylist() for states in found]
        return [list(each) for each in zip(*values, strict=True)]

    def _folded(self, items: pa.Array, sequences: Sequence[Sequence[int]]) -> pa.Array:
        """Each sequence of items, combined from its first to its last."""
        states = items.take(pa.array([each[0] for each in sequences]))
        for step in range(1, max(len(each) for each in sequences)):
            longer = [number for number, each in enumerate(sequences) if len(each) > step]
            newer = items.take(pa.array([sequences[number][step] for number in longer]))
            merged = self._reduction.combine(states.take(pa.array(longer)), newer)
            states = _replaced(states, longer, merged)
        return states

    def _folded_from_the_end(self, items: pa.Array, sequences: Sequence[Sequence[int]]) -> pa.Array:
        """Each sequence of items, the last two first."""
        states = items.take(pa.array([each[-1] for each in sequences]))
        for step in range(1, max(len(each) for each in sequences)):
            longer = [number for number, each in enumerate(sequences) if len(each) > step]
            older = items.take(pa.array([sequences[number][-1 - step] for number in longer]))
            merged = self._reduction.combine(older, states.take(pa.array(longer)))
            states = _replaced(states, longer, merged)
        return states


def _replaced(states: pa.Array, places: Sequence[int], others: pa.Array) -> pa.Array:
    order = list(range(len(states)))
    for number, place in enumerate(places):
        order[place] = len(states) + number
    return pa.concat_arrays([states, others]).take(pa.array(order))


def _is_same(one: object, other: object) -> bool:
    """Two values are identical: NaN is NaN, 0.0 is not -0.0.

    >>> _is_same([math.nan, {"a": 0.0}], [math.nan, {"a": 0.0}]), _is_same(0.0, -0.0)
    (True, False)
    """
    if isinstance(one, float) and isinstance(other, float):
        return (one != one and other != other) or (one == other and math.copysign(1, one) == math.copysign(1, other))
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(_is_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_is_same(one[name], other[name]) for name in one)
    return type(one) is type(other) and one == other
