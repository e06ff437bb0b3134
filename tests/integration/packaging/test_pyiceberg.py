"""pyiceberg opens tables of every shape and sees their raw rows; `shared_lake` looks so at the tables of all tests."""

import pytest

import keylake as kl
from integration.histories import operations, shapes
from integration.raw import catalog_of, check_raw_rows
from integration.twin import fresh_name


@pytest.mark.slow
def test_every_shape_opens_with_all_its_raw_rows(lake: kl.Lake) -> None:
    names = []
    for _, shape in shapes():
        twin = shape.create(lake, fresh_name("pyiceberg"))
        for operation in operations(shape, seed=41, count=2, rows=10):
            operation.apply(twin)
        names.append(twin.table.name)
    catalog = catalog_of(lake)
    check_raw_rows([catalog.load_table(name) for name in names])
