"""Definitions of logs: in files, with the folder in which a table has it, and in a topic of Kafka."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from pathlib import Path

from keylake.errors import DefinitionError, Unsupported, check_type

_FOLDER = "log"  # in the folder of the table
_DISK = ("/", "file:/")
_LONGEST = datetime.timedelta(days=36_500)
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_SERVER = re.compile(r"[^\s,]+:\d{1,5}")


@dataclass(frozen=True)
class FileLog:
    """A log of a table in files: writes are durable there before they are moved to the table's own files.

    The log lies beside the table, on a disk that all who write to it share. `folder` is another place, such as a disk
    for a table in an object store: each log has a folder of its own there. Entries are kept for as long as `keep` after
    they were moved, for readers that follow the log.

    >>> FileLog(keep=datetime.timedelta(days=1)).folder is None
    True
    """

    folder: str | None = None
    keep: datetime.timedelta = datetime.timedelta(hours=1)

    def __post_init__(self) -> None:
        check_type("folder", self.folder, str | None, "an absolute path of a folder")
        _check_keep(self.keep)
        if self.folder is not None and "\0" in self.folder:
            raise DefinitionError(f"folder={self.folder!r} has the sign '\\x00', which no path has.")
        if self.folder is not None and not Path(self.folder).is_absolute():
            raise DefinitionError(f"folder={self.folder!r} is no absolute path, so it is another place elsewhere.")


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
        _check_keep(self.keep)
        if not all(_SERVER.fullmatch(each.strip()) for each in self.servers.split(",")):
            raise DefinitionError(f"servers={self.servers!r} are no brokers. Use 'host:9092', several with commas.")
        if not _TOPIC.fullmatch(self.topic) or self.topic in (".", ".."):
            raise DefinitionError(
                f"topic={self.topic!r} is no name of a topic. Use up to 249 letters, digits, '.', '_' and '-'."
            )


def _check_keep(keep: object) -> None:
    """Refuses what is no time for which entries are kept after they were moved.

    >>> _check_keep(datetime.timedelta(-1))
    Traceback (most recent call last):
    keylake.errors.DefinitionError: keep=datetime.timedelta(days=-1) is no time to keep entries. Use a timedelta from...
    """
    check_type("keep", keep, datetime.timedelta, "a timedelta, such as timedelta(hours=1)")
    assert isinstance(keep, datetime.timedelta)
    if not datetime.timedelta(0) <= keep <= _LONGEST:
        raise DefinitionError(
            f"keep={keep!r} is no time to keep entries. Use a timedelta from 0 to {_LONGEST.days:,} days."
        )


def place_of(log: KafkaLog) -> str:
    """The topic of a log, as people are told."""
    return f"topic {log.topic} of {log.servers}"


def folder_of(log: FileLog, location: str, table_uuid: str) -> Path:
    """The folder of the segments of a table's log; a table has one log at a time."""
    if log.folder is not None:
        return Path(log.folder) / table_uuid
    if not location.startswith(_DISK):
        raise Unsupported(
            f"The table lies at {location}, and a log in files needs a disk. Give it a folder of one, "
            "kl.FileLog(folder='/data/logs'), or a topic: kl.KafkaLog(servers, topic)."
        )
    return Path("/" + location.removeprefix("file:").lstrip("/")) / _FOLDER
