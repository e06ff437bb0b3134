"""Reads without a server give the rows of the naive model: now, at earlier commits, of some columns, and by key."""

from pathlib import Path

import keylake as kl
import keylake.local
from integration.histories import Shape, operations
from integration.random_runs import FIRST, of_every_shape
from integration.twin import Found, Twin, by_key, comparable, fresh_name


def twin_of(lake: kl.Lake, shape: Shape, seed: int, count: int, rows: int) -> Twin:
    """A new table after a random history, which a failing test prints."""
    twin = shape.create(lake, fresh_name("local"))
    for operation in operations(shape, seed, count, rows, forms=("arrow",)):
        print(operation)
        operation.apply(twin)
    return twin


def readable(twin: Twin) -> list[str]:
    """The value columns that are read without a server."""
    return [name for name in twin.model.columns if not isinstance(twin.table.spec.column(name).reducer, kl.ArraySum)]


def read(table: keylake.local.LocalTable, twin: Twin, commits: int | None = None) -> Found:
    at = None if commits is None else twin.commits[commits - 1]
    rows = table.read(columns=[*twin.model.key, *readable(twin)], at=at)
    return by_key(rows.to_arrow(), twin.model.key)


@of_every_shape
def test_a_random_history_reads_the_same_without_a_server(lake: kl.Lake, warehouse: Path, shape: Shape) -> None:
    twin = twin_of(lake, shape, seed=FIRST + 3, count=5, rows=12)
    with keylake.local.open(warehouse) as local:
        table = local.table(twin.table.name)
        assert read(table, twin) == twin.expected(readable(twin))
        assert read(table, twin, commits=3) == twin.expected(readable(twin), commits=3)
        twin.table.compact("full")
        assert read(table, twin) == twin.expected(readable(twin))
        if readable(twin) == list(twin.model.columns):
            looked_up(table, twin)


def looked_up(table: keylake.local.LocalTable, twin: Twin) -> None:
    expected = twin.expected()
    keys = [dict(zip(twin.model.key, key, strict=True)) for key in twin.model.written]
    many = table.get_many([*keys, *keys[:1]])
    assert repr(many[-1]) == repr(many[0])  # a NaN is not equal to itself
    for key, row in zip(keys, many, strict=False):
        values = expected.get(tuple(map(comparable, key.values())))
        assert (row is None) == (values is None), key
        if row is not None:
            assert {name: comparable(row[name]) for name in twin.model.columns} == values, key
    assert repr(table.get(**keys[0])) == repr(many[0])
