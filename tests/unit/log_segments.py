"""What tests of logs do with segments."""

from keylake._log.cursor import Cursor
from keylake._log.segments import Segments


def append(segments: Segments, *entries: bytes) -> range:
    numbers = segments.append(entries)
    segments.make_durable(numbers.stop)
    return numbers


def read(segments: Segments, start: int = 0) -> list[tuple[int, bytes]]:
    cursor = Cursor(segments, start)
    found: list[tuple[int, bytes]] = []
    while frames := cursor.new():
        found += [(frame.number, frame.entry) for frame in frames]
    return found
