"""On a standalone cluster of two workers: tasks travel, executors share nothing, and the answers are the same."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from urllib.parse import unquote

import pytest

import keylake as kl
from deletes.foreign_table import File, ForeignTable, ForeignWriter, comparable, foreign_writer
from integration.histories import COMPOUND, Shape, operations
from integration.spark_processes import cluster, connect_server, kill
from integration.twin import by_key, fresh_name
from keylake._server.embedded import EmbeddedServer

pytestmark = pytest.mark.slow
SLOW = 200_000  # milliseconds that a task sleeps which is tried once more


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cluster")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[EmbeddedServer]:
    """The driver of a cluster. Its hosts are two, as a task is never tried twice at once on the same."""
    with cluster(folder, workers=2, hosts=2) as master:
        settings = {
            "spark.master": master,
            "spark.executor.memory": "512m",
            "spark.executor.cores": "1",
            "spark.cores.max": "2",
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            "spark.locality.wait": "0",
            "spark.speculation": "true",
            "spark.speculation.minTaskRuntime": "10s",  # a task that is to fail must have come so far by then
            "spark.speculation.quantile": "0.5",
        }
        with connect_server(folder / "lake", settings) as server:
            yield server


@pytest.fixture(scope="module")
def on_cluster(server: EmbeddedServer) -> Iterator[kl.Lake]:
    """A lake whose server is the driver of a cluster."""
    with kl.connect(server.url) as lake:
        yield lake


@pytest.fixture(scope="module")
def writer(on_cluster: kl.Lake) -> Iterator[ForeignWriter]:
    with foreign_writer(on_cluster) as writer:
        yield writer


def executors(folder: Path) -> set[str]:
    """The workers that an executor has run on."""
    return {path.parent.parent.parent.name for path in folder.glob("worker-*/app-*/*/stderr")}


@pytest.mark.parametrize("shape", [Shape("explicit", COMPOUND, buckets=6), Shape("ordering", buckets=5)], ids=str)
def test_a_history_on_two_executors(on_cluster: kl.Lake, folder: Path, shape: Shape) -> None:
    twin = shape.create(on_cluster, fresh_name("cluster"))
    for operation in operations(shape, seed=21, count=5, rows=200, forms=("arrow", "spark")):
        operation.apply(twin)
    twin.check()
    twin.check(["a"])
    twin.check_stamps()
    key, expected = next(iter(twin.expected().items()))
    assert twin.get(dict(zip(twin.model.key, key, strict=True))) == expected
    joined = on_cluster.spark.sql(
        f"SELECT /*+ MERGE(r) */ l.* FROM {twin.sql_name} l JOIN {twin.sql_name} r USING ({', '.join(twin.model.key)})"
    )
    kl.assert_no_shuffle(joined)
    assert by_key(joined.toArrow(), twin.model.key) == twin.expected()
    assert executors(folder) == {"worker-0", "worker-1"}


def test_a_bad_row_on_an_executor(on_cluster: kl.Lake) -> None:
    twin = Shape("commit").create(on_cluster, fresh_name("cluster"))
    rows = on_cluster.spark.range(0, 1000, 1, 4).selectExpr("if(id = 777, NULL, id) AS id", "id AS a")
    with pytest.raises(kl.BadRows, match="'id'"):
        twin.table.update(rows)
    assert twin.table.history() == [] or len(twin.table.history()) == 0


def once(table: ForeignTable, what: str) -> str:
    """SQL that does something at the first row that comes to the executor of the first worker."""
    here = "reflect('java.lang.System', 'getProperty', 'user.dir') LIKE '%worker-0%'"
    # What had no value before is the text 'null' here.
    first = f"reflect('java.lang.System', 'setProperty', '{table.name} {hash(what)}', 'met') = 'null'"
    return f"if({here}, if({first}, {what}, 'again'), 'other')"


def expected(table: ForeignTable) -> list[str]:
    return comparable((row.values["id"], row.values["part"]) for row in table.stored)


def seen(table: ForeignTable, what: str) -> tuple[list[str], set[str]]:
    """All rows, read while something happens to a task, and what the tasks that count have said."""
    options = {"split-size": "1", "file-open-cost": "1"}
    frame = table.lake.spark.read.options(**options).table(table.sql).selectExpr("id", "part", f"{what} AS what")
    found = frame.collect()
    return comparable((row["id"], row["part"]) for row in found), {row["what"] for row in found}


def is_logged(worker: Path, text: str) -> bool:
    """An executor of a worker has logged the text."""
    return any(text in path.read_text(errors="replace") for path in worker.glob("app-*/*/stderr"))


def executor(worker: Path) -> int:
    """The process of a worker's newest executor."""
    found = [
        int(process.name)
        for process in Path("/proc").iterdir()
        if process.name.isdigit()
        and b"CoarseGrainedExecutorBackend" in process.joinpath("cmdline").read_bytes()
        and worker in process.joinpath("cwd").resolve().parents
    ]
    return max(found)


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


def left_over(lake: kl.Lake, table: ForeignTable, folder: Path) -> set[Path]:
    """The files under the data of a table that the table does not know."""
    rows = lake.spark.sql(f"SELECT DISTINCT file_path FROM {table.sql}.all_files").collect()
    known = {Path(unquote(row[0]).removeprefix("file:")) for row in rows}
    data = folder.joinpath(*table.name.split("."), "data")
    there = {path for path in data.rglob("*") if path.suffix in {".parquet", ".puffin"}}
    return there - known


def with_deletes(lake: kl.Lake, writer: ForeignWriter, parts: int) -> ForeignTable:
    """A plain table; each partition has a file of rows and one of deletes."""
    table = ForeignTable(lake, writer, fresh_name("foreign"), ["part"])
    lake.spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.foreign")
    lake.spark.sql(f"CREATE TABLE {table.sql} (id BIGINT, part INT) USING iceberg PARTITIONED BY (part)")
    lake.spark.sql(f"ALTER TABLE {table.sql} SET TBLPROPERTIES ('format-version' = '3')")
    table.commit(*(File([{"id": key, "part": part} for key in range(100)]) for part in range(parts)))
    table.commit(*(File([{"id": key, "part": part} for key in range(part, 100, 3)], ["id"]) for part in range(parts)))
    return table


def test_tasks_that_fail_or_are_slow_are_done_again(on_cluster: kl.Lake, writer: ForeignWriter, folder: Path) -> None:
    table = with_deletes(on_cluster, writer, parts=4)
    failing = once(table, "string(raise_error('the first attempt fails'))")
    slow = once(table, f"concat('slow', ifnull(reflect('java.lang.Thread', 'sleep', {SLOW}L), ''))")
    began = time.monotonic()
    for what, fate in ((failing, "the first attempt fails"), (slow, "another attempt succeeded")):
        rows, said = seen(table, what)
        assert rows == expected(table)
        assert said <= {"again", "other"}, "the first is of no task that counts"
        wait_for(partial(is_logged, folder / "worker-0", fate))
    assert time.monotonic() - began < SLOW / 1000, "nobody waited for the slow one"
    wait_for(lambda: not list(folder.rglob("keylake-deletes*")))


def test_deletes_are_applied_though_executors_halt_and_die(
    on_cluster: kl.Lake, writer: ForeignWriter, folder: Path
) -> None:
    """A task on an executor that halts is done on the other one; its own files go when it is there again."""
    lake, table = on_cluster, with_deletes(on_cluster, writer, parts=4)
    for fate in (signal.SIGCONT, signal.SIGKILL):
        halted = executor(folder / "worker-0")
        os.kill(halted, signal.SIGSTOP)
        with ThreadPoolExecutor(1) as threads:
            applying = threads.submit(lake.apply_equality_deletes, table.name)
            if fate == signal.SIGKILL:
                time.sleep(1)
                os.kill(halted, fate)
            done = applying.result(60)
        if fate == signal.SIGCONT:
            os.kill(halted, fate)
        assert (done.delete_files_removed, done.commits) == (4, 1)
        assert comparable(map(tuple, lake.spark.table(table.sql).collect())) == expected(table)
        wait_for(lambda: not left_over(lake, table, folder / "lake"))
        for part in range(4):
            table.commit(File([{"id": key, "part": part} for key in range(part, 100, 7)], ["id"]))


def test_a_driver_that_is_killed_while_it_applies_deletes(
    server: EmbeddedServer, on_cluster: kl.Lake, writer: ForeignWriter, folder: Path
) -> None:
    """The last test here. The table reads as before, the next call does what is left, and Iceberg cleans up."""
    table = with_deletes(on_cluster, writer, parts=12)
    metadata = folder.joinpath("lake", *table.name.split("."), "metadata")
    before = len(list(metadata.glob("*.metadata.json")))
    with ThreadPoolExecutor(1) as threads:
        applying = threads.submit(on_cluster.apply_equality_deletes, table.name, portions_per_commit=1)
        wait_for(lambda: len(list(metadata.glob("*.metadata.json"))) > before + 2)
        kill(server)
        assert type(applying.exception(60)) is kl.ServerUnreachable
    with connect_server(folder / "lake") as second, kl.connect(second.url) as lake:
        rows = lake.spark.table(table.sql)
        assert comparable(map(tuple, rows.collect())) == expected(table)
        done = lake.apply_equality_deletes(table.name)
        assert 0 < done.delete_files_removed < 12
        assert comparable(map(tuple, rows.collect())) == expected(table)
        for path in left_over(lake, table, folder / "lake"):
            assert "-deletes-" in path.name
            os.utime(path, (0, 0))
        lake.spark.sql(f"CALL lake.system.remove_orphan_files(table => '{table.name}')").collect()
        assert not left_over(lake, table, folder / "lake")
        assert comparable(map(tuple, rows.collect())) == expected(table)
