"""Random sequences of operations: the table answers as the naive model does, now and at every earlier commit."""

from random import Random

import pytest

import keylake as kl
from integration.histories import Shape, operations, shapes
from integration.random_runs import of_every_shape, seeds
from integration.twin import Twin, fresh_name

SHAPES = dict(shapes())


def run(lake: kl.Lake, shape: Shape, seed: int, count: int, rows: int) -> Twin:
    """A new table after a random history, which a failing test prints."""
    twin = shape.create(lake, fresh_name("operations"))
    for operation in operations(shape, seed, count, rows, forms=("arrow", "arrow", "rows", "spark")):
        print(operation)
        operation.apply(twin)
    return twin


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
@pytest.mark.parametrize("seed", seeds(few=1, many=8))
def test_a_random_history_reads_as_the_model(lake: kl.Lake, shape: Shape, seed: int) -> None:
    random = Random(seed)
    count, rows = random.randint(1, 8), random.choice([1, 4, 4, 40, 300])
    twin = run(lake, shape, seed, count, rows)
    twin.check()
    twin.check_stamps()
    columns = twin.model.columns
    twin.check(random.sample(columns, random.randint(0, 3)))
    twin.check(random.sample(columns, random.randint(0, 3)), commits=random.randint(1, count))


@of_every_shape
def test_looking_up_keys_of_a_history(lake: kl.Lake, shape: Shape) -> None:
    twin = run(lake, shape, seed=7, count=5, rows=12)
    rows = twin.expected()
    for key in [*list(twin.model.written)[:4], *list(rows)[:2]]:
        of_key = dict(zip(twin.model.key, key, strict=True))
        assert twin.get(of_key) == rows.get(key), of_key
