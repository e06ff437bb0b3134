"""How often random tests run, on which tables and from which seeds: few in every run, more in slow ones, all at night.

Each day draws others: within some days, slow runs have had all cases of a test.
"""

import os
from collections.abc import Mapping, Sequence

import pytest

from integration.histories import shapes

DAY = int(os.environ["KEYLAKE_SEED"])  # unless somebody asks for the seed of another run
FIRST = 1000 * DAY
MORE = int(os.environ.get("KEYLAKE_RUNS", "1"))  # times as many as the nightly run has
SHARE = 6  # the slow run has every sixth of the others
FEW = 4  # cases, of which the slow run has all others


def marks_of_case(name: str, names: list[str], today: int) -> list[pytest.MarkDecorator]:
    """What marks a case: whether every run has it today, or the slow one, or only the nightly one."""
    at = names.index(name)
    if (at - DAY * today) % len(names) < today:
        return []
    return [pytest.mark.slow if len(names) <= FEW or at % SHARE == DAY % SHARE else pytest.mark.nightly]


def of_every(argument: str, cases: Mapping[str, object] | Sequence[str], today: int) -> pytest.MarkDecorator:
    """A test of each case, or of each name; so many are in every run, and some of the others in the slow one."""
    names = list(cases)
    values = cases if isinstance(cases, Mapping) else {name: name for name in names}
    marked = [pytest.param(each, id=name, marks=marks_of_case(name, names, today)) for name, each in values.items()]
    return pytest.mark.parametrize(argument, marked)


def one_of(argument: str, cases: Sequence[object], names: Sequence[str] | None = None) -> pytest.MarkDecorator:
    """A slow test that has another one of the cases each day; the nightly run has the others."""
    marks = [pytest.mark.slow if at == DAY % len(cases) else pytest.mark.nightly for at in range(len(cases))]
    marked = [pytest.param(each, marks=mark) for each, mark in zip(cases, marks, strict=True)]
    return pytest.mark.parametrize(argument, marked, ids=names)


SHAPES = dict(shapes())
of_every_shape = of_every("shape", SHAPES, today=1)
of_every_shape_of_registers = of_every(
    "shape", {name: shape for name, shape in SHAPES.items() if not name.startswith("accumulators")}, today=1
)


def seeds(few: int, many: int) -> list[object]:
    """The seeds of a random test: a few for every run, and many for the nightly one, of which the slow one has some."""
    slow = few + -(-many // SHARE)
    marks = [*[[]] * few, *[[pytest.mark.slow]] * (slow - few), *[[pytest.mark.nightly]] * (few + many * MORE - slow)]
    return [pytest.param(FIRST + number, id=f"seed {number}", marks=of) for number, of in enumerate(marks)]
