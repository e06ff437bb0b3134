"""A log in a topic of Kafka: its definition."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass

from keylake._log.file_log import check_keep
from keylake.errors import DefinitionError, check_type

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_SERVER = re.compile(r"[^\s,]+:\d{1,5}")


@dataclass(frozen=True)
class KafkaLog:
    """A log of a table in a topic of Kafka: writes are durable there before they are moved to the table's own files.

    `servers` are brokers as Kafka's clients take them, `host:9092`, several with commas. The topic has one partition,
    as entries have one order; it is made where it is not there, and otherwise has to be empty and to keep messages
    until they are deleted. Entries are deleted by a move when they were moved and are older than `keep`. Passwords and
    certificates are settings of each process: `KEYLAKE_KAFKA_SETTINGS` names a file of them.

    >>> KafkaLog("broker:9092", "profiles").keep
    datetime.timedelta(seconds=3600)
    """

    servers: str
    topic: str
    keep: datetime.timedelta = datetime.timedelta(hours=1)

    def __post_init__(self) -> None:
        check_type("servers", self.servers, str, "brokers such as 'host:9092', several with commas")
        check_type("topic", self.topic, str, "the name of a topic")
        check_keep(self.keep)
        if not all(_SERVER.fullmatch(each.strip()) for each in self.servers.split(",")):
            raise DefinitionError(f"servers={self.servers!r} are no brokers. Use 'host:9092', several with commas.")
        if not _TOPIC.fullmatch(self.topic) or self.topic in (".", ".."):
            raise DefinitionError(
                f"topic={self.topic!r} is no name of a topic. Use up to 249 letters, digits, '.', '_' and '-'."
            )
