"""Closed intervals that late rows come into are run again: those, and no others, whatever fails in between."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

import keylake as kl
from integration.random_runs import seeds
from integration.twin import fresh_name
from keylake._triggers import corrections
from keylake._triggers.triggers import Triggers

SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), pa.field("at", pa.timestamp("us", "UTC"))])
NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)


def at(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def minutes_of(moment: datetime) -> int:
    return round((moment - NOON) / timedelta(minutes=1))


@pytest.fixture
def table(lake: kl.Lake) -> kl.KeyedTable:
    return lake.create(kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("late"), key="k", ordering="at", buckets=1))


@pytest.fixture
def triggers(lake: kl.Lake) -> Triggers:
    """The triggers of a process."""
    return Triggers(lake._session)


def write(table: kl.KeyedTable, *minutes: float, watermark: float | None = None) -> kl.Commit:
    rows = [{"k": round(each * 60), "at": at(each)} for each in minutes]
    return table.upsert(rows, watermark=None if watermark is None else at(watermark))


class Counts(dict[int, int]):
    """Counts the rows of each interval it is run for; tells in `ran` which, and raises when it is told to."""

    def __init__(self, table: kl.KeyedTable) -> None:
        super().__init__()
        self.table = table
        self.ran: list[tuple[int, bool]] = []
        self.fails = False

    def __call__(self, interval: kl.Interval) -> None:
        self.ran.append((minutes_of(interval.start), interval.late))
        if self.fails:
            raise ZeroDivisionError("as it was told")
        rows = self.table.read(at=interval.snapshot_id).toArrow()["at"].to_pylist()
        self[minutes_of(interval.start)] = sum(1 for each in rows if interval.start <= each < interval.end)

    def taken(self) -> list[tuple[int, bool]]:
        ran, self.ran = self.ran, []
        return ran


@pytest.mark.slow
def test_an_interval_with_late_rows_is_run_again(triggers: Triggers, table: kl.KeyedTable) -> None:
    counts = Counts(table)
    write(table, 0)
    trigger = triggers.every(5, table, counts, name="counts", since=at(0), corrections=True)
    write(table, 1, 4, 6, watermark=10)
    write(table, 7)  # its interval was complete before, and it comes before the run
    triggers.run_due()
    assert counts.taken() == [(0, False), (5, False), (5, True)]
    assert counts == {0: 3, 5: 2}
    late = write(table, 2, 12)
    write(table, 13, watermark=15)
    (first, second) = triggers.run_due()
    assert counts.taken() == [(10, False), (0, True)]
    assert counts == {0: 4, 5: 2, 10: 2}
    assert isinstance(first.what, kl.Interval)
    assert isinstance(second.what, kl.Interval)
    assert (first.what.late, second.what.late) == (False, True)
    assert late.snapshot_id is not None
    assert second.what.key.endswith(f"/late/{table.history()[0].snapshot_id}")
    assert triggers.run_due() == ()
    table.delete([{"k": 120, "at": at(3)}])
    table.compact("full")
    triggers.run_due()
    assert counts.taken() == [(0, True)]
    assert counts[0] == 3
    assert trigger.position() == at(15)


@pytest.mark.slow
def test_a_correction_that_fails_comes_again_in_any_process(
    lake: kl.Lake, triggers: Triggers, table: kl.KeyedTable
) -> None:
    counts = Counts(table)
    write(table, 0, watermark=10)
    triggers.every(5, table, counts, name="fails", since=at(0), corrections=True)
    triggers.run_due()
    write(table, 1, 6)
    counts.fails = True
    with pytest.raises(kl.TriggerFailed, match="12:00 to 12:05"):
        triggers.run_due()
    counts.fails = False
    again = Triggers(lake._session)
    again.every(5, table, counts, name="fails", corrections=True)
    counts.taken()
    again.run_due()
    assert counts.taken() == [(0, True), (5, True)]
    assert (triggers.run_due(), again.run_due()) == ((), ())
    names = {each.name for each in table.feed.consumers()}
    again.remove("fails")
    assert names - {each.name for each in table.feed.consumers()} == {"fails.late"}


@pytest.mark.slow
def test_commits_without_late_rows_may_expire(
    triggers: Triggers, table: kl.KeyedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(table, 0, watermark=5)
    triggers.every(5, table, Counts(table), name="passes", corrections=True)
    monkeypatch.setattr(corrections, "_MOST_BEHIND", 3)
    behind = []
    for minute in range(6, 12):
        write(table, minute)
        triggers.run_due()
        behind.append(table.feed.consumers()[0].commits_behind)
    assert behind == [1, 2, 0, 1, 2, 0]


@pytest.mark.slow
def test_statements_know_that_they_correct(lake: kl.Lake, triggers: Triggers, table: kl.KeyedTable) -> None:
    name = fresh_name("hourly")
    lake.spark.sql(
        f"CREATE TABLE {lake.catalog}.{name} (start TIMESTAMP, rows BIGINT, late BOOLEAN, PRIMARY KEY (start)) "
        "USING keylake TBLPROPERTIES ('versions' = 'commit')"
    ).collect()
    statement = (
        f"INSERT INTO {lake.catalog}.{name} SELECT :start, count(*), :late FROM {lake.catalog}.{table.name} "
        "WHERE at >= :start AND at < :end"
    )
    write(table, 0)
    triggers.every(5, table, statement, name="sql", since=at(0), corrections=True)
    write(table, 1, watermark=5)
    triggers.run_due()
    counted = lake.table(name)
    assert [(row.rows, row.late) for row in counted.read().collect()] == [(2, False)]
    write(table, 2)
    triggers.run_due()
    assert [(row.rows, row.late) for row in counted.read().collect()] == [(3, True)]


def test_a_step_is_run_again(lake: kl.Lake, triggers: Triggers, table: kl.KeyedTable, tmp_path: Path) -> None:
    name = fresh_name("step")
    lake.spark.sql(
        f"CREATE TABLE {lake.catalog}.{name} (start STRING, late STRING, PRIMARY KEY (start)) USING keylake "
        "TBLPROPERTIES ('versions' = 'commit')"
    ).collect()
    script = tmp_path / "corrected.sql"
    script.write_text(f"INSERT INTO {lake.catalog}.{name} VALUES ('${{start}}', '${{late}}')")
    write(table, 0, watermark=5)
    step = kl.SqlStep(script, every=5, table=table.name, corrections=True)
    kl.register_steps(lake, [step], since=at(0), triggers=triggers)
    triggers.run_due()
    write(table, 1)
    triggers.run_due()
    assert [row.late for row in lake.table(name).read().collect()] == ["true"]


@pytest.mark.parametrize("ordering", [None, "n"])
def test_a_table_without_event_times_has_no_corrections(
    lake: kl.Lake, triggers: Triggers, ordering: str | None
) -> None:
    schema = pa.schema([pa.field("k", pa.int64(), nullable=False), ("n", pa.int64())])
    spec = kl.TableSpec.from_arrow(schema, name=fresh_name("late"), key="k", ordering=ordering, buckets=1)
    with pytest.raises(kl.DefinitionError, match="corrections=True needs the event time of rows"):
        triggers.every(5, lake.create(spec), print, name="none", corrections=True)
    assert len(triggers) == 0


def test_a_long_name_leaves_room_for_a_second_one(triggers: Triggers, table: kl.KeyedTable) -> None:
    with pytest.raises(kl.DefinitionError, match="has at most 95 letters"):
        triggers.every(5, table, print, name="x" * 96, corrections=True)
    triggers.every(5, table, print, name="x" * 95, corrections=True)
    assert [each.name for each in table.feed.consumers()] == ["x" * 95 + ".late"]


@pytest.mark.parametrize("seed", seeds(2, 30))
def test_counts_of_closed_intervals_are_right_in_the_end(lake: kl.Lake, table: kl.KeyedTable, seed: int) -> None:
    """Rows come in any order, runs fail at times, processes begin anew, and commits are compacted and expire."""
    draw = Random(seed)
    counts = Counts(table)
    reached = 0
    triggers = Triggers(lake._session)
    write(table, 0)
    triggers.every(5, table, counts, name="random", since=at(0), corrections=True)
    for _ in range(25):
        step = draw.random()
        if step < 0.55:
            reached += draw.choice([0, 0, 1, 4, 9])
            minutes = {draw.randint(0, reached + 8) + draw.random() for _ in range(draw.randint(1, 3))}
            write(table, *minutes, watermark=draw.choice([None, reached]))
        elif step < 0.8:
            counts.fails = draw.random() < 0.3
            with suppress(kl.TriggerFailed):
                triggers.run_due()
            counts.fails = False
        elif step < 0.9:
            triggers = Triggers(lake._session)
            triggers.every(5, table, counts, name="random", corrections=True)
        else:
            table.compact("full")
            table.clean(kl.RetentionPolicy(days=0, snapshots=1))
    triggers.run_due()
    counts.taken()
    triggers.run_due()
    assert counts.taken() == []
    rows = [(each - NOON) / timedelta(minutes=1) for each in table.read().toArrow()["at"].to_pylist()]
    assert counts == {start: sum(1 for each in rows if start <= each < start + 5) for start in counts}
