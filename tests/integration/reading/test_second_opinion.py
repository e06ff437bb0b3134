"""The merge law as plain SQL over the raw rows gives the same answer as the plug-in and as the model."""

import pytest

import keylake as kl
from integration.histories import Shape, operations, shapes
from integration.random_runs import of_every_shape_of_registers
from integration.raw import catalog_of, in_pyiceberg, in_spark, second_opinion
from integration.twin import by_key, comparable, fresh_name

SHAPES = dict(shapes())


@pytest.mark.slow
@of_every_shape_of_registers
def test_plain_sql_agrees(lake: kl.Lake, shape: Shape) -> None:
    twin = shape.create(lake, fresh_name("second_opinion"))
    history = [operation for operation in operations(shape, seed=3, count=8, rows=150) if operation.verb != "overwrite"]
    for operation in history:
        operation.apply(twin)
    table = catalog_of(lake).load_table(twin.table.name)
    assert by_key(second_opinion(twin, table).toArrow(), twin.model.key) == twin.read() == twin.expected()


def test_pyiceberg_and_spark_see_the_same_raw_rows(lake: kl.Lake) -> None:
    shape = SHAPES["ordering, compound key"]
    twin = shape.create(lake, fresh_name("second_opinion"))
    for operation in operations(shape, seed=4, count=4, rows=60):
        operation.apply(twin)
    table = catalog_of(lake).load_table(twin.table.name)
    in_stock_spark = in_spark(lake, table).toArrow().to_pylist()
    assert sorted(repr(comparable(row)) for row in in_stock_spark) == in_pyiceberg(table)
    assert len(in_stock_spark) > len(twin.expected())
