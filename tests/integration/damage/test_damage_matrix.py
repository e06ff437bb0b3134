"""Damage of every kind meets what writes rows again: an error that names the file, and the rows as before."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

import keylake as kl
from integration.twin import fresh_name

ROWS = [{"id": number, "a": number % 100} for number in range(400)]
SCHEMA = pa.schema([("id", pa.int64()), ("a", pa.int64())])

IN_PAGE_OF_KEYS = 150  # the first page, behind its header

Damage = Callable[[Path, Path], bytes | None]


def flipped(file: Path, _: Path) -> bytes:
    content = bytearray(file.read_bytes())
    content[IN_PAGE_OF_KEYS] ^= 4
    return bytes(content)


DAMAGE: dict[str, Damage] = {
    "flipped bit": flipped,
    "truncated": lambda file, _: file.read_bytes()[: file.stat().st_size // 2],
    "missing": lambda file, _: None,
    "file of another bucket": lambda file, other: other.read_bytes(),
    "file of another table": lambda file, _: file.with_suffix(".twin").read_bytes(),
}


def rebucket(table: kl.KeyedTable) -> object:
    if table.spec.buckets < 4:
        table.layout.change_buckets(4)
    return table.layout.rebucket()


VERBS: dict[str, Callable[[kl.KeyedTable], object]] = {
    "compact": lambda table: table.compact("full"),
    "settle": lambda table: table.compact("settle"),
    "refresh_merged": lambda table: table.serving.refresh_merged(),
    "rebucket": rebucket,
    "changes": lambda table: table.changes(after=0).collect(),
    "read": lambda table: table.read().collect(),
}
QUICK = {("file of another bucket", "compact"), ("missing", "settle")}
CASES = [
    pytest.param(damage, verb, id=f"{damage}, {verb}", marks=[] if (damage, verb) in QUICK else [pytest.mark.slow])
    for damage in DAMAGE
    for verb in VERBS
]


def made(lake: kl.Lake, versions: tuple[int, int], format_version: int = 2) -> kl.KeyedTable:
    spec = kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("matrix"), key="id", buckets=2, versions="explicit")
    table = lake.create(spec)
    if format_version > 2:
        lake.spark.sql(f"ALTER TABLE lake.{table.name} SET TBLPROPERTIES ('format-version' = '3')").collect()
    for version in versions:
        table.upsert(ROWS, version=version)
    return table


def files_of(warehouse: Path, table: kl.KeyedTable, pattern: str = "*.parquet") -> list[Path]:
    """Files by their age, without the checksums of Hadoop beside them."""
    folder = warehouse.joinpath(*table.name.split("."))
    for crc in folder.rglob(".*.crc"):
        crc.unlink()
    return sorted(folder.joinpath("data").rglob(pattern), key=lambda path: (path.stat().st_mtime_ns, str(path)))


def rows_of(table: kl.KeyedTable) -> list[tuple[int, int]]:
    return sorted((row["id"], row["a"]) for row in table.read().collect())


def refused(table: kl.KeyedTable, verb: str, names: set[str]) -> None:
    before = table.history()
    with pytest.raises((kl.StoreFailed, PySparkException)) as raised:
        VERBS[verb](table)
    assert any(name in str(raised.value) for name in names), str(raised.value)
    assert "is not there" in str(raised.value) or "is damaged" in str(raised.value)
    assert table.history() == before  # other buckets can have been merged


@pytest.mark.parametrize(("damage", "verb"), CASES)
def test_no_damage_of_a_data_file_is_written_again(lake: kl.Lake, warehouse: Path, damage: str, verb: str) -> None:
    table, twin = made(lake, (1, 2)), made(lake, (1, 2))
    file, other = files_of(warehouse, table)[-2:]
    good = file.read_bytes()
    shutil.copyfile(files_of(warehouse, twin)[-2], file.with_suffix(".twin"))
    content = DAMAGE[damage](file, other)
    file.unlink() if content is None else file.write_bytes(content)
    refused(table, verb, {file.name})
    (found,) = {Path(each.path).name for each in table.check("pages").damage}
    assert found == file.name
    file.write_bytes(good)
    file.with_suffix(".twin").unlink()
    VERBS[verb](table)
    assert rows_of(table) == [(row["id"], row["a"]) for row in ROWS]


@pytest.mark.slow
@pytest.mark.parametrize("form", [2, 3])
@pytest.mark.parametrize("verb", ["compact", "read", "refresh_merged", "rebucket"])
@pytest.mark.parametrize("damage", ["flipped bit", "missing", "file of another bucket"])
def test_no_damage_of_deletes_is_written_again(
    lake: kl.Lake, warehouse: Path, damage: str, verb: str, form: int
) -> None:
    table = made(lake, (1,), form)
    table.upsert(ROWS[::3], version=2)
    table.compact("settle")
    rows = rows_of(table)
    file, other = files_of(warehouse, table, "*-settle-*")[-2:]
    good = file.read_bytes()
    content = DAMAGE[damage](file, other)
    file.unlink() if content is None else file.write_bytes(content)
    assert {Path(each.path).name for each in table.check("pages").damage} == {file.name}
    said = ""
    try:
        VERBS[verb](table)
    except (kl.StoreFailed, PySparkException) as error:
        said = str(error)
    assert not said or file.name in said
    file.write_bytes(good)  # a merge finds superseded rows by itself, and goes on without
    assert rows_of(table) == rows
    if verb == "refresh_merged":
        assert rows_of(table.branch("merged")) == rows


def test_a_deletion_vector_of_another_file_is_not_read(lake: kl.Lake, warehouse: Path) -> None:
    files: list[Path] = []
    for newer in (ROWS[:100], ROWS[100:200]):
        spec = kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("vectors"), key="id", buckets=1, versions="explicit")
        table = lake.create(spec)
        lake.spark.sql(f"ALTER TABLE lake.{table.name} SET TBLPROPERTIES ('format-version' = '3')").collect()
        table.upsert(ROWS, version=1)
        table.upsert(newer, version=2)
        table.compact("settle")
        files += files_of(warehouse, table, "*-settle-*")
    good = files[1].read_bytes()
    # As long as the right one, whose vector has as many rows: only the footer tells them apart.
    files[1].write_bytes(files[0].read_bytes()[: len(good)].ljust(len(good), b"-"))
    (damage,) = table.check().damage
    if files[0].stat().st_size == len(good):
        assert damage.kind == "other_file"
    with pytest.raises(PySparkException, match=f"{files[1].name} is damaged"):
        table.read().collect()
    files[1].write_bytes(good)
    assert len(rows_of(table)) == len(ROWS)
