"""The files of a log: their names, the numbers that they hold, and how a process opens and locks them."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import struct
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from keylake._log.frames import HEADER
from keylake.errors import Unsupported

# Systems without such locks read and write tables all the same.
fcntl = importlib.import_module("fcntl") if importlib.util.find_spec("fcntl") else None

END, DURABLE, MOVED = "end", "durable", "moved"

_CHECKSUM = struct.Struct("<I")
_NUMBER = struct.Struct("<Q")
_SEGMENT = re.compile(r"\d{20}\.log")


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


class OpenFiles:
    """The files of the end and of what is durable, and the newest segment, as a process has opened them."""

    def __init__(self, folder: Path) -> None:
        self.process = os.getpid()
        self.end = self.durable = self._segment = -1
        self._first = -1  # of the segment that is open
        self._end_path = folder / END
        flags = os.O_RDWR if os.access(self._end_path, os.W_OK) else os.O_RDONLY
        self.end = os.open(self._end_path, flags)
        self.durable = os.open(folder / DURABLE, flags)

    def are_current(self) -> bool:
        """The files were opened by this process, and are those in the folder: no other was put there since."""
        if self.process != os.getpid():
            return False
        own, there = os.fstat(self.end), self._end_path.stat()
        return (own.st_ino, own.st_dev) == (there.st_ino, there.st_dev)

    def segment(self, folder: Path, first: int) -> int:
        """The segment with a first number, to write to; under the lock of the end."""
        if self._first != first:
            if self._segment >= 0:
                os.close(self._segment)
            self._segment, self._first = -1, -1
            self._segment, self._first = os.open(folder / name(first), os.O_RDWR), first
        return self._segment

    def __del__(self) -> None:
        for file in (self.end, self.durable, self._segment):
            if file >= 0:
                os.close(file)


@contextmanager
def locked(file: int) -> Generator[None, None, None]:
    """The only process that has locked the file."""
    if fcntl is None:
        raise Unsupported("A log needs locks of files (flock), and this system has none.")
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)


def name(first: int) -> str:
    """The name of the segment that begins with a number.

    >>> name(51234)
    '00000000000000051234.log'
    """
    return f"{first:020d}.log"


def firsts(folder: Path) -> list[int]:
    """The first numbers of the segments in a folder, oldest first."""
    names = (path.name for path in folder.iterdir())
    return sorted(int(each.removesuffix(".log")) for each in names if _SEGMENT.fullmatch(each))


def made(folder: Path, first: int) -> None:
    """Make an empty segment, which is there with its header or not at all."""
    unfinished = folder / f"{name(first)}.new"
    try:
        unfinished.write_bytes(HEADER)
        synced(unfinished)
        unfinished.rename(folder / name(first))
    except OSError:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        raise
    synced(folder)


def packed_number(number: int) -> bytes:
    """A number with its checksum."""
    said = _NUMBER.pack(number)
    return said + _CHECKSUM.pack(zlib.crc32(said))


def unpacked_number(data: bytes) -> int | None:
    """The number that bytes say; None where they are damaged.

    >>> unpacked_number(packed_number(7)), unpacked_number(b"damaged")
    (7, None)
    """
    if len(data) != _NUMBER.size + _CHECKSUM.size:
        return None
    number = int(_NUMBER.unpack(data[: _NUMBER.size])[0])
    return number if data == packed_number(number) else None


def have_on_disk(file: int) -> None:
    """Have what was written to an open file on the disk, if not the times that the file system notes of it."""
    getattr(os, "fdatasync", os.fsync)(file)


def synced(path: Path) -> None:
    """Have a file or folder on the disk."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
