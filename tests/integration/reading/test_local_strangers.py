"""What a stranger to `keylake.local` meets: slips, tables that change between reads, files that are gone."""

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.expressions import LessThan

import keylake as kl
import keylake.local
from integration.twin import fresh_name

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("a", pa.int32()), ("t", pa.timestamp("us", tz="UTC"))])
NOON = datetime.datetime(2026, 11, 1, 12, tzinfo=datetime.timezone.utc)


@pytest.fixture(scope="module")
def local(lake: kl.Lake, warehouse: Path) -> Iterator[keylake.local.LocalLake]:
    with keylake.local.open(warehouse) as opened:
        yield opened


def created(lake: kl.Lake, name: str) -> kl.KeyedTable:
    return lake.create(kl.TableSpec.from_arrow(SCHEMA, name=name, key="id", buckets=2))


def test_slips(lake: kl.Lake, local: keylake.local.LocalLake) -> None:
    made = created(lake, fresh_name("strange"))
    made.upsert([{"id": 1, "a": 1, "t": NOON}])
    table = local.table(made.name)
    slips: dict[str, Any] = {
        f"Leave the name of the catalog out: {made.name}": lambda: local.table(f"lake.{made.name}"),
        "names 'a' of .* more than once": lambda: table.read(columns=["a", "id", "A"]),
        "where='a >' is no condition .* it cannot be parsed": lambda: table.read(where="a >"),
        r"1\.5 is no whole number, and column 'a' is int": lambda: table.read(where="a = 1.5"),
        r"0\.5 is no whole number, and column 'id' is long": lambda: table.read(where=LessThan("id", 0.5)),
        "Leave branch='x' out": lambda: table.read(branch="x", at="main"),
        "'id', row 1: 'x'": lambda: table.get_many([{"id": 1}, {"id": "x"}]),
        "'id' is null in row 1": lambda: table.get_many([{"id": 1}, {"id": None}]),
        "A key is 1. Use a mapping": lambda: table.get_many([1]),  # type: ignore[list-item]
        "has no time zone": lambda: table.read(at=datetime.datetime(2030, 1, 1)),
        "has no time zone ": lambda: table.update([{"id": 1, "t": datetime.datetime(2026, 1, 1)}]),
    }
    for words, slip in slips.items():
        with pytest.raises(kl.KeylakeError, match=words.strip()):
            slip()
    assert len(table.read(where="a = 1.0")) == 1
    zone = datetime.timezone(datetime.timedelta(hours=-3, minutes=-30))
    assert len(table.read(at=datetime.datetime.now(zone))) == 1
    row = table.get(id=1)
    assert row is not None
    assert row["t"] == NOON
    assert row["t"].tzinfo is datetime.timezone.utc


def test_an_empty_table_of_a_stranger(lake: kl.Lake, local: keylake.local.LocalLake) -> None:
    table = local.table(created(lake, fresh_name("strange")).name)
    assert (len(table.read()), table.get(id=1), table.get_many([{"id": 1}]), table.get_many([])) == (
        0,
        None,
        [None],
        [],
    )
    assert len(table.read(where="a > 1", columns=["id"])) == len(table.changes()) == 0
    assert table.read().to_arrow().schema.types == SCHEMA.types
    assert table.read().to_polars().shape == (0, 3)


class Thing(kl.Table, name="strange.thing", buckets=2):
    """A table that is changed behind those who have it open."""

    id: kl.Int64 = kl.key()
    a: kl.Int32 | None = kl.column()


def test_columns_that_change_between_reads(lake: kl.Lake, local: keylake.local.LocalLake) -> None:
    made = lake.create(Thing)
    first = made.upsert([Thing(id=1, a=1)])
    by_name, by_class = local.table(made.name), local.table(Thing)
    assert repr(by_name.get(id=1)) == repr(by_class.get(id=1)) == "Thing(id=1, a=1)"

    def alter(change: str) -> None:
        lake.spark.sql(f"ALTER TABLE {lake.catalog}.{made.name} {change}").collect()

    alter("ADD COLUMN n INT")
    by_name.update([{"id": 1, "n": 5}])
    assert repr(by_name.get(id=1)) == "Thing(id=1, a=1, n=5)"
    assert by_name.spec.column_names == ("id", "a", "n")
    assert by_class.get(id=1) == Thing(id=1, a=1) == by_class.read().rows()[0]
    (change,) = by_class.changes(after=first).rows()
    assert (change.columns, change.before, change.after) == (("n",), Thing(id=1, a=1), Thing(id=1, a=1))
    alter("RENAME COLUMN a TO b")
    alter("RENAME COLUMN id TO key")
    assert repr(by_name.get(key=1)) == "Thing(key=1, b=1, n=5)"
    assert repr(by_name.get(id=1, at=first)) == "Thing(id=1, a=1)"
    with pytest.raises(kl.SchemaMismatch, match=r"has changed .* column a: int here, missing there"):
        by_class.get(id=1)
    with pytest.raises(kl.SchemaMismatch, match=r"The key of strange\.thing is 'key', and get\(\) has 'id'"):
        by_name.get(id=1)


def test_a_branch_that_is_gone(lake: kl.Lake, local: keylake.local.LocalLake) -> None:
    made = created(lake, fresh_name("strange"))
    made.update([{"id": 1, "a": 1}])
    made.branch("tmp_x").update([{"id": 2, "a": 1}])
    table = local.table(made.name)
    assert table.get(id=2, branch="tmp_x") is not None
    lake.spark.sql(f"ALTER TABLE {lake.catalog}.{made.name} DROP BRANCH tmp_x").collect()
    for use in (lambda: table.get(id=2, branch="tmp_x"), lambda: table.update([{"id": 2}], branch="tmp_x")):
        with pytest.raises(kl.TableNotFound, match=r"has no branch 'tmp_x'\. It has: main"):
            use()


def test_a_key_that_is_called_like_an_argument(lake: kl.Lake, local: keylake.local.LocalLake) -> None:
    schema = pa.schema([pa.field(name, pa.int64(), nullable=False) for name in ("at", "as_of")])
    made = lake.create(kl.TableSpec.from_arrow(schema, name=fresh_name("strange"), key=["at", "as_of"]))
    key = {"at": 1, "as_of": 2}
    made.upsert([key])
    table = local.table(made.name)
    assert repr(made.get(key)) == repr(table.get(key)) == repr(table.get_many([key])[0])
    assert (made.get({**key, "at": 2}), table.get({**key, "at": 2})) == (None, None)
    for use in (lambda: made.get(key, at=1), lambda: made.get(1), lambda: table.get(key, id=1), lambda: table.get(1)):
        with pytest.raises(kl.SchemaMismatch, match=r"by the names of its columns: .* or as a mapping\."):
            use()


def test_another_table_under_the_same_name(lake: kl.Lake, local: keylake.local.LocalLake) -> None:
    made = created(lake, fresh_name("strange"))
    made.update([{"id": 1, "a": 1}])
    table = local.table(made.name)
    assert table.get(id=1) is not None
    lake.drop(made.name)
    again = lake.create(kl.TableSpec.from_arrow(SCHEMA.set(1, pa.field("a", pa.string())), name=made.name, key="id"))
    again.update([{"id": 1, "a": "x"}])
    for use in (table.read, table.changes, lambda: table.get(id=1), lambda: table.update([{"id": 1, "a": 1}])):
        with pytest.raises(kl.TableNotFound, match=r"was dropped, and another .* Open it again: lake\.table"):
            use()
    assert local.table(made.name).read().to_arrow()["a"].to_pylist() == ["x"]
    assert len(again.history()) == 1


def test_metadata_that_has_not_moved_is_not_read_again(tmp_path: Path, lake: kl.Lake, warehouse: Path) -> None:
    made = created(lake, fresh_name("strange"))
    with keylake.local.open(warehouse) as opened:
        table = opened.table(made.name)
        table.upsert([{"id": 1, "a": 1, "t": None}])
        files = sorted(warehouse.joinpath(*made.name.split(".")).rglob("*.metadata.json"))
        for file in files:
            file.rename(tmp_path / file.name)
        try:  # all tables of the session are looked at in its end
            assert (table.get(id=1), opened.table(made.name).get(id=2)) == (table.get(id=1), None)
            table.upsert([{"id": 2, "a": 2, "t": None}])
        finally:
            for file in files:
                (tmp_path / file.name).rename(file)
        assert repr(table.get(id=2)) == repr(made.get(id=2))


def test_files_that_are_gone(tmp_path: Path, lake: kl.Lake, warehouse: Path) -> None:
    made = created(lake, fresh_name("strange"))
    made.upsert([{"id": 1, "a": 1, "t": None}])
    folder = warehouse.joinpath(*made.name.split("."))
    hidden: list[tuple[Path, Path]] = []

    def hide(pattern: str) -> None:
        for number, path in enumerate(sorted(folder.rglob(pattern))):
            aside = tmp_path / f"{len(hidden)}-{number}"
            path.rename(aside)
            hidden.append((aside, path))

    try:
        for pattern, kind, says in (
            ("*.parquet", kl.SnapshotExpired, "is gone"),
            ("*.avro", kl.StoreFailed, r"A manifest that commit \d+ of \S+ needs is gone: .*\.avro"),
            ("*.metadata.json", kl.StoreFailed, "names a file that is not there"),
        ):
            hide(pattern)
            with keylake.local.open(warehouse) as opened, pytest.raises(kind, match=says):
                opened.table(made.name).get(id=1)
    finally:  # all tables of the session are looked at in its end
        for aside, path in hidden:
            aside.rename(path)
