"""A plain table as an upsert sink leaves it, and servers of any heap that read it: Iceberg's catalog, or keylake's."""

import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import DataFrame

from benchmarks.spark_server import CATALOG, SparkServer
from benchmarks.task_events import TaskEvents
from keylake._server.server import catalog_settings, find_jars

WRITER = Path(__file__).with_name("UpsertedTable.java")
COMMITS = 10
COLUMNS = "id, part, clicks, score, page, amount, level, ratio"
ROWS = f"count(*), CAST(sum(CAST(xxhash64({COLUMNS}) AS DECIMAL(38, 0))) AS STRING)"


@dataclass(frozen=True)
class Upserted:
    """A table: so many rows of data, and so many times as many rows of equality deletes."""

    warehouse: Path
    rows: int
    times: int

    @property
    def name(self) -> str:
        """In the catalog."""
        return f"bench.deletes_{self.times}x"

    @property
    def sql(self) -> str:
        """In statements."""
        return f"{CATALOG}.{self.name}"

    @property
    def folder(self) -> Path:
        """Where its files are."""
        return self.warehouse / "bench" / f"deletes_{self.times}x"

    def write(self) -> None:
        """By Iceberg's own writers, in a process that ends."""
        jars = ":".join([f"{Path(pyspark.__file__).parent}/jars/*", *map(str, find_jars())])
        sizes = [str(self.rows), str(self.rows * self.times), str(COMMITS)]
        subprocess.run(
            ["java", "-Xmx2g", "-cp", jars, str(WRITER), CATALOG, str(self.warehouse), self.name, *sizes],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def bytes_stored(self) -> int:
        """Of all its files but metadata, also those that no snapshot needs."""
        return sum(path.stat().st_size for path in (self.folder / "data").rglob("*") if path.is_file())


@dataclass(frozen=True)
class Reader:
    """Who reads: its catalog, and how it takes the equality deletes out of a table."""

    name: str
    apply: str
    settings: Callable[[Path], Mapping[str, str]]


def _of_stock(warehouse: Path) -> Mapping[str, str]:
    return catalog_settings(CATALOG, "org.apache.iceberg.spark.SparkCatalog", warehouse)


def _of_keylake(warehouse: Path) -> Mapping[str, str]:
    own = (str(path) for path in find_jars() if path.name.startswith(("keylake-server", "keylake-plain-deletes")))
    return {
        "spark.jars": ",".join(own),
        "spark.sql.extensions": "io.keylake.spark.KeylakeExtensions",
        **catalog_settings(CATALOG, "io.keylake.spark.KeylakeCatalog", warehouse),
    }


STOCK = Reader(
    "Iceberg",
    f"CALL {CATALOG}.system.rewrite_data_files(table => '{{table}}', options => map('delete-file-threshold', '1'))",
    _of_stock,
)
KEYLAKE = Reader("keylake", f"CALL {CATALOG}.system.apply_equality_deletes(table => '{{table}}')", _of_keylake)


@dataclass
class Running:
    """A server that reads upserted tables."""

    reader: Reader
    server: SparkServer
    events: TaskEvents
    last: DataFrame | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._spark = self.server.session()

    def read(self, table: Upserted) -> tuple[object, ...]:
        """A fingerprint of all rows: every value is read."""
        self.last = self._spark.sql(f"SELECT {ROWS} FROM {table.sql}")
        return tuple(self.last.collect()[0])

    def apply(self, table: Upserted) -> None:
        """Takes the equality deletes out."""
        self._spark.sql(self.reader.apply.format(table=table.name)).collect()

    def head(self, table: Upserted) -> int:
        """The current snapshot."""
        snapshots = f"SELECT max_by(snapshot_id, committed_at) FROM {table.sql}.snapshots"
        return int(self._spark.sql(snapshots).collect()[0][0])

    def set_back(self, table: Upserted, snapshot: int) -> None:
        """To a snapshot, by metadata alone."""
        self._spark.sql(f"CALL {CATALOG}.system.rollback_to_snapshot('{table.name}', {snapshot})").collect()

    def bytes_of_deletes(self, table: Upserted) -> int:
        """Of the files of equality deletes."""
        files = f"SELECT sum(file_size_in_bytes) FROM {table.sql}.delete_files WHERE content = 2"
        return int(self._spark.sql(files).collect()[0][0])

    def numbers(self) -> dict[str, int]:
        """What the scans of the last read have counted."""
        assert self.last is not None
        execution: Any = self.last.executionInfo
        _, nodes = execution.metrics.extract_graph()
        scans = (node for node in nodes.values() if node.name.startswith("BatchScan"))
        counted: dict[str, int] = {}
        for metric in (metric for scan in scans for metric in scan.metrics):
            counted[metric.name] = counted.get(metric.name, 0) + int(metric.value)
        return counted


@contextmanager
def running(reader: Reader, folder: Path, warehouse: Path, *, heap: str, threads: int = 2) -> Iterator[Running]:
    """A server for as long as the block runs; it ends when its heap is full."""
    folder.mkdir()
    events = TaskEvents(folder / "events")
    server = SparkServer(
        folder,
        {
            **reader.settings(warehouse),
            **events.settings(),
            "spark.master": f"local[{threads}]",
            "spark.driver.memory": heap,
            "spark.driver.extraJavaOptions": f"-Xms{heap} -XX:+ExitOnOutOfMemoryError",
            "spark.executor.metrics.pollingInterval": "20ms",
        },
    )
    try:
        yield Running(reader, server, events)
    finally:
        server.stop()


def within(limit: float, server: Running, task: Callable[[Running], object]) -> float | None:
    """How long a task takes, but for the rest of one that takes longer; null where the server has died of it."""
    timer = threading.Timer(limit, server.server.stop)
    timer.start()
    begun = time.perf_counter()
    try:
        with suppress(Exception):  # whatever the client says of a server that has ended
            task(server)
            return time.perf_counter() - begun
        return None if timer.is_alive() else limit
    finally:
        timer.cancel()
