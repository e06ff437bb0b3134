"""Random histories of which some writes hold rows back: main and the quarantine equal the model at every step.

A row that is released counts as if it had been written then, with the version that it has.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import keylake as kl
from integration.histories import Operation, Shape, operations_until
from integration.random_runs import FIRST, of_every_shape
from integration.twin import Twin, comparable, fresh_name, given
from model.model import KeyedTable, Row

CONDITIONS = {"a": kl.value_range("a", at_least=40), "e": kl.condition("e IS NULL OR e >= 30")}
LEAST = {"a": 40, "e": 30}
HALF = {"id": "id % 2 = 0", "name": "length(name) % 2 = 0"}


def fails(row: Row, operation: Operation, column: str) -> bool:
    """A row does not satisfy the condition on a column, which it carries."""
    listed = operation.columns_from is None or column in row[operation.columns_from]  # type: ignore[operator]
    value = row.get(column)
    return bool(listed and row.get("op") not in ("D", "d") and isinstance(value, int) and value < LEAST[column])


def is_of_half(row: Row) -> bool:
    return row["id"] % 2 == 0 if "id" in row else len(str(row["name"])) % 2 == 0  # type: ignore[operator]


@dataclass
class Held:
    """A twin, with the writes whose rows are in quarantine."""

    twin: Twin
    nothing: KeyedTable  # the model before the first write
    waiting: list[tuple[Operation, list[Row]]] = field(default_factory=list)
    required: list[str] = field(default_factory=list)  # columns of the conditions, in the order of writes
    taken: int = 0

    def write(self, operation: Operation, columns: Sequence[str]) -> kl.Commit:
        """Write with a condition on each of some columns."""
        twin, table = self.twin, self.twin.table
        failing = [any(fails(row, operation, column) for column in columns) for row in operation.rows]
        passing = [row for row, is_held in zip(operation.rows, failing, strict=True) if not is_held]
        held = [row for row, is_held in zip(operation.rows, failing, strict=True) if is_held]
        operation.write(twin.model, passing)
        words: dict[str, Any] = given(version=operation.version, columns_from=operation.columns_from)
        if operation.verb == "apply_changes":
            words["op"] = "op"
        require = [CONDITIONS[column] for column in columns]
        rows = twin.frame(operation.rows, operation.form)
        commit = twin._keep(getattr(table, operation.verb)(rows, require=require, on_failure="quarantine", **words))
        assert bool(commit.held) == bool(held)
        if held:
            self.waiting.append((operation, held))
            carried = [column for column in columns if column in held[0]]
            self.required += [column for column in carried if column not in self.required]
        return commit

    def take(self, *, only_half: bool, is_release: bool) -> kl.Released:
        key = next(name for name in self.twin.model.key if name in HALF)
        where = HALF[key] if only_half else None
        quarantine = self.twin.table.quarantine
        done = quarantine.release(where=where) if is_release else quarantine.discard(where=where)
        self.taken += 1
        waiting, self.waiting = self.waiting, []
        if not only_half:
            self.required = []
        for operation, rows in waiting:
            chosen = [row for row in rows if not only_half or is_of_half(row)]
            left = [row for row in rows if only_half and not is_of_half(row)]
            if chosen and is_release:
                operation.write(self.twin.model, chosen)
            if left:
                self.waiting.append((operation, left))
        return done

    def check(self) -> None:
        self.twin.check()
        found = self.twin.table.quarantine.rows().toArrow().to_pylist()
        model = copy.deepcopy(self.nothing)
        for operation, rows in self.waiting:
            operation.write(model, rows)
        expected: list[Any] = []
        for key, row in model.read().items():
            whole = dict(zip(model.key, key, strict=True)) | row
            failing = [c for c in self.required if isinstance(whole[c], int) and whole[c] < LEAST[c]]
            expected.append(whole | {"_failed": CONDITIONS[failing[0]].row if failing else None})
        assert self._in_order(found) == self._in_order(expected)

    def _in_order(self, rows: list[dict[str, object]]) -> list[object]:
        key = self.twin.model.key
        return [comparable(row) for row in sorted(rows, key=lambda row: repr([row[k] for k in key]))]


@of_every_shape
def test_rows_are_held_back_and_released(lake: kl.Lake, shape: Shape) -> None:
    seed = FIRST + 47
    draw = Random(seed)
    twin = shape.create(lake, fresh_name("held"))
    held = Held(twin, copy.deepcopy(twin.model))
    for operation in operations_until(lambda: held.taken, shape, seed, 16, 8, forms=("arrow", "rows", "spark")):
        print(operation)
        if operation.verb in ("upsert", "update", "apply_changes") and draw.random() < 0.8:
            print(held.write(operation, draw.choice([["a"], ["e"], ["a", "e"], ["a"]])))
        else:
            operation.apply(twin)
        if draw.random() < 0.15:
            print(twin.table.compact("full"))
        if held.waiting and draw.random() < 0.3:
            only_half = draw.random() < 0.6
            try:
                print(held.take(only_half=only_half, is_release=draw.random() < 0.8))
            except kl.NothingToDo:
                assert only_half
                assert not any(is_of_half(row) for _, rows in held.waiting for row in rows)
        held.check()
    if held.waiting:
        print(held.take(only_half=False, is_release=True))
        held.check()
    assert not twin.table.quarantine()
