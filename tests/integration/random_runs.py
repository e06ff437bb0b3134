"""How often random tests run, on which tables, and from which seeds: few in every run, many in the slow one."""

import os

import pytest

from integration.histories import shapes

FIRST = 1000 * int(os.environ["KEYLAKE_SEED"])  # the day, unless somebody asks for the seed of another run
MORE = int(os.environ.get("KEYLAKE_RUNS", "1"))  # times as many as the slow run has


# Of these, each way to have versions, keys of text and of several columns, partitions and groups are in every run.
IN_EVERY_RUN = {"commit", "ordering, text key", "partitions and groups"}


def marks_of_shape(name: str) -> list[pytest.MarkDecorator]:
    """What marks a test of this kind of table: of a test that has all kinds, most are in the slow run only."""
    return [] if name in IN_EVERY_RUN else [pytest.mark.slow]


of_every_shape = pytest.mark.parametrize(
    "shape", [pytest.param(shape, id=name, marks=marks_of_shape(name)) for name, shape in shapes()]
)


def seeds(few: int, many: int) -> list[object]:
    """The seeds of a random test: a few for every run, and many that only the slow one has."""
    every_run = [pytest.param(FIRST + number, id=f"seed {number}") for number in range(few)]
    slow = range(few, few + many * MORE)
    return [*every_run, *(pytest.param(FIRST + number, id=f"seed {number}", marks=pytest.mark.slow) for number in slow)]
