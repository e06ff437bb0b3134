"""A check that the frames of an Avro file are whole: header, blocks, and the marker after each.

pyiceberg's decoder is fast because it does not look where the file ends: lengths that are garbled end the process.
Blocks that pyiceberg compresses end with three of the four bytes of zlib's Adler-32 of their content. They are
compared: one changed bit in a bound of a column would hide a file from a look-up. Iceberg for Java writes none, so the
entries of its blocks are decoded twice: first by pyiceberg's slow decoder, which looks where they end.
"""

from __future__ import annotations

import json
import zlib
from functools import lru_cache
from io import BytesIO
from typing import cast

from pyiceberg.avro.decoder import StreamingBinaryDecoder
from pyiceberg.avro.reader import Reader
from pyiceberg.avro.resolver import construct_reader
from pyiceberg.io import FileIO, InputFile, InputStream, OutputFile
from pyiceberg.utils.schema_conversion import AvroSchemaConversion

_MAGIC = b"Obj\x01"
_MARKER_BYTES = 16
_RAW_DEFLATE = -zlib.MAX_WBITS
_CHECKSUM_BYTES = 3


def check_frames(content: bytes) -> None:
    """Raises ValueError where a frame is not whole, or the content of a block is not that of its checksum."""
    decoder = StreamingBinaryDecoder(content)
    header: dict[bytes, bytes] = {}
    try:
        if decoder.read(len(_MAGIC)) != _MAGIC:
            raise ValueError("it does not begin as an Avro file")
        while count := decoder.read_int():
            if count < 0:
                decoder.read_int()  # the bytes of the entries
            for _ in range(abs(count)):
                name = _read(decoder)
                header[name] = _read(decoder)
        marker = decoder.read(_MARKER_BYTES)
        while decoder.tell() < len(content):
            if (entries := decoder.read_int()) < 0:
                raise ValueError("a block has a negative number of entries")
            block = _read(decoder)
            codec = header.get(b"avro.codec", b"null")
            content_of_block = _unpacked(block) if codec == b"deflate" else block if codec == b"null" else None
            if content_of_block is not None:
                _check_entries(header[b"avro.schema"].decode(), content_of_block, entries)
            if decoder.read(_MARKER_BYTES) != marker:
                raise ValueError("the marker behind a block is another one")
    except (EOFError, TypeError):
        raise ValueError("it ends within a block") from None


def _read(decoder: StreamingBinaryDecoder) -> bytes:
    length = decoder.read_int()
    if length < 0:
        raise ValueError("a length is negative")
    return decoder.read(length)


def _unpacked(block: bytes) -> bytes | None:
    """The content of a block; None: it fits its checksum."""
    inflater = zlib.decompressobj(_RAW_DEFLATE)
    try:
        content = inflater.decompress(block)
    except zlib.error:
        raise ValueError("a block cannot be decompressed") from None
    noted = inflater.unused_data
    if not inflater.eof or len(noted) not in (0, _CHECKSUM_BYTES):
        raise ValueError("a block ends elsewhere than its content")
    if noted and noted != zlib.adler32(content).to_bytes(4, "big")[:_CHECKSUM_BYTES]:
        raise ValueError("a block has another content than its checksum says")
    return None if noted else content


def _check_entries(schema: str, content: bytes, count: int) -> None:
    decoder, reader = StreamingBinaryDecoder(content), _reader(schema)
    for _ in range(count):
        reader.read(decoder)
    if decoder.tell() != len(content):
        raise ValueError("a block has other entries than their number says")


@lru_cache(maxsize=16)
def _reader(schema: str) -> Reader:
    """The decoder of entries of a schema of Avro, which files of one table share."""
    return construct_reader(AvroSchemaConversion().avro_to_iceberg(json.loads(schema)))


class ReadFile(FileIO):
    """A file whose content was read and checked, for those who would read it themselves."""

    def __init__(self, content: bytes) -> None:
        super().__init__()
        self._content = content

    def new_input(self, location: str) -> InputFile:
        """The content, whatever the location."""
        return _Content(location, self._content)

    def new_output(self, location: str) -> OutputFile:
        """Nothing is written here."""
        raise NotImplementedError(location)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """Nothing is deleted here."""
        raise NotImplementedError(location)


class _Content(InputFile):
    def __init__(self, location: str, content: bytes) -> None:
        super().__init__(location)
        self._content = content

    def __len__(self) -> int:
        return len(self._content)

    def exists(self) -> bool:
        return True

    def open(self, seekable: bool = True) -> InputStream:  # noqa: ARG002  # it is seekable
        return cast("InputStream", BytesIO(self._content))
