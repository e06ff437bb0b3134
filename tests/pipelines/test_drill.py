"""The drills: sources under random changes, a pipeline that is killed, servers that restart, connections that are cut.

At the end every keyed table equals its table of the source, row by row, and so does what its change feed sums up to.
"""

import json
import logging
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

import keylake as kl
from integration.random_runs import FIRST
from integration.twin import fresh_name
from keylake_pipelines.kafka.messages import MessageFormat
from keylake_pipelines.kafka.offsets import Topics
from keylake_pipelines.kafka.source import KafkaSource
from keylake_pipelines.mysql.source import MySqlSource
from keylake_pipelines.runner.loop import run
from keylake_pipelines.source.source import Source
from keylake_pipelines.source.tables import SourceSchema
from pipelines.broker import Broker, as_json
from pipelines.mariadb.server import MariaDb
from pipelines.mariadb.shop import TABLES, Shop
from pipelines.mariadb.shop import as_json as as_given
from pipelines.scripted import settings

KEYS = {"orders": ["id"], "lines": ["city", "no"], "marks": ["id"]}
Rows = list[dict[str, object]]


class Runner:
    """A pipeline in a process of its own: a function of this module, with whether it ends with its source."""

    def __init__(self, lake: kl.Lake, folder: Path, function: str, name: str, *arguments: object) -> None:
        assert lake._server is not None
        self._script = folder / "runs.py"
        given = ", ".join(map(repr, (lake._server.url, lake.catalog, name, *arguments)))
        self._script.write_text(
            f"import sys\nsys.path.insert(0, {str(Path(__file__).parents[1])!r})\n"
            "from pipelines import test_drill\n"
            f"test_drill.{function}({given}, once=len(sys.argv) > 1)\n"
        )
        self._log = folder / "runs.log"

    @contextmanager
    def killed(self) -> Iterator[None]:
        """It runs, and is killed behind the block; it does not end by itself."""
        with self._log.open("a") as log:
            process = subprocess.Popen([sys.executable, self._script], stdout=subprocess.PIPE, stderr=log, text=True)
        with process:
            try:
                assert process.stdout is not None
                assert process.stdout.readline() == "begins\n"
                yield
                assert process.poll() is None, self._log.read_text()[-3000:]
            finally:
                process.kill()

    def to_its_end(self) -> None:
        last = subprocess.run([sys.executable, self._script, "once"], capture_output=True, text=True, timeout=300)
        assert last.returncode == 0, self._log.read_text()[-3000:] + last.stderr[-3000:]


@contextmanager
def said(goes_on: bool) -> Iterator[None]:
    """Says when a source begins: at first it needs its server for that, later it waits for it."""
    if goes_on:
        print("begins", flush=True)
    yield
    if not goes_on:
        print("begins", flush=True)


class ToldMySqlSource(MySqlSource):
    def begin(self, positions: Mapping[str, int], schemas: Sequence[SourceSchema] = ()) -> None:
        with said(bool(positions)):
            super().begin(positions, schemas)


class ToldKafkaSource(KafkaSource):
    def begin(self, positions: Mapping[str, int], schemas: Sequence[SourceSchema] = ()) -> None:
        with said(bool(positions)):
            super().begin(positions, schemas)


def run_in_this_process(source: Source, lake: kl.Lake, name: str, *, once: bool) -> None:
    logging.basicConfig(level=logging.WARNING)
    report = run(source, lake, settings(name, name, rows=500, behaviour="evolve", once=once))
    assert not report.set_aside, report
    assert not report.dead_letters, report


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [FIRST, FIRST + 1, FIRST + 2])
def test_a_drill_with_mariadb(lake: kl.Lake, logged: MariaDb, tmp_path: Path, seed: int) -> None:
    name = fresh_name("drill").replace(".", "_")
    draw = random.Random(seed)
    shop = Shop(logged, name, draw, keeps_types=True)
    shop.fill(200)
    runner = Runner(lake, tmp_path, "with_mariadb", name, logged.port)
    troubles = ["nothing", "cuts", "restart", "crash"]
    draw.shuffle(troubles)
    for trouble in troubles:
        with runner.killed():
            until = time.monotonic() + draw.uniform(3, 7)
            change_until(shop, time.monotonic() + draw.uniform(0, 3))
            if trouble == "cuts":
                for _ in range(3):
                    logged.cut_connections()
                    shop.connection = logged.connect(name)
                    change_until(shop, time.monotonic() + draw.uniform(0, 1))
            elif trouble != "nothing":
                logged.restart(signal.SIGTERM if trouble == "restart" else signal.SIGKILL)
                shop.connection = logged.connect(name)
            change_until(shop, until)
        shop.transaction()
        shop.statement()
    shop.close()
    runner.to_its_end()
    for table in TABLES:
        keyed = lake.table(f"{name}.{table}")
        truth = shop.rows(table, KEYS[table])
        assert sorted_by(KEYS[table], keyed.read().toArrow().to_pylist()) == truth, table
        assert sorted_by(KEYS[table], summed(keyed, KEYS[table])) == truth, table


def change_until(shop: Shop, until: float) -> None:
    """Transactions, and statements now and then."""
    while time.monotonic() < until:
        shop.transaction()
        if shop.draw.random() < 0.05:
            shop.statement()
        time.sleep(0.02)


def with_mariadb(url: str, catalog: str, name: str, port: int, *, once: bool) -> None:
    source = ToldMySqlSource(
        host="127.0.0.1",
        port=port,
        user=MariaDb.READER,
        password=MariaDb.PASSWORD,
        tables=[rf"{name}\..*"],
        chunk_rows=50,
    )
    with kl.connect(url, catalog=catalog) as lake:
        run_in_this_process(source, lake, name, once=once)


class Mirrored:
    """Tables in memory under random transactions, and the messages of Debezium that tell of them."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self.rows: dict[str, dict[int, dict[str, object]]] = {"orders": {}, "people": {}}
        self._columns: dict[str, list[str]] = {name: ["n", "text"] for name in self.rows}
        self._next = 0

    def transaction(self) -> dict[str, list[tuple[bytes | None, bytes | None]]]:
        """The messages of each table: of a few changes, now and then of many; a column may be new in them."""
        found: dict[str, list[tuple[bytes | None, bytes | None]]] = {name: [] for name in self.rows}
        for _ in range(self._draw.choice([1, 1, 2, 5, 100])):
            name = self._draw.choice(list(self.rows))
            if self._draw.random() < 0.002:
                self._columns[name].append(f"c{len(self._columns[name])}")
            found[name] += self._change(name)
        return found

    def _change(self, name: str) -> list[tuple[bytes | None, bytes | None]]:
        rows, draw = self.rows[name], self._draw
        before = rows.pop(draw.choice(list(rows)), None) if rows and draw.random() < 0.7 else None
        after: dict[str, object] | None = None
        if before is None or draw.random() < 0.7:
            self._next += 1
            is_moved = before is None or draw.random() < 0.2
            after = {"id": self._next if is_moved or before is None else before["id"]}
            after |= {each: self._value(each) for each in self._columns[name]}
            rows[int(str(after["id"]))] = after
        op = "c" if before is None else "d" if after is None else "u"
        source = {"db": "shop", "table": name, "ts_ms": 1}
        message = as_json({"before": before, "after": after, "op": op, "source": source})
        key = as_json({"id": (before or after or {})["id"]})
        return [(key, message), *([(key, None)] if op == "d" else [])]

    def _value(self, name: str) -> object:
        choices = [None, self._draw.randrange(10**6)] if name == "n" else [None, "", f"{self._draw.random()} ☃"]
        return self._draw.choice(choices)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [FIRST + number for number in range(3)])
def test_a_drill_with_kafka(lake: kl.Lake, broker: Broker, tmp_path: Path, seed: int) -> None:
    name = fresh_name("drill").replace(".", "_")
    draw = random.Random(seed)
    topic = broker.topic(2)
    shop = Mirrored(draw)

    def send_until(until: float) -> None:
        while True:
            for partition, messages in enumerate(shop.transaction().values()):
                broker.send(topic, messages, partition)
            if time.monotonic() > until:
                break
            time.sleep(0.02)

    send_until(0)
    runner = Runner(lake, tmp_path, "with_kafka", name, broker.servers, topic)
    troubles = ["nothing", "restart", "crash"]
    draw.shuffle(troubles)
    for trouble in troubles:
        with runner.killed():
            send_until(time.monotonic() + draw.uniform(0, 5))
            if trouble != "nothing":
                broker.stop(at_once=trouble == "crash")
                time.sleep(draw.uniform(0, 1))
                broker.start()
            send_until(time.monotonic() + draw.uniform(0, 5))
    assert sent(broker, topic) == shop.rows, "the topic has what was sent, in its order"
    runner.to_its_end()
    for table, rows in shop.rows.items():
        keyed = lake.table(f"{name}.{table}")
        truth = without_nulls(rows.values())
        assert without_nulls(keyed.read().toArrow().to_pylist()) == truth, table
        assert without_nulls(summed(keyed, ["id"])) == truth, table


def sent(broker: Broker, topic: str) -> dict[str, dict[int, dict[str, object]]]:
    """The rows that the messages of a topic add up to."""
    consumer = Consumer({"bootstrap.servers": broker.servers, "group.id": topic})
    partitions = [TopicPartition(topic, number, 0) for number in range(2)]
    left = sum(consumer.get_watermark_offsets(each, timeout=60)[1] for each in partitions)
    consumer.assign(partitions)
    rows: dict[str, dict[int, dict[str, object]]] = {"orders": {}, "people": {}}
    for _ in range(left):
        message = consumer.poll(60)
        assert message is not None, "a message did not come"
        assert message.error() is None, message.error()
        if (value := message.value()) is not None:
            change = json.loads(value)
            of = rows[change["source"]["table"]]
            if change["before"]:
                of.pop(change["before"]["id"], None)
            if change["after"]:
                of[change["after"]["id"]] = change["after"]
    consumer.close()
    return rows


def with_kafka(url: str, catalog: str, name: str, servers: str, topic: str, *, once: bool) -> None:
    with kl.connect(url, catalog=catalog) as lake:
        source = ToldKafkaSource(lake._session, Topics(servers, (topic,)), MessageFormat("debezium-json"))
        run_in_this_process(source, lake, name, once=once)


def without_nulls(rows: Iterable[Mapping[str, object]]) -> dict[object, dict[str, object]]:
    """Rows by key: a column that was null in every message is in no keyed table."""
    return {row["id"]: {name: value for name, value in row.items() if value is not None} for row in rows}


def sorted_by(key: Sequence[str], rows: Sequence[Mapping[str, object]]) -> Rows:
    """Rows as the database gives them."""
    shown = [{name: as_given(value) for name, value in row.items()} for row in rows]
    return sorted(shown, key=lambda row: [str(row[name]) for name in key])


def summed(keyed: kl.KeyedTable, key: Sequence[str]) -> Rows:
    """What the change feed adds up to, in the columns that the table has now."""
    rows: dict[tuple[object, ...], dict[str, Any]] = {}
    order = {commit.snapshot_id: number for number, commit in enumerate(reversed(keyed.history()))}
    changes = keyed.changes(every_commit=True).toArrow().to_pylist()
    for change in sorted(changes, key=lambda change: order[change["_commit"]]):
        place = tuple(change[name] for name in key)
        if change["_change"] == "delete":
            del rows[place]
        else:
            assert (change["_change"] == "insert") == (place not in rows)
            rows[place] = dict(zip(key, place, strict=True)) | change["_after"]
    return list(rows.values())
