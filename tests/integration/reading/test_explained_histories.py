"""Random histories: what `explain_row` says is what a read gives, at the versions of the model."""

from random import Random

import pytest

import keylake as kl
from integration.histories import Shape, operations
from integration.random_runs import of_every_shape, seeds
from integration.twin import Twin, comparable, fresh_name
from model.model import Key

MOST_KEYS = 8
PAIRS = kl.CompactionPolicy(tier_runs=2, max_files=2, least_freed_share=0, superseded_share=1)


def check(twin: Twin, key: Key) -> None:
    """One key: values as in the model's read, versions and tombstones as in its stamps, losses as the law has them."""
    row = twin.table.explain_row(dict(zip(twin.model.key, key, strict=True)))
    expected = twin.expected().get(tuple(map(comparable, key)))
    assert row.exists == (expected is not None)
    if expected is not None:
        assert {cell.column: comparable(cell.value) for cell in row.columns} == expected
    stamps = twin._stamps(key)
    assert (None if row.newest_delete is None else row.newest_delete.version) == stamps.deleted
    if row.exists and row.newest_write is not None:
        assert row.newest_write.version == stamps.written
    leaves = {name: group for group, names in twin.model.groups.items() for name in names} | {
        cell.column: cell.column for cell in row.columns if cell.contribution_count is not None
    }
    for cell in row.columns:
        assert cell.version == stamps.columns.get(leaves.get(cell.column, cell.column)), cell
        assert cell.contribution_count is None or cell.contribution_count >= len(cell.contributions)
        for lost in cell.lost:
            check_loss(row, cell, lost)


def check_loss(row: kl.RowExplanation, cell: kl.CellOrigin, lost: kl.StoredValue) -> None:
    assert lost.version is not None
    assert lost.commit_order is not None
    if lost.lost_because == "deleted":
        assert row.newest_delete is not None
        return
    assert cell.version is not None
    assert cell.commit_order is not None
    laws = {
        "older version": lost.version < cell.version,
        "earlier commit": lost.version == cell.version and lost.commit_order < cell.commit_order,
        "later version": isinstance(cell.reducer, kl.First) and lost.version > cell.version,
        "later commit": lost.version == cell.version and lost.commit_order > cell.commit_order,
    }
    assert laws[str(lost.lost_because)], (cell, lost)


@pytest.mark.parametrize("seed", seeds(few=1, many=0))
@of_every_shape
def test_rows_of_a_random_history_are_explained(lake: kl.Lake, shape: Shape, seed: int) -> None:
    random = Random(seed)
    twin = shape.create(lake, fresh_name("explained"))
    for number, operation in enumerate(operations(shape, seed, count=7, rows=12)):
        operation.apply(twin)
        if number == 4:
            twin.table.compact(random.choice([PAIRS, "full", "settle"]))  # type: ignore[arg-type]
    keys = twin.model.written_keys()
    for key in random.sample(keys, min(MOST_KEYS, len(keys))):
        check(twin, key)
