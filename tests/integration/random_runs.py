"""How often random tests run, on which tables, and from which seeds: few in every run, many in the slow one."""

import os
from collections.abc import Mapping

import pytest

from integration.histories import shapes

DAY = int(os.environ["KEYLAKE_SEED"])  # unless somebody asks for the seed of another run
FIRST = 1000 * DAY
MORE = int(os.environ.get("KEYLAKE_RUNS", "1"))  # times as many as the slow run has


def marks_of_case(name: str, names: list[str], today: int) -> list[pytest.MarkDecorator]:
    """What marks a case of a test that is in the slow run for most of its cases: each day has others of them."""
    return [] if (names.index(name) - DAY * today) % len(names) < today else [pytest.mark.slow]


def of_every(argument: str, cases: Mapping[str, object], today: int) -> pytest.MarkDecorator:
    """A test of each case; so many are in every run, and all others in the slow one."""
    names = list(cases)
    marked = [pytest.param(each, id=name, marks=marks_of_case(name, names, today)) for name, each in cases.items()]
    return pytest.mark.parametrize(argument, marked)


SHAPES = dict(shapes())
of_every_shape = of_every("shape", SHAPES, today=1)
of_every_shape_of_registers = of_every(
    "shape", {name: shape for name, shape in SHAPES.items() if not name.startswith("accumulators")}, today=1
)


def seeds(few: int, many: int) -> list[object]:
    """The seeds of a random test: a few for every run, and many that only the slow one has."""
    every_run = [pytest.param(FIRST + number, id=f"seed {number}") for number in range(few)]
    slow = range(few, few + many * MORE)
    return [*every_run, *(pytest.param(FIRST + number, id=f"seed {number}", marks=pytest.mark.slow) for number in slow)]
