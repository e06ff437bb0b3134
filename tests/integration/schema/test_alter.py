"""Columns changed from Python: `alter`, and `evolve=True` of writes; and handles from before a change."""

from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime, timezone

import pandas as pd
import pyarrow as pa
import pytest
from pyiceberg.types import DateType, DoubleType, IntegerType, LongType, StringType, TimestamptzType

import keylake as kl
from integration.refusals import refused
from integration.twin import frame_of, fresh_name
from keylake import Float64, Int32, Int64

SCHEMA = pa.schema(
    [("id", pa.int64()), ("n", pa.int32()), ("text", pa.string()), ("home", pa.struct([("zip", pa.int32())]))]
)


@pytest.fixture
def table(lake: kl.Lake) -> kl.KeyedTable:
    made = lake.create(kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("altered"), key="id", buckets=2))
    made.update([{"id": 1, "n": 10, "text": "one", "home": {"zip": 1}}])
    return made


def test_many_changes_are_one(lake: kl.Lake, table: kl.KeyedTable) -> None:
    spec = table.alter(
        add={"score": Float64, "tags": list[str], "day": pa.date32(), "home.street": str, "text": DateType()},
        drop="text",
        rename={"id": "user"},
        widen={"n": Int64, "home.zip": Int64},
        comment={"score": "From 0 to 1.", "n": "How many."},
        after={"score": None, "n": "id", "day": "n"},
    )
    assert spec == table.spec == lake.table(table.name).spec
    assert spec.column_names == ("score", "user", "n", "day", "home", "tags", "text")
    assert [spec.column(name).doc for name in ("score", "n")] == ["From 0 to 1.", "How many."]
    assert spec.column("n").type == LongType()
    table.update([{"user": 1, "n": 2**40, "home": {"zip": 2**40, "street": "s"}, "text": date(2026, 1, 1)}])
    row = table.get(user=1)
    assert row is not None
    assert (row["n"], row["score"], row["text"]) == (2**40, None, date(2026, 1, 1))
    assert row["home"].model_dump() == {"zip": 2**40, "street": "s"}


def test_nothing_of_a_refused_change_is_made(lake: kl.Lake, table: kl.KeyedTable) -> None:
    before = table.spec
    for error, words, changes in (
        (kl.DefinitionError, ("Nothing is to change",), {}),
        (kl.DefinitionError, ("'n' already",), {"add": {"n": Int64}}),
        (kl.DefinitionError, ("'x'", "no column can have"), {"add": {"x": object}}),
        (kl.DefinitionError, ("Key column 'id'", "cannot be dropped"), {"add": {"x": Int64}, "drop": ["id"]}),
        (kl.DefinitionError, ("only widen",), {"add": {"x": Int64}, "widen": {"n": Float64}}),
        (kl.DefinitionError, ("'_file' is reserved",), {"rename": {"n": "_file"}}),
        (kl.SchemaMismatch, ("no column 'm'", "There are"), {"drop": ["m", "tex"]}),
        (kl.DefinitionError, ("comment of column 'n'",), {"comment": {"n": 1}}),
    ):
        with refused(lake, table.name, error, *words):
            table.alter(**changes)  # type: ignore[arg-type]
    assert lake.table(table.name).spec == before


def test_a_handle_from_before_learns_the_columns(lake: kl.Lake, table: kl.KeyedTable) -> None:
    def older() -> kl.KeyedTable:
        return kl.KeyedTable(table._handle, table._model)

    handles = [older() for _ in range(6)]
    lake.table(table.name).alter(add={"score": Float64}, drop="text", rename={"n": "m"}, widen={"home.zip": Int64})
    handles[0].update([{"id": 1, "score": 0.5}])
    handles[1].update([{"id": 2, "home": {"zip": 2**40}}])
    assert handles[2].read(columns=["m"]).count() == 2
    row = handles[3].get(id=1)
    assert row is not None
    assert (row["m"], row["score"]) == (10, 0.5)
    with refused(lake, table.name, kl.SchemaMismatch, "no column 'text'"):
        handles[4].update([{"id": 1, "text": "gone"}])
    with refused(lake, table.name, kl.SchemaMismatch, "upsert writes every column", "'score'", "Use update"):
        handles[5].upsert([{"id": 1, "m": 1, "home": None}])


def test_the_class_of_a_table_can_follow(lake: kl.Lake) -> None:
    name = fresh_name("altered")

    class Before(kl.Table, name=name, buckets=1):
        id: Int64 = kl.key()
        n: Int32 | None = kl.column()

    class After(kl.Table, name=name, buckets=1):
        id: Int64 = kl.key()
        n: Int64 | None = kl.column()
        score: Float64 | None = kl.column()

    table = lake.create(Before)
    table.upsert([Before(id=1, n=2)])
    table.alter(add={"score": Float64}, widen={"n": Int64})
    assert lake.table(After).get(id=1) == After(id=1, n=2)
    with pytest.raises(kl.SchemaMismatch, match="score"):
        lake.table(Before)


def test_rows_bring_columns_with_them(lake: kl.Lake, table: kl.KeyedTable) -> None:
    now = datetime(2026, 1, 1, tzinfo=timezone.utc)
    rows = [{"id": 1, "n": 11, "Score": 1, "at": now, "tags": ["a"], "deep": {"x": 1}}]
    commit = table.update(rows, evolve=True)
    assert commit.rows == 1
    spec = table.spec
    assert [spec.column(name).type for name in ("n", "Score", "at")] == [IntegerType(), LongType(), TimestamptzType()]
    assert table.update(rows, evolve=True).rows == 1
    assert table.spec == spec
    table.update(pa.table({"ID": pa.array([2], pa.int64()), "small": pa.array([1], pa.int16())}), evolve=True)
    table.update(pd.DataFrame({"id": [3], "real": [0.5]}), evolve=True)
    table.update(frame_of(lake, pa.table({"id": [4], "from_spark": ["x"]})), evolve=True)
    types = [table.spec.column(name).type for name in ("small", "real", "from_spark")]
    assert types == [IntegerType(), DoubleType(), StringType()]
    found = sorted(map(tuple, table.read(columns=["id", "n", "Score", "small", "real", "from_spark"]).collect()))
    assert found == [
        (1, 11, 1, None, None, None), (2, None, None, 1, None, None), (3, None, None, None, 0.5, None),
        (4, None, None, None, None, "x"),
    ]  # fmt: skip
    whole = dict.fromkeys(table.spec.column_names) | {"id": 5, "last": True}
    table.upsert([whole], evolve=True)
    assert table.spec.column_names[-1] == "last"


def test_rows_that_bring_no_column(lake: kl.Lake, table: kl.KeyedTable) -> None:
    before = table.spec
    with refused(lake, table.name, kl.BadRows, "'x' is null in every row", "alter(add="):
        table.update([{"id": 1, "x": None}], evolve=True)
    with refused(lake, table.name, kl.BadRows, "'x' has values of no one type"):
        table.update([{"id": 1, "x": 1}, {"id": 2, "x": "two"}], evolve=True)
    with refused(lake, table.name, kl.SchemaMismatch, "no column 'x'"):
        table.update([{"id": 1, "x": 1}])
    with refused(lake, table.name, kl.BadRows, "'n'"):
        table.update([{"id": 1, "n": 2**40}], evolve=True)
    assert lake.table(table.name).spec == before


@pytest.mark.slow
@pytest.mark.parametrize(
    "rounds", [4, pytest.param(25, marks=pytest.mark.slow), pytest.param(100, marks=pytest.mark.nightly)]
)
def test_writers_go_on_while_columns_change(lake: kl.Lake, table: kl.KeyedTable, rounds: int) -> None:
    """Four writers with handles from before, two of which bring columns; others come and go; and files are merged."""
    handles = [kl.KeyedTable(table._handle, table._model) for _ in range(4)]

    def write(writer: int) -> None:
        for number in range(rounds):
            row = {"id": 1000 * (writer + 1) + number, "n": number}
            if writer < 2:
                handles[writer].update([row])
            else:
                handles[writer].update([row | {f"new_{number % 10}": writer}], evolve=True)

    def merge() -> None:
        for _ in range(rounds // 2):
            lake.table(table.name).compact("full")

    with ThreadPoolExecutor(5) as pool:
        working = [pool.submit(merge), *(pool.submit(write, writer) for writer in range(4))]
        main = lake.table(table.name)
        for number in range(rounds):
            main.alter(add={f"extra_{number}": Int64}, rename={"text": "told"} if number == 2 else None)
            main.alter(drop=f"extra_{number}")
        for each in working:
            each.result()
    found = {row["id"]: row for row in lake.table(table.name).read().collect()}
    written = [(writer, number) for writer in range(4) for number in range(rounds)]
    assert sorted(found) == [1, *(1000 * (writer + 1) + number for writer, number in written)]
    for writer, number in written:
        row = found[1000 * (writer + 1) + number]
        assert row["n"] == number
        assert row[f"new_{number % 10}"] == (writer if writer >= 2 else None)
    assert found[1]["told"] == "one"
