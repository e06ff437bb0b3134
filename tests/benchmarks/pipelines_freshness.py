"""From the commit of a row in a database to the commit of the keyed table that shows it.

    busy    300 tables, 12 of which get rows all the time; a pipeline with the defaults
    idle    a row here and there in 300 tables; `freshness: 1 second`
    tables  1,000 tables made by a first run, what client and server weigh then, and what quiet tables cost

The rows are numbered as they are committed, so a snapshot shows all rows up to the largest number in its files. The
first seconds do not count: the server warms up.
"""

import random
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from rich.console import Console

import keylake as kl
from benchmarks.figures import Figure, Findings, Target, figure
from benchmarks.machine import Machine, machine, processor_seconds
from pipelines.mariadb.server import MariaDb

TABLES, BUSY, MADE = 300, 12, 1_000
SECONDS, WARM_UP = 90, 30
ROWS_A_SECOND = {"busy": 240, "idle": 10}
COLUMNS = "id BIGINT PRIMARY KEY, " + ", ".join(f"c{number} BIGINT" for number in range(9))
QUIET_SECONDS = 30


@dataclass
class Sent:
    """When rows were committed in the database, by table; their numbers count from 0."""

    at: dict[str, list[float]] = field(default_factory=dict[str, list[float]])

    def rows(self, server: MariaDb, tables: Sequence[str], rate: float, seconds: float) -> None:
        """Insert rows, each in a transaction of its own."""
        draw = random.Random(36)
        with closing(server.connect("shop")) as connection, connection.cursor() as cursor:
            begun_at, count = time.time(), 0
            while (now := time.time()) < begun_at + seconds:
                table = draw.choice(tables)
                times = self.at.setdefault(table, [])
                values = ", ".join(["%s"] * 10)
                cursor.execute(f"INSERT INTO {table} VALUES ({values})", [len(times), *range(9)])
                times.append(time.time())
                count += 1
                time.sleep(max(begun_at + count / rate - now, 0))


def run(scale: float, console: Console) -> Findings:
    """The scale is of the tables."""
    count, made = max(round(TABLES * scale), BUSY), max(round(MADE * scale), 10)
    with machine() as place:
        words = (
            f"{count} tables, {BUSY} of them busy with {ROWS_A_SECOND['busy']} rows a second, {SECONDS} s; "
            f"{made:,} tables made; {place.describe()}"
        )
        console.print(words, highlight=False)
        found = [
            *_latency(place, "busy", count, {}, (5, 10), console),
            *_latency(place, "idle", count, {"freshness": "1 second"}, (1, 3), console),
            *_made(place, made, console),
        ]
    return Findings(words, found)


def _server(folder: Path, count: int) -> MariaDb:
    folder.mkdir()
    server = MariaDb(folder, table_open_cache="4000", innodb_buffer_pool_size="256M")
    server.run("CREATE DATABASE shop", *(f"CREATE TABLE shop.t{number} ({COLUMNS})" for number in range(count)))
    return server


def _pipeline(server: MariaDb, name: str, sink: Mapping[str, str]) -> kl.Pipeline:
    return kl.Pipeline.model_validate(
        {
            "source": {
                "type": "mysql", "hostname": "127.0.0.1", "port": server.port, "username": MariaDb.READER,
                "password": MariaDb.PASSWORD, "tables": r"shop.\.*",
            },
            "sink": {"type": "keylake", "namespace": name, **sink},
            "pipeline": {"name": name},
        }
    )  # fmt: skip


def _latency(
    place: Machine, kind: str, count: int, sink: Mapping[str, str], most: tuple[float, float], console: Console
) -> list[Figure]:
    lake = place.session()
    server = _server(place.folder / kind, count)
    try:
        pipeline = _pipeline(server, kind, sink)
        kl.run_pipeline(pipeline, lake, once=True)
        ending, sent = threading.Event(), Sent()
        following = threading.Thread(target=kl.run_pipeline, args=(pipeline, lake), kwargs={"ending": ending})
        following.start()
        names = [f"t{number}" for number in range(BUSY if kind == "busy" else count)]
        sent.rows(server, names, ROWS_A_SECOND[kind], SECONDS)
        time.sleep(15)
        ending.set()
        following.join()
    finally:
        server.stop()
    waits = np.array([wait for table, times in sent.at.items() for wait in _waits(lake, f"{kind}.{table}", times)])
    middle, late = (float(np.percentile(waits, share)) for share in (50, 99))
    console.print(f"  {kind}: {len(waits):,} rows, median {middle:.2f} s, 99% {late:.2f} s", highlight=False)
    of = f"{count} tables, {BUSY} busy" if kind == "busy" else f"{count} idle tables, freshness of 1 second"
    return [
        figure(f"{of}: seconds from commit to row, median", middle, Target(most[0])),
        figure(f"{of}: seconds from commit to row, 99th percentile", late, Target(most[1])),
    ]


def _waits(lake: kl.Lake, table: str, times: Sequence[float]) -> list[float]:
    """How long the rows of a table were not to be seen, without those from the beginning."""
    found = lake.spark.sql(
        "SELECT CAST(s.committed_at AS DOUBLE) AS at, max(e.readable_metrics.id.upper_bound) AS last"
        f" FROM {lake.catalog}.{table}.all_entries e JOIN {lake.catalog}.{table}.snapshots s USING (snapshot_id)"
        " WHERE e.status = 1 AND e.data_file.content = 0 GROUP BY ALL ORDER BY last, at"
    ).collect()
    begun_at, waits, place = min(times), [], 0
    for number, at in enumerate(times):
        while found[place].last < number:
            place += 1
        if at > begun_at + WARM_UP:
            waits.append(found[place].at - at)
    return waits


def _made(place: Machine, count: int, console: Console) -> list[Figure]:
    lake = place.session()
    server = _server(place.folder / "made", count)
    try:
        pipeline = _pipeline(server, "made", {})
        begun_at = time.perf_counter()
        kl.run_pipeline(pipeline, lake, once=True)
        seconds = time.perf_counter() - begun_at
        ending = threading.Event()
        following = threading.Thread(target=kl.run_pipeline, args=(pipeline, lake), kwargs={"ending": ending})
        following.start()
        time.sleep(10)
        before = time.process_time(), processor_seconds(lake.spark)
        time.sleep(QUIET_SECONDS)
        after = time.process_time(), processor_seconds(lake.spark)
        ending.set()
        following.join()
    finally:
        server.stop()
    client, own = ((now - then) / QUIET_SECONDS for now, then in zip(after, before, strict=True))
    memory = int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20
    console.print(
        f"  {count} tables made in {seconds:.1f} s; quiet: {client:.3f}, {own:.3f} processors", highlight=False
    )
    return [
        figure(f"{count:,} tables made, seconds", seconds, Target(60)),
        figure(f"{count:,} quiet tables: processors of the client", client),
        figure(f"{count:,} quiet tables: processors of the server", own),
        figure(f"{count:,} quiet tables: memory of the client, MB", memory),
    ]
