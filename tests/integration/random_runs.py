"""How often random tests run, and from which seeds: a few in every run, many in the slow one, others every day."""

import os

import pytest

FIRST = 1000 * int(os.environ["KEYLAKE_SEED"])  # the day, unless somebody asks for the seed of another run
MORE = int(os.environ.get("KEYLAKE_RUNS", "1"))  # times as many as the slow run has


def seeds(few: int, many: int) -> list[object]:
    """The seeds of a random test: a few for every run, and many that only the slow one has."""
    every_run = [pytest.param(FIRST + number, id=f"seed {number}") for number in range(few)]
    slow = range(few, few + many * MORE)
    return [*every_run, *(pytest.param(FIRST + number, id=f"seed {number}", marks=pytest.mark.slow) for number in slow)]
