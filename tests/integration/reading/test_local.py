"""Reads without a server beside those of Spark: changed schemas, branches, moments, sums, and what is refused."""

import datetime
import warnings
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import keylake as kl
import keylake.local
from integration.raw import catalog_of
from integration.twin import by_key, fresh_name

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("a", pa.int32()), ("b", pa.string())])


@pytest.fixture(scope="module")
def local(lake: kl.Lake, warehouse: Path) -> Iterator[keylake.local.LocalLake]:
    with keylake.local.open(warehouse) as opened:
        yield opened


def created(lake: kl.Lake, schema: pa.Schema = SCHEMA, **words: object) -> kl.KeyedTable:
    spec = kl.TableSpec.from_arrow(schema, name=fresh_name("local"), **{"key": "id", "buckets": 2, **words})
    return lake.create(spec)


def agree(table: kl.KeyedTable, found: keylake.local.LocalTable, **moment: object) -> None:
    """Both give the same rows."""
    given = by_key(table.read(**moment).toArrow(), table.spec.key)
    assert by_key(found.read(**moment).to_arrow(), table.spec.key) == given
    assert given


@pytest.mark.slow
def test_a_changed_schema(lake: kl.Lake, local: keylake.local.LocalLake) -> None:
    nested = pa.field("n", pa.struct([("x", pa.int32()), ("y", pa.string())]))
    maps = pa.field("m", pa.map_(pa.string(), pa.list_(pa.int64())))
    table = created(lake, pa.schema([*SCHEMA, nested, maps]))
    rows = [{"id": n, "a": n, "b": f"b{n}", "n": {"x": n, "y": None}, "m": {"k": [n, None]}} for n in range(8)]
    first = table.upsert(rows)
    name = f"{lake.catalog}.{table.name}"
    for change in ("RENAME COLUMN a TO c", "ALTER COLUMN c TYPE BIGINT", "DROP COLUMN b", "ADD COLUMN b DOUBLE",
                   "RENAME COLUMN n.x TO z", "ALTER COLUMN n.z TYPE BIGINT", "ADD COLUMN n.w STRING"):  # fmt: skip
        lake.spark.sql(f"ALTER TABLE {name} {change}")
    table = lake.table(table.name)
    table.update([{"id": 2, "c": 2**40, "n": {"z": 2**40, "y": "y", "w": "w"}}])
    table.update([{"id": 9, "b": 0.5}])
    agree(table, local.table(table.name))
    agree(table, local.table(table.name), at=first)
    table.compact("full")
    agree(table, local.table(table.name))


def test_local_reads_at_moments_and_on_branches(lake: kl.Lake, local: keylake.local.LocalLake) -> None:
    table = created(lake, versions="explicit")
    first = table.upsert([{"id": n, "a": n, "b": None} for n in range(6)], version=1)
    between = datetime.datetime.now(datetime.timezone.utc)
    table.archive("2026-11-01")
    table.delete([{"id": 3}], version=2)
    draft = table.branch("tmp_draft")
    draft.update([{"id": 5, "b": "draft"}], version=3)
    found = local.table(table.name)
    for moment in ({"at": first}, {"at": first.snapshot_id}, {"at": between}, {"as_of": "2026-11-01"}, {}):
        agree(table, found, **moment)
    assert by_key(found.read(branch="tmp_draft").to_arrow(), ["id"]) == by_key(draft.read().toArrow(), ["id"])
    assert repr(found.get(id=5, branch="tmp_draft")) == repr(draft.get(id=5))
    assert repr(found.get(id=3, as_of="2026-11-01")) == repr(table.get(id=3, as_of="2026-11-01"))
    assert found.get(id=3) is None
    undone = table.update([{"id": 4, "a": 40}], version=9)
    table.undo(after=undone.parent_id, until=undone)
    agree(table, found)


def test_settled_and_divided_buckets(lake: kl.Lake, local: keylake.local.LocalLake) -> None:
    table = created(lake, versions="explicit")
    table.upsert([{"id": n, "a": n, "b": "x"} for n in range(40)], version=1)
    table.update([{"id": n, "a": -n} for n in range(0, 40, 3)], version=2)
    table.compact("settle")
    found = local.table(table.name)
    agree(table, found)
    table.change_buckets(4)
    table.update([{"id": n, "b": "y"} for n in range(0, 60, 5)], version=3)
    agree(table, found)
    many = found.get_many([{"id": n} for n in range(60)])
    assert [repr(row) for row in many[::7]] == [repr(table.get(id=n)) for n in range(0, 60, 7)]


@pytest.mark.slow
def test_sums_are_exact(lake: kl.Lake, local: keylake.local.LocalLake) -> None:
    schema = pa.schema(
        [pa.field("id", pa.int64(), nullable=False), ("f", pa.float64()), ("g", pa.float32()), ("n", pa.int64()),
         ("d", pa.decimal128(20, 2))]
    )  # fmt: skip
    table = created(lake, schema, reducers={name: kl.Sum() for name in "fgnd"}, buckets=1)
    big = 2**62
    for f, n, d in ((1e300, big, "1.01"), (1.0, big, "99.99"), (-1e300, -big, "-0.02"), (2.0**-30, -5, "7.00")):
        table.update([{"id": 1, "f": f, "g": min(max(f, -1e9), 1e9), "n": n, "d": Decimal(d)}])
        table.update([{"id": 2, "f": -0.0}])
    found = local.table(table.name)
    agree(table, found)
    table.compact("full")
    table.update([{"id": 1, "f": 0.1, "n": 2, "g": 0.125}])
    agree(table, found)
    table.update([{"id": 1, "n": 2 * big - 1}, {"id": 3, "n": 1}])
    with pytest.raises(kl.BadRows, match=r"The sum of column 'n' for the key id = 1 does not fit long"):
        found.read(columns=["id", "n"])
    assert len(found.read(columns=["id", "f"])) == 3


def test_local_reads_that_are_refused(lake: kl.Lake, local: keylake.local.LocalLake) -> None:
    table = created(lake, reducers={"b": kl.Min()})
    commit = table.upsert([{"id": 1, "a": 1, "b": "x"}])
    found = local.table(table.name)
    refusals = {
        "no column 'c'": lambda: found.read(columns=["c"]),
        "where='c = 1' is no condition": lambda: found.read(where="c = 1"),
        "The key of": lambda: found.get(a=1),
        "get\\(id=...\\)": lambda: found.get(1),
        "no tag or branch 'later'": lambda: found.read(at="later"),
        "no branch 'later'": lambda: found.read(branch="later"),
        "no snapshot 17": lambda: found.read(at=17),
        "no commit at or before 2000": lambda: found.read(
            at=datetime.datetime(2000, 1, 1, tzinfo=datetime.timezone.utc)
        ),
        "no archived state": lambda: found.read(as_of="2026-01-01"),
        "no table local.nothing": lambda: local.table("local.nothing"),
        "were read without column": lambda: found.read(columns=["id"]).rows(),
    }
    for words, call in refusals.items():
        with pytest.raises(kl.KeylakeError, match=words):
            call()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = catalog_of(lake).load_table(table.name)
        plain.delete("id = 1")
    with pytest.raises(kl.ForeignCommit, match="was not made by keylake"):
        found.read()
    assert found.spec == local.table(table.name).spec == table.spec, "what a table is asks for no row"
    assert found.get(id=1, at=commit) is not None
    with plain.transaction() as change:
        change.set_properties(**{"keylake.newer": "1"})
    with pytest.raises(kl.Unsupported, match=r"'keylake.newer'"):
        found.read(at=commit)


def test_reducers_of_the_server_only(lake: kl.Lake, local: keylake.local.LocalLake) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("h", pa.list_(pa.int64())), ("a", pa.int64())])
    table = created(lake, schema, reducers={"h": kl.ArraySum()})
    table.upsert([{"id": 1, "h": [1], "a": 1}])
    found = local.table(table.name)
    with pytest.raises(kl.Unsupported, match=r"Column 'h' of .* has the reducer ArraySum"):
        found.get(id=1)
    assert found.read(columns=["a"]).to_arrow().to_pylist() == [{"a": 1}]
