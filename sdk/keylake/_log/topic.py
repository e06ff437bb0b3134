"""The entries of a log in a topic of Kafka with one partition.

    offset 0      the claim: which log the topic is of
           1      entry 0: a write of a process of keylake, or a message of another producer
           2      entry 1
           ...

An entry is durable when all brokers have it that the topic asks for. Numbers of entries have no gaps: an offset of a
transaction's own, and a message that asks whether the topic is closed, are entries without rows.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from keylake._log.definition import KafkaLog, place_of
from keylake._log.frames import LONGEST_ENTRY, Frame
from keylake._log.kafka_clients import LIMIT_SECONDS, MOST_BYTES, Described, KafkaClients, until
from keylake._log.locks import ProcessLock
from keylake._log.messages import NOTHING, OF_ANOTHER_LOG, of_message
from keylake._log.store import Closed
from keylake.errors import (
    DefinitionError,
    OutcomeUnknown,
    SnapshotExpired,
    StoreFailed,
    Unavailable,
    Unsupported,
)

_WRITE = "keylake"  # the header of a write of keylake: the log that it is for
_CONTROL = "keylake-control"  # the header of a message that is no write
_CLOSED_BYTES = 1  # a topic that takes no messages
_KEEPS = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
_CHECK_SECONDS = 1.0
_AT_ONCE = 8 << 20  # bytes that a reader gives
_MOST_MESSAGES = 1_000


@dataclass(frozen=True)
class TopicFacts:
    """The facts that a table keeps of the topic of its log."""

    topic_id: str
    start: int  # the offset of entry 0
    is_made: bool  # by the log, which deletes it in the end
    most_bytes: int | None  # of a message, where the topic says it itself

    def said(self) -> dict[str, object]:
        """The members of the table's property."""
        return {
            "topic_id": self.topic_id,
            "start": self.start,
            "is_made": self.is_made,
            "most_bytes": self.most_bytes,
        }

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> TopicFacts:
        """The facts that a property says."""
        return cls(said["topic_id"], said["start"], said["is_made"], said.get("most_bytes"))


class Topic:
    """The entries in a topic. Threads may share it, and so may processes: each has clients of its own."""

    def __init__(self, log_id: str, log: KafkaLog, facts: TopicFacts) -> None:
        self._log_id = log_id
        self._log = log
        self.facts = facts
        self._lock = ProcessLock()
        self._clients: KafkaClients | None = None
        self._check_at = 0.0  # when the topic is looked at again
        self._next = 0  # the number behind the highest one that this process has seen

    @classmethod
    def create(cls, log_id: str, log: KafkaLog) -> Topic:
        """An empty log in a topic that is new or empty, and of no other log.

        Raises `DefinitionError` where the topic cannot be the log of a table.
        """
        clients = _clients_of(log, log_id)
        found = clients.described()
        is_made = found is None and clients.make({**_KEEPS, "max.message.bytes": str(MOST_BYTES)})
        for _ in until():
            found = clients.described()
            if found is not None:
                break
        if found is None:
            raise Unavailable(f"The {clients.place} was made, and its brokers do not describe it yet. Begin again.")
        try:
            found = _taking(clients, found)
            _check(clients.place, found.partitions, found.settings)
            low, high = clients.marks()
            offset, error = (-1, None) if low < high else clients.produced(b"", {_CONTROL: log_id.encode()})
            if error is not None:
                raise clients.failure(error, "The log was not begun")
            if offset != high:
                raise DefinitionError(
                    f"The {clients.place} has messages: it is the log of another table, what is left of one, or of "
                    "another use. Take another topic, or delete this one."
                )
        except StoreFailed:
            if is_made:
                clients.delete()
            raise
        limit = found.settings.get("max.message.bytes")
        most = MOST_BYTES if is_made else None if limit is None else int(limit)
        return cls(log_id, log, TopicFacts(found.id, offset + 1, is_made, most))

    @property
    def place(self) -> str:
        """The topic, as people are told."""
        return place_of(self._log)

    # ------------------------------------------------------------------------------------------------------ writing

    def _produced(self, clients: KafkaClients, entry: bytes) -> tuple[int, Any]:
        return clients.produced(entry, {_WRITE: self._log_id.encode()})

    def write(self, entry: bytes, *, least: int = 0) -> int:
        """Append an entry, and give its number when it is durable.

        Raises `Closed`, `Unsupported` for an entry that is too long, `StoreFailed` where the topic is gone or was made
        anew, `Unavailable` where nothing was appended, and `OutcomeUnknown` where the brokers did not answer.
        """
        if len(entry) > LONGEST_ENTRY:
            raise self._too_long(entry, LONGEST_ENTRY)
        clients, seen = self._opened(), max(least, self._next)
        offset, error = self._produced(clients, entry)
        if error is not None and clients.is_too_large(error):
            offset, error = self._after_refusal(clients, entry)
        if error is not None:
            if clients.is_refused(error):
                raise clients.failure(error, "Nothing was appended")
            self._check_again()
            raise OutcomeUnknown(
                f"The {self.place} did not say that it has the entry: {error.str()}. It may be there, and come to be: "
                "table.log.entries() shows it. A write with a version may be appended again."
            )
        number = offset - self.facts.start
        if number < seen:
            raise clients.gone()
        self._next = max(self._next, number + 1)
        return number

    def _after_refusal(self, clients: KafkaClients, entry: bytes) -> tuple[int, Any]:
        """An entry is sent again that the topic took for too large while it was closed; it may be open again."""
        offset, error = -1, None
        for _ in until():
            most = self._most_bytes(clients)
            if most <= _CLOSED_BYTES:
                raise Closed
            if len(entry) >= most:
                raise self._too_long(entry, most)
            offset, error = self._produced(clients, entry)
            if error is None or not clients.is_too_large(error):
                return offset, error
        raise self._too_long(entry, len(entry) - 1)

    def _too_long(self, entry: bytes, most: int) -> Unsupported:
        return Unsupported(
            f"An entry of the log has {len(entry):,} bytes, and the {self.place} takes at most {most:,}. Write fewer "
            "rows at once, or write them to the table."
        )

    def _most_bytes(self, clients: KafkaClients) -> int:
        found = clients.described()
        if found is None:
            raise clients.gone()
        return int(found.settings.get("max.message.bytes", MOST_BYTES))

    def close(self, *, is_closed: bool = True) -> int:
        """Take no more entries from anybody, or take them again, and give the number of the next one.

        A topic is closed when its brokers have refused a message.
        """
        clients = self._opened()
        if not is_closed:
            clients.set_limit(self.facts.most_bytes)
            return self.acknowledged()
        clients.set_limit(_CLOSED_BYTES)
        questions: list[int] = []
        for _ in until():
            offset, error = clients.produced(b"", {_CONTROL: b"is it closed"})
            if error is not None and clients.is_too_large(error):
                return self._end_before(questions)
            if error is not None:
                raise clients.failure(error, "The log was not ended")
            questions.append(offset - self.facts.start)
        raise Unavailable(f"The {self.place} takes entries though it was closed. The log was not ended; try again.")

    def _end_before(self, questions: Sequence[int]) -> int:
        """The number of the next entry, without the last ones if all of those are questions."""
        end = self.acknowledged()
        if questions and len(questions) == end - questions[0]:
            return questions[0]
        return end

    def leave_out(self, until: int) -> None:
        """Entries before a number are passed over by who reads behind it."""

    def say_moved(self, before: int) -> None:
        """Note that the entries before a number are in files of the table."""
        self._opened().commit(before + self.facts.start)

    def moved(self) -> int:
        """The number before which all entries were noted as moved."""
        noted = self._opened().committed()
        return 0 if noted is None else noted - self.facts.start

    def remove(self, before: int, *, older_than: float) -> None:
        """Delete entries before a number that are so many seconds old."""
        clients = self._opened()
        low, _ = clients.marks()
        younger = clients.offset_at(int((time.time() - older_than) * 1000))
        last = before + self.facts.start
        upto = last if younger is None else min(last, younger)
        if upto > max(low, self.facts.start):
            clients.delete_before(upto)

    def delete(self) -> None:
        """Delete the topic, or the messages of one that was there before; one that does not answer is left.

        Such a topic stays closed, so that no process writes to it that does not know yet of the end.
        """
        try:
            clients = self._opened()
            if self.facts.is_made:
                clients.delete()
            else:
                clients.set_limit(_CLOSED_BYTES)
                clients.delete_before(clients.marks()[1])
        except StoreFailed:
            return

    # ------------------------------------------------------------------------------------------------------ reading

    def reader(self, number: int) -> TopicReader:
        """A reader that begins with a number."""
        return TopicReader(self, number)

    def first(self) -> int:
        """The number of the oldest entry that is kept, or of the next one."""
        return max(0, self._opened().marks()[0] - self.facts.start)

    def durable(self) -> int:
        """The number before which all entries can be read: what is behind an open transaction waits for its end."""
        return max(0, self._opened().stable_end() - self.facts.start)

    def acknowledged(self) -> int:
        """The number before which all entries were acknowledged."""
        found = max(0, self._opened().marks()[1] - self.facts.start)
        if found < self._next:
            self._check_again()
        self._next = max(found, self._next)
        return found

    def consumer(self, number: int) -> Any:
        """A consumer that begins with a number."""
        clients = self._opened()
        consumer = clients.consumer()
        consumer.assign([clients.partition(number + self.facts.start)])
        return consumer

    def entry(self, message: Any) -> bytes:
        """A message as an entry."""
        headers: dict[str, bytes | None] = dict(message.headers() or ())
        value: bytes | None = message.value()
        if _CONTROL in headers:
            return NOTHING
        log = headers.get(_WRITE)
        if log is None or value is None:
            _, millis = message.timestamp()
            told = {name: (each or b"").decode("utf-8", "replace") for name, each in headers.items()}
            return of_message(value, told, max(0, millis) * 1000)
        return value if log.decode("utf-8", "replace") == self._log_id else OF_ANOTHER_LOG

    def check_kept(self, number: int) -> None:
        """Raises `SnapshotExpired` where an entry was removed, and `StoreFailed` where it was, and was not moved."""
        first = self.first()
        if number >= first:
            return
        noted = self._opened().committed()
        if noted is None or number >= noted - self.facts.start:
            raise StoreFailed(
                f"Entries {number} to {first - 1} of the log are gone: the {self.place} has deleted them before they "
                f"were moved. Leave them out: table.log.skip(until={first}); and have the topic keep what is not "
                "moved: retention.ms=-1, retention.bytes=-1."
            )
        raise SnapshotExpired(
            f"Entry {number} of the log in {self.place} is not kept any more: the oldest one is {first}. "
            "Entries are removed some time after they were moved to files: read the table from there on."
        )

    def _opened(self) -> KafkaClients:
        """The clients of this process, whose topic is the one of the log."""
        with self._lock:
            clients = self._clients
            if clients is None or clients.process != os.getpid():
                clients, self._check_at = _clients_of(self._log, self._log_id), 0.0
            if time.monotonic() > self._check_at:
                if clients.topic_id() != self.facts.topic_id:  # one that is made anew has another
                    self._clients = None
                    raise clients.gone()
                self._check_at = time.monotonic() + _CHECK_SECONDS
            self._clients = clients
            return clients

    def _check_again(self) -> None:
        """Opens the topic with other clients, as a producer may be of no use after an error; one made anew is told."""
        self._clients = None
        with contextlib.suppress(Unavailable):
            self._opened()


class TopicReader:
    """A place in the topic of a log. It is of one thread."""

    def __init__(self, topic: Topic, number: int) -> None:
        self._topic = topic
        self.number = number
        self._consumer: Any = None
        self._process = os.getpid()

    def new(self) -> list[Frame]:
        """The entries that come next, some of them; none where there are none.

        Raises `SnapshotExpired` where they were removed, `StoreFailed` where they are gone, and `Unavailable`.
        """
        end = self._topic.durable()
        found: list[Frame] = []
        if self.number >= end:
            return found
        if self._consumer is None or self._process != os.getpid():
            self._topic.check_kept(self.number)
            self._consumer, self._process = self._topic.consumer(self.number), os.getpid()
        size = 0
        for message in self._messages(end):
            data = self._topic.entry(message)
            found += self._gap(message.offset() - self._topic.facts.start)
            found.append(Frame(self.number, data, len(data)))
            self.number += 1
            size += len(data)
            if size >= _AT_ONCE:
                return found
        return found + self._gap(end)

    def _messages(self, end: int) -> Iterator[Any]:
        """The messages before a number; all of them are there, but for gaps."""
        silent_since = time.monotonic()
        while self.number < end:
            for message in self._consumer.consume(min(end - self.number, _MOST_MESSAGES), timeout=0.2):
                silent_since = time.monotonic()
                error, offset = message.error(), message.offset()
                if error is None and self.number <= offset - self._topic.facts.start < end:
                    yield message
                elif error is not None and self._is_the_end(error, offset, end):
                    return
            if time.monotonic() - silent_since > LIMIT_SECONDS:
                raise Unavailable(f"The {self._topic.place} does not send entry {self.number}. Read again.")

    def _is_the_end(self, error: Any, offset: int, end: int) -> bool:
        if error.code() == error._PARTITION_EOF:
            return bool(offset - self._topic.facts.start >= end)
        if error.code() == error._AUTO_OFFSET_RESET:  # they were removed since they were looked for
            self._consumer = None
            self._topic.check_kept(self.number)
            raise Unavailable(f"The {self._topic.place} does not send entry {self.number}. Read again.")
        return False  # it connects again by itself

    def _gap(self, number: int) -> list[Frame]:
        """Entries without rows up to a number, for offsets that have no message."""
        gap = [Frame(each, NOTHING, 0) for each in range(self.number, number)]
        self.number = max(self.number, number)
        return gap


def _clients_of(log: KafkaLog, log_id: str) -> KafkaClients:
    return KafkaClients(log, f"keylake-log-{log_id}")


def _taking(clients: KafkaClients, found: Described) -> Described:
    """A topic that takes messages: the end of a log leaves one closed that it has not made."""
    if int(found.settings.get("max.message.bytes", MOST_BYTES)) > _CLOSED_BYTES:
        return found
    clients.set_limit(None)
    for _ in until():
        again = clients.described()
        if again is not None and int(again.settings.get("max.message.bytes", MOST_BYTES)) > _CLOSED_BYTES:
            return again
    raise Unavailable(f"The {clients.place} is closed, and its brokers do not open it. Begin again.")


def _check(place: str, partitions: int, settings: Mapping[str, str]) -> None:
    """Refuses a topic in which entries would have no order, or would be deleted before they are moved."""
    if partitions != 1:
        raise DefinitionError(
            f"The {place} has {partitions} partitions, and entries of a log have one order. Take a topic with one."
        )
    for name, wanted in _KEEPS.items():
        said = settings.get(name, wanted)
        if said != wanted:
            raise DefinitionError(
                f"The {place} has {name}={said}, by which entries may be deleted before they are moved. Set it to "
                f"{wanted}: what was moved is deleted by moves, and kept for `keep` before."
            )
