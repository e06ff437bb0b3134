"""Words that people try first: what they type, and what they get."""

import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import polars as pl
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

import keylake as kl
import keylake.local
from integration.twin import fresh_name

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("at", pa.timestamp("us", tz="UTC")),
        ("n", pa.int32()),
        ("words", pa.list_(pa.string())),
    ]
)
NOON = datetime(2026, 7, 1, 12, tzinfo=timezone.utc)


@pytest.fixture
def table(lake: kl.Lake) -> Iterator[kl.KeyedTable]:
    made = lake.create(kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("words"), key="id", ordering="at", buckets=2))
    made.insert(
        [{"id": n, "at": NOON + timedelta(hours=n), "n": None if n == 2 else n, "words": [str(n)]} for n in range(4)]
    )
    yield made
    lake.drop(made.name)


def test_frames_keep_nulls_and_zones(table: kl.KeyedTable) -> None:
    assert table.columns == ("id", "at", "n", "words")
    assert (table.count(), table.count("id > 1")) == (4, 2)
    assert len(table.head()) == 4
    assert len(table.head(2)) == 2
    arrow = table.to_arrow(["id", "at"], where="id = 3")
    assert arrow.to_pylist() == [{"id": 3, "at": NOON + timedelta(hours=3)}]
    frame = table.to_pandas().sort_values("id", ignore_index=True)
    assert frame["at"][0].astimezone(ZoneInfo("Europe/Oslo")).hour == 14
    assert frame["n"].isna().tolist() == [False, False, True, False]
    assert str(frame["n"].dtype) == "int32[pyarrow]"
    polars = table.to_polars(where="id = 1")
    assert polars["at"].to_list() == [NOON + timedelta(hours=1)]
    with pytest.raises(kl.DefinitionError, match="rows is -1"):
        table.head(-1)
    with pytest.raises(kl.SchemaMismatch, match="'clicks'"):
        table.to_pandas(["clicks"])


def test_arguments_at_their_places(table: kl.KeyedTable) -> None:
    assert table.read(["id"]).columns == ["id"]
    assert len(table.history(1)) == 1
    assert kl.value_range("n", 0, 100).text == kl.value_range("n", at_least=0, at_most=100).text


def test_one_row_generators_and_lazy_frames(table: kl.KeyedTable) -> None:
    later = NOON + timedelta(days=1)
    assert table.update({"id": 1, "at": later, "n": 10}).rows == 1
    assert table.update({"id": n, "at": later, "n": 20} for n in (2, 3)).rows == 2
    frame = pl.DataFrame({"id": [0], "at": [later], "n": [30]}, schema_overrides={"n": pl.Int32})
    assert table.update(frame.lazy()).rows == 1
    row = table.get(id=1)
    assert row is not None
    assert table.upsert(row.model_copy(update={"at": later + timedelta(days=1), "n": 11})).rows == 1
    assert sorted(table.to_arrow().column("n").to_pylist()) == [11, 20, 20, 30]


@pytest.mark.slow
def test_rows_are_deleted_by_a_condition(table: kl.KeyedTable) -> None:
    done = table.delete(where="id >= 2 -- the last ones")
    assert done is not None
    assert (done.rows, done.repeated, table.history()[0].snapshot_id) == (2, False, done.snapshot_id)
    assert sorted(table.to_arrow().column("id").to_pylist()) == [0, 1]
    none = table.delete(where="id > 100")
    assert none is not None
    assert none.rows == 0
    assert table.delete(where="false") is None
    once = table.delete(where="id = 1", idempotency_key="one")
    again = table.delete(where="true", idempotency_key="one")
    assert once is not None
    assert again is not None
    assert (again.snapshot_id, again.repeated) == (once.snapshot_id, True)
    assert table.count() == 1
    draft = table.branch("tmp_less")
    draft.delete(where="true")
    assert (draft.count(), table.count()) == (0, 1)
    with pytest.raises(kl.DefinitionError, match="Give one of them"):
        table.delete()  # type: ignore[call-overload]
    with pytest.raises(kl.DefinitionError, match="Give one of them"):
        table.delete([{"id": 1}], where="id = 1")  # type: ignore[call-overload]
    with pytest.raises(kl.DefinitionError, match="alone: the statement gives each row its version"):
        table.delete(where="id = 1", version=3)  # type: ignore[call-overload]
    with pytest.raises(kl.KeylakeError, match="nothing"):
        table.delete(where="nothing = 1")
    assert table.count() == 1


@pytest.mark.slow
def test_statements_of_the_lake(lake: kl.Lake, table: kl.KeyedTable) -> None:
    found = lake.sql(f"SELECT n FROM {table.name} WHERE id = :id", id=3).collect()
    assert [row.n for row in found] == [3]
    with pytest.raises(kl.DefinitionError, match="statement is 5"):
        lake.sql(5)  # type: ignore[arg-type]
    with pytest.raises(kl.TableNotFound, match="nothing"):
        lake.sql("SELECT * FROM features.nothing")
    with pytest.raises(kl.SchemaMismatch, match="clacks"):
        lake.sql(f"SELECT clacks FROM {table.name}")


def test_an_error_of_a_frame_is_raised_and_not_printed(
    lake: kl.Lake, table: kl.KeyedTable, capfd: pytest.CaptureFixture[str]
) -> None:
    """pyspark prints a line of JSON with all traces, too."""
    with pytest.raises(PySparkException, match="clacks") as raised:
        lake.spark.sql(f"SELECT clacks FROM {table.name}").collect()
    assert "JVM stacktrace" not in str(raised.value)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"url": "localhost:15002"}, "Use 'sc://localhost:15002'"),
        ({"url": "./lake", "warehouse": "./other"}, "are two directories"),
        ({"url": 5}, "or a directory"),
    ],
)
def test_places_that_are_none(given: dict[str, str], says: str) -> None:
    with pytest.raises(kl.DefinitionError, match=says):
        kl.connect(**given)  # type: ignore[arg-type]


def test_a_directory_is_a_place(lake: kl.Lake, warehouse: Path) -> None:
    """With other words than those of the lake that is open it would start a server of its own."""
    assert lake._server is not None
    setup = lake._server.setup
    with kl.connect(warehouse, memory=setup.memory, settings=dict(setup.settings)) as again:
        assert again._server is lake._server


def frames(lake: kl.Lake) -> dict[str, object]:
    rows = [{"user": n, "day": date(2026, 7, n), "at": NOON, "spend": n / 2, "tags": [str(n)]} for n in range(1, 4)]
    arrow = pa.Table.from_pylist(rows)
    return {
        "rows": rows,
        "a generator": (row for row in rows),
        "arrow": arrow,
        "pandas": arrow.to_pandas(),
        "polars": pl.from_arrow(arrow),
        "spark": lake.spark.createDataFrame(arrow),
    }


@pytest.mark.parametrize("kind", ["rows", "a generator", "arrow", "pandas", "polars", "spark"])
def test_a_table_from_rows(lake: kl.Lake, kind: str) -> None:
    made = lake.create(frames(lake)[kind], name=fresh_name("made"), key=["user", "day"], ordering="at")  # type: ignore[call-overload]
    assert (made.spec.key, made.spec.ordering, made.count()) == (("user", "day"), "at", 3)
    row = made.get(user=2, day=date(2026, 7, 2))
    assert (row["at"], row["spend"], list(row["tags"])) == (NOON, 1.0, ["2"])
    again = lake.create(frames(lake)[kind], name=made.name, key=["user", "day"], ordering="at", if_exists="match")  # type: ignore[call-overload]
    assert again.count() == 3
    with pytest.raises(kl.TableExists):
        lake.create(frames(lake)[kind], name=made.name, key=["user", "day"], ordering="at")  # type: ignore[call-overload]
    lake.drop(made.name)


def test_rows_that_make_no_table(lake: kl.Lake) -> None:
    name = fresh_name("unmade")
    with pytest.raises(kl.DefinitionError, match=r"is no definition of a table.*; rows go with name= and key="):
        lake.create([{"id": 1}])
    with pytest.raises(kl.DefinitionError, match="needs key="):
        lake.create([{"id": 1}], name=name)
    with pytest.raises(kl.BadRows, match="no rows that say the columns"):
        lake.create([], name=name, key="id")
    with pytest.raises(kl.DefinitionError, match="each write says its version"):
        lake.create([{"id": 1, "a": 2}], name=name, key="id", versions="explicit")
    with pytest.raises(kl.KeylakeError, match="null"):
        lake.create([{"id": 1, "a": 2}, {"id": None, "a": 2}], name=name, key="id")
    with pytest.raises(kl.DefinitionError, match="'buckets'"):
        lake.create(kl.TableSpec.from_arrow(SCHEMA, name=name, key="id"), buckets=3)  # type: ignore[call-overload]
    assert name not in {each.name for each in lake.tables()}


def test_the_table_that_was_meant(lake: kl.Lake, table: kl.KeyedTable, warehouse: Path) -> None:
    wrong = f"{table.name}x"
    with pytest.raises(kl.TableNotFound, match=f"Did you mean '{re.escape(table.name)}'"):
        lake.table(wrong)
    with keylake.local.open(warehouse) as here, pytest.raises(kl.TableNotFound, match="Did you mean "):
        here.table(wrong)
    with pytest.raises(kl.TableNotFound) as raised:
        lake.table("zork.quux")
    assert "Did you mean" not in str(raised.value)


def test_the_procedure_that_was_meant(lake: kl.Lake, table: kl.KeyedTable) -> None:
    call = f"CALL {lake.catalog}.system.{{}}({{}} => '{table.name}')"
    with pytest.raises(kl.DefinitionError, match=r"no procedure 'compactt'\. Did you mean 'compact'\?"):
        lake.sql(call.format("compactt", "table"))
    with pytest.raises(kl.KeylakeError, match=r"quite_another") as raised:
        lake.sql(call.format("quite_another", "table"))
    assert "Did you mean" not in str(raised.value)
    with pytest.raises(kl.KeylakeError, match=r"tabel.*Did you mean.*table"):
        lake.sql(call.format("compact", "tabel"))
