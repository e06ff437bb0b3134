"""kl.join: features of many tables for samples, now and as of the samples' times."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import keylake as kl
from integration.twin import fresh_name

DAY = date(2026, 11, 1)
Keyed = kl.KeyedTable[Any]


def table(lake: kl.Lake, key: Mapping[str, pa.DataType], *values: str, buckets: int = 4) -> Keyed:
    fields = [pa.field(name, type_, nullable=False) for name, type_ in key.items()]
    schema = pa.schema([*fields, *(pa.field(name, pa.int64()) for name in values)])
    name = fresh_name("backfill")
    spec = kl.TableSpec.from_arrow(schema, name=name, key=list(key), versions="commit", buckets=buckets)
    return lake.create(spec)


ID_DAY = {"id": pa.int64(), "day": pa.date32()}
ID = {"id": pa.int64()}


@pytest.fixture(scope="module")
def clicks(lake: kl.Lake) -> Keyed:
    made = table(lake, ID_DAY, "clicks", "views")
    made.upsert([{"id": n, "day": DAY, "clicks": n, "views": 2 * n} for n in range(20)])
    made.update([{"id": n, "day": DAY, "clicks": 100 + n} for n in range(0, 20, 5)])
    return made


@pytest.fixture(scope="module")
def spend(lake: kl.Lake) -> Keyed:
    made = table(lake, ID_DAY, "spend", "views")
    made.upsert([{"id": n, "day": DAY, "spend": -n, "views": 7} for n in range(10, 30)])
    return made


@pytest.fixture(scope="module")
def users(lake: kl.Lake) -> Keyed:
    made = table(lake, ID, "age", buckets=6)
    made.upsert([{"id": n, "age": 20 + n} for n in range(40)])
    return made


SAMPLES = [{"id": n, "day": DAY, "label": n % 2} for n in (3, 5, 15, 15, 25, 39)]
EXPECTED = {
    3: (3, None, 23),
    5: (105, None, 25),
    15: (115, -15, 35),
    25: (None, -25, 45),
    39: (None, None, 59),
}


@pytest.mark.slow
def test_features_of_many_tables(lake: kl.Lake, clicks: Keyed, spend: Keyed, users: Keyed) -> None:
    arrow = pa.Table.from_pylist(SAMPLES)
    frame = lake.spark.createDataFrame(arrow)
    for samples in (SAMPLES, arrow, arrow.to_pandas(), frame):
        joined = kl.join(samples, [clicks["clicks"], spend["spend"], users], on=["id", "day"])
        assert joined.columns == ["id", "day", "label", "clicks", "spend", "age"]
        rows = joined.toArrow().to_pylist()
        assert sorted(row["id"] for row in rows) == [3, 5, 15, 15, 25, 39]
        assert {row["id"]: (row["clicks"], row["spend"], row["age"]) for row in rows} == EXPECTED


def test_samples_are_moved_once_for_all_tables_of_one_layout(
    lake: kl.Lake, clicks: Keyed, spend: Keyed, users: Keyed
) -> None:
    with_broadcasts = lake.spark.conf.get("spark.sql.autoBroadcastJoinThreshold")
    lake.spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    try:
        joined = kl.join(SAMPLES, [clicks["clicks"], spend["spend"]], on=["id", "day"])
        explained = kl.explain_join(joined)
        assert (explained.shuffles, explained.sorts) == (1, 1), explained
        assert "joined to by id, day, once for all of them" in str(explained)
        assert kl.explain_join(kl.join(SAMPLES, [clicks, users, spend["spend"]], on=["id", "day"])).shuffles == 2
        kl.assert_no_shuffle(kl.join(clicks["views"], [spend["spend"]], on=["id", "day"]))
        assert kl.explain_join(kl.join(clicks, [spend["spend"]], on=["id", "day"])).sorts == 0
    finally:
        lake.spark.conf.set("spark.sql.autoBroadcastJoinThreshold", str(with_broadcasts))


def test_samples_with_nulls_for_keys(clicks: Keyed) -> None:
    samples = pa.table({"id": pa.array([None, 3], pa.int64()), "day": pa.array([DAY, None], pa.date32())})
    rows = kl.join(samples, [clicks["clicks"]], on=["id", "day"]).toArrow().to_pylist()
    assert [row["clicks"] for row in rows] == [None, None]
    assert kl.join(samples, [clicks["clicks"]], on=["id", "day"], how="inner").count() == 0


def test_samples_whose_ids_are_ints(clicks: Keyed) -> None:
    samples = pd.DataFrame({"id": pd.array([3, 5], "int32"), "day": [DAY, DAY]})
    rows = kl.join(samples, [clicks["clicks"]], on=["id", "day"]).toArrow().to_pylist()
    assert sorted(row["clicks"] for row in rows) == [3, 105]


def test_what_cannot_be_joined_is_told(clicks: Keyed, spend: Keyed, users: Keyed) -> None:
    with pytest.raises(kl.DefinitionError, match=r"no column 'likes'"):
        _ = clicks["likes"]
    with pytest.raises(kl.DefinitionError, match="part of the key"):
        _ = clicks["id"]
    with pytest.raises(kl.DefinitionError, match=r"have a column 'views'.*prefixed"):
        kl.join(SAMPLES, [clicks["views"], spend["views"]], on=["id", "day"])
    both = kl.join(SAMPLES, [clicks["views"], spend["views"].prefixed("spend_")], on=["id", "day"])
    assert both.columns[-2:] == ["views", "spend_views"]
    with pytest.raises(kl.DefinitionError, match="a sample would become several rows"):
        kl.join(SAMPLES, [clicks["clicks"]], on="id")
    many = kl.join(SAMPLES, [clicks["clicks"]], on="id", validate="many_to_many")
    assert sorted(row.id for row in many.collect()) == [3, 5, 15, 15, 25, 39]
    with pytest.raises(kl.DefinitionError, match="no column of the key"):
        kl.join(SAMPLES, [users], on="day")
    with pytest.raises(kl.DefinitionError, match="samples have no column 'hour'"):
        kl.join(SAMPLES, [users], on="hour")
    with pytest.raises(kl.DefinitionError, match="no table"):
        kl.join(SAMPLES, [], on="id")
    with pytest.raises(kl.BadRows, match="of the type int"):
        kl.join(7, [users], on="id")
    with pytest.raises(kl.DefinitionError, match="time without a zone"):
        kl.join(pa.table({"id": [1], "at": [datetime(2026, 1, 1)]}), [users], on="id", as_of="at")


@pytest.mark.slow
def test_each_sample_gets_the_row_as_it_stood_at_its_time(lake: kl.Lake) -> None:
    made, other = table(lake, ID, "a"), table(lake, ID, "b")
    before = datetime.now(UTC) - timedelta(hours=1)
    times = [before]
    for value in (1, 2, 3):
        made.upsert([{"id": n, "a": 10 * value + n} for n in range(4)])
        if value == 2:
            other.upsert([{"id": 1, "b": 7}])
            made.delete([{"id": 2}])
        times.append(made.history(at_most=1)[0].committed_at)
    samples = [{"id": n, "at": at} for at in times for n in range(4)] + [{"id": 1, "at": None}]
    for how, count in (("left", 17), ("inner", 2)):
        rows = kl.join(samples, [made["a"], other["b"]], on="id", as_of="at", missing="null", how=how)
        rows = rows.toArrow().to_pylist()
        assert len(rows) == count
        for row in rows:
            value = None if row["at"] is None else times.index(row["at"].replace(tzinfo=UTC)) or None
            is_there = value is not None and not (value == 2 and row["id"] == 2)
            assert row["a"] == (10 * value + row["id"] if value and is_there else None)
            assert row["b"] == (7 if row["id"] == 1 and value and value >= 2 else None)
    explained = kl.explain_join(kl.join(samples, [made["a"], other["b"]], on="id", as_of="at", missing="null"))
    assert explained.shuffles <= 1


@pytest.mark.parametrize("how", ["left", "inner"])
def test_samples_from_before_a_table_are_refused(lake: kl.Lake, how: Any) -> None:
    made, empty = table(lake, ID, "a"), table(lake, ID, "b")
    made.upsert([{"id": 1, "a": 1}])
    at = made.history()[0].committed_at
    samples = [{"id": 1, "at": at}, {"id": 1, "at": at - timedelta(days=1)}]
    with pytest.raises(kl.BadRows, match=rf"{made.name} begins at {at.isoformat()[:19]}.*missing='null'"):
        kl.join(samples, [made["a"]], on="id", as_of="at", how=how)
    with pytest.raises(kl.BadRows, match=f"{empty.name} has no commit up to the latest sample"):
        kl.join(samples[:1], [made["a"], empty["b"]], on="id", as_of="at", how=how)
    with pytest.raises(kl.DefinitionError, match="missing is 'none'"):
        kl.join(samples, [made["a"]], on="id", as_of="at", missing="none")  # type: ignore[arg-type]
    joined = kl.join(samples, [made["a"]], on="id", as_of="at", how=how, missing="null").collect()
    assert sorted((row["a"] for row in joined), key=str) == ([1] if how == "inner" else [1, None])
    assert [row["a"] for row in kl.join(samples[:1], [made["a"]], on="id", as_of="at", how=how).collect()] == [1]
    none = kl.join(samples[1:], [made["a"]], on="id", as_of="at", how=how, missing="null").collect()
    assert [row["a"] for row in none] == ([] if how == "inner" else [None])
    with pytest.raises(kl.DefinitionError, match="Give as_of="):
        kl.join(samples, [made["a"]], on="id", missing="null")


def test_archived_states_come_before_snapshots(lake: kl.Lake) -> None:
    made = table(lake, ID, "a")
    for number, day in enumerate(("2026-11-01", "2026-11-02"), start=1):
        made.upsert([{"id": 1, "a": number}])
        made.archive(day)
    made.update([{"id": 1, "a": 15}], business_time="2026-11-02")
    made.upsert([{"id": 1, "a": 99}])
    samples = [{"id": 1, "on": date(2026, 11, day)} for day in (1, 2, 5)]
    joined = kl.join(samples, [made["a"]], on="id", as_of="on").toArrow().to_pylist()
    assert sorted((row["on"].day, row["a"]) for row in joined) == [(1, 1), (2, 15), (5, 15)]
    with pytest.raises(kl.SnapshotExpired, match=r"archived states of .* begin at 2026-11-01"):
        kl.join([{"id": 1, "on": date(2026, 10, 31)}], [made["a"]], on="id", as_of="on")


def test_columns_are_those_of_now_for_samples_of_any_time(lake: kl.Lake) -> None:
    """They are found by their ids: names may have been those of others."""
    name = f"{lake.catalog}.{fresh_name('backfill')}"
    run = lake.spark.sql
    run(f"CREATE TABLE {name} (id INT PRIMARY KEY, a INT, b INT, x INT, s STRUCT<m: INT>) USING keylake").collect()
    run(f"INSERT INTO {name} VALUES (1, 10, 20, 30, named_struct('m', 5))").collect()
    for change in (
        "RENAME COLUMN a TO c",
        "RENAME COLUMN b TO a",
        "RENAME COLUMN c TO b",
        "ALTER COLUMN a TYPE BIGINT",
        "DROP COLUMN x",
        "ADD COLUMN x INT",
        "ADD COLUMN y STRING",
    ):
        run(f"ALTER TABLE {name} {change}").collect()
    made = lake.table(name.partition(".")[2])
    before = made.history(at_most=1)[0].committed_at
    made.update([{"id": 1, "x": 31}])
    samples = [{"id": 1, "at": before}, {"id": 1, "at": made.history(at_most=1)[0].committed_at}]
    rows = kl.join(samples, [made["a", "b", "x", "y", "s"]], on="id", as_of="at").toArrow().to_pylist()
    now = {"a": 20, "b": 10, "y": None, "s": {"m": 5}}
    assert [{key: row[key] for key in ("a", "b", "y", "s")} for row in rows] == [now, now]
    assert [row["x"] for row in rows] == [None, 31]
    run(f"ALTER TABLE {name} ADD COLUMN s.n INT").collect()
    made = lake.table(made.name)
    made.update([{"id": 1, "x": 32}])
    with pytest.raises(kl.DefinitionError, match=r"Column 's' of .* has other members now"):
        kl.join(samples, [made["s"]], on="id", as_of="at").collect()
    assert kl.join(samples, [made["a"]], on="id", as_of="at").count() == 2


def test_history_that_has_expired_is_not_guessed(lake: kl.Lake) -> None:
    made = table(lake, ID, "a")
    made.upsert([{"id": 1, "a": 1}])
    at = made.history(at_most=1)[0].committed_at
    made.upsert([{"id": 1, "a": 2}])
    made.clean(kl.RetentionPolicy(days=0, snapshots=1))
    with pytest.raises(kl.SnapshotExpired, match="oldest snapshot"):
        kl.join([{"id": 1, "at": at}], [made["a"]], on="id", as_of="at")
