"""Files that somebody has changed on purpose, and a server that checks and reads their table."""

import os
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

import keylake as kl
from integration.faults.hostile_files import MUTATIONS, OF_JAVA
from integration.random_runs import DAY, MORE
from integration.twin import fresh_name

QUICK, NIGHTLY, AT_ONCE = 60, 2060, 100
SCHEMA = pa.schema(
    [pa.field("id", pa.int64(), nullable=False), ("a", pa.int64()), ("t", pa.string()), ("l", pa.list_(pa.int64()))]
)
WORDS = (*OF_JAVA, "Exception")


def made(lake: kl.Lake) -> kl.KeyedTable:
    """A table of three runs whose superseded rows are known."""
    table = lake.create(kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("hostile"), key="id", buckets=1))
    table.upsert([{"id": n, "a": n, "t": f"text {n}", "l": [n]} for n in range(60)])
    table.update([{"id": n, "a": -n} for n in range(30)])
    table.compact("settle")
    table.delete([{"id": 59}])
    return table


def read(table: kl.KeyedTable) -> list[dict[str, object]]:
    return table.read().toArrow().sort_by("id").to_pylist()


def sentence(error: kl.KeylakeError, where: str) -> None:
    """Holds an error against what a user may see."""
    assert not [word for word in WORDS if word in str(error)], (where, str(error))


def meet(lake: kl.Lake, warehouse: Path, first: int, count: int) -> None:
    """Changes a file of a table, and asks the server; a file that is as it was makes the table whole again."""
    table = made(lake)
    folder = warehouse.joinpath(*table.name.split("."))
    rows = read(table)
    for number in range(first, first + count):
        draw = Random(f"{DAY} checked {number}")
        pattern = draw.choice(list(MUTATIONS))
        how, change = draw.choice(MUTATIONS[pattern])
        files = sorted(folder.rglob(pattern), key=lambda path: path.name)
        file = files[-1] if pattern == "*.metadata.json" else draw.choice(files)  # what was before is no table's state
        good, times = file.read_bytes(), file.stat()
        content = change(good, draw)
        where = f"input {number}: {how} of {file.name}"
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
        file.write_bytes(content)
        try:
            report = table.check("pages")
        except kl.KeylakeError as error:
            sentence(error, where)
        else:
            assert not (report.is_ok and (file.suffix == ".parquet" or len(content) < len(good) - 400)), where
            told = [each.detail for each in report.damage if any(word in each.detail for word in WORDS)]
            assert not told, (where, told)
        try:
            found = read(table)
        except kl.KeylakeError as error:
            sentence(error, where)
        else:
            assert found == rows, where
        file.write_bytes(good)
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
        assert table.check("pages").is_ok, where
    assert read(table) == rows


@pytest.mark.slow
def test_changed_files_are_told_by_check_and_give_no_other_rows(lake: kl.Lake, warehouse: Path) -> None:
    meet(lake, warehouse, 0, QUICK)


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(QUICK, NIGHTLY * MORE, AT_ONCE))
def test_more_changed_files_are_told_by_check(lake: kl.Lake, warehouse: Path, first: int) -> None:
    meet(lake, warehouse, first, AT_ONCE)
