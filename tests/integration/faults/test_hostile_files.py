"""Files that somebody has changed on purpose: readers without a server and `register` give rows or our errors."""

import io
import os
import struct
import subprocess
import sys
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import keylake as kl
from integration.faults.hostile_files import OF_JAVA, mutated
from integration.random_runs import DAY, MORE
from integration.twin import fresh_name

PROGRAM = Path(__file__).parent / "hostile_files.py"
QUICK, NIGHTLY, AT_ONCE = 150, 6000, 500
SECONDS = 280  # a run of so many has minutes; each input has a limit of its own
QUICK_REGISTERED, NIGHTLY_REGISTERED, REGISTERED_AT_ONCE = 12, 1200, 100
ROWS = {"id": range(200), "a": range(200), "t": [f"text {n}" for n in range(200)], "l": [[n] for n in range(200)]}


def run(first: int, count: int) -> None:
    command = [sys.executable, str(PROGRAM), str(DAY), str(first), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=dict(os.environ), check=False)
    assert (done.returncode, done.stdout) == (0, ""), (done.stdout or done.stderr)[-2000:]


@pytest.mark.slow
def test_changed_files_of_every_kind() -> None:
    run(0, QUICK)


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(QUICK, NIGHTLY * MORE, AT_ONCE))
def test_more_changed_files(first: int) -> None:
    run(first, AT_ONCE)


# ------------------------------------------------------------------------------------------- files that are registered


def with_another_footer(content: bytes, draw: Random) -> bytes:
    """A Parquet file whose footer is changed, with the length that it has then."""
    length = struct.unpack("<I", content[-8:-4])[0]
    footer = mutated(content[-8 - length : -8], draw)
    return content[: -8 - length] + footer + struct.pack("<I", len(footer)) + b"PAR1"


def register(lake: kl.Lake, folder: Path, first: int, count: int) -> None:
    """Registers changed files: each is a table, or an error that names the folder and leaves no table."""
    file = io.BytesIO()
    pq.write_table(pa.table(ROWS), file, row_group_size=100)
    good = file.getvalue()
    refused = 0
    for number in range(first, first + count):
        draw = Random(f"{DAY} registered {number}")
        place = folder / str(number)
        place.mkdir()
        (place / "a.parquet").write_bytes((with_another_footer if number % 2 else mutated)(good, draw))
        into = fresh_name("hostile")
        try:
            lake.register(path=place, into=into, key=["id"])
        except (kl.DefinitionError, kl.StoreFailed, kl.BadRows, kl.SchemaMismatch, kl.Unsupported) as error:
            sentence = str(error)
            assert not [word for word in OF_JAVA if word in sentence], (number, sentence)
            assert str(place) in sentence, (number, sentence)
            with pytest.raises(kl.TableNotFound):
                lake.table(into)
            refused += 1
        else:
            lake.table(into).count()
    assert refused > count / 2


def test_changed_files_that_are_registered(lake: kl.Lake, tmp_path: Path) -> None:
    register(lake, tmp_path, 0, QUICK_REGISTERED)


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(QUICK_REGISTERED, NIGHTLY_REGISTERED * MORE, REGISTERED_AT_ONCE))
def test_more_changed_files_that_are_registered(lake: kl.Lake, tmp_path: Path, first: int) -> None:
    register(lake, tmp_path, first, REGISTERED_AT_ONCE)
