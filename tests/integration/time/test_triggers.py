"""Triggers: every closed interval, and every commit, once, whatever fails in between and whoever starts again."""

import json
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

import keylake as kl
from integration.shared_lake import TIME_ZONE
from integration.twin import fresh_name
from keylake._server.statements import TablePath
from keylake._table.positions import Positions
from keylake._triggers.triggers import Triggers

SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), pa.field("at", pa.timestamp("us", "UTC"))])
NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)


def at(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def create(lake: kl.Lake) -> kl.KeyedTable:
    return lake.create(kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("triggers"), key=["k"], buckets=1))


def write(table: kl.KeyedTable, minutes: float, watermark: float | None = None, stream: str | None = None) -> kl.Commit:
    """A row of that minute, by which its stream is complete up to the watermark: that minute, too, unless said."""
    reached = at(minutes if watermark is None else watermark)
    rows = [{"k": round(minutes * 60), "at": at(minutes)}]
    return table.upsert(rows, stream=stream, watermark=reached)


def triggers_of(lake: kl.Lake) -> Triggers:
    """The triggers of another process, as it were."""
    return Triggers(lake._session)


class Runs(list[kl.Interval]):
    """Keeps the intervals it is called with, and raises for those it is told to, once each."""

    def __init__(self, *fails: float) -> None:
        super().__init__()
        self.fails = {at(minutes) for minutes in fails}

    def __call__(self, interval: kl.Interval) -> None:
        if interval.start in self.fails:
            self.fails.remove(interval.start)
            raise ZeroDivisionError("as it was told")
        self.append(interval)

    @property
    def starts(self) -> list[float]:
        return [(interval.start - NOON) / timedelta(minutes=1) for interval in self]


@pytest.fixture
def triggers(lake: kl.Lake) -> Iterator[Triggers]:
    own = triggers_of(lake)
    yield own
    own.stop()


# -------------------------------------------------------------------------------------------------------- intervals


@pytest.mark.slow
def test_every_interval_is_run_once_when_all_streams_are_past_it(lake: kl.Lake, triggers: Triggers) -> None:
    table = create(lake)
    write(table, 2, stream="web")
    write(table, 3, stream="app")
    every, web = Runs(), Runs()
    all_streams = triggers.every(5, table, every, name="all")
    triggers.every(5, table, web, name="web", stream="web")
    assert triggers.run_due() == ()
    one = write(table, 11, stream="web")
    write(table, 1, 4.99, stream="app")  # late, and not yet at the end
    assert [fired.trigger for fired in triggers.run_due()] == ["web", "web"]
    two = write(table, 5, stream="app")
    write(table, 2, stream="app")  # a watermark never goes back
    (fired,) = triggers.run_due()
    three = write(table, 20, stream="app")
    triggers.run_due()
    assert every.starts == web.starts == [0, 5]
    assert [interval.snapshot_id for interval in web] == [one.snapshot_id] * 2
    assert [interval.snapshot_id for interval in every] == [two.snapshot_id, three.snapshot_id]
    assert (every[0].end, fired.what, fired.table) == (at(5), every[0], table.name)
    assert len({interval.key for interval in (*every, *web)}) == 4
    assert (all_streams.position(), all_streams.lag()) == (at(10), 0)
    write(table, 21, stream="web")
    assert all_streams.lag() == 2
    assert triggers.log()[-1].trigger == "web"


@pytest.mark.slow
def test_the_first_interval(lake: kl.Lake, triggers: Triggers) -> None:
    table = create(lake)
    early, since, late = Runs(), Runs(), Runs()
    waiting = triggers.every(1, table, early, name="early")
    assert (waiting.position(), waiting.lag(), triggers.run_due()) == (None, 0, ())
    write(table, 2.5)
    write(table, 5)  # nobody looked in between
    triggers.every(1, table, since, name="since", since=at(1.5))
    triggers.every(1, table, late, name="late")
    triggers.every(1, table, Runs(), name="unknown", stream="nobody")
    triggers.run_due()
    write(table, 6)
    triggers.run_due()
    assert (early.starts, since.starts, late.starts) == ([2, 3, 4, 5], [1, 2, 3, 4, 5], [5])


def test_a_run_that_fails_is_tried_again_and_hinders_no_other(lake: kl.Lake, triggers: Triggers) -> None:
    table = create(lake)
    runs, others = Runs(5), Runs()
    write(table, 0)
    trigger = triggers.every(5, table, runs, name="fails")
    triggers.every(5, table, others, name="other")
    write(table, 15)
    with pytest.raises(
        kl.TriggerFailed, match=r"'fails' failed for 2026-11-01 12:05 to 12:10 UTC.* as it was"
    ) as caught:
        triggers.run_due()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert isinstance(caught.value.what, kl.Interval)
    assert (runs.starts, others.starts, trigger.position()) == ([0], [0, 5, 10], at(5))
    (failed,) = [entry for entry in triggers.log() if entry.error]
    assert failed.what == caught.value.what
    assert failed.error == str(caught.value)
    triggers.run_due()
    assert runs.starts == [0, 5, 10]


def test_the_next_commit_is_waited_for_though_the_first_have_expired(lake: kl.Lake) -> None:
    table = create(lake)
    for minutes in range(3):
        write(table, minutes)
    table.compact("full")
    table.clean(kl.RetentionPolicy(days=0, snapshots=1))
    events: list[kl.CommitEvent] = []
    triggers = triggers_of(lake)
    triggers.on_commit(table, events.append, name="next")
    assert table.wait(seconds=0) == ()
    commit = write(table, 3)
    triggers.run_due()
    assert [event.commit.snapshot_id for event in events] == [commit.snapshot_id]


@pytest.mark.slow
def test_another_process_goes_on_where_the_first_one_was(lake: kl.Lake, warehouse: Path) -> None:
    table = create(lake)
    write(table, 0)
    first, second = Runs(), Runs(10)
    triggers = triggers_of(lake)
    triggers.every(5, table, first, name="resumes")
    write(table, 10)
    triggers.run_due()
    write(table, 20)
    settings = {"spark.sql.session.timeZone": TIME_ZONE, "spark.keylake.maintenance.enabled": "false"}
    with kl.connect(warehouse=warehouse, memory="2g", settings=settings) as again:
        again.triggers.every(5, again.table(table.name), second, name="resumes", since=at(0))
        with pytest.raises(kl.TriggerFailed):
            again.triggers.run_due()
        again.triggers.run_due()
    assert triggers.run_due() == ()
    assert (first.starts, second.starts) == ([0, 5], [10, 15])
    with pytest.raises(kl.DefinitionError, match="stands at 2026-11-01 12:20 UTC, where no interval of 60 minutes"):
        triggers_of(lake).every(60, table, first, name="resumes")


def test_of_two_with_one_name_one_moves_on(lake: kl.Lake) -> None:
    table, counts = create(lake), create(lake)
    write(table, 0)
    ours, theirs = triggers_of(lake), triggers_of(lake)
    runs = Runs()

    def count(interval: kl.Interval) -> None:
        runs(interval)
        counts.upsert([{"k": len(runs), "at": interval.start}], idempotency_key=interval.key)

    def race(interval: kl.Interval) -> None:
        count(interval)
        if len(runs) == 1:
            assert [fired.what for fired in theirs.run_due()] == [interval]  # and there is no more yet
            write(table, 10)

    ours.every(5, table, race, name="race")
    theirs.every(5, table, count, name="race")
    write(table, 5)
    assert [fired.what for fired in ours.run_due()] == [runs[2]]
    assert theirs.run_due() == ()
    assert runs.starts == [0, 0, 5]
    assert [row["k"] for row in counts.read().orderBy("k").toArrow().to_pylist()] == [1, 3]


# -------------------------------------------------------------------------------------------------------------- SQL


@pytest.mark.slow
def test_sql_that_is_repeated_after_a_crash_writes_once(lake: kl.Lake, triggers: Triggers) -> None:
    table, target = create(lake), create(lake)
    for minutes in (0, 1, 6, 11):
        write(table, minutes)
    statement = f"""INSERT INTO lake.{target.name} (k, at)
        SELECT count(*), :start FROM lake.{table.name} VERSION AS OF :snapshot_id WHERE at >= :start AND at < :end"""
    triggers.every(5, table, statement, name="sql", since=at(0))
    assert len(triggers.run_due()) == 2
    Positions(lake._session, TablePath(table.name), "trigger").move("sql", before=micros(at(10)), to=micros(at(0)))
    assert len(triggers.run_due()) == 2
    assert [commit.idempotency_key for commit in reversed(target.history())] == [
        f"sql/{table.name}/2026-11-01T12:00Z/2026-11-01T12:05Z",
        f"sql/{table.name}/2026-11-01T12:05Z/2026-11-01T12:10Z",
    ]
    assert target.read().orderBy("k").toArrow().to_pylist() == [{"k": 1, "at": at(5)}, {"k": 2, "at": at(0)}]
    target.update([{"k": 9}])
    lake.spark.sql(f"INSERT INTO lake.{target.name} (k) VALUES (10)").toArrow()
    assert [commit.idempotency_key for commit in target.history()[:2]] == [None, None]  # the key is nobody else's


def micros(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


@pytest.mark.slow
def test_sql_that_fails_is_told_and_tried_again(lake: kl.Lake, triggers: Triggers) -> None:
    table = create(lake)
    write(table, 0)
    lake.spark.range(1).createOrReplaceTempView("seen")
    triggers.every(5, table, "SELECT 1 / (SELECT count(*) FROM seen WHERE id > 0)", name="divides")
    trigger = triggers.every(5, table, "SELECT * FROM lake.nowhere.t; SELECT 1", name="wrong")
    write(table, 5)
    with pytest.raises(kl.TriggerFailed, match=r"'divides' failed for .*: .*[Dd]ivision by zero") as caught:
        triggers.run_due()
    assert isinstance(caught.value.__cause__, kl.KeylakeError)
    assert trigger.position() == at(0)
    assert "syntax" in str(triggers.log()[0].error).lower()
    lake.spark.range(3).createOrReplaceTempView("seen")
    triggers.remove("wrong")
    assert [fired.trigger for fired in triggers.run_due()] == ["divides"]


# ---------------------------------------------------------------------------------------------------- commit events


@pytest.mark.slow
def test_every_commit_is_sent_once_over_restarts(lake: kl.Lake) -> None:
    table = create(lake)
    write(table, 0)
    events: list[kl.CommitEvent] = []
    told: list[str] = []
    triggers = triggers_of(lake)
    triggers.on_commit(table, events.append, name="list")
    triggers.on_commit(table, lambda event: told.append(event.to_json()), name="all", after=0)
    triggers.run_due()
    assert (len(events), len(told)) == (0, 1)
    two, three = write(table, 1, stream="web"), table.delete([{"k": 0}])
    triggers.run_due()
    again = triggers_of(lake)
    again.on_commit(table, events.append, name="list")
    four = table.update([{"k": 7}])
    again.run_due()
    assert triggers.run_due()[0].trigger == "all"
    sent = [event.commit.snapshot_id for event in events]
    assert sent == [commit.snapshot_id for commit in (two, three, four)]
    assert [event.commit for event in events] == list(reversed(table.history()))[1:]
    assert [json.loads(text)["snapshot_id"] for text in told][1:] == sent
    message = json.loads(told[1])
    assert (message["table"], message["branch"], message["verb"], message["rows"]) == (table.name, None, "upsert", 1)
    assert (message["stream"], message["columns"], message["key"]) == ("web", ["at"], f"all/{table.name}/{sent[0]}")
    assert datetime.fromisoformat(message["committed_at"]) == events[0].commit.committed_at
    assert {consumer.name: consumer.commits_behind for consumer in table.consumers()} == {"all": 0, "list": 0}


def test_after_a_rollback_new_commits_are_sent_and_old_ones_are_not_again(lake: kl.Lake, triggers: Triggers) -> None:
    table = create(lake)
    events: list[kl.CommitEvent] = []
    triggers.on_commit(table, events.append, name="list")
    one, two = write(table, 1), write(table, 2)
    triggers.run_due()
    table.rollback(to=one)
    assert triggers.run_due() == ()
    three = write(table, 3)
    triggers.run_due()
    assert [event.commit.snapshot_id for event in events] == [commit.snapshot_id for commit in (one, two, three)]


def test_a_branch_has_triggers_of_its_own(lake: kl.Lake, triggers: Triggers) -> None:
    table = create(lake)
    write(table, 0)
    draft = table.branch("tmp_draft")
    runs, events = Runs(), list[kl.CommitEvent]()
    triggers.every(5, draft, runs, name="each")
    triggers.on_commit(draft, events.append, name="list")
    commit = write(draft, 7)
    write(table, 17)
    triggers.run_due()
    assert [(interval.start, interval.snapshot_id) for interval in runs] == [(at(0), commit.snapshot_id)]
    (event,) = events
    assert (event.table, event.branch, event.commit.snapshot_id) == (table.name, "tmp_draft", commit.snapshot_id)


# ------------------------------------------------------------------------------------------------- thread, bad input


@pytest.mark.slow
def test_a_thread_runs_what_is_due_and_outlives_failures(lake: kl.Lake, triggers: Triggers) -> None:
    table = create(lake)
    runs, events = Runs(0), list[kl.CommitEvent]()
    write(table, 0)
    triggers.every(1, table, runs, name="each")
    triggers.on_commit(table, events.append, name="list")
    triggers.start(seconds=0.1)
    write(table, 2)
    until = time.monotonic() + 60
    while (len(runs), len(events)) != (2, 1) and time.monotonic() < until:
        time.sleep(0.05)
    assert "2 triggers, started" in str(triggers)
    triggers.stop()
    assert (runs.starts, len(events), triggers.is_started) == ([0, 1], 1, False)
    assert [bool(entry.error) for entry in reversed(triggers.log()) if entry.trigger == "each"] == [True, False, False]
    assert "<td>each</td>" in triggers._repr_html_()
    assert "2026-11-01 12:02:00+00:00" in str(triggers)
    write(table, 3)
    assert "keylake triggers" not in {thread.name for thread in threading.enumerate()}  # stop() waited for its end
    assert runs.starts == [0, 1]


def test_a_trigger_may_remove_itself(lake: kl.Lake, triggers: Triggers) -> None:
    table = create(lake)
    write(table, 0)
    runs = Runs()

    def once(interval: kl.Interval) -> None:
        runs(interval)
        triggers.remove("once")

    triggers.every(5, table, once, name="once")
    write(table, 15)
    triggers.run_due()
    triggers.run_due()
    assert (runs.starts, len(triggers), triggers.log()) == ([0], 0, ())
    assert Positions(lake._session, TablePath(table.name), "trigger").all() == {}


def test_triggers_that_are_refused(lake: kl.Lake, triggers: Triggers) -> None:
    table = create(lake)
    triggers.every(5, table, Runs(), name="taken")
    for sentence, wrong in {
        "already: Trigger\\('taken': every 5 min of triggers": lambda: triggers.every(5, table, Runs(), name="taken"),
        "do not fill a day": lambda: triggers.every(7, table, Runs(), name="new"),
        "17 cannot be run": lambda: triggers.every(5, table, 17, name="new"),  # type: ignore[arg-type]
        "is empty": lambda: triggers.every(5, table, " ", name="new"),
        "'SELECT 1' cannot be run": lambda: triggers.on_commit(table, "SELECT 1", name="new"),  # type: ignore[arg-type]
        "since 2026-11-01 .* no time zone": lambda: triggers.every(
            5, table, Runs(), name="new", since=datetime(2026, 11, 1)
        ),
        "'a b' cannot be a name": lambda: triggers.every(5, table, Runs(), name="a b"),
        "no trigger 'new' here. Registered: 'taken'": lambda: triggers.remove("new"),
        "more than 0": lambda: triggers.start(seconds=0),
    }.items():
        with pytest.raises(kl.DefinitionError, match=sentence):
            wrong()
    assert Positions(lake._session, TablePath(table.name), "trigger").all().keys() == {"taken"}
    assert len(triggers) == 1
