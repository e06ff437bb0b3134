"""Reading of a log from a number on: each call goes on where the one before it ended."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from keylake._log.frames import HEADER, Frame, frame_at, frame_behind, is_cut
from keylake.errors import StoreFailed

_AT_ONCE = 8 << 20  # bytes of a segment


class _Segments(Protocol):
    """Segments as a reader needs them."""

    def durable(self) -> int: ...

    def segment_of(self, number: int) -> tuple[int, Path]: ...

    def following(self, first: int) -> int | None: ...

    def damaged(self, first: int, number: int) -> StoreFailed: ...

    def missing(self, number: int, until: int) -> StoreFailed: ...


class Cursor:
    """A place in a log. It is of one thread."""

    def __init__(self, segments: _Segments, number: int) -> None:
        self._segments = segments
        self.number = number  # of the next frame
        self._first, self._path, self._offset = -1, Path(), 0
        self._at = -1  # the number at the offset

    def new(self) -> list[Frame]:
        """The durable frames that come next, some of them; none where there are none.

        Raises `SnapshotExpired` where they were removed, and `StoreFailed` where one is damaged or gone.
        """
        until = self._segments.durable()
        while self.number < until:
            first, path = self._segments.segment_of(self.number)
            if first != self._first:
                self._first, self._path, self._offset, self._at = first, path, len(HEADER), first
            try:
                found = self._read(until)
            except FileNotFoundError:  # it was removed since it was looked for
                continue
            except OSError as error:
                raise StoreFailed(f"{self._path} cannot be read: {str(error.strerror).lower()}.") from None
            if found:
                return found
        return []

    def _read(self, until: int) -> list[Frame]:
        """Frames from the place on; none where they are all before the wanted one."""
        size = _AT_ONCE
        with self._path.open("rb") as file:
            file.seek(self._offset)
            data = file.read(size)
            while frame_at(data, 0, self._at) is None:
                more = file.read(size) if is_cut(data, 0) else b""
                if not more:
                    return self._pass_over(data + file.read())
                data, size = data + more, size * 2
        found: list[Frame] = []
        at = 0
        while self._at < until and (frame := frame_at(data, at, self._at)) is not None:
            at = frame.end
            self._at += 1
            if frame.number >= self.number:
                found.append(frame)
                self.number = self._at
        self._offset += at
        return found

    def _pass_over(self, data: bytes) -> list[Frame]:
        """Goes on with the frame that is wanted, where one before it is damaged, which somebody has skipped."""
        following = self._segments.following(self._first)
        if not data and following is not None:
            raise self._segments.missing(max(self._at, self.number), following)
        frame = frame_behind(data, 0, self.number) if self._at < self.number else None
        if frame is None:
            raise self._segments.damaged(self._first, max(self._at, self.number))
        self._offset += frame.end
        self._at = self.number = frame.number + 1
        return [frame]
