"""Segments of a log: files of numbered frames, which several processes append to and read.

    <folder>/00000000000000000000.log   frames from number 0 on
             00000000000000051234.log   the newest segment, to which frames are appended
             end                        its first number, the number of the next frame, and its length
             durable                    the number before which every frame is on the disk
             moved                      the number before which every frame was moved to files of the table

One process at a time appends, under a lock of `end`. What several have appended is made durable together: under a lock
of `durable`, whoever comes first asks the disk for all. A frame that a process did not finish is removed by the next
one that appends: nobody was told that it is there. Readers see durable frames only.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import threading
import time
import zlib
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from keylake._log.frames import HEADER, frame_at, framed, is_cut
from keylake.errors import SnapshotExpired, StoreFailed, Unavailable

SEGMENT_BYTES = 64 << 20
_END, _DURABLE, _MOVED = "end", "durable", "moved"
_CHECKSUM = struct.Struct("<I")


class Closed(Exception):  # noqa: N818  # a state and no error: callers say what it means for a table
    """The log takes no more frames."""


@dataclass(frozen=True)
class End:
    """The end of a log: the first number of its newest segment, the next number, and the length of that segment."""

    first: int
    next: int
    length: int
    is_closed: bool = False

    _FORM = struct.Struct("<QQQB")

    def packed(self) -> bytes:
        """The end in bytes, with a checksum."""
        said = self._FORM.pack(self.first, self.next, self.length, self.is_closed)
        return said + _CHECKSUM.pack(zlib.crc32(said))

    @classmethod
    def unpacked(cls, data: bytes) -> End | None:
        """The end that bytes say; None where they are damaged."""
        said = data[: cls._FORM.size]
        if len(data) != cls._FORM.size + _CHECKSUM.size or data[cls._FORM.size :] != _CHECKSUM.pack(zlib.crc32(said)):
            return None
        first, following, length, is_closed = cls._FORM.unpack(said)
        return cls(first, following, length, bool(is_closed))


_NUMBER = struct.Struct("<Q")


class _Files:
    """The open files of a log in one process: of its end, of what is durable, and of the newest segment."""

    def __init__(self, folder: Path) -> None:
        self.process = os.getpid()
        self.end = self.durable = self.segment = -1
        self.first = -1  # of the segment that is open
        flags = os.O_RDWR if os.access(folder / _END, os.W_OK) else os.O_RDONLY
        self.end = os.open(folder / _END, flags)
        self.durable = os.open(folder / _DURABLE, flags)

    def open_segment(self, path: Path, first: int) -> int:
        """The segment with a first number, to write to."""
        if self.first != first:
            if self.segment >= 0:
                os.close(self.segment)
            self.segment, self.first = -1, -1
            self.segment, self.first = os.open(path, os.O_RDWR), first
        return self.segment

    def __del__(self) -> None:
        for file in (self.end, self.durable, self.segment):
            if file >= 0:
                os.close(file)


class Segments:
    """The segments in a folder. Threads may share them, and so may processes: each opens them anew after a fork."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._sync_lock = threading.Lock()
        self._files: _Files | None = None
        self._is_checked = False

    @classmethod
    def create(cls, folder: Path) -> Segments:
        """An empty log in a new folder; FileExistsError where there is one."""
        folder.mkdir(parents=True)
        (folder / _name(0)).write_bytes(HEADER)
        (folder / _DURABLE).write_bytes(_packed_number(0))
        (folder / _MOVED).write_bytes(_packed_number(0))
        (folder / _END).write_bytes(End(0, 0, len(HEADER)).packed())
        for path in (folder / _name(0), folder, folder.parent):
            _synced(path)
        return cls(folder)

    @property
    def folder(self) -> Path:
        """The folder of the segments."""
        return self._folder

    # ------------------------------------------------------------------------------------------------------ writing

    def append(self, entries: Sequence[bytes]) -> range:
        """Append entries, and give their numbers. They are there for good once they are durable.

        Raises `Closed`, `StoreFailed` where the folder is gone or damaged, and `Unavailable` where the disk is full.
        """
        with self._lock, _locked(self._opened().end):
            end = self._checked_end()
            if end.is_closed:
                raise Closed
            if end.length >= SEGMENT_BYTES:
                end = self._next_segment(end)
            numbers = range(end.next, end.next + len(entries))
            data = b"".join(framed(number, entry) for number, entry in zip(numbers, entries, strict=True))
            self._write(data, end)
            self._say(replace(end, next=numbers.stop, length=end.length + len(data)))
            return numbers

    def make_durable(self, before: int) -> None:
        """Have the frames before a number on the disk, with those of others that were appended meanwhile."""
        if self._durable() >= before:
            return
        with self._sync_lock, _locked(self._opened().durable):
            if self._durable() >= before:
                return
            end = self._end()
            # Older segments were made durable when the newest one began.
            segment = os.open(self._folder / _name(end.first), os.O_RDWR)
            try:
                os.fdatasync(segment)
            finally:
                os.close(segment)
            os.pwrite(self._opened().durable, _packed_number(end.next), 0)

    def close(self, *, is_closed: bool = True) -> int:
        """Take no more frames from anybody, or take them again, and give the number of the next one."""
        with self._lock, _locked(self._opened().end):
            end = self._checked_end()
            self._say(replace(end, is_closed=is_closed))
            return end.next

    def begin_segment(self) -> None:
        """Begin another segment, as the newest one has a frame that cannot be read: it takes no more of them."""
        with self._lock, _locked(self._opened().end):
            said = End.unpacked(os.pread(self._opened().end, 64, 0))
            end = self._checked_end() if said is None else said
            if end.next > end.first:
                self._say(replace(self._next_segment(end), is_closed=end.is_closed))

    def say_moved(self, before: int) -> None:
        """Note that the frames before a number are in files of the table."""
        with self._sync_lock, _locked(self._opened().durable):
            if before > self.moved():
                with (self._folder / _MOVED).open("r+b") as file:
                    file.write(_packed_number(before))
                    file.flush()
                    os.fsync(file.fileno())

    def moved(self) -> int:
        """The number before which all frames were noted as moved."""
        with contextlib.suppress(FileNotFoundError):
            return _number((self._folder / _MOVED).read_bytes())
        return 0

    def remove(self, before: int, *, older_than: float) -> None:
        """Delete segments of which all frames are before a number, and which were written so many seconds ago."""
        firsts = self._firsts()
        for first, following in pairwise(firsts):
            path = self._folder / _name(first)
            with contextlib.suppress(FileNotFoundError):  # another process removes, too
                if following <= before and time.time() - path.stat().st_mtime >= older_than:
                    path.unlink()

    # ------------------------------------------------------------------------------------------------------ reading

    def first(self) -> int:
        """The number of the oldest frame that is kept, or of the next one."""
        return self._firsts()[0]

    def durable(self) -> int:
        """The number before which all frames can be read; what was appended is made durable first."""
        following = self._end().next
        if self._durable() < following:
            with contextlib.suppress(PermissionError):  # who may not write, reads what is durable already
                self.make_durable(following)
        return self._durable()

    def segment_of(self, number: int) -> tuple[int, Path]:
        """The segment that has a number, or will have it: its first number, and its file.

        Raises `SnapshotExpired` where it was removed.
        """
        firsts = self._firsts()
        if number < firsts[0]:
            raise SnapshotExpired(
                f"Entry {number} of the log in {self._folder} is not kept any more: the oldest one is {firsts[0]}. "
                "Entries are removed some time after they were moved to files: read the table from there on."
            )
        first = max(each for each in firsts if each <= number)
        return first, self._folder / _name(first)

    def damaged(self, first: int, number: int) -> StoreFailed:
        """The error of a frame that cannot be read."""
        return StoreFailed(
            f"Entry {number} of the log cannot be read: {self._folder / _name(first)} is damaged. Restore the file, or "
            f"leave out the entries before a later one that can be read: table.log.skip(until={number + 1})."
        )

    # ------------------------------------------------------------------------------------------------------- the end

    def _checked_end(self) -> End:
        """The end, under the lock: as it is said, or as the newest segment has it after a process has died."""
        said = End.unpacked(os.pread(self._opened().end, 64, 0))
        is_known = said is not None and self._is_checked
        if said is not None and is_known and os.fstat(self._segment(said.first)).st_size == said.length:
            return said
        newest = self._firsts()[-1]
        found = self._found_end(newest, said is not None and said.is_closed)
        self._say(found)
        self._is_checked = True
        return found

    def _found_end(self, first: int, is_closed: bool) -> End:
        """The end of a segment, which is read as a whole; what a process has left unfinished is cut off."""
        segment = self._segment(first)
        data = os.pread(segment, os.fstat(segment).st_size, 0)
        at, number = len(HEADER), first
        while (frame := frame_at(data, at, number)) is not None:
            at, number = frame.end, number + 1
        if data[: len(HEADER)] != HEADER or number < self._durable():
            raise self.damaged(first, number)
        if at < len(data):
            # Beyond what is durable, a disk that lost power may have kept later bytes without earlier ones.
            if not is_cut(data, at) and self._durable() == 0:
                raise self.damaged(first, number)
            os.ftruncate(segment, at)
        return End(first, number, at, is_closed)

    def _next_segment(self, end: End) -> End:
        os.fsync(self._segment(end.first))
        path = self._folder / _name(end.next)
        path.write_bytes(HEADER)
        _synced(path)
        _synced(self._folder)
        return End(end.next, end.next, len(HEADER))

    def _write(self, data: bytes, end: End) -> None:
        segment = self._segment(end.first)
        try:
            if os.pwrite(segment, data, end.length) == len(data):
                return
            why = "no space left on device"
        except OSError as error:
            why = str(error.strerror).lower()
        with contextlib.suppress(OSError):
            os.ftruncate(segment, end.length)
        raise Unavailable(
            f"The log in {self._folder} could not be written to: {why}. Nothing was appended; append again when there "
            "is space."
        )

    def _say(self, end: End) -> None:
        os.pwrite(self._opened().end, end.packed(), 0)

    def _end(self) -> End:
        """The end as somebody says it who may be writing it."""
        for _ in range(100):
            said = End.unpacked(os.pread(self._opened().end, 64, 0))
            if said is not None:
                return said
            time.sleep(0.001)
        with self._lock, _locked(self._opened().end):
            return self._checked_end()

    def _durable(self) -> int:
        return _number(os.pread(self._opened().durable, 64, 0))

    # --------------------------------------------------------------------------------------------------------- files

    def _opened(self) -> _Files:
        """The files; a process that was forked has files of its own, as locks belong to files."""
        if self._files is None or self._files.process != os.getpid():
            try:
                self._files = _Files(self._folder)
            except FileNotFoundError:
                raise self._gone() from None
            self._is_checked = False
        if os.fstat(self._files.end).st_nlink == 0:  # what is appended now would be gone with the last process
            raise self._gone()
        return self._files

    def _segment(self, first: int) -> int:
        return self._opened().open_segment(self._folder / _name(first), first)

    def _gone(self) -> StoreFailed:
        return StoreFailed(
            f"The log in {self._folder} is gone. Entries that were not moved are lost, unless the folder can be "
            "restored; table.log.drop(lost=True) ends the log, and begin() makes a new one."
        )

    def _firsts(self) -> list[int]:
        """The first numbers of the segments, oldest first."""
        try:
            names = [path.name for path in self._folder.iterdir()]
        except FileNotFoundError:
            names = []
        firsts = sorted(int(name.removesuffix(".log")) for name in names if name.endswith(".log"))
        if not firsts:
            raise self._gone()
        return firsts


@contextmanager
def _locked(file: int) -> Generator[None, None, None]:
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)


def _name(first: int) -> str:
    return f"{first:020d}.log"


def _packed_number(number: int) -> bytes:
    said = _NUMBER.pack(number)
    return said + _CHECKSUM.pack(zlib.crc32(said))


def _number(data: bytes) -> int:
    """The number that bytes say; 0 where they are damaged."""
    whole = len(data) == _NUMBER.size + _CHECKSUM.size and data == _packed_number(_NUMBER.unpack(data[:8])[0])
    return int(_NUMBER.unpack(data[: _NUMBER.size])[0]) if whole else 0


def _synced(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
