"""What is done with a table between faults: any verb, and the table as it is before it or after it."""

from collections.abc import Callable
from copy import deepcopy
from random import Random

import keylake as kl
from integration.histories import Operation, Shape, operations
from integration.twin import Twin
from model.model import KeyedTable

SHAPE = Shape("explicit", buckets=2)
EVERYTHING = kl.RetentionPolicy(days=0, snapshots=1, orphan_days=0)


class History:
    """Draws what is done with a table over the lives of several servers, or disks."""

    def __init__(self, draw: Random, seed: int) -> None:
        self._draw = draw
        self._operations = iter(operations(SHAPE, seed, count=200, rows=8))
        self.undoable = False

    def work(self, twin: Twin) -> tuple[Callable[[], object], KeyedTable]:
        """A verb to call, and the model as it is once that is done."""
        after = deepcopy(twin.model)
        table, number = twin.table, len(twin.model.replaced)
        kind = self._draw.choice(("write", "write", "write", "full", "settle", "clean", "buckets", "undo"))
        if kind == "write" or (kind == "undo" and not self.undoable):
            operation = next(self._operations)
            operation.write(after, operation.rows)
            self.undoable = True
            return lambda: written(twin, operation), after
        if kind == "undo":
            self.undoable = False
            return lambda: table.undo(table.history(1)[0]), twin.model.without(number - 1, number)
        if kind == "clean":
            self.undoable = False
            return lambda: table.layout.clean(EVERYTHING), after
        if kind == "buckets":
            return lambda: table.layout.change_buckets(2 * twin.lake.table(table.name).spec.buckets), after
        return lambda: table.compact(kind), after


def written(twin: Twin, operation: Operation) -> None:
    """Calls the verb of an operation, and leaves the model alone."""
    operation.apply(Twin(twin.lake, twin.table, deepcopy(twin.model), twin.schema, list(twin.commits)))


def opened(lake: kl.Lake, before: Twin, newest: int | None, after: KeyedTable, is_acknowledged: bool) -> Twin:
    """The table by a new server: whole, as it was or as a verb has made it, and so where that was acknowledged."""
    table = lake.table(before.table.name)
    is_after = is_acknowledged or newest_of(table) != newest
    twin = Twin(lake, table, after if is_after else before.model, before.schema)
    assert table.check("pages").is_ok
    twin.check()
    return twin


def newest_of(table: kl.KeyedTable) -> int | None:
    commits = table.history(1)
    return commits[0].snapshot_id if commits else None
