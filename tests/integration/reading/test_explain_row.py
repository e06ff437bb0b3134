"""Why a row reads as it does: values, versions, commits, contributions, and what lost."""

from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from random import Random
from typing import Literal

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

import keylake as kl
from integration.histories import Shape, operations
from integration.random_runs import FIRST, of_every_shape
from integration.twin import fresh_name

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("day", pa.string(), nullable=False),
        ("a", pa.int64()),
        ("text", pa.string()),
        ("total", pa.int64()),
        ("first", pa.int64()),
        ("list", pa.list_(pa.int32())),
    ]
)
TIERS = kl.CompactionPolicy(tier_runs=2, max_files=2, least_freed_share=0, superseded_share=1)
KEY: dict[str, object] = {"id": 1, "day": "monday"}
OTHER: dict[str, object] = {"id": 2, "day": "monday"}


def create(lake: kl.Lake, **words: object) -> kl.KeyedTable:
    spec = {
        "key": ["id", "day"],
        "versions": "explicit",
        "buckets": 2,
        "reducers": {"total": kl.Sum(), "first": kl.First()},
    }
    return lake.create(kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("explained"), **{**spec, **words}))


def write(table: kl.KeyedTable, stream: str, version: int, **columns: object) -> kl.Commit:
    """One row of the key, and one of another, so that files hold more than what is asked for."""
    return table.update([KEY | columns, OTHER | columns], version=version, stream=stream)


@pytest.fixture(scope="module")
def table(lake: kl.Lake) -> kl.KeyedTable:
    """Four commits; the second is late, the last repeats the version of the third."""
    made = create(lake)
    write(made, "web", 5, a=50, text="five", total=1, first=7, list=[1, 2])
    write(made, "late", 3, a=30, total=2, first=8)
    write(made, "web", 9, text="nine", total=4)
    write(made, "app", 9, text="again", first=6)
    return made


def test_values_with_their_origins(table: kl.KeyedTable) -> None:
    commits = list(reversed(table.history()))
    row = table.explain_row(**KEY)
    assert row.exists
    assert row.newest_write is not None
    assert (row.newest_write.version, row.newest_write.stream) == (9, "app")
    assert row.newest_delete is None
    assert [cell.column for cell in row.columns] == ["a", "text", "total", "first", "list"]
    a = row["a"]
    assert (a.value, a.version, a.stream, a.reducer) == (50, 5, "web", kl.Latest())
    assert (a.snapshot_id, a.committed_at) == (commits[0].snapshot_id, commits[0].committed_at)
    assert a.file is not None
    assert a.file.endswith(".parquet")
    assert [(lost.value, lost.version, lost.stream, lost.lost_because) for lost in a.lost] == [
        (30, 3, "late", "older version")
    ]
    assert row["list"].value == [1, 2]
    text = row["text"]
    assert (text.value, text.stream) == ("again", "app")
    assert [(lost.value, lost.lost_because) for lost in text.lost] == [
        ("nine", "earlier commit"),
        ("five", "older version"),
    ]


def test_contributions_to_accumulators(table: kl.KeyedTable) -> None:
    row = table.explain_row(**KEY)
    total = row["total"]
    assert (total.value, total.contribution_count, total.version) == (7, 3, 9)
    assert [(each.value, each.stream) for each in total.contributions] == [(4, "web"), (1, "web"), (2, "late")]
    first = row["first"]
    assert (first.value, first.version, first.stream, first.contribution_count) == (8, 3, "late", 1)
    assert [(lost.value, lost.lost_because) for lost in first.lost] == [(6, "later version"), (7, "later version")]


def test_a_row_as_text_and_in_a_notebook(table: kl.KeyedTable) -> None:
    row = table.explain_row(**KEY)
    lines = str(row).splitlines()
    assert lines[0].startswith(f"{table.name}, id=1, day=monday: newest write has version 9, commit ")
    assert lines[1].split() == ["column", "value", "version", "commit", "committed", "at", "stream", "why"]
    assert lines[2].startswith("a ")
    assert lines[2].endswith("web     Latest")
    assert lines[3].endswith("late    lost: older version")
    assert any(line.endswith("Sum of 3 stored contributions") for line in lines)
    assert "<td>lost: older version</td>" in row._repr_html_()


def test_keys_without_a_row(table: kl.KeyedTable) -> None:
    row = table.explain_row({"id": 77, "day": "monday"})
    assert (row.exists, row.newest_write, row.columns) == (False, None, ())
    assert str(row) == f"{table.name}, id=77, day=monday: no write of this key"
    with pytest.raises(kl.SchemaMismatch, match="no column 'a'"):
        row["a"]


def test_explain_row_of_a_table_without_a_commit(lake: kl.Lake) -> None:
    assert not create(lake).explain_row(**KEY).exists


@pytest.mark.slow
def test_deletes(lake: kl.Lake) -> None:
    """A tombstone removes registers by version, and contributions by the order of commits."""
    table = create(lake)
    write(table, "web", 5, a=50, total=1)
    write(table, "web", 9, text="nine")
    table.delete([KEY], version=7, stream="gone")
    row = table.explain_row(**KEY)
    assert row.exists
    assert row.newest_delete is not None
    assert (row.newest_delete.version, row.newest_delete.stream) == (7, "gone")
    assert (row["a"].value, row["a"].version, row["a"].stream) == (None, None, None)
    assert [lost.lost_because for lost in row["a"].lost] == ["deleted"]
    assert (row["total"].value, row["total"].contribution_count) == (None, 0)
    assert [lost.lost_because for lost in row["total"].lost] == ["deleted"]
    assert row["text"].value == "nine"

    deleted = table.delete([KEY], version=20)
    write(table, "late", 12, total=2)
    row = table.explain_row(**KEY)
    assert (row.exists, table.get(**KEY)) == (False, None)
    assert f"deleted at version 20, commit {deleted.snapshot_id}" in str(row).splitlines()[0]
    assert (row["total"].value, [each.value for each in row["total"].contributions]) == (None, [2])
    assert row["total"].missing_because == "waits for a newer write"


@pytest.mark.parametrize("way", ["full", "settle"])
def test_compacted_files(lake: kl.Lake, way: Literal["full", "settle"]) -> None:
    """What was merged is explained as it was written, while the snapshots before compactions are kept."""
    table = create(lake)
    write(table, "web", 5, a=50, total=1)
    write(table, "web", 3, a=30, total=2)
    table.compact(way)
    write(table, "web", 4, text="four")
    before = table.explain_row(**KEY)
    assert [each.value for each in before["a"].lost] == [30]
    table.compact(way)
    row = table.explain_row(**KEY)
    assert row == before
    assert (row["a"].stream, row["total"].contribution_count) == ("web", 2)
    table.clean(kl.RetentionPolicy(days=0, snapshots=1))
    late = table.explain_row(**KEY)
    assert [(cell.value, cell.version) for cell in late.columns] == [(c.value, c.version) for c in before.columns]
    if way == "full":
        assert (late["a"].commit, late["a"].is_merged, late["a"].lost) == ("merged", True, ())
        assert late["total"].contribution_count == 1


@pytest.mark.slow
@of_every_shape
def test_explanations_before_and_after_compactions(lake: kl.Lake, shape: Shape) -> None:
    twin = shape.create(lake, fresh_name("explained"))
    random = Random(FIRST)
    for operation in operations(shape, FIRST, count=14, rows=10):
        operation.apply(twin)
        rows = list(twin.model.read())
        if rows and random.random() < 0.4:
            keys = [dict(zip(shape.key, key, strict=True)) for key in random.sample(rows, min(3, len(rows)))]
            before = [str(twin.table.explain_row(key)) for key in keys]
            twin.table.compact(random.choice(["full", "settle", TIERS]))
            assert [str(twin.table.explain_row(key)) for key in keys] == before


@pytest.mark.slow
def test_files_that_an_undo_has_written(lake: kl.Lake) -> None:
    """A file that comes back has its commit again; one that the undo has merged has those of others."""
    table = create(lake)
    first = write(table, "web", 5, a=50)
    second = write(table, "app", 6, a=60, total=3)
    table.undo(after=first)
    a = table.explain_row(**KEY)["a"]
    assert (a.value, a.snapshot_id, a.lost) == (50, first.snapshot_id, ())
    table.undo(after=second)
    a = table.explain_row(**KEY)["a"]
    assert (a.value, a.version, a.snapshot_id) in [(60, 6, None), (60, 6, second.snapshot_id)]
    assert a.is_merged == (a.snapshot_id is None)


def test_an_expired_commit(lake: kl.Lake) -> None:
    table = create(lake)
    first = write(table, "web", 5, a=50)
    order = table.explain_row(**KEY)["a"].commit_order
    write(table, "web", 6, text="six")
    table.clean(kl.RetentionPolicy(days=0, snapshots=1))
    assert first.snapshot_id not in {commit.snapshot_id for commit in table.history()}
    a = table.explain_row(**KEY)["a"]
    assert (a.value, a.snapshot_id, a.committed_at, a.stream) == (50, None, None, None)
    assert (a.commit_order, a.is_merged) == (order, False)
    assert a.commit == f"expired, number {order}"


def test_files_that_cannot_have_the_key_are_not_opened(lake: kl.Lake) -> None:
    table = create(lake)
    table.update([{"id": number, "day": "x", "a": number} for number in range(100)], version=1)
    table.update([{"id": number, "day": "x", "a": number} for number in range(100, 200)], version=1)
    row = table.explain_row(id=7, day="x")
    files = lake.spark.sql(f"SELECT path FROM lake.{table.name}.keyed_files").collect()
    assert len(files) == 4
    for file in files:
        if file["path"] != row["a"].file:
            Path(file["path"].removeprefix("file:")).unlink()
    assert table.explain_row(id=7, day="x") == row
    with pytest.raises(PySparkException, match="parquet"):
        table.read().collect()
    lake.drop(table.name)


@pytest.mark.slow
def test_buckets_that_have_changed(lake: kl.Lake) -> None:
    table = create(lake)
    write(table, "web", 5, a=50)
    table.change_buckets(4)
    write(table, "app", 6, a=60, text="six")
    row = table.explain_row(**KEY)
    assert (row["a"].value, row["text"].value, [lost.value for lost in row["a"].lost]) == (60, "six", [50])


def test_a_table_that_is_all_key(lake: kl.Lake) -> None:
    spec = kl.TableSpec.from_arrow(
        pa.schema([pa.field("id", pa.int64(), nullable=False)]),
        name=fresh_name("explained"),
        key="id",
        versions="explicit",
        buckets=2,
    )
    table = lake.create(spec)
    first = table.upsert([{"id": 1}, {"id": 2}], version=3)
    deleted = table.delete([{"id": 2}], version=4)
    row = table.explain_row(id=1)
    assert (row.exists, row.columns) == (True, ())
    assert str(row) == f"{table.name}, id=1: newest write has version 3, commit {first.snapshot_id}"
    assert str(table.explain_row(id=2)) == f"{table.name}, id=2: deleted at version 4, commit {deleted.snapshot_id}"
    assert str(table.explain_row(id=3)) == f"{table.name}, id=3: no write of this key"


@pytest.mark.slow
def test_many_writes_of_a_key(lake: kl.Lake) -> None:
    """The newest 20 of a kind are listed."""
    table = create(lake)
    for version in range(24):
        write(table, "web", version, a=version, total=1)
    row = table.explain_row(**KEY)
    assert [lost.value for lost in row["a"].lost] == list(range(22, 2, -1))
    total = row["total"]
    assert (total.value, total.contribution_count, len(total.contributions)) == (24, 24, 20)


def test_explain_row_at_moments_and_on_branches(lake: kl.Lake, table: kl.KeyedTable) -> None:
    commits = list(reversed(table.history()))
    assert table.explain_row(**KEY, at=commits[1])["text"].value == "five"
    assert table.explain_row(**KEY, at=commits[1].committed_at)["text"].value == "five"
    lake.spark.sql(f"ALTER TABLE lake.{table.name} CREATE TAG third AS OF VERSION {commits[2].snapshot_id}").collect()
    assert table.explain_row(KEY, at="third")["text"].value == "nine"
    draft = table.branch("tmp_explained")
    write(draft, "draft", 11, a=110)
    assert draft.explain_row(**KEY)["a"].stream == "draft"
    assert table.explain_row(**KEY)["a"].stream == "web"
    assert draft.explain_row(**KEY, at=commits[0])["a"].lost == ()
    with pytest.raises(PySparkException, match="has no branch 'tmp_none'"):
        lake.spark.sql(f"{in_sql(table)}, branch => 'tmp_none')").collect()


@pytest.mark.slow
def test_experiments(lake: kl.Lake) -> None:
    table = create(lake)
    write(table, "web", 5, a=50)
    trial = table.experiment("trial", add={"score": kl.Int64})
    trial.update([KEY | {"score": 3}], version=5, stream="model")
    row = trial.explain_row(**KEY)
    assert (row["score"].value, row["score"].stream) == (3, "model")
    assert (row["a"].value, row["a"].stream) == (50, "web")
    assert [cell.column for cell in table.explain_row(**KEY).columns] == SCHEMA.names[2:]
    with pytest.raises(kl.Unsupported, match="earlier moments"):
        trial.explain_row(**KEY, at=1)


@pytest.mark.parametrize("call", [kl.KeyedTable.get, kl.KeyedTable.explain_row], ids=["get", "explain_row"])
def test_wrong_keys(table: kl.KeyedTable, call: Callable[..., object]) -> None:
    with pytest.raises(kl.SchemaMismatch, match=r"The key of .* is 'id', 'day', and \w+\(\) has 'id'\."):
        call(table, id=1)
    with pytest.raises(kl.SchemaMismatch, match=r"and \w+\(\) has 'id', 'day', 'hour'\."):
        call(table, id=1, day="monday", hour=3)
    with pytest.raises(kl.BadRows, match="id"):
        call(table, id="one", day="monday")
    with pytest.raises(kl.BadRows, match="null"):
        call(table, id=None, day="monday")


def test_a_key_given_twice_or_by_place(table: kl.KeyedTable) -> None:
    with pytest.raises(kl.SchemaMismatch, match=r"or as one mapping: explain_row\(id=\.\.\., day=\.\.\.\)\."):
        table.explain_row({"id": 1}, day="monday")
    with pytest.raises(kl.DefinitionError, match="The key is 7"):
        table.explain_row(7)  # type: ignore[arg-type]


def test_wrong_moments(table: kl.KeyedTable) -> None:
    with pytest.raises(kl.TableNotFound, match="no tag or branch 'nowhere'"):
        table.explain_row(**KEY, at="nowhere")
    with pytest.raises(kl.KeylakeError, match="17"):
        table.explain_row(**KEY, at=17)
    with pytest.raises(kl.KeylakeError, match="1999"):
        table.explain_row(**KEY, at=datetime(1999, 1, 1, tzinfo=timezone.utc))
    with pytest.raises(kl.DefinitionError, match="name two states"):
        table.explain_row(**KEY, at=1, as_of="2026-01-01")


def in_sql(table: kl.KeyedTable) -> str:
    return f"CALL lake.system.explain_row(table => '{table.name}', key => named_struct('ID', 1, 'day', 'monday')"


def test_explain_row_in_sql(lake: kl.Lake, table: kl.KeyedTable) -> None:
    call = in_sql(table)
    lines = [row.asDict() for row in lake.spark.sql(f"{call})").collect()]
    assert [(line["part"], line["version"]) for line in lines if line["column"] is None] == [("write", 9)]
    values = {line["column"]: line["value"] for line in lines if line["part"] == "value"}
    assert values == {"a": "50", "text": '"again"', "total": "7", "first": "8", "list": "[1,2]"}
    at = table.history()[-1].snapshot_id
    then = lake.spark.sql(f"{call}, at => {at})").collect()
    assert [row["value"] for row in then if row["column"] == "text"] == ['"five"']
    when = table.history()[0].committed_at.isoformat(sep=" ")
    now = lake.spark.sql(f"{call}, at => TIMESTAMP '{when}')").collect()
    assert next(row["value"] for row in now if row["column"] == "text") == '"again"'
    by_place = lake.spark.sql(
        f"CALL lake.system.explain_row('{table.name}', named_struct('id', 9, 'day', 'x'), NULL, {at})"
    )
    assert by_place.isEmpty()
    plain = f"{table.name}_plain"
    lake.spark.sql(f"CREATE TABLE lake.{plain} (id BIGINT) USING iceberg").collect()
    with pytest.raises(PySparkException, match="is not keyed"):
        lake.spark.sql(f"CALL lake.system.explain_row('{plain}', named_struct('id', 9))").collect()


@pytest.mark.parametrize(
    ("key", "condition", "said"),
    [
        ("named_struct('id', 1)", "SCHEMA_MISMATCH", "is 'id', 'day', and explain_row has 'id'"),
        ("named_struct('id', 1, 'hour', 2)", "SCHEMA_MISMATCH", "explain_row has 'id', 'hour'"),
        ("named_struct('id', 1.5, 'day', 'x')", "BAD_ROWS", "column 'id' is long and cannot hold the value 1.5"),
        ("named_struct('id', NULL, 'day', 'x')", "BAD_ROWS", "column 'id' of the key is null"),
        ("7", "DEFINITION", "argument 'key' of explain_row is int"),
        ("CAST(NULL AS STRUCT<id: INT>)", "DEFINITION", "argument 'key' of the procedure is NULL"),
    ],
)
def test_wrong_keys_in_sql(lake: kl.Lake, table: kl.KeyedTable, key: str, condition: str, said: str) -> None:
    with pytest.raises(PySparkException) as raised:
        lake.spark.sql(f"CALL lake.system.explain_row(table => '{table.name}', key => {key})").collect()
    assert raised.value.getCondition() == f"KEYLAKE_{condition}"
    assert said in str(raised.value)
