"""The log that a table has, as a property of the table says it, and how a log begins and ends."""

from __future__ import annotations

import datetime
import json
import shutil
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from keylake._definition.names import LOG_PROPERTY
from keylake._log.definition import FileLog, KafkaLog, folder_of
from keylake._log.segment_files import END
from keylake._log.segments import Segments
from keylake._log.state import LogState
from keylake._log.store import LogStore
from keylake._log.topic import Topic, TopicFacts
from keylake.errors import (
    DefinitionError,
    KeylakeError,
    NothingToDo,
    OutcomeUnknown,
    StoreFailed,
    Unsupported,
    check_type,
)

Log = FileLog | KafkaLog
MAY_BE = "a kl.FileLog() or kl.KafkaLog(servers, topic)"


@dataclass(frozen=True)
class StoredLog:
    """A log that a table has: its definition, and the name that it alone has, so that a later one begins anew."""

    id: str
    log: Log
    facts: TopicFacts | None = None  # of a log in a topic

    @classmethod
    def new(cls, log: Log) -> StoredLog:
        """A log that nobody has yet."""
        return cls(uuid.uuid4().hex, log)

    @property
    def source(self) -> str:
        """The name under which offsets of the table say how far it was moved."""
        return f"log-{self.id}"

    def store(self, location: str, table_uuid: str) -> LogStore:
        """The entries of the log of a table."""
        if isinstance(self.log, FileLog):
            return Segments(folder_of(self.log, location, table_uuid))
        assert self.facts is not None
        return Topic(self.id, self.log, self.facts)

    def made(self, location: str, table_uuid: str) -> tuple[StoredLog, LogStore]:
        """The log with no entries, where there was none; DefinitionError where there is one."""
        if isinstance(self.log, KafkaLog):
            topic = Topic.create(self.id, self.log)
            return replace(self, facts=topic.facts), topic
        folder = folder_of(self.log, location, table_uuid)
        try:
            return self, Segments.create(folder)
        except FileExistsError:
            raise DefinitionError(
                f"{folder} is there already: the log of the table, or what is left of one. Use the log that is there; "
                "or end it first, table.log.drop(), or with drop(lost=True) what is left."
            ) from None
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise StoreFailed(
                f"The folder {folder} of the log cannot be made: {str(error.strerror).lower()}."
            ) from None

    def to_json(self) -> str:
        """The property of the table."""
        said: dict[str, object] = {"id": self.id, "keep_seconds": self.log.keep.total_seconds()}
        if isinstance(self.log, FileLog):
            said |= {"kind": "files", "folder": self.log.folder}
        else:
            assert self.facts is not None
            said |= {"kind": "kafka", "servers": self.log.servers, "topic": self.log.topic, **self.facts.said()}
        return json.dumps({name: value for name, value in said.items() if value is not None})

    @classmethod
    def from_json(cls, text: str) -> StoredLog:
        """The log that a property says.

        >>> stored = StoredLog("0a", FileLog("/logs"))
        >>> StoredLog.from_json(stored.to_json()) == stored
        True
        """
        try:
            said: dict[str, Any] = json.loads(text)
            kind, name = said["kind"], said["id"]
            keep = datetime.timedelta(seconds=said["keep_seconds"])
            if kind == "files":
                return cls(name, FileLog(said.get("folder"), keep))
            if kind == "kafka":
                return cls(name, KafkaLog(said["servers"], said["topic"], keep), TopicFacts.of(said))
        except (ValueError, TypeError, KeyError, OverflowError, DefinitionError):
            raise StoreFailed(f"The property {LOG_PROPERTY} of the table is damaged: {text[:200]!r}.") from None
        raise Unsupported(f"The table has a log of the kind {kind!r}, which this version does not know. Upgrade.")


@dataclass(frozen=True)
class TablePlace:
    """A table as its log needs it: where it lies, and the property that defines its log, if it has one."""

    name: str
    location: str
    uuid: str
    definition: str | None

    def begin(self, log: Log | None, keep_property: Callable[[str], object]) -> None:
        """Give the table a log, which has none. Of two who begin at once, one is refused."""
        check_type("log", log, Log | None, MAY_BE)
        if self.definition is not None:
            raise DefinitionError(f"{self.name} has a log already. End it first: table.log.drop().")
        stored, store = StoredLog.new(log or FileLog()).made(self.location, self.uuid)
        try:
            keep_property(stored.to_json())
        except OutcomeUnknown:  # the table may have it
            raise
        except KeylakeError:
            store.delete()
            raise

    def removes_left(self, lost: object) -> bool:
        """Delete, where entries are given up, what is left of a log that the table does not have; False for nothing."""
        check_type("lost", lost, bool, "True or False")
        if self.definition is not None or not lost:
            return False
        try:
            folder = folder_of(FileLog(), self.location, self.uuid)
        except Unsupported:  # no log in files lies beside it
            return False
        is_there = (folder / END).exists()
        if is_there:
            shutil.rmtree(folder, ignore_errors=True)
        return is_there


def drop(store: LogStore, moved: Callable[[], int], forget_property: Callable[[], object], *, lost: bool) -> None:
    """End a log of which all entries were moved; with `lost`, those that were not are given up."""
    try:
        left = store.close() - moved()
    except StoreFailed:
        if not lost:
            raise
        left = 0
    if left > 0 and not lost:
        store.close(is_closed=False)
        raise DefinitionError(
            f"The log in {store.place} has entries that are not in files of the table: {left:,}. Move them first: "
            "table.log.move(). With drop(lost=True) they are given up."
        )
    try:
        forget_property()
    except OutcomeUnknown:
        raise
    except KeylakeError:
        if not lost:
            store.close(is_closed=False)
        raise
    store.delete()


class Beginning(Protocol):
    """The log of a table as a verb that makes tables needs it."""

    def state(self) -> LogState: ...

    def begin(self, log: Log | None = None) -> LogState: ...


def begin_once(of_table: Beginning, log: Log) -> None:
    """Give a table a log, unless it has one."""
    try:
        of_table.state()
    except NothingToDo:
        of_table.begin(log)
