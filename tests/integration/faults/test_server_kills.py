"""Servers that are killed at any moment of any verb: the table is as before it or as after it, and nothing is left."""

import threading
import time
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

import keylake as kl
from integration.faults.any_verb import EVERYTHING, SHAPE, History, newest_of, opened
from integration.random_runs import seeds
from integration.spark_processes import connect_server, kill
from keylake._server.embedded import EmbeddedServer

KILLS = 4
MOMENTS = ("*.parquet", "*-m*.avro", "snap-*.avro", "*.metadata.json")


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
