"""Servers that are killed at any moment of any verb: the table is as before it or as after it, and nothing is left."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from random import Random

import pytest

import keylake as kl
from integration.histories import Operation, Shape, operations
from integration.random_runs import seeds
from integration.spark_processes import connect_server, kill
from integration.twin import Twin
from keylake._server.embedded import EmbeddedServer
from model.model import KeyedTable

KILLS = 4
SHAPE = Shape("explicit", buckets=2)
MOMENTS = ("*.parquet", "*-m*.avro", "snap-*.avro", "*.metadata.json")
EVERYTHING = kl.RetentionPolicy(days=0, snapshots=1, orphan_days=0)


class Killed:
    """A server that is killed when a file of a kind is there that was not, or after a while."""

    def __init__(self, server: EmbeddedServer, folder: Path, draw: Random) -> None:
        self._server, self._folder = server, folder
        self._pattern = draw.choice(MOMENTS)
        self._until = time.monotonic() + draw.choice((0.02, 0.1, 0.4, 1.0)) + draw.choice((0.0, 3.0))
        self._thread = threading.Thread(target=self._kill)

    def __enter__(self) -> None:
        self._before = set(self._folder.rglob(self._pattern))
        self._thread.start()

    def __exit__(self, *_raised: object) -> None:
        self._thread.join(30)

    def _kill(self) -> None:
        while time.monotonic() < self._until and set(self._folder.rglob(self._pattern)) <= self._before:
            time.sleep(0.002)
        kill(self._server)


class History:
    """Draws what is done with a table over the lives of several servers."""

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


@pytest.mark.parametrize("seed", seeds(0, 12))
def test_a_server_is_killed_in_any_verb(tmp_path: Path, seed: int) -> None:
    draw = Random(seed)
    history = History(draw, seed)
    with connect_server(tmp_path) as server, kl.connect(server.url) as lake:
        twin = SHAPE.create(lake, "faults.killed")
    newest, after, is_acknowledged = None, twin.model, True
    for _ in range(KILLS):
        with connect_server(tmp_path) as server, kl.connect(server.url) as lake:
            twin = opened(lake, twin, newest, after, is_acknowledged)
            for _ in range(draw.randrange(4)):
                verb, twin.model = history.work(twin)
                verb()
            twin.check()
            newest = newest_of(twin.table)
            verb, after = history.work(twin)
            is_acknowledged = False
            with Killed(server, tmp_path, draw), suppress(kl.ServerUnreachable):
                verb()
                is_acknowledged = True
            history.undoable = False
    with connect_server(tmp_path) as server, kl.connect(server.url) as lake:
        twin = opened(lake, twin, newest, after, is_acknowledged)
        twin.table.compact("full")
        twin.table.layout.clean(EVERYTHING)
        twin.check()
        needed = {
            path.rpartition("/")[2]
            for (path,) in lake.spark.table(f"{twin.sql_name}.all_data_files").select("file_path").collect()
        }
        assert {path.name for path in tmp_path.rglob("data/**/*.parquet")} <= needed


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
