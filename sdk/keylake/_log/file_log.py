"""The definition of a log in files, as a table keeps it in a property, and how a log begins and ends."""

from __future__ import annotations

import datetime
import json
import shutil
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from keylake._definition.names import LOG_PROPERTY
from keylake._log.segment_files import END
from keylake._log.segments import Segments
from keylake._log.state import LogState
from keylake.errors import (
    DefinitionError,
    KeylakeError,
    NothingToDo,
    OutcomeUnknown,
    StoreFailed,
    Unsupported,
    check_type,
)

_FOLDER = "log"  # in the folder of the table
_DISK = ("/", "file:/")
_LONGEST = datetime.timedelta(days=36_500)


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
        check_type("keep", self.keep, datetime.timedelta, "a timedelta, such as timedelta(hours=1)")
        if self.folder is not None and "\0" in self.folder:
            raise DefinitionError(f"folder={self.folder!r} has the sign '\\x00', which no path has.")
        if self.folder is not None and not Path(self.folder).is_absolute():
            raise DefinitionError(f"folder={self.folder!r} is no absolute path, so it is another place elsewhere.")
        if not datetime.timedelta(0) <= self.keep <= _LONGEST:
            raise DefinitionError(
                f"keep={self.keep!r} is no time to keep entries. Use a timedelta from 0 to {_LONGEST.days:,} days."
            )


@dataclass(frozen=True)
class StoredLog:
    """A log that a table has: its definition, and the name that it alone has, so that a later one begins anew."""

    id: str
    log: FileLog

    @classmethod
    def new(cls, log: FileLog) -> StoredLog:
        """A log that nobody has yet."""
        return cls(uuid.uuid4().hex, log)

    @property
    def source(self) -> str:
        """The name under which offsets of the table say how far it was moved."""
        return f"log-{self.id}"

    def folder(self, location: str, table_uuid: str) -> Path:
        """The folder of its segments; a table has one log at a time."""
        if self.log.folder is not None:
            return Path(self.log.folder) / table_uuid
        if not location.startswith(_DISK):
            raise Unsupported(
                f"The table lies at {location}, and a log needs a disk. Give it a folder of one: "
                "kl.FileLog(folder='/data/logs')."
            )
        return Path("/" + location.removeprefix("file:").lstrip("/")) / _FOLDER

    def to_json(self) -> str:
        """The property of the table."""
        said = {
            "kind": "files",
            "id": self.id,
            "folder": self.log.folder,
            "keep_seconds": self.log.keep.total_seconds(),
        }
        return json.dumps({name: value for name, value in said.items() if value is not None})

    @classmethod
    def from_json(cls, text: str) -> StoredLog:
        """The log that a property says.

        >>> stored = StoredLog("0a", FileLog("/logs"))
        >>> StoredLog.from_json(stored.to_json()) == stored
        True
        """
        try:
            said = json.loads(text)
            kind, name = said["kind"], said["id"]
            log = FileLog(said.get("folder"), datetime.timedelta(seconds=said["keep_seconds"]))
        except (ValueError, TypeError, KeyError, OverflowError, DefinitionError):
            raise StoreFailed(f"The property {LOG_PROPERTY} of the table is damaged: {text[:200]!r}.") from None
        if kind != "files":
            raise Unsupported(f"The table has a log of the kind {kind!r}, which this version does not know. Upgrade.")
        return cls(name, log)


@dataclass(frozen=True)
class TablePlace:
    """A table as its log needs it: where it lies, and the property that defines its log, if it has one."""

    name: str
    location: str
    uuid: str
    definition: str | None

    def begin(self, log: FileLog | None, keep_property: Callable[[str], object]) -> None:
        """Give the table a log, which has none."""
        check_type("log", log, FileLog | None, "a kl.FileLog()")
        if self.definition is not None:
            raise DefinitionError(f"{self.name} has a log already. End it first: table.log.drop().")
        stored = StoredLog.new(log or FileLog())
        _begin(stored, stored.folder(self.location, self.uuid), keep_property)

    def removes_left(self, lost: object) -> bool:
        """Delete, where entries are given up, what is left of a log that the table does not have; False for nothing."""
        check_type("lost", lost, bool, "True or False")
        if self.definition is not None or not lost:
            return False
        folder = StoredLog("", FileLog()).folder(self.location, self.uuid)
        is_there = (folder / END).exists()
        if is_there:
            shutil.rmtree(folder, ignore_errors=True)
        return is_there


def _begin(stored: StoredLog, folder: Path, keep_property: Callable[[str], object]) -> None:
    """Make the folder of a log, and have the table keep its property. Of two who begin at once, one is refused."""
    try:
        Segments.create(folder)
    except FileExistsError:
        raise DefinitionError(
            f"{folder} is there already: the log of the table, or what is left of one. Use the log that is there; or "
            "end it first, table.log.drop(), or with drop(lost=True) what is left."
        ) from None
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise StoreFailed(f"The folder {folder} of the log cannot be made: {str(error.strerror).lower()}.") from None
    try:
        keep_property(stored.to_json())
    except OutcomeUnknown:  # the table may have it
        raise
    except KeylakeError:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def drop(segments: Segments, moved: Callable[[], int], forget_property: Callable[[], object], *, lost: bool) -> None:
    """End a log of which all entries were moved; with `lost`, those that were not are given up."""
    try:
        left = segments.close() - moved()
    except StoreFailed:
        if not lost:
            raise
        left = 0
    if left > 0 and not lost:
        segments.close(is_closed=False)
        raise DefinitionError(
            f"The log in {segments.folder} has {left} entries that are not in files of the table. Move them first: "
            "table.log.move(). With drop(lost=True) they are given up."
        )
    try:
        forget_property()
    except OutcomeUnknown:
        raise
    except KeylakeError:
        if not lost:
            segments.close(is_closed=False)
        raise
    shutil.rmtree(segments.folder, ignore_errors=True)


class Beginning(Protocol):
    """The log of a table as a verb that makes tables needs it."""

    def state(self) -> LogState: ...

    def begin(self, log: FileLog | None = None) -> LogState: ...


def begin_once(of_table: Beginning, log: FileLog) -> None:
    """Give a table a log, unless it has one."""
    try:
        of_table.state()
    except NothingToDo:
        of_table.begin(log)
