"""Small writes without Spark: what they commit is what the server's writes would have committed."""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from pyiceberg.table import Table

import keylake as kl
import keylake.local
from integration.histories import Shape, operations_until
from integration.random_runs import FIRST, of_every_shape
from integration.twin import fresh_name


class Turns:
    """A table whose writes go through Spark or not, as it comes; all else is the table's."""

    def __init__(self, table: kl.KeyedTable, local: keylake.local.LocalTable, seed: int) -> None:
        self._table = table
        self._local = local
        self._draw = Random(seed)
        self.written_here = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    def upsert(self, rows: Any, **words: Any) -> kl.Commit:
        return self._by_turns("upsert", rows, words)

    def update(self, rows: Any, **words: Any) -> kl.Commit:
        return self._by_turns("update", rows, words)

    def delete(self, rows: Any, **words: Any) -> kl.Commit:
        return self._by_turns("delete", rows, words)

    def _by_turns(self, verb: str, rows: Any, words: dict[str, Any]) -> kl.Commit:
        is_small = set(words) <= {"version"} and isinstance(words.get("version"), int | str | None)
        if is_small and self._draw.random() < 0.7:
            try:
                commit: kl.Commit = getattr(self._local, verb)(rows, **words)
            except kl.Unsupported as refused:
                assert "through Spark" in str(refused)  # noqa: PT017  # the way on is said
            else:
                self.written_here += 1
                return commit
        written: kl.Commit = getattr(self._table, verb)(rows, **words)
        return written


@pytest.mark.slow
@of_every_shape
def test_writers_take_turns(lake: kl.Lake, warehouse: Path, shape: Shape) -> None:
    seed = FIRST + 11
    twin = shape.create(lake, fresh_name("turns"))
    with keylake.local.open(warehouse) as local:
        turns = Turns(twin.table, local.table(twin.table.name), seed)
        twin.table = turns  # type: ignore[assignment]
        accumulates = any(reducer.accumulates for reducer in shape.reducers.values())
        until = operations_until(lambda: turns.written_here or accumulates, shape, seed, 8, 12, forms=("arrow", "rows"))
        for operation in until:
            print(operation)
            operation.apply(twin)
        twin.check()
        twin.check_stamps()
        twin.check(commits=5)
        history = turns.history()
        assert [info.snapshot_id for info in history] == [commit.snapshot_id for commit in reversed(twin.commits)]
        assert [info.rows for info in history] == [commit.rows for commit in reversed(twin.commits)]
        assert [info.versions for info in history] == [commit.versions for commit in reversed(twin.commits)]
        assert local.table(twin.table.name).history() == history
        turns.compact("full")
        twin.check()
        twin.check_stamps()
        there = local.table(twin.table.name)
        assert there.history(3, compactions=True) == turns.history(3, compactions=True)
        turns.undo(everything=True)
        assert there.history() == turns.history()


class Profile(kl.Table, name="local.profile", buckets=4):
    """A table whose versions are those of an ordering column."""

    user: UUID = kl.key()
    at: datetime = kl.ordering()
    city: str | None = kl.column()
    clicks: kl.Int64 | None = kl.column()


NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)


def profile(number: int, minute: int, **values: object) -> Profile:
    return Profile(user=UUID(int=number), at=NOON + timedelta(minutes=minute), **values)  # type: ignore[arg-type]


def test_late_rows_lose_and_the_history_says_who_wrote(lake: kl.Lake, warehouse: Path) -> None:
    table = lake.create(Profile)
    with keylake.local.open(warehouse) as opened:
        local = opened.table(Profile)
        first = local.upsert([profile(1, 5, city="Oslo", clicks=4), profile(2, 5, city="Rome", clicks=1)], stream="web")
        assert (first.rows, first.versions is not None) == (2, True)
        local.update([{"user": UUID(int=1), "at": NOON, "clicks": 3}], stream="app", watermark=NOON)
        local.delete([profile(2, 4)])
        table.update([{"user": UUID(int=2), "at": NOON + timedelta(minutes=9), "clicks": 7}])
        assert local.get(user=UUID(int=1)) == table.get(user=UUID(int=1)) == profile(1, 5, city="Oslo", clicks=4)
        assert local.get(user=UUID(int=2)) == table.get(user=UUID(int=2)) == profile(2, 9, city="Rome", clicks=7)
    _, deleted, updated, upserted = table.history()
    assert [info.verb for info in (upserted, updated, deleted)] == ["upsert", "update", "delete"]
    assert [info.stream for info in (upserted, updated, deleted)] == ["web", "app", None]
    assert [set(info.columns) for info in (upserted, updated, deleted)] == [
        {"at", "city", "clicks"},
        {"at", "clicks"},
        set(),
    ]
    assert upserted.writer == table.history()[0].writer
    assert table.changes(after=first).where(f"user = '{UUID(int=2)}'").count() == 1
    undone = table.undo(after=upserted, until=updated)
    assert undone.commits == 1
    assert table.get(user=UUID(int=1)) == profile(1, 5, city="Oslo", clicks=4)


NUMBERS = pa.schema([pa.field("id", pa.int64(), nullable=False), ("n", pa.int64()), ("text", pa.string())])


def numbers(lake: kl.Lake, **words: Any) -> kl.KeyedTable:
    return lake.create(kl.TableSpec.from_arrow(NUMBERS, name=fresh_name("small"), key="id", **{"buckets": 4, **words}))


@pytest.mark.slow
def test_writers_at_once_lose_nothing(lake: kl.Lake, warehouse: Path) -> None:
    table = numbers(lake)

    def here(number: int) -> list[kl.Commit]:
        with keylake.local.open(warehouse) as opened:
            return [opened.table(table.name).update([{"id": 100 * number + k, "n": k}]) for k in range(6)]

    def by_spark(number: int) -> list[kl.Commit]:
        return [table.update([{"id": 100 * number + k, "n": k}]) for k in range(6)]

    with ThreadPoolExecutor(4) as threads:
        running = [threads.submit(write, number) for number, write in enumerate([here, by_spark, here, here])]
    commits = [commit for each in running for commit in each.result()]
    assert table.read().count() == 24
    history = table.history()
    assert {info.snapshot_id: info.versions for info in history} == {
        each.snapshot_id: each.versions for each in commits
    }
    versions = [info.versions[0] for info in history if info.versions]
    assert versions == sorted(versions, reverse=True), "later commits have the larger versions"
    table.update([{"id": 1, "text": "x"}], idempotency_key="once")
    summaries = lake.spark.sql(f"SELECT summary['keylake.taken_in'] AS t FROM {lake.catalog}.{table.name}.snapshots")
    assert summaries.toPandas()["t"].tolist()[-1] == "1-24"


def test_what_was_settled_stays_so(lake: kl.Lake, warehouse: Path) -> None:
    table = numbers(lake)
    table.update([{"id": k, "n": 0} for k in range(40)], watermark=NOON)
    table.update([{"id": k, "n": 1} for k in range(0, 40, 3)])
    table.compact("settle")
    with keylake.local.open(warehouse) as opened:
        opened.table(table.name).update([{"id": 7, "text": "x"}])
    assert [(row["id"], row["n"], row["text"]) for row in table.read(where="id = 7").toArrow().to_pylist()] == [
        (7, 0, "x")
    ]
    assert table.read(where="n = 1").count() == 14
    name = f"{lake.catalog}.{table.name}"
    said = [row[0] for row in lake.spark.sql(f"SELECT summary FROM {name}.snapshots ORDER BY committed_at").collect()]
    carried = {"keylake.settled_through", "keylake.watermarks", "keylake.highest_version", "keylake.taken_in"}
    assert carried <= set(said[-1])
    assert said[-1]["keylake.settled_through"] == said[-2]["keylake.settled_through"]


def test_a_branch(lake: kl.Lake, warehouse: Path) -> None:
    table = numbers(lake)
    table.update([{"id": 1, "n": 1}])
    nightly = table.branch("tmp_nightly")
    with keylake.local.open(warehouse) as opened:
        opened.table(table.name).update([{"id": 2, "n": 2}], branch="tmp_nightly")
        with pytest.raises(kl.TableNotFound, match="no branch 'weekly'"):
            opened.table(table.name).update([{"id": 2, "n": 2}], branch="weekly")
    assert (nightly.read().count(), table.read().count()) == (2, 1)
    nightly.publish()
    assert table.read().count() == 2


def test_old_metadata_files_go_with_commits(lake: kl.Lake, warehouse: Path) -> None:
    table = numbers(lake)
    lake.spark.sql(
        f"ALTER TABLE {lake.catalog}.{table.name} SET TBLPROPERTIES ("
        "'write.metadata.delete-after-commit.enabled' = 'true', 'write.metadata.previous-versions-max' = '3')"
    ).collect()
    with keylake.local.open(warehouse) as opened:
        local = opened.table(table.name)
        for number in range(8):
            local.update([{"id": 1, "n": number}])
        assert local.get(id=1) is not None
    assert len(list(warehouse.joinpath(*table.name.split(".")).rglob("*.metadata.json"))) <= 5
    assert table.read().count() == 1


def test_a_branch_of_a_table_without_commits(lake: kl.Lake, warehouse: Path) -> None:
    """Iceberg makes an empty commit for it. How long a branch is kept stays what it was."""
    table = numbers(lake)
    name = f"{lake.catalog}.{table.name}"
    lake.spark.sql(f"ALTER TABLE {name} CREATE BRANCH tmp_first RETAIN 7 DAYS").collect()
    with keylake.local.open(warehouse) as opened:
        local = opened.table(table.name)
        first = local.update([{"id": 2, "n": 2}], branch="tmp_first")
        local.delete([{"id": 3}], branch="tmp_first")
        assert [len(local.read(branch="tmp_first")), len(local.read())] == [1, 0]
        assert local.get(id=2, at=first) is not None
    branch = table.branch("tmp_first")
    branch.update([{"id": 4, "n": 4}])
    said = lake.spark.sql(f"SELECT summary['keylake.taken_in'] FROM {name}.snapshots ORDER BY committed_at").collect()
    assert [row[0] for row in said] == [None, "1", "1-2", "1-3"]
    kept = lake.spark.sql(f"SELECT max_reference_age_in_ms FROM {name}.refs WHERE name = 'tmp_first'").collect()
    assert [row[0] for row in kept] == [7 * 86_400_000]
    branch.publish()
    assert sorted(row.id for row in table.read().collect()) == [2, 4]


@pytest.mark.parametrize(
    ("rows", "words", "kind", "says"),
    [
        ([{"id": 1, "total": 2}], {}, kl.Unsupported, "reduced by Sum"),
        ([{"id": None, "n": 2}], {}, kl.BadRows, "'id' is null in row 0"),
        ([{"id": 1, "m": 2}], {}, kl.SchemaMismatch, "no column 'm'"),
        ([{"id": 1, "n": "many"}], {}, kl.BadRows, "'n'"),
        ([{"id": k, "n": 1} for k in range(10_001)], {}, kl.Unsupported, "at most 10,000"),
        ([{"id": 1, "n": 1}], {"branch": "experiment_x"}, kl.Unsupported, "experiment"),
        ([{"id": 1, "n": 1}], {"version": 1.5}, kl.DefinitionError, "version"),
    ],
)
def test_what_is_refused_writes_nothing(
    lake: kl.Lake, warehouse: Path, rows: Any, words: Any, kind: type[Exception], says: str
) -> None:
    schema = NUMBERS.append(pa.field("total", pa.int64()))
    spec = kl.TableSpec.from_arrow(
        schema, name=fresh_name("refused"), key="id", buckets=2, reducers={"total": kl.Sum()}
    )
    table = lake.create(spec)
    with keylake.local.open(warehouse) as opened, pytest.raises(kind, match=says):
        opened.table(table.name).update(rows, **words)
    assert len(table.history()) == 0
    assert not list(Path(warehouse, *table.name.split("."), "data").rglob("*.parquet"))


def test_a_table_of_another_engine_is_not_written(lake: kl.Lake, warehouse: Path) -> None:
    table = numbers(lake)
    table.update([{"id": 1, "n": 1}])
    with keylake.local.open(warehouse) as opened:
        strange = opened._catalog.load_table(table.name)
        strange.manage_snapshots().create_tag(strange.current_snapshot().snapshot_id, "before").commit()  # type: ignore[union-attr]
        opened.table(table.name).update([{"id": 2, "n": 1}])
        assert table.read().count() == 2


EVERY_TYPE = pa.schema(
    [
        pa.field("name", pa.string(), nullable=False),
        pa.field("day", pa.date32(), nullable=False),
        ("flag", pa.bool_()),
        ("small", pa.int32()),
        ("single", pa.float32()),
        ("double", pa.float64()),
        ("money", pa.decimal128(9, 2)),
        ("more", pa.decimal128(18, 4)),
        ("most", pa.decimal128(38, 10)),
        ("at", pa.timestamp("us")),
        ("zoned", pa.timestamp("us", tz="UTC")),
        ("text", pa.string()),
        ("bytes", pa.binary()),
        ("fixed", pa.binary(4)),
        ("id", pa.uuid()),
        ("list", pa.list_(pa.int64())),
        ("place", pa.struct([("x", pa.float64()), ("label", pa.string())])),
        ("map", pa.map_(pa.string(), pa.int32())),
    ]
)


def of_every_type(number: int) -> dict[str, object]:
    return {
        "name": f"{'long ' * 8}{number}",
        "day": date(2026, 11, number),
        "flag": number % 2 == 0,
        "small": -number,
        "single": 0.5 * number,
        "double": (float("nan"), -7.25, 1.5, None)[number % 4],
        "money": Decimal(number) / 4,
        "more": -Decimal(number) / 8,
        "most": Decimal(10) ** 20 + number,
        "at": datetime(1969, 12, 31, 23, 59, number),
        "zoned": NOON + timedelta(microseconds=number),
        "text": None if number == 3 else "é" * 20 + chr(0x10FFFF) * number,
        "bytes": b"\xff" * (14 + number),
        "fixed": bytes([number] * 4),
        "id": UUID(int=number),
        "list": [number, None],
        "place": None if number == 2 else {"x": float(number), "label": "here"},
        "map": {"k": number},
    }


@pytest.mark.slow
def test_files_and_manifests_say_what_those_of_the_server_say(lake: kl.Lake, warehouse: Path) -> None:
    rows = [of_every_type(number) for number in range(1, 6)]
    words: dict[str, Any] = {"bucket_by": "name", "partition_by": "day", "buckets": 2}
    tables = [
        lake.create(kl.TableSpec.from_arrow(EVERY_TYPE, name=fresh_name("types"), key=["name", "day"], **words))
        for _ in range(2)
    ]
    arrow = pa.Table.from_pylist(rows, schema=EVERY_TYPE)
    tables[0].upsert(arrow)
    tables[0].update(arrow.select(["name", "day", "list", "text"]))
    with keylake.local.open(warehouse) as opened:
        opened.table(tables[1].name).upsert(arrow)
        opened.table(tables[1].name).update(arrow.select(["name", "day", "list", "text"]))
        by_spark, here = (files(opened._catalog.load_table(table.name)) for table in tables)
        local = [opened.table(table.name).read().to_arrow().sort_by("name").to_pylist() for table in tables]
    assert repr(local[0]) == repr(local[1])
    assert repr(sorted(map(repr, tables[0].read().collect()))) == repr(sorted(map(repr, tables[1].read().collect())))
    assert by_spark == here


def test_clocks_that_are_wrong(lake: kl.Lake, warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Iceberg's Java reads no table whose commits go back in time, and makes no such commit."""
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("a", pa.int64())])
    made = lake.create(kl.TableSpec.from_arrow(schema, name=fresh_name("clocks"), key="id", buckets=1))
    made.upsert([{"id": 1, "a": 0}])
    now = time.time
    with keylake.local.open(warehouse) as opened:
        table = opened.table(made.name)
        for days in (-1, 1, 0):
            with monkeypatch.context() as patched:
                patched.setattr(time, "time", lambda behind=86_400 * days: now() + behind)
                table.update([{"id": 1, "a": days}])
            assert [row.a for row in made.read().collect()] == [days]
            assert repr(made.get(id=1)) == repr(table.get(id=1))
    statement = f"ALTER TABLE {lake.catalog}.{made.name}"
    for change in (
        lambda: made.update([{"id": 1, "a": 7}]),
        lambda: made.branch("tmp_clocks"),
        lambda: made.layout.change_buckets(2),
        lambda: lake.spark.sql(f"{statement} ADD COLUMN z INT"),
        lambda: lake.spark.sql(f"{statement} SET TBLPROPERTIES ('team' = 'us')"),
    ):
        with pytest.raises(kl.CommitConflict, match=r"this machine's clock says .* nothing was changed"):
            change()


def files(table: Table) -> list[dict[str, object]]:
    """What manifests say of each file, but for its name, its bytes, and the moment of its version."""
    version = table.schema().find_field("_merge_info.version").field_id
    snapshot = table.current_snapshot()
    assert snapshot is not None
    entries = [entry for manifest in snapshot.manifests(table.io) for entry in manifest.fetch_manifest_entry(table.io)]
    return sorted(
        (
            {
                "partition": str(file.partition),
                "rows": file.record_count,
                "order": file.sort_order_id,
                "values": named(table, file.value_counts),
                "nulls": named(table, file.null_value_counts),
                "nans": named(table, file.nan_value_counts),
                "lower": named(table, {id_: bound for id_, bound in file.lower_bounds.items() if id_ != version}),
                "upper": named(table, {id_: bound for id_, bound in file.upper_bounds.items() if id_ != version}),
            }
            for file in (entry.data_file for entry in entries)
        ),
        key=repr,
    )


def named(table: Table, by_id: dict[int, Any]) -> dict[str, Any]:
    names = {id_: table.schema().find_column_name(id_) or "" for id_ in by_id}
    inside = ("list.", "map.")
    return {names[id_]: value for id_, value in sorted(by_id.items()) if not names[id_].startswith(inside)}
