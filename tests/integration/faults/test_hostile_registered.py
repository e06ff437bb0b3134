"""Changed Parquet files that a server registers: they are a table, or one of our errors."""

import io
import struct
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import keylake as kl
from integration.faults.hostile_files import mutated
from integration.random_runs import DAY, MORE
from integration.twin import fresh_name

QUICK, NIGHTLY, AT_ONCE = 12, 1200, 100
ROWS = {"id": range(200), "a": range(200), "t": [f"text {n}" for n in range(200)], "l": [[n] for n in range(200)]}


def mutated_footer(content: bytes, draw: Random) -> bytes:
    """A file whose footer is another one, with its length."""
    length = struct.unpack("<I", content[-8:-4])[0]
    footer = mutated(content[-8 - length : -8], draw)
    return content[: -8 - length] + footer + struct.pack("<I", len(footer)) + b"PAR1"


def check(lake: kl.Lake, folder: Path, first: int, count: int) -> None:
    """No answer but a table, or an error that tells what to do; after an error there is no table."""
    file = io.BytesIO()
    pq.write_table(pa.table(ROWS), file, row_group_size=100)
    good = file.getvalue()
    refused = 0
    for number in range(first, first + count):
        draw = Random(f"{DAY} registered {number}")
        place = folder / str(number)
        place.mkdir()
        (place / "a.parquet").write_bytes((mutated_footer if number % 2 else mutated)(good, draw))
        into = fresh_name("hostile")
        try:
            lake.register(path=place, into=into, key=["id"])
        except (kl.DefinitionError, kl.StoreFailed, kl.BadRows, kl.SchemaMismatch, kl.Unsupported) as error:
            sentence = str(error)
            assert "\n" not in sentence, number
            assert "org.apache" not in sentence, (number, sentence)
            assert "java." not in sentence, (number, sentence)
            assert str(place) in sentence, (number, sentence)
            with pytest.raises(kl.TableNotFound):
                lake.table(into)
            refused += 1
        else:
            lake.table(into).count()
    assert refused > count / 2


def test_changed_files_that_are_registered(lake: kl.Lake, tmp_path: Path) -> None:
    check(lake, tmp_path, 0, QUICK)


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(QUICK, NIGHTLY * MORE, AT_ONCE))
def test_more_changed_files_that_are_registered(lake: kl.Lake, tmp_path: Path, first: int) -> None:
    check(lake, tmp_path, first, AT_ONCE)
