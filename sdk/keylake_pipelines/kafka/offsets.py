"""Offsets of partitions: where reading begins, what a poll takes, what retention has deleted. Nothing is read here."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from keylake.errors import DefinitionError

# The reader sets these itself.
_RESERVED = ("bootstrap.servers", "group.id", "key.deserializer", "value.deserializer", "auto.offset.reset")


@dataclass(frozen=True)
class Topics:
    """The topics that are read, and the place from which on they are.

    `start` is where partitions begin that have no position yet: `"earliest"`, `"latest"`, a time with a zone, or
    offsets by partition, such as `{"orders-0": 17}` (others begin at the earliest). Partitions that are added while
    others have positions begin at their first message. `lost` is what happens where messages were deleted before they
    were read: `"refuse"` stops with an error, `"skip"` goes on behind them and gives one row that says so; a topic that
    was created anew is refused. `settings` are those of Kafka's clients, such as `security.protocol`; they may hold
    passwords, so that they are never shown.

    >>> Topics("host:9092", ("orders",), start="first")
    Traceback (most recent call last):
    keylake.errors.DefinitionError: start='first' is no place in a topic. Use 'earliest', 'latest', a datetime with a time zone, or offsets such as {'orders-0': 17}.
    """  # noqa: E501

    servers: str
    names: tuple[str, ...] = ()
    pattern: str | None = None
    start: Literal["earliest", "latest"] | datetime | Mapping[str, int] = "earliest"
    lost: Literal["refuse", "skip"] = "refuse"
    settings: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    def __post_init__(self) -> None:
        if not self.servers.strip():
            raise DefinitionError("servers is empty. Name brokers: 'host1:9092,host2:9092'.")
        if bool(self.names) == (self.pattern is not None):
            raise DefinitionError("Name topics, or give a pattern for their names; one of the two.")
        if wrong := [name for name in self.names if not name or set(name) - _SIGNS]:
            raise DefinitionError(f"{wrong[0]!r} is no name of a topic. Use letters, digits, '.', '_' and '-'.")
        if isinstance(self.start, str) and self.start not in ("earliest", "latest"):
            raise DefinitionError(f"start={self.start!r} is no place in a topic. {_PLACES}")
        if isinstance(self.start, datetime) and self.start.tzinfo is None:
            raise DefinitionError(f"start={self.start} has no time zone. {_PLACES}")
        if self.lost not in ("refuse", "skip"):
            raise DefinitionError(f"lost={self.lost!r} is unknown. Use 'refuse' or 'skip'.")
        level = self.client_settings["isolation.level"]
        if level not in ("read_committed", "read_uncommitted"):
            raise DefinitionError(f"isolation.level is {level!r}. Use 'read_committed' or 'read_uncommitted'.")
        if taken := [name for name in self.settings if name.removeprefix("kafka.") in _RESERVED]:
            raise DefinitionError(f"The setting {taken[0]!r} is set by the source itself. Take it out of settings.")

    @property
    def any_of_them(self) -> str:
        """The topics as one regular expression: those that are not there are no error.

        >>> Topics("host:9092", ("shop.orders", "a-b")).any_of_them
        'shop[.]orders|a-b'
        """
        return self.pattern or "|".join(name.replace(".", "[.]") for name in self.names)

    @property
    def client_settings(self) -> dict[str, str]:
        """The settings of clients of Kafka, by their names there."""
        own = {name.removeprefix("kafka."): value for name, value in self.settings.items()}
        return {"isolation.level": "read_committed", **own, "bootstrap.servers": self.servers}


_SIGNS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
_PLACES = "Use 'earliest', 'latest', a datetime with a time zone, or offsets such as {'orders-0': 17}."


@dataclass(frozen=True)
class PartitionOffsets:
    """The messages that the brokers have of a partition: from `earliest` to before `latest`."""

    topic: str
    number: int
    earliest: int
    latest: int
    at: int | None = None  # the first message that is not older than the time of a start
    newest: datetime | None = None
    topic_id: str | None = None  # which another topic of the name has not
    written: int = 0  # behind the last message, also where an open transaction holds it back

    @property
    def name(self) -> str:
        """The name that Kafka itself gives to partitions.

        >>> PartitionOffsets("shop.orders", 3, 0, 10).name
        'shop.orders-3'
        """
        return f"{self.topic}-{self.number}"

    def begin(self, start: str | datetime | Mapping[str, int]) -> int:
        """The offset at which reading begins."""
        if isinstance(start, Mapping):
            return start.get(self.name, self.earliest)
        if isinstance(start, datetime):
            return self.latest if self.at is None else self.at
        return self.latest if start == "latest" else self.earliest


@dataclass(frozen=True)
class Stretch:
    """Messages of a partition that a poll reads: from `begin` to before `end`."""

    topic: str
    number: int
    begin: int
    end: int

    @property
    def name(self) -> str:
        """The partition's name."""
        return f"{self.topic}-{self.number}"


# The messages of a first poll, whose sizes are not known; and the bytes that each later one takes.
_FIRST = 500
_MOST_BYTES = 64 << 20


@dataclass
class MessageSizes:
    """The bytes of messages that were read, by which a poll takes as many as fit into memory.

    >>> sizes = MessageSizes()
    >>> few = sizes.most(100_000)
    >>> sizes.read(500, 500 * 600_000)
    >>> few, sizes.most(100_000)
    (500, 111)
    """

    _of_one: float | None = None  # of the larger ones of late

    def most(self, wanted: int) -> int:
        """The number of messages that a poll may read; the first one reads few."""
        fit = _FIRST if self._of_one is None else int(_MOST_BYTES // max(1.0, self._of_one))
        return min(wanted, max(1, fit))

    def read(self, messages: int, size: int) -> None:
        """Count messages that were read, and their bytes."""
        if messages:
            self._of_one = max(size / messages, (self._of_one or 0.0) / 2)


def topic_number(topic_id: str) -> int:
    """The id of a topic as a number, as positions are.

    >>> topic_number("abc") == topic_number("abc") != topic_number("abd")
    True
    """
    return int.from_bytes(hashlib.sha256(topic_id.encode()).digest()[:7], "big")


def planned(there: Iterable[PartitionOffsets], at: Mapping[str, int], most: int) -> tuple[Stretch, ...]:
    """The messages that a poll reads behind `at`: as many of each partition, the rest of the larger partitions.

    Small partitions are read to their end, so that a large one does not hold up what they have.

    >>> there = [PartitionOffsets("a", 0, 0, 1000), PartitionOffsets("a", 1, 0, 10)]
    >>> [(each.name, each.begin, each.end) for each in planned(there, {"a-0": 0, "a-1": 5}, 105)]
    [('a-1', 5, 10), ('a-0', 0, 100)]
    """
    waiting = sorted(
        ((each.latest - at[each.name], each) for each in there if each.name in at and each.latest > at[each.name]),
        key=lambda one: (one[0], one[1].name),
    )
    stretches: list[Stretch] = []
    for number, (behind, each) in enumerate(waiting):
        taken = min(behind, max(1, most // (len(waiting) - number)))
        most = max(0, most - taken)
        begin = at[each.name]
        stretches.append(Stretch(each.topic, each.number, begin, begin + taken))
    return tuple(stretches)


def as_option(offsets: Sequence[Stretch], *, end: bool) -> str:
    """Offsets by topic and partition, as Spark's reader takes them.

    >>> as_option([Stretch("a", 0, 5, 9), Stretch("a", 1, 0, 3)], end=True)
    '{"a": {"0": 9, "1": 3}}'
    """
    said: dict[str, dict[str, int]] = {}
    for each in offsets:
        said.setdefault(each.topic, {})[str(each.number)] = each.end if end else each.begin
    return json.dumps(said)


def lost(each: PartitionOffsets, at: int) -> str | None:
    """A sentence about the messages that are lost of a partition which is read up to `at`, or None.

    >>> lost(PartitionOffsets("orders", 0, 42, 90), 10)
    'Messages 10 to 41 of partition orders-0 were deleted before they were read: the broker has those from 42 on'
    """
    if at < each.earliest:
        return (
            f"Messages {at} to {each.earliest - 1} of partition {each.name} were deleted before they were read: "
            f"the broker has those from {each.earliest} on"
        )
    return None


def replaced(each: PartitionOffsets, at: int, known: int | None) -> str | None:
    """A sentence about a topic that is not the one that was read up to `at`, by its id where that is `known`; or None.

    >>> replaced(PartitionOffsets("orders", 0, 0, 5), 10, None)
    'Partition orders-0 was read up to offset 10, and the broker has messages up to 5 only: its topic was created anew, or a broker lost what it had'
    """  # noqa: E501
    if known is not None and each.topic_id is not None and topic_number(each.topic_id) != known:
        return (
            f"Partition {each.name} was read up to offset {at}, and its topic was created anew since then: the broker "
            f"has other messages {each.earliest} to {each.latest}"
        )
    if at > each.latest:
        return (
            f"Partition {each.name} was read up to offset {at}, and the broker has messages up to {each.latest} only: "
            "its topic was created anew, or a broker lost what it had"
        )
    return None
