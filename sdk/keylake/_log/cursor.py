"""Reading of a log from a number on: each call goes on where the one before it ended."""

from __future__ import annotations

from pathlib import Path

from keylake._log.frames import HEADER, Frame, frame_at, frame_behind, is_cut
from keylake._log.segments import Segments

_AT_ONCE = 8 << 20  # bytes of a segment


class Cursor:
    """A place in a log. It is of one thread."""

    def __init__(self, segments: Segments, number: int) -> None:
        self._segments = segments
        self.number = number  # of the next frame
        self._first, self._path, self._offset = -1, Path(), 0
        self._at = -1  # the number at the offset

    def new(self) -> list[Frame]:
        """The durable frames that come next, some of them; none where there are none.

        Raises `SnapshotExpired` where they were removed, and `StoreFailed` where one is damaged.
        """
        until = self._segments.durable()
        if self.number >= until:
            return []
        first, path = self._segments.segment_of(self.number)
        if first != self._first:
            self._first, self._path, self._offset, self._at = first, path, len(HEADER), first
        found: list[Frame] = []
        while not found and self._at < until:
            self._read(found, until)
        return found

    def _read(self, found: list[Frame], until: int) -> None:
        size = _AT_ONCE
        with self._path.open("rb") as file:
            file.seek(self._offset)
            data = file.read(size)
            while frame_at(data, 0, self._at) is None:
                more = file.read(size) if is_cut(data, 0) else b""
                if not more:
                    self._pass_over(data + file.read(), found)
                    return
                data, size = data + more, size * 2
        at = 0
        while self._at < until and (frame := frame_at(data, at, self._at)) is not None:
            at = frame.end
            self._at += 1
            if frame.number >= self.number:
                found.append(frame)
                self.number = self._at
        self._offset += at

    def _pass_over(self, data: bytes, found: list[Frame]) -> None:
        """Goes on with the frame that is wanted, where one before it is damaged, which somebody has skipped."""
        frame = frame_behind(data, 0, self.number) if self._at < self.number else None
        if frame is None:
            raise self._segments.damaged(self._first, max(self._at, self.number))
        found.append(frame)
        self._offset += frame.end
        self._at = self.number = frame.number + 1
