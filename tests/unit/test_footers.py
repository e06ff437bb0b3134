"""Footers of Parquet with a checksum of themselves, as reads and writes without a server have them."""

from io import BytesIO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from keylake.local.footers import read_footer, signed

TABLE = pa.table({"id": range(500), "t": [f"text {number % 50}" for number in range(500)]})


@pytest.fixture
def content() -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(TABLE, sink, write_page_index=True, write_page_checksum=True)
    return signed(sink.getvalue().to_pybytes())


def test_other_readers_pass_over_the_checksum(content: bytes) -> None:
    assert pq.read_table(BytesIO(content)).equals(TABLE)
    assert read_footer(BytesIO(content), len(content)).equals(pq.read_metadata(BytesIO(content)))


def test_no_flipped_bit_of_a_footer_is_read(content: bytes) -> None:
    footer = read_footer(BytesIO(content), len(content))
    begin = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    found = 0
    for at in range(begin, len(content)):
        damaged = bytearray(content)
        damaged[at] ^= 1 << at % 8
        try:
            read = read_footer(BytesIO(damaged), len(damaged))
        except (ValueError, OSError):
            found += 1
        else:
            assert read.equals(footer)
    assert found >= len(content) - begin - 16  # the mark that says whose checksum it is


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1\xff\xff\xff\x7fPAR1", b"x" * 100])
def test_what_is_no_parquet_file_is_told(content: bytes) -> None:
    with pytest.raises(ValueError, match="it does not end as a Parquet file does"):
        read_footer(BytesIO(content), len(content))
