"""Random sequences of operations: the table answers as the naive model does, now and at every earlier commit."""

import pytest
from hypothesis import currently_in_test_context, given, note
from hypothesis import strategies as st

import keylake as kl
from integration.histories import Shape, operations, shapes
from integration.settings import few
from integration.twin import Twin, fresh_name

SHAPES = dict(shapes())


def run(lake: kl.Lake, shape: Shape, seed: int, count: int, rows: int) -> Twin:
    """A new table after a random history, which a failing test prints."""
    twin = shape.create(lake, fresh_name("operations"))
    for operation in operations(shape, seed, count, rows, forms=("arrow", "arrow", "rows", "spark")):
        if currently_in_test_context():
            note(str(operation))
        operation.apply(twin)
    return twin


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
@given(seed=st.integers(0, 2**32), count=st.integers(1, 8), rows=st.sampled_from([1, 4, 4, 40, 300]), data=st.data())
@few(examples=4)
def test_a_random_history(lake: kl.Lake, shape: Shape, seed: int, count: int, rows: int, data: st.DataObject) -> None:
    twin = run(lake, shape, seed, count, rows)
    twin.check()
    twin.check_stamps()
    names = st.lists(st.sampled_from(twin.model.columns), unique=True, max_size=3)
    twin.check(data.draw(names))
    twin.check(data.draw(names), commits=data.draw(st.integers(1, count)))


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_looking_up_keys_of_a_history(lake: kl.Lake, shape: Shape) -> None:
    twin = run(lake, shape, seed=7, count=5, rows=12)
    rows = twin.expected()
    for key in [*list(twin.model.written)[:4], *list(rows)[:2]]:
        of_key = dict(zip(twin.model.key, key, strict=True))
        assert twin.get(of_key) == rows.get(key), of_key
