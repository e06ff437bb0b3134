"""A broker of Kafka in a process of its own, as `make kafka` installs it, and what is sent to it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from integration.spark_processes import free_port, wait_for

BUILT = Path(__file__).parents[2] / ".build" / "kafka"
LIMIT_SECONDS = 30.0

Bytes = bytes | None


class Broker:
    """One broker that is its own controller; its data stays when it is stopped and started again."""

    def __init__(self, folder: Path) -> None:
        assert BUILT.exists(), "Kafka is installed for the tests: run `make kafka`"
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._port, controller = free_port(), free_port()
        self._settings = folder / "server.properties"
        self._settings.write_text(
            "process.roles=broker,controller\nnode.id=1\n"
            f"controller.quorum.voters=1@127.0.0.1:{controller}\n"
            f"listeners=PLAINTEXT://127.0.0.1:{self._port},CONTROLLER://127.0.0.1:{controller}\n"
            f"advertised.listeners=PLAINTEXT://127.0.0.1:{self._port}\n"
            "controller.listener.names=CONTROLLER\ninter.broker.listener.name=PLAINTEXT\n"
            "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n"
            f"log.dirs={folder / 'data'}\n"
            "offsets.topic.num.partitions=1\noffsets.topic.replication.factor=1\n"
            "transaction.state.log.num.partitions=1\ntransaction.state.log.replication.factor=1\n"
            "transaction.state.log.min.isr=1\ngroup.initial.rebalance.delay.ms=0\nauto.create.topics.enable=false\n"
        )
        subprocess.run(
            self._java("kafka.tools.StorageTool", "format", "--cluster-id", "MkU3OEVBNTcwNTJENDM2Qk", "--config"),
            check=True,
            capture_output=True,
            env=self._environment(),
        )

    @property
    def servers(self) -> str:
        return f"127.0.0.1:{self._port}"

    def start(self) -> None:
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._java("kafka.Kafka"),
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=self._environment(),
            )  # fmt: skip
        wait_for(self._port)
        self._admin = AdminClient({"bootstrap.servers": self.servers})
        self._admin.list_topics(timeout=LIMIT_SECONDS)

    def stop(self, *, at_once: bool = False) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL if at_once else signal.SIGTERM)
            try:
                self._process.wait(LIMIT_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def _java(self, of: str, *arguments: str) -> list[str]:
        return [
            *("java", "-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
            *("-cp", f"{BUILT}/jars/*", of, *arguments, str(self._settings)),
        ]

    def _environment(self) -> dict[str, str]:
        return {name: value for name, value in os.environ.items() if name != "JAVA_TOOL_OPTIONS"}

    # ------------------------------------------------------------------------------------------------------- topics

    def topic(self, partitions: int = 1, name: str | None = None, **settings: str) -> str:
        name = name or f"t_{uuid.uuid4().hex[:12]}"
        new = NewTopic(name, num_partitions=partitions, replication_factor=1, config=settings)
        self._done(self._admin.create_topics([new]))
        return name

    def delete_topic(self, topic: str) -> None:
        """Delete a topic; it is gone when this returns."""
        self._done(self._admin.delete_topics([topic]))
        until = time.monotonic() + LIMIT_SECONDS
        while topic in self._admin.list_topics(timeout=LIMIT_SECONDS).topics and time.monotonic() < until:
            time.sleep(0.05)

    def add_partitions(self, topic: str, total: int) -> None:
        self._done(self._admin.create_partitions([NewPartitions(topic, total)]))

    def delete_before(self, topic: str, partition: int, offset: int) -> None:
        """What retention does, at once."""
        self._done(self._admin.delete_records([TopicPartition(topic, partition, offset)]))

    def send(self, topic: str, messages: Iterable[tuple[Bytes, Bytes]], partition: int = 0) -> None:
        producer = Producer(
            {
                "bootstrap.servers": self.servers,
                "linger.ms": 5,
                "max.in.flight": 1,
            }  # messages that are sent again keep their order
        )
        failed: list[str] = []

        def told(error: object, message: object) -> None:
            if error is not None:
                failed.append(str(error))

        for key, value in messages:
            producer.produce(topic, key=key, value=value, partition=partition, on_delivery=told)
            producer.poll(0)
        assert producer.flush(LIMIT_SECONDS) == 0
        assert not failed, failed[0]

    @staticmethod
    def _done(futures: Mapping[object, object]) -> None:
        for future in futures.values():
            future.result(LIMIT_SECONDS)  # type: ignore[attr-defined]


def as_json(value: object) -> bytes:
    return json.dumps(value).encode()
