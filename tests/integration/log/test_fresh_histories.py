"""Random histories of which some writes go through the log: fresh reads and all others equal the model at every step.

What is in the log counts behind all commits, until it is moved: the model takes it in then, and a copy of it before.
"""

import copy
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

import keylake as kl
import keylake.local
from integration.histories import Operation, Shape, operations_until
from integration.random_runs import FIRST, of_every_shape_of_registers
from integration.twin import Found, Twin, by_key, comparable, fresh_name
from model.model import KeyedTable


class Nowhere:
    """Takes writes for a model that is alone."""

    def __getattr__(self, verb: str) -> Callable[..., None]:
        return lambda *_rows, **_words: None


class InLog:
    """A table whose small writes go to its log; it takes no others."""

    def __init__(self, table: keylake.local.LocalTable) -> None:
        self._log = table.log

    def __getattr__(self, verb: str) -> Callable[..., keylake.local.Logged]:
        def write(rows: object, **words: Any) -> keylake.local.Logged:
            is_small = set(words) <= {"version"} and isinstance(words.get("version"), int | str | None)
            if verb not in ("upsert", "update", "delete") or not is_small:
                raise kl.Unsupported("The log takes no such write.")
            written: keylake.local.Logged = getattr(self._log, verb)(rows, **words)
            return written

        return write


class Logged:
    """A twin, with the writes that are in the log and not in its files."""

    def __init__(self, twin: Twin, here: keylake.local.LocalTable) -> None:
        self.twin = twin
        self.here = here
        self.waiting: list[Operation] = []
        self.written = 0

    def _alone(self, model: KeyedTable) -> Twin:
        return Twin(self.twin.lake, Nowhere(), model, self.twin.schema)  # type: ignore[arg-type]

    def log(self, operation: Operation) -> bool:
        """Write to the log, if it takes such a write."""
        in_log: Any = InLog(self.here)
        try:
            operation.apply(Twin(self.twin.lake, in_log, copy.deepcopy(self.twin.model), self.twin.schema))
        except kl.Unsupported:
            return False
        self.waiting.append(operation)
        self.written += 1
        return True

    def move(self) -> kl.Moved:
        moved = self.twin.table.log.move()
        assert moved.entries == len(self.waiting)
        for operation in self.waiting:
            operation.apply(self._alone(self.twin.model))
        self.waiting = []
        return moved

    def model(self) -> KeyedTable:
        """The model with all that is waiting."""
        model = copy.deepcopy(self.twin.model)
        for operation in self.waiting:
            operation.apply(self._alone(model))
        return model

    def check(self) -> None:
        twin = self.twin
        expected = self._alone(self.model()).expected()
        assert found(self.here.read(fresh=True).to_arrow(), twin) == expected
        assert found(self.here.read().to_arrow(), twin) == twin.expected()
        keys = [dict(zip(twin.model.key, key, strict=True)) for key in self.model().written_keys()]
        for key, row in zip(keys, self.here.get_many(keys, fresh=True), strict=True):
            of_key = None if row is None else {name: comparable(row[name]) for name in twin.model.columns}
            assert of_key == expected.get(tuple(map(comparable, key.values())))


def found(rows: pa.Table, twin: Twin) -> Found:
    return by_key(rows, twin.model.key)


@of_every_shape_of_registers
def test_writes_go_through_the_log_or_not(lake: kl.Lake, warehouse: Path, shape: Shape) -> None:
    seed = FIRST + 31
    draw = Random(seed)
    twin = shape.create(lake, fresh_name("logged"))
    with keylake.local.open(warehouse) as local:
        logged = Logged(twin, local.table(twin.table.name))
        logged.here.log.begin(kl.FileLog())
        for operation in operations_until(lambda: logged.written, shape, seed, 14, 8, forms=("arrow", "rows")):
            print(operation)
            if draw.random() >= 0.7 or not logged.log(operation):
                operation.apply(twin)
            if draw.random() < 0.2:
                print(logged.move())
            if draw.random() < 0.2:
                print(twin.table.compact("full"))
            logged.check()
        expected = logged._alone(logged.model()).expected()
        assert by_key(twin.table.read(fresh=True).toArrow(), twin.model.key) == expected
        logged.waiting = []
        assert found(logged.here.read().to_arrow(), twin) == expected
        assert twin.table.log.state().waiting == logged.here.log.state().waiting == 0
        twin.table.compact("full")
        assert found(logged.here.read().to_arrow(), twin) == expected
