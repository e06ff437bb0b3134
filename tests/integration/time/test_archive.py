"""Archived states by business time: made from main, filled in, corrected by late writes, and dropped by rule."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

import keylake as kl
from integration.histories import Shape
from integration.refusals import refused, refused_in_sql
from integration.twin import Twin, fresh_name

EXPLICIT = Shape("explicit", buckets=2)
FIRST = datetime(2026, 11, 1, tzinfo=UTC)


def rows(first: int, after: int, value: int) -> list[dict[str, object]]:
    return [{"id": key, "a": value, "b": "text", "c": 0.5, "d": None, "e": 1} for key in range(first, after)]


def archived(lake: kl.Lake) -> Twin:
    """A table of 100 rows at the first of November, and 150 at the fourth."""
    twin = EXPLICIT.create(lake, fresh_name("archive"))
    twin.upsert(rows(0, 100, 1), version=1)
    twin.table.archive("2026-11-01")
    twin.upsert(rows(50, 150, 2), version=5)
    return twin


def values(table: kl.KeyedTable, of: object) -> dict[int, int]:
    """How many rows there are of each value of column a."""
    found = table.read(as_of=of).groupBy("a").count().collect()  # type: ignore[arg-type]
    return {row["a"]: row["count"] for row in found}


@pytest.mark.slow
def test_missing_times_are_filled_in(lake: kl.Lake) -> None:
    twin = archived(lake)
    table = twin.table
    made = table.archive(date(2026, 11, 4))
    assert [state.business_time for state in made] == [FIRST + timedelta(days=day) for day in (1, 2, 3)]
    assert [state.branch for state in made][-1] == "history_20261104T000000Z"
    assert table.archive("2026-11-04") == (), "it is there already"
    assert values(table, "2026-11-01") == {1: 100}
    assert values(table, "2026-11-02") == values(table, "2026-11-03") == {1: 100}, "nothing had come by then"
    assert values(table, "2026-11-04") == {1: 50, 2: 100}
    later = table.archive(datetime(2026, 11, 4, 12, tzinfo=UTC), every=timedelta(hours=6))
    assert [state.business_time.hour for state in later] == [6, 12]
    assert len(table.archive(datetime(2026, 11, 9, tzinfo=UTC))) == 1, "a time, and no step"
    twin.check()


def test_states_and_watermarks_of_far_years(lake: kl.Lake) -> None:
    """A count of nanoseconds ends in the year 2262; states and watermarks go on to the last one that Python has."""
    twin = EXPLICIT.create(lake, fresh_name("archive"))
    far = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    twin.table.upsert(rows(0, 3, 1), version=1, stream="far", watermark=far)
    assert twin.table.commits.watermarks() == {"far": far}
    assert twin.table.history()[0].watermark == far
    (state,) = twin.table.states.archive(far)
    assert state.business_time == far
    assert values(twin.table, far) == {1: 3}


@pytest.mark.slow
def test_a_late_write_corrects_later_states(lake: kl.Lake) -> None:
    twin = archived(lake)
    table = twin.table
    table.archive("2026-11-04")
    late = table.upsert(rows(40, 60, 3), version=3, business_time="2026-11-02", stream="late", idempotency_key="k")
    twin.model.upsert(rows(40, 60, 3), 3)
    twin.check()
    assert values(table, "2026-11-01") == {1: 100}, "earlier states are untouched"
    assert values(table, "2026-11-02") == values(table, "2026-11-03") == {1: 80, 3: 20}
    assert values(table, "2026-11-04") == {1: 40, 2: 100, 3: 10}, "newer values are safe"
    assert table.get(id=45, as_of="2026-11-02").a == 3  # type: ignore[union-attr]
    assert table.explain_row(id=45, as_of="2026-11-02")["a"].value == 3
    states = table.history_branches()
    assert [state.late_writes for state in states] == [0, 1, 1, 1]
    assert {state.table for state in states} == {table.name}
    assert set(states) <= set(lake.history_branches())
    again = table.upsert(rows(40, 60, 9), version=9, business_time="2026-11-02", idempotency_key="k")
    assert again.snapshot_id == late.snapshot_id, "once"
    between = table.update([{"id": 0, "a": 7}], version=7, business_time="2026-11-03T06:00:00+02:00")
    twin.model.update([{"id": 0, "a": 7}], 7)
    assert between.rows == 1
    assert [table.get(id=0, as_of=f"2026-11-0{day}").a for day in (2, 3, 4)] == [1, 1, 7]  # type: ignore[union-attr]
    table.delete([{"id": 1}], version=8, business_time="2026-12-01")
    twin.model.delete([{"id": 1}], 8)
    assert table.get(id=1, as_of="2026-11-04") is not None, "no state is as late as that"
    twin.check()
    changed = table.changes(as_of="2026-11-04", after=states[3].snapshot_id)
    assert [row["id"] for row in changed.collect()] == [0]
    assert table.appended(as_of="2026-11-03", after=states[0].snapshot_id).count() == 20
    table.archive("2026-11-05")
    assert values(table, "2026-11-05") == {1: 38, 2: 100, 3: 10, 7: 1}


def test_a_gap_has_the_late_writes_of_the_state_before(lake: kl.Lake) -> None:
    twin = archived(lake)
    table = twin.table
    table.archive(datetime.now(UTC).replace(microsecond=0) + timedelta(days=30), every=timedelta(0))
    table.update([{"id": 0, "a": 7}], version=7, business_time="2026-11-01")
    between = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)
    assert len(table.archive(between)) == 1
    assert values(table, between) == {1: 49, 2: 100, 7: 1}, "what main is by then"
    assert len(table.archive("2026-11-02")) == 1
    assert values(table, "2026-11-02") == {1: 99, 7: 1}, "the state before, as it is now"


def test_the_same_in_sql(lake: kl.Lake) -> None:
    twin = EXPLICIT.create(lake, fresh_name("archive"))
    twin.upsert(rows(0, 100, 1), version=1)
    call = f"CALL {lake.catalog}.system.archive(table => '{twin.table.name}', business_time => '2026-11-01')"
    assert [row["branch"] for row in lake.spark.sql(call).collect()] == ["history_20261101T000000Z"]
    options = "'business_time' = '2026-11-01', 'version_value' = '7', 'watermark' = '2026-11-01T08:00:00+02:00'"
    lake.spark.sql(f"INSERT INTO {twin.sql_name} WITH ({options}) (id, a) SELECT 5L, 7L").collect()
    assert values(twin.table, "2026-11-01") == {1: 99, 7: 1}
    assert twin.table.watermarks() == {"": datetime(2026, 11, 1, 6, tzinfo=UTC)}
    with refused_in_sql(lake, twin.table.name, "DEFINITION", "'2026-11-01 08:00' is no point in time"):
        lake.spark.sql(call.replace("2026-11-01", "2026-11-01 08:00")).collect()


@pytest.mark.parametrize("versions", ["commit", "ordering"])
def test_other_versions(lake: kl.Lake, versions: str) -> None:
    twin = Shape(versions, buckets=1).create(lake, fresh_name("archive"))  # type: ignore[arg-type]
    at = {"t": FIRST} if versions == "ordering" else {}
    twin.upsert([row | at for row in rows(0, 10, 1)])
    twin.table.archive("2026-11-01")
    late = {"t": FIRST - timedelta(days=1)} if versions == "ordering" else {}
    twin.table.upsert([row | late for row in rows(0, 12, 2)], business_time="2026-11-01")
    twin.model.upsert([row | late for row in rows(0, 12, 2)])
    twin.check()
    expected = {2: 12} if versions == "commit" else {1: 10, 2: 2}
    assert values(twin.table, "2026-11-01") == expected


def test_states_are_dropped_by_rule(lake: kl.Lake) -> None:
    twin = EXPLICIT.create(lake, fresh_name("archive"))
    table = twin.table
    twin.upsert(rows(0, 100, 1), version=1)
    now = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    for days in (400, 399, 45, 44, 3):
        table.archive(now - timedelta(days=days), every=timedelta(0))
    kept = kl.RetentionPolicy(history_days=10, history_months=3)
    before = len(table.history_branches())
    done = table.clean(kept)
    left = [state.business_time for state in table.history_branches()]
    assert done.states_dropped == before - len(left)
    assert now - timedelta(days=3) in left
    assert now - timedelta(days=399) not in left
    assert all(now - time < timedelta(days=100) for time in left)
    assert len({(time.year, time.month) for time in left}) >= len(left) - 1, "one of each month that is past"
    twin.check()


def test_business_times_that_are_none(lake: kl.Lake) -> None:
    twin = archived(lake)
    table, name = twin.table, twin.table.name
    east, west = (timezone(timedelta(hours=hours)) for hours in (14, -10))
    assert len(table.archive(datetime(2026, 11, 2, 14, tzinfo=east))) == 1
    assert table.archive(datetime(2026, 11, 1, 14, tzinfo=west)) == (), "the same time in another zone"
    with refused(lake, name, kl.DefinitionError, "has no time zone"):
        table.archive(datetime(2026, 11, 1))
    with refused(lake, name, kl.DefinitionError, "'yesterday' is no business time"):
        table.archive("yesterday")
    with refused(lake, name, kl.DefinitionError, "part of a second"):
        table.archive(datetime(2026, 11, 1, microsecond=1, tzinfo=UTC))
    with refused(lake, name, kl.TableNotFound, "no archived state of 2027-01-01T00:00:00Z", "it has 2 from"):
        table.read(as_of="2027-01-01")
    with refused(lake, name, kl.TableNotFound, "had no commit yet at 2020-01-01"):
        table.archive("2020-01-01")
    with refused(lake, name, kl.DefinitionError, "more than 1000 times", "longer step"):
        table.archive("2099-01-01")
    with refused(lake, name, kl.DefinitionError, "not with overwrite"):
        table.overwrite(rows(0, 1, 1), version=1, business_time="2026-11-01")
    with refused(lake, name, kl.DefinitionError, "name two states"):
        table.read(at=twin.commits[0], as_of="2026-11-01")
    with refused(lake, name, kl.DefinitionError, "What is archived is main"):
        table.branch("tmp_x").archive("2026-11-01")
    empty = EXPLICIT.create(lake, fresh_name("archive")).table
    with refused(lake, empty.name, kl.NothingToDo, "nothing to archive"):
        empty.archive("2026-11-01")
