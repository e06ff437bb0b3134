"""Clients of Kafka for the topic of a log: their settings, their requests, and failures in the words of a log."""

from __future__ import annotations

import concurrent.futures
import ctypes
import logging
import os
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from keylake._log.definition import KafkaLog, place_of
from keylake.errors import DefinitionError, StoreFailed, Unavailable, Unsupported

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Producer
    from confluent_kafka.admin import AdminClient

SETTINGS = "KEYLAKE_KAFKA_SETTINGS"  # of the environment: the path of a file
LIMIT_SECONDS = 10.0
MOST_BYTES = (64 << 20) + (64 << 10)  # of a message: the longest entry, and what Kafka adds
_handles: weakref.WeakSet[Any] = weakref.WeakSet()  # of this process
_LOGGER = logging.getLogger(__name__)
_OURS = {
    "bootstrap.servers", "group.id", "enable.auto.commit", "auto.offset.reset", "enable.partition.eof", "acks",
    "isolation.level", "enable.idempotence", "message.max.bytes",
}  # fmt: skip


@dataclass(frozen=True)
class Described:
    """A topic as the brokers describe it; `settings` are those that it has now."""

    id: str
    partitions: int
    settings: Mapping[str, str]


class KafkaClients:
    """The clients of one process for the topic of a log, which threads share."""

    def __init__(self, log: KafkaLog, group: str) -> None:
        self.process = os.getpid()
        self._log = log
        self._group = group
        self._package = _package()
        self._settings = {**_settings(), "bootstrap.servers": log.servers, "log_level": 0, "error_cb": _passed_over}
        settings = {
            **self._settings,
            "acks": "all",
            "enable.idempotence": True,
            "linger.ms": 0,
            "message.max.bytes": MOST_BYTES,
            "message.timeout.ms": int(LIMIT_SECONDS * 1000),
        }
        try:
            self.producer: Producer = _handle(self._package.Producer, settings)
            self.positions = self.consumer("read_uncommitted")
        except self._package.KafkaException as error:
            raise DefinitionError(f"The settings of Kafka's clients do not fit: {error.args[0].str()}.") from None

    @property
    def place(self) -> str:
        """The topic, as people are told."""
        return place_of(self._log)

    def consumer(self, isolation: Literal["read_committed", "read_uncommitted"] = "read_committed") -> Consumer:
        """A consumer of its own, which sees what is committed unless it is to see all."""
        consumer: Consumer = _handle(
            self._package.Consumer,
            {
                **self._settings,
                "group.id": self._group,
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "enable.partition.eof": True,
                "isolation.level": isolation,
                "fetch.wait.max.ms": 100,
            },
        )
        return consumer

    def partition(self, offset: int = -1001) -> Any:
        """The partition of the log, at an offset."""
        return self._package.TopicPartition(self._log.topic, 0, offset)

    # ------------------------------------------------------------------------------------------------- questions

    def marks(self) -> tuple[int, int]:
        """The first offset that is kept, and the one behind the last that was acknowledged to anybody."""
        return self._marks(self.positions)

    def stable_end(self) -> int:
        """The offset before which all can be read: that of the oldest transaction that is open, or the end."""
        return self._marks(self._stable)[1]

    @cached_property
    def _stable(self) -> Consumer:
        return self.consumer()

    def _marks(self, consumer: Consumer) -> tuple[int, int]:
        partition = self.partition()
        found = self._asked(
            lambda: consumer.get_watermark_offsets(partition, timeout=LIMIT_SECONDS, cached=False), "Nothing was read"
        )
        if found is None:
            raise self._silent("Nothing was read")
        low, high = found
        return low, high

    def committed(self) -> int | None:
        """The offset that the group has committed."""
        (found,) = self._asked(
            lambda: self.positions.committed([self.partition()], timeout=LIMIT_SECONDS), "Nothing was read"
        )
        return None if found.offset < 0 else found.offset

    def offset_at(self, millis: int) -> int | None:
        """The first offset of a time or later; None where all are earlier."""
        (found,) = self._asked(
            lambda: self.positions.offsets_for_times([self.partition(millis)], timeout=LIMIT_SECONDS),
            "Nothing was deleted",
        )
        return None if found.offset < 0 else found.offset

    def topic_id(self) -> str | None:
        """The id that Kafka has given the topic; None where there is none."""
        topic = self._topic()
        return None if topic is None else str(topic.topic_id)

    def described(self) -> Described | None:
        """The topic with its settings; None where there is none."""
        topic, kinds = self._topic(), _admin_package()
        resource = kinds.ConfigResource(kinds.ConfigResource.Type.TOPIC, self._log.topic)
        settings = None if topic is None else self._known(lambda: self._admin.describe_configs([resource]))
        if topic is None or settings is None:
            return None
        told = {each.name: each.value for each in settings.values() if each.value is not None}
        return Described(str(topic.topic_id), len(topic.partitions), told)

    def _topic(self) -> Any:
        topics = self._package.TopicCollection([self._log.topic])
        return self._known(lambda: self._admin.describe_topics(topics))

    def _known(self, request: Callable[[], Mapping[Any, Any]]) -> Any:
        """The answer to a question about the topic; None where there is none."""
        try:
            return self._answer(request())
        except self._package.KafkaException as error:
            if self._is_of_no_topic(error.args[0]):
                return None
            raise self._silent(f"It says: {error.args[0].str()}. Nothing was read") from None

    # --------------------------------------------------------------------------------------------------- changes

    def commit(self, offset: int) -> None:
        """Note an offset for the group."""
        self._asked(
            lambda: self.positions.commit(offsets=[self.partition(offset)], asynchronous=False),
            "How far the log was moved could not be noted",
        )

    def make(self, settings: Mapping[str, str]) -> bool:
        """Make the topic; False where somebody else has."""
        topic = _admin_package().NewTopic(self._log.topic, num_partitions=1, config=dict(settings))
        try:
            self._answer(self._admin.create_topics([topic]))
        except self._package.KafkaException as error:
            if error.args[0].code() == self._package.KafkaError.TOPIC_ALREADY_EXISTS:
                return False
            raise self.failure(error.args[0], "The topic could not be made") from None
        return True

    def set_limit(self, most_bytes: int | None) -> None:
        """Have the topic take messages of so many bytes; None for as many as its brokers say."""
        kinds = _admin_package()
        how = kinds.AlterConfigOpType.DELETE if most_bytes is None else kinds.AlterConfigOpType.SET
        value = None if most_bytes is None else str(most_bytes)
        entry = kinds.ConfigEntry("max.message.bytes", value, incremental_operation=how)
        resource = kinds.ConfigResource(kinds.ConfigResource.Type.TOPIC, self._log.topic, incremental_configs=[entry])
        try:
            self._answer(self._admin.incremental_alter_configs([resource]))
        except self._package.KafkaException as error:
            raise self.failure(error.args[0], "The settings of the topic could not be changed") from None

    def delete_before(self, offset: int) -> None:
        """Delete the messages before an offset."""
        try:
            self._answer(self._admin.delete_records([self.partition(offset)]))
        except self._package.KafkaException as error:
            raise self.failure(error.args[0], "Nothing was deleted") from None

    def delete(self) -> None:
        """Delete the topic."""
        try:
            self._answer(self._admin.delete_topics([self._log.topic], operation_timeout=LIMIT_SECONDS))
        except self._package.KafkaException as error:
            raise self.failure(error.args[0], "The topic was not deleted") from None

    def produced(self, value: bytes, headers: Mapping[str, bytes]) -> tuple[int, KafkaError | None]:
        """The offset of a message once all brokers that have to have it have it, or the error, of which one may ask."""
        told: list[tuple[Any, Any]] = []
        try:
            self.producer.produce(
                self._log.topic,
                value=value,
                partition=0,
                headers=list(headers.items()),
                on_delivery=lambda error, message: told.append((error, message)),
            )
        except BufferError:
            raise Unavailable(
                f"Too many writes to the {self.place} wait for an answer. Nothing was appended; append again."
            ) from None
        except self._package.KafkaException as error:
            return -1, error.args[0]
        while not told:
            self.producer.poll(0.1)
        ((failed, message),) = told
        return (-1, failed) if failed is not None else (message.offset(), None)

    # --------------------------------------------------------------------------------------------------- failures

    def failure(self, error: KafkaError, outcome: str) -> StoreFailed:
        """The error of a request that was not done."""
        kinds, code, said = self._package.KafkaError, error.code(), error.str()
        if self._is_of_no_topic(error) or (self._may_be_of_no_topic(error) and self.topic_id() is None):
            return self.gone()
        if code in (
            kinds.TOPIC_AUTHORIZATION_FAILED, kinds.GROUP_AUTHORIZATION_FAILED, kinds.CLUSTER_AUTHORIZATION_FAILED,
            kinds.SASL_AUTHENTICATION_FAILED, kinds._AUTHENTICATION,
        ):  # fmt: skip
            return StoreFailed(
                f"The {self.place} refuses this process: {said}. {outcome}. Its user needs to describe, read, write "
                "and alter the topic, and the group that begins with keylake-log; passwords and certificates are "
                f"settings in the file that {SETTINGS} names."
            )
        return Unavailable(f"The {self.place} does not answer: {said}. {outcome}; try again.")

    def gone(self) -> StoreFailed:
        """The error where the topic is gone, or was made anew."""
        return StoreFailed(
            f"The log in {self.place} is gone: the topic was deleted, or made anew. Entries that were not moved are "
            "lost; table.log.drop(lost=True) ends the log, and begin() makes a new one."
        )

    def is_too_large(self, error: KafkaError) -> bool:
        """The topic takes no message of that size."""
        return bool(error.code() == self._package.KafkaError.MSG_SIZE_TOO_LARGE)

    def is_refused(self, error: KafkaError) -> bool:
        """The brokers have not taken the message for certain."""
        kinds = self._package.KafkaError
        refusals = (
            kinds.TOPIC_AUTHORIZATION_FAILED, kinds.CLUSTER_AUTHORIZATION_FAILED, kinds.SASL_AUTHENTICATION_FAILED,
            kinds._AUTHENTICATION, kinds.NOT_ENOUGH_REPLICAS, kinds.INVALID_RECORD, kinds._UNKNOWN_TOPIC,
            kinds._UNKNOWN_PARTITION,
        )  # fmt: skip
        return error.code() in refusals or self._is_of_no_topic(error)

    def _is_of_no_topic(self, error: KafkaError) -> bool:
        """A broker says that there is no such topic."""
        return bool(error.code() == self._package.KafkaError.UNKNOWN_TOPIC_OR_PART)

    def _may_be_of_no_topic(self, error: KafkaError) -> bool:
        """The client knows no such topic, which it also says while no broker answers."""
        kinds = self._package.KafkaError
        return error.code() in (kinds._UNKNOWN_TOPIC, kinds._UNKNOWN_PARTITION)

    def _silent(self, outcome: str) -> Unavailable:
        return Unavailable(f"The {self.place} does not answer. {outcome}; try again.")

    def _asked(self, request: Callable[[], Any], outcome: str) -> Any:
        """The answer to a request, asked again while brokers elect leaders."""
        kinds = self._package.KafkaError
        error: Any = None
        for _ in until():
            try:
                return request()
            except self._package.KafkaException as failed:
                error = failed.args[0]
            if error.code() not in (
                kinds.FENCED_LEADER_EPOCH, kinds.UNKNOWN_LEADER_EPOCH, kinds.NOT_LEADER_FOR_PARTITION,
                kinds.LEADER_NOT_AVAILABLE, kinds.COORDINATOR_LOAD_IN_PROGRESS, kinds.COORDINATOR_NOT_AVAILABLE,
                kinds.NOT_COORDINATOR,
            ):  # fmt: skip
                break
        raise self.failure(error, outcome)

    @cached_property
    def _admin(self) -> AdminClient:
        """Few processes need it after the log was opened; it has to live for as long as its requests."""
        admin: AdminClient = _handle(_admin_package().AdminClient, dict(self._settings))
        return admin

    def _answer(self, futures: Mapping[Any, Any]) -> object:
        (future,) = futures.values()
        try:
            return future.result(LIMIT_SECONDS)
        except concurrent.futures.TimeoutError:
            raise self._silent("Whether a topic was made or changed is not known, and no entry was lost") from None


def _handle(of: type[Any], settings: Mapping[str, Any]) -> Any:
    """A handle of librdkafka that a fork leaves alone: only a class of Python can have weak references to it."""
    handle = type(of.__name__, (of,), {})(settings, logger=_LOGGER)
    _handles.add(handle)
    return handle


def _leave_alone() -> None:
    """Handles of the process that this one was forked from stay: their threads are not here, and to end one crashes."""
    for handle in list(_handles):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(handle))
    _handles.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_alone)


def _passed_over(_error: object) -> None:
    """Errors of connections, which requests tell as well."""


def _package() -> Any:
    try:
        return import_module("confluent_kafka")
    except ImportError:
        raise Unsupported("A log in Kafka needs its client: pip install keylake[kafka].") from None


def _admin_package() -> Any:
    return import_module("confluent_kafka.admin")


def _settings() -> dict[str, Any]:
    """The settings of the process: a file with a line for each, in the words of librdkafka.

    >>> _settings()
    {}
    """
    path = os.environ.get(SETTINGS)
    if not path:
        return {}
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise DefinitionError(f"{SETTINGS} names {path}, which cannot be read: {why}.") from None
    found: dict[str, Any] = {}
    for number, line in enumerate(lines, 1):
        name, is_there, value = line.partition("=")
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if not is_there or not name.strip():
            raise DefinitionError(f"Line {number} of {path} is no setting. Write name=value, such as sasl.username=me.")
        if name.strip() in _OURS:
            raise DefinitionError(f"{path} sets {name.strip()}, which a log sets itself. Take it out.")
        found[name.strip()] = value.strip()
    return found


def until(seconds: float = LIMIT_SECONDS) -> Iterator[None]:
    """Moments until a limit, with a pause between them."""
    end, pause = time.monotonic() + seconds, 0.01
    while time.monotonic() < end:
        yield
        time.sleep(pause)
        pause = min(pause * 2, 0.25)
