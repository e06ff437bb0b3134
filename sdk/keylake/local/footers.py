"""The checksum that a footer of Parquet carries of itself and of the indexes of pages before it.

Parquet has no checksum for either. It is an extension as Parquet's format allows it, the last field of the footer, of a
number that readers pass over:

    08 ff ff 01 20      a field of 32 bytes
    8 bytes             where the indexes begin; they end where the footer begins
    4 bytes             CRC-32 of the indexes
    4 bytes             CRC-32 of the footer up to here
    16 bytes            whose extension it is
    00                  end of the footer

Numbers have their lowest byte first. The server writes and checks the same.
"""

# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false

from __future__ import annotations

import struct
import zlib
from typing import Any, BinaryIO
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io import InputStream

from keylake.local.names import FILE

_MAGIC = b"PAR1"
_FIELD = b"\x08\xff\xff\x01\x20"
_OURS = UUID("4732d774-01e9-4f6f-9b64-d6116d3a3d06").bytes
_CRC = struct.Struct("<I")
_INDEXES = struct.Struct("<QI")
_BEHIND_CRC = len(_OURS) + 1


def signed(content: bytes) -> bytes:
    """A Parquet file with a checksum in its footer."""
    begin, footer = _footer(content)
    chunks = pq.read_metadata(pa.BufferReader(content))
    pages = max((_end(chunks.row_group(group)) for group in range(chunks.num_row_groups)), default=begin)
    fields = footer[:-1] + _FIELD + _INDEXES.pack(pages, zlib.crc32(content[pages:begin]))
    footer = fields + _CRC.pack(zlib.crc32(fields)) + _OURS + b"\0"
    return content[:begin] + footer + _CRC.pack(len(footer)) + _MAGIC


def name_of(path: str) -> str:
    """The name of a file, without its folders.

    >>> name_of("s3://lake/t/data/0.parquet")
    '0.parquet'
    """
    return path.rpartition("/")[2]


def check_name(footer: Any, path: str) -> None:
    """Raises a ValueError where a file has another name than its writer has noted in it: it lies in another's place."""
    noted = (footer.metadata or {}).get(FILE.encode())
    if noted is not None and noted.decode(errors="replace") != name_of(path):
        raise ValueError(f"file {noted.decode(errors='replace')} lies in its place")


def _end(group: Any) -> int:
    """The place where the pages of a row group end."""
    ends: list[int] = []
    for at in range(group.num_columns):
        chunk = group.column(at)
        first = chunk.data_page_offset
        if chunk.has_dictionary_page and chunk.dictionary_page_offset is not None:
            first = min(first, chunk.dictionary_page_offset)
        ends.append(first + chunk.total_compressed_size)
    return max(ends)


def _footer(content: bytes) -> tuple[int, bytes]:
    end = len(content) - _CRC.size - len(_MAGIC)
    begin = end - int(_CRC.unpack_from(content, max(end, 0))[0])
    return begin, content[max(begin, 0) : end]


def read_footer(stream: BinaryIO | InputStream, size: int) -> Any:
    """The footer of a file; a ValueError where it does not fit its checksum."""
    behind = _CRC.size + len(_MAGIC)
    stream.seek(max(size - behind, 0))
    last = stream.read(behind)
    length = _CRC.unpack(last[: _CRC.size])[0] if len(last) == behind else 0
    if not 0 < length <= size - behind - len(_MAGIC) or not last.endswith(_MAGIC):
        raise ValueError("it does not end as a Parquet file does")
    stream.seek(size - behind - length)
    footer = stream.read(length)
    crc = len(footer) - _BEHIND_CRC - _CRC.size
    if footer[-_BEHIND_CRC:-1] == _OURS and zlib.crc32(footer[:crc]) != _CRC.unpack_from(footer, crc)[0]:
        raise ValueError("its footer does not fit its checksum")
    # Arrow takes a footer from a file only, and does not look at the pages before it.
    return pq.read_metadata(pa.BufferReader(_MAGIC + footer + last))
