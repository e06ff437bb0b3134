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
import errno
import os
import shutil
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from keylake._log.cursor import Cursor
from keylake._log.frames import HEADER, LONGEST_ENTRY, frame_at, framed, is_cut
from keylake._log.locks import ProcessLock
from keylake._log.segment_files import (
    DURABLE,
    END,
    MOVED,
    End,
    OpenFiles,
    firsts,
    have_on_disk,
    locked,
    made,
    name,
    packed_number,
    synced,
    unpacked_number,
)
from keylake._log.store import Closed
from keylake.errors import OutcomeUnknown, SnapshotExpired, StoreFailed, Unavailable, Unsupported

SEGMENT_BYTES = 64 << 20


class Segments:
    """The segments in a folder. Threads may share them, and so may processes: each opens them anew after a fork."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = ProcessLock()
        self._sync_lock = ProcessLock()
        self._files: OpenFiles | None = None
        self._checked: OpenFiles | None = None  # the files of which the newest segment was read as a whole

    @classmethod
    def create(cls, folder: Path) -> Segments:
        """An empty log in a new folder; FileExistsError where there is one."""
        folder.mkdir(parents=True)
        (folder / DURABLE).write_bytes(packed_number(0))
        (folder / MOVED).write_bytes(packed_number(0))
        (folder / END).write_bytes(End(0, 0, len(HEADER)).packed())
        made(folder, 0)
        synced(folder.parent)
        return cls(folder)

    @property
    def folder(self) -> Path:
        """The folder of the segments."""
        return self._folder

    @property
    def place(self) -> str:
        """The folder, as people are told."""
        return str(self._folder)

    # ------------------------------------------------------------------------------------------------------ writing

    def write(self, entry: bytes, *, least: int = 0) -> int:
        """Append an entry, and give its number when it is durable; errors are those of `append`.

        Raises `OutcomeUnknown` where the disk does not say that it keeps it.
        """
        (number,) = self.append([entry], least=least)
        try:
            self.make_durable(number + 1)
        except (OSError, StoreFailed) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise OutcomeUnknown(
                f"Entry {number} of the log in {self._folder} is there, and the disk does not say that it keeps it: "
                f"{why}. table.log.state() says up to where entries are durable."
            ) from None
        return number

    def append(self, entries: Sequence[bytes], *, least: int = 0) -> range:
        """Append entries, and give their numbers. They are there for good once they are durable.

        Numbers before `least` were given to others, so a log that has not come to it has lost entries.

        Raises `Closed`, `Unsupported` for an entry that is too long, `StoreFailed` where the folder is gone, damaged or
        an older copy, and `Unavailable` where the disk is full.
        """
        if any(len(entry) > LONGEST_ENTRY for entry in entries):
            raise Unsupported(
                f"An entry of the log has {max(map(len, entries)):,} bytes, and takes at most {LONGEST_ENTRY:,}. Write "
                "fewer rows at once, or write them to the table."
            )
        with self._appending() as files:
            end = self._checked_end(files)
            if end.is_closed:
                raise Closed
            if end.next < least:
                raise StoreFailed(
                    f"The log in {self._folder} goes on at entry {end.next}, and entries before {least} were moved to "
                    "files: the folder is an older copy. Restore the newer one; or end the log, "
                    "table.log.drop(lost=True), and begin() another."
                )
            if end.length >= SEGMENT_BYTES and end.next > end.first:
                end = self._next_segment(files, end, end.next)
            numbers = range(end.next, end.next + len(entries))
            data = b"".join(framed(number, entry) for number, entry in zip(numbers, entries, strict=True))
            self._write(files, data, end)
            _say(files, replace(end, next=numbers.stop, length=end.length + len(data)))
            return numbers

    def make_durable(self, before: int) -> None:
        """Have the frames before a number on the disk, with those of others that were appended meanwhile."""
        files = self._opened()
        if _durable(files) >= before:
            return
        with self._sync_lock, locked(files.durable):
            if _durable(files) >= before:
                return
            end = self._end(files)
            # Older segments were made durable when the newest one began.
            segment = os.open(self._folder / name(end.first), os.O_RDONLY)
            try:
                if os.fstat(segment).st_size < end.length:  # a disk that lost power has kept the end, and not the frame
                    with self._appending() as same:
                        end = self._checked_end(same)
                have_on_disk(segment)
            finally:
                os.close(segment)
            os.pwrite(files.durable, packed_number(end.next), 0)

    def close(self, *, is_closed: bool = True) -> int:
        """Take no more frames from anybody, or take them again, and give the number of the next one."""
        with self._appending() as files:
            end = self._checked_end(files)
            _say(files, replace(end, is_closed=is_closed))
            return end.next

    def leave_out(self, until: int) -> None:
        """Begin another segment, as the newest one cannot be read; its numbers begin with `until`, or behind those."""
        with self._appending() as files:
            end = End.unpacked(os.pread(files.end, 64, 0)) or End(self._firsts()[-1], until, len(HEADER))
            following = max(end.next, until, _durable(files))
            if following > end.first:
                _say(files, replace(self._next_segment(files, end, following), is_closed=end.is_closed))

    def say_moved(self, before: int) -> None:
        """Note that the frames before a number are in files of the table; they are kept for a time from now on."""
        files = self._opened()
        with self._sync_lock, locked(files.durable):
            known = self.moved()
            if before <= known:
                return
            file = os.open(self._folder / MOVED, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                os.pwrite(file, packed_number(before), 0)
                os.fsync(file)
            finally:
                os.close(file)
            for first, following in pairwise(self._firsts()):
                if known < following <= before:
                    with contextlib.suppress(OSError):
                        os.utime(self._folder / name(first))

    def moved(self) -> int:
        """The number before which all frames were noted as moved."""
        with contextlib.suppress(OSError):
            return unpacked_number((self._folder / MOVED).read_bytes()) or 0
        return 0

    def remove(self, before: int, *, older_than: float) -> None:
        """Delete segments of which all frames are before a number, and were noted as moved so many seconds ago."""
        for first, following in pairwise(self._firsts()):
            path = self._folder / name(first)
            with contextlib.suppress(FileNotFoundError):  # another process removes, too
                if following <= before and time.time() - path.stat().st_mtime >= older_than:
                    path.unlink()

    def delete(self) -> None:
        """Delete the folder."""
        shutil.rmtree(self._folder, ignore_errors=True)

    # ------------------------------------------------------------------------------------------------------ reading

    def reader(self, number: int) -> Cursor:
        """A reader that begins with a number."""
        return Cursor(self, number)

    def first(self) -> int:
        """The number of the oldest frame that is kept, or of the next one."""
        return self._firsts()[0]

    def durable(self) -> int:
        """The number before which all frames can be read; what was appended is made durable first."""
        files = self._opened()
        following = self._end(files).next
        if _durable(files) < following:
            with contextlib.suppress(OSError):  # who may not write, reads what is durable already
                self.make_durable(following)
        return min(_durable(files), self._end(files).next)

    def acknowledged(self) -> int:
        """The same: what was acknowledged is durable."""
        return self.durable()

    def segment_of(self, number: int) -> tuple[int, Path]:
        """The segment that has a number, or will have it: its first number, and its file.

        Raises `SnapshotExpired` where it was removed, and `StoreFailed` where it is gone though it was not moved.
        """
        there = self._firsts()
        if number < there[0]:
            if number >= self.moved():
                raise self.missing(number, there[0])
            raise SnapshotExpired(
                f"Entry {number} of the log in {self._folder} is not kept any more: the oldest one is {there[0]}. "
                "Entries are removed some time after they were moved to files: read the table from there on."
            )
        first = max(each for each in there if each <= number)
        return first, self._folder / name(first)

    def following(self, first: int) -> int | None:
        """The first number of the segment behind one; None for the newest."""
        return next((each for each in self._firsts() if each > first), None)

    def damaged(self, first: int, number: int) -> StoreFailed:
        """The error of a frame that cannot be read."""
        return StoreFailed(
            f"Entry {number} of the log cannot be read: {self._folder / name(first)} is damaged. Restore the file, or "
            f"leave out the entries before a later one that can be read: table.log.skip(until={number + 1})."
        )

    def missing(self, number: int, until: int) -> StoreFailed:
        """The error of frames whose segment is gone."""
        return StoreFailed(
            f"Entries {number} to {until - 1} of the log are gone: {self._folder} has no segment of them. Restore the "
            f"file, or leave them out: table.log.skip(until={until})."
        )

    # ------------------------------------------------------------------------------------------------------- the end

    @contextmanager
    def _appending(self) -> Generator[OpenFiles, None, None]:
        """The files, while nobody else changes the end; what the system refuses is told."""
        with self._lock:
            files = self._opened()
            with locked(files.end):
                try:
                    yield files
                except OSError as error:
                    raise self._unwritable(error) from None

    def _checked_end(self, files: OpenFiles) -> End:
        """The end, under the lock: as it is said, or as the newest segment has it after a process has died."""
        said = End.unpacked(os.pread(files.end, 64, 0))
        if said is not None and self._checked is files:
            with contextlib.suppress(FileNotFoundError):
                if os.fstat(files.segment(self._folder, said.first)).st_size == said.length:
                    return said
        found = self._found_end(files, said)
        _say(files, found)
        self._checked = files
        return found

    def _found_end(self, files: OpenFiles, said: End | None) -> End:
        """The end of the newest segment, which is read as a whole; what a process has left unfinished is cut off."""
        first = self._firsts()[-1]
        segment = files.segment(self._folder, first)
        data = os.pread(segment, os.fstat(segment).st_size, 0)
        at, number = len(HEADER), first
        while (frame := frame_at(data, at, number)) is not None:
            at, number = frame.end, number + 1
        durable = unpacked_number(os.pread(files.durable, 64, 0))
        if len(data) < len(HEADER) and first > 0 and first >= (durable or 0):  # nobody has written to it
            (self._folder / name(first)).unlink()
            return self._found_end(files, said)
        if data[: len(HEADER)] != HEADER or number < (durable or 0):
            raise self.damaged(first, number)
        if at < len(data):
            # What is not durable nobody was told of. Where that is not known, only what is clearly unfinished is cut.
            is_known = bool(durable) or (durable == 0 and is_cut(data, at))
            if not is_known and any(data[at:]):
                raise self.damaged(first, number)
            os.ftruncate(segment, at)
        return End(first, number, at, said is not None and said.is_closed)

    def _next_segment(self, files: OpenFiles, end: End, first: int) -> End:
        with contextlib.suppress(FileNotFoundError):
            os.fsync(files.segment(self._folder, end.first))
        made(self._folder, first)
        return End(first, first, len(HEADER))

    def _write(self, files: OpenFiles, data: bytes, end: End) -> None:
        segment = files.segment(self._folder, end.first)
        try:
            if os.pwrite(segment, data, end.length) == len(data):
                return
            why = OSError(errno.ENOSPC, "No space left on device")
        except OSError as error:
            why = error
        with contextlib.suppress(OSError):
            os.ftruncate(segment, end.length)
        raise why

    def _unwritable(self, error: OSError) -> StoreFailed:
        if isinstance(error, PermissionError) or error.errno == errno.EROFS:
            return StoreFailed(
                f"The log in {self._folder} may not be written to by this user: {str(error.strerror).lower()}. Nothing "
                "was changed."
            )
        if isinstance(error, FileNotFoundError):
            return self._gone()
        return Unavailable(
            f"The log in {self._folder} could not be written to: {str(error.strerror).lower()}. Nothing was appended; "
            "append again when there is space."
        )

    def _end(self, files: OpenFiles) -> End:
        """The end as somebody says it who may be writing it."""
        for _ in range(100):
            said = End.unpacked(os.pread(files.end, 64, 0))
            if said is not None:
                return said
            time.sleep(0.001)
        with self._appending() as same:
            return self._checked_end(same)

    # --------------------------------------------------------------------------------------------------------- files

    def _opened(self) -> OpenFiles:
        """The files as they lie in the folder now. A process that was forked opens them: locks belong to open files."""
        try:
            files = self._files
            if files is None or not files.are_current():
                files = self._files = OpenFiles(self._folder)
        except FileNotFoundError:
            raise self._gone() from None
        except OSError as error:
            raise self._unreadable(error) from None
        return files

    def _unreadable(self, error: OSError) -> StoreFailed:
        return StoreFailed(f"The log in {self._folder} cannot be read: {str(error.strerror).lower()}.")

    def _gone(self) -> StoreFailed:
        return StoreFailed(
            f"The log in {self._folder} is gone, or lies on the disk of another machine. If it is gone, entries that "
            "were not moved are lost, unless the folder can be restored; table.log.drop(lost=True) ends the log, and "
            "begin() makes a new one."
        )

    def _firsts(self) -> list[int]:
        """The first numbers of the segments, oldest first."""
        try:
            found = firsts(self._folder)
        except FileNotFoundError:
            found = []
        except OSError as error:
            raise self._unreadable(error) from None
        if not found:
            raise self._gone()
        return found


def _say(files: OpenFiles, end: End) -> None:
    os.pwrite(files.end, end.packed(), 0)


def _durable(files: OpenFiles) -> int:
    return unpacked_number(os.pread(files.durable, 64, 0)) or 0
