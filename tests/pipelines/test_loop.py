"""The loop of a pipeline over files that arrive: what it writes, where it goes on, and who may run it."""

import datetime
import json
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.types import IntegerType, LongType, StringType

import keylake as kl
from integration.streams.arriving import arrive
from integration.twin import fresh_name
from keylake._triggers.steps import SqlStep
from keylake_pipelines.files.source import FilesSource
from keylake_pipelines.runner import state as state_module
from keylake_pipelines.runner.control import resnapshot, resume, states, stop
from keylake_pipelines.runner.loop import run
from keylake_pipelines.runner.settings import AsTheyAre
from keylake_pipelines.runner.steps import TableStep
from keylake_pipelines.source.tables import SourceColumn, SourceSchema, SourceTable, TableCreated
from pipelines.scripted import Changed, Log, found, settings, table


@pytest.fixture
def namespace() -> str:
    return fresh_name("pipelines").replace(".", "_")


def arrive_in(folder: Path, name: str, *rows: dict[str, object]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    arrive(folder, name, *rows)


ORDERS = SourceSchema(
    table("shop.orders"), (SourceColumn("id", LongType()), SourceColumn("total", IntegerType(), "in cents")), ("id",)
)
PEOPLE = SourceSchema(
    table("shop.people"), (SourceColumn("id", LongType()), SourceColumn("name", StringType())), ("id",)
)


class Reread(Log):
    """Notes which tables are to be read once more."""

    def __init__(self, events: Sequence[Changed | TableCreated]) -> None:
        super().__init__(events)
        self.asked: list[str] = []

    def reread(self, table: SourceTable) -> bool:
        self.asked.append(str(table))
        return True


@pytest.mark.slow
def test_what_is_to_be_read_once_more_is_asked_for_again_after_a_stop(lake: kl.Lake, namespace: str) -> None:
    """A stop, or a kill, between the wish and the positions that say it loses nothing."""
    log = Reread([TableCreated(ORDERS), Changed("shop.orders", {"id": 1, "total": 1})])
    run(log, lake, settings(namespace, namespace))
    resnapshot(lake, namespace, f"{namespace}.orders")
    at_once = threading.Event()
    at_once.set()
    run(log, lake, settings(namespace, namespace), ending=at_once)
    assert log.asked == ["shop.orders"]
    run(log, lake, settings(namespace, namespace))
    assert log.asked == ["shop.orders"] * 2
    run(log, lake, settings(namespace, namespace))
    assert log.asked == ["shop.orders"] * 2, "the positions of the run before say it"


@pytest.mark.slow
def test_files_of_several_tables(lake: kl.Lake, namespace: str, tmp_path: Path) -> None:
    arrive_in(tmp_path / "orders", "1", {"op": "c", "id": 1, "total": 10, "city": "Oslo"}, {"id": 2, "total": 20})
    arrive_in(tmp_path / "people", "1", {"id": 7, "name": "Ann", "born": None})
    report = run(FilesSource(tmp_path, key=["id"]), lake, settings(namespace, namespace))
    assert report.rows == 3
    orders, people = lake.table(f"{namespace}.orders"), lake.table(f"{namespace}.people")
    assert found(orders) == {1: {"id": 1, "total": 10, "city": "Oslo"}, 2: {"id": 2, "total": 20}}
    assert found(people) == {7: {"id": 7, "name": "Ann"}}
    # Another process goes on: absent columns stay, a field is new, a row is deleted, a line is no JSON.
    arrive_in(tmp_path / "orders", "2", {"op": "u", "id": 1, "total": 11, "note": "gift"}, {"op": "d", "id": 2})
    (tmp_path / "orders" / "3.json").write_text('{"id": 3, "total": 30}\nno json\n{"op": "x", "id": 4}\n')
    report = run(FilesSource(tmp_path, key=["id"]), lake, settings(namespace, namespace))
    assert (report.rows, report.dead_letters) == (3, 2)
    assert found(orders) == {1: {"id": 1, "total": 11, "city": "Oslo", "note": "gift"}, 3: {"id": 3, "total": 30}}
    letters = lake.table("keylake.dead_letters").read(where=f"pipeline = '{namespace}'").toArrow().to_pylist()
    assert sorted((row["source"], row["row"], row["reason"][:20]) for row in letters) == [
        ("orders", "no json", "The line is no JSON:"),
        ("orders", '{"id":4}', "op is 'x'. Use c, u,"),
    ]
    assert run(FilesSource(tmp_path, key=["id"]), lake, settings(namespace, namespace)).rows == 0
    [state] = [each for each in states(lake) if each.name == namespace]
    assert (state.state, state.rows, state.lag, state.last_error, state.process) == (
        "stopped",
        6,
        "0 files",
        None,
        os.getpid(),
    )
    # A file that was read stays as it was.
    os.utime(tmp_path / "orders" / "1.json", (1, 1))
    with pytest.raises(kl.BadRows, match=r"'orders/1\.json' has changed after it was read"):
        run(FilesSource(tmp_path, key=["id"]), lake, settings(namespace, namespace))
    [state] = [each for each in states(lake) if each.name == namespace]
    assert state.state == "failed"
    assert "has changed after it was read" in str(state.last_error)


def test_tables_that_are_there_are_opened_and_the_others_are_made(lake: kl.Lake, namespace: str) -> None:
    """They are listed, not asked for one by one; a name has its case, and one may be of a plain table."""
    named = SourceSchema(table("shop.NaMes"), PEOPLE.columns, ("id",))
    plain = SourceSchema(table("shop.plain"), PEOPLE.columns, ("id",))
    events = [Changed(str(each.table), {"id": 1}) for each in (ORDERS, PEOPLE, named, plain)]
    lake.create(
        kl.TableSpec.of(
            [kl.Column("id", LongType()), kl.Column("name", StringType())],
            name=f"{namespace}.people",
            key=["id"],
            versions="explicit",
        )
    )
    lake.spark.sql(f"CREATE TABLE {lake.catalog}.{namespace}.plain (id BIGINT) USING iceberg").collect()
    report = run(Log(events, [ORDERS, PEOPLE, named, plain]), lake, settings(namespace, namespace))
    assert report.set_aside == (f"{namespace}.plain",)
    for name in ("orders", "people", "NaMes"):
        assert found(lake.table(f"{namespace}.{name}")) == {1: {"id": 1}}


class Keyed(AsTheyAre):
    """The definition of the pipeline names the key."""

    def schema(self, schema: SourceSchema) -> SourceSchema:
        return replace(schema, key=("id",))


@pytest.mark.slow
def test_a_table_without_a_key_is_refused(lake: kl.Lake, namespace: str, tmp_path: Path) -> None:
    arrive_in(tmp_path / "orders", "1", {"id": 1, "total": 1})
    arrive_in(tmp_path / "people", "1", {"id": 1, "name": "Ann"})
    told = settings(namespace, namespace)
    run(FilesSource(tmp_path, key={"people": ["id"]}), lake, told)
    [state] = [each for each in states(lake) if each.name == namespace]
    assert list(state.set_aside) == [f"{namespace}.orders"]
    assert "source table orders has no key" in state.set_aside[f"{namespace}.orders"]
    assert found(lake.table(f"{namespace}.people")) == {1: {"id": 1, "name": "Ann"}}
    resume(lake, namespace, f"{namespace}.orders")
    run(FilesSource(tmp_path, key={"people": ["id"]}), lake, replace(told, shaping=Keyed(namespace)))
    assert found(lake.table(f"{namespace}.orders")) == {1: {"id": 1, "total": 1}}
    # Also where the source knows its tables before it reads: the others go on.
    events = [Changed("shop.people", {"id": 2, "name": "Bo"})]
    report = run(Log(events, [replace(ORDERS, key=()), PEOPLE]), lake, settings(fresh_name("keyless"), namespace))
    assert report.set_aside == (f"{namespace}.orders",)
    assert found(lake.table(f"{namespace}.people"))[2] == {"id": 2, "name": "Bo"}


@pytest.mark.slow
def test_a_table_that_fails_is_set_aside_and_goes_on(lake: kl.Lake, namespace: str) -> None:
    events = [Changed("shop.orders", {"id": n, "total": n}) for n in range(3)]
    events += [Changed("shop.people", {"id": 1, "name": "Ann"}), Changed("shop.orders", {"id": 1, "total": 2**40})]
    schemas = (ORDERS, PEOPLE)
    # One row at a time: the first three rows of the orders are written.
    report = run(Log(events, schemas), lake, settings(namespace, namespace, rows=1))
    orders, people = lake.table(f"{namespace}.orders"), lake.table(f"{namespace}.people")
    assert report.set_aside == (orders.name,)
    assert report.dead_letters == 1
    events += [Changed("shop.orders", {"id": 2, "total": 7}), Changed("shop.people", {"id": 2, "name": "Bo"})]
    report = run(Log(events, schemas), lake, settings(namespace, namespace))
    assert found(people) == {1: {"id": 1, "name": "Ann"}, 2: {"id": 2, "name": "Bo"}}
    assert found(orders)[2] == {"id": 2, "total": 2}
    # What kept the row from being written is still there, then it is mended.
    resume(lake, namespace, orders.name)
    assert run(Log(events, schemas), lake, settings(namespace, namespace)).set_aside == (orders.name,)
    orders.alter(widen={"total": LongType()})
    resume(lake, namespace, orders.name)
    events.append(Changed("shop.orders", {"id": 0}, "d"))
    assert run(Log(events, schemas), lake, settings(namespace, namespace)).set_aside == ()
    assert found(orders) == {1: {"id": 1, "total": 2**40}, 2: {"id": 2, "total": 7}}
    assert lake.table("keylake.dead_letters").read(where=f"pipeline = '{namespace}'").count() == 0
    with pytest.raises(kl.NothingToDo, match="Set aside: none"):
        resume(lake, namespace, orders.name)
    assert orders.offsets() == {"log": len(events)}


@pytest.mark.slow
def test_one_process_runs_a_pipeline(lake: kl.Lake, namespace: str) -> None:
    events = [Changed("shop.orders", {"id": n, "total": n}) for n in range(3)]
    log = Log(events, [ORDERS])
    failures: list[Exception] = []

    def go_on() -> None:
        try:
            run(log, lake, settings(namespace, namespace, once=False))
        except kl.KeylakeError as error:
            failures.append(error)

    running = threading.Thread(target=go_on)
    running.start()
    assert log.polled.wait(60)
    with pytest.raises(kl.PipelineBusy, match=f"'{namespace}' runs already, as process {os.getpid()} on"):
        run(Log(events, [ORDERS]), lake, settings(namespace, namespace))
    stop(lake, namespace)
    running.join(60)
    assert not running.is_alive()
    assert failures == []
    with pytest.raises(kl.NothingToDo, match=f"No pipeline '{namespace}' runs"):
        stop(lake, namespace)
    # A process whose place was taken finds that out before it keeps anything, and nothing is written twice.
    log = Log(events, [ORDERS])
    running = threading.Thread(target=go_on)
    running.start()
    assert log.polled.wait(60)
    more = [*events, Changed("shop.orders", {"id": 1, "total": 5})]
    time.sleep(0.1)
    assert run(Log(more, [ORDERS]), lake, settings(namespace, namespace, lease=0.0)).rows == 1
    log.events = more
    running.join(60)
    assert not running.is_alive()
    assert [type(failure) for failure in failures] == [kl.PipelineBusy]
    assert found(lake.table(f"{namespace}.orders"))[1] == {"id": 1, "total": 5}


@pytest.mark.slow
def test_tables_with_few_rows_wait(lake: kl.Lake, namespace: str) -> None:
    events = [
        Changed("shop.people", {"id": 1, "name": "Ann"}),
        *(Changed("shop.orders", {"id": n, "total": n}) for n in range(10)),
    ]
    log = Log(events, [ORDERS, PEOPLE])
    ended = threading.Event()
    some = settings(namespace, namespace, rows=4, once=False, freshness=3600.0, few=3)
    running = threading.Thread(target=run, args=(log, lake, some), kwargs={"ending": ended})
    running.start()
    orders = f"{namespace}.orders"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (_is_there(lake, orders) and len(lake.table(orders).history()) >= 3):
        time.sleep(0.2)
    assert log.written_to == 0, "the row of the people waits, so the log is needed from there on"
    assert len(lake.table(f"{namespace}.people").history()) == 0
    ended.set()
    running.join(60)
    assert log.written_to == 11
    assert found(lake.table(f"{namespace}.people")) == {1: {"id": 1, "name": "Ann"}}
    assert len(found(lake.table(orders))) == 10


def _is_there(lake: kl.Lake, name: str) -> bool:
    return any(listed.name == name for listed in lake.tables())


@pytest.mark.slow
def test_rows_that_were_never_read_are_dead_letters(lake: kl.Lake, namespace: str) -> None:
    events = [
        Changed("shop.orders", {"id": 1}, error="The message is no JSON."),
        Changed("shop.orders", {"id": 2, "total": 2}),
    ]
    report = run(Log([*events, Changed("shop.gone", {"id": 1})], [ORDERS]), lake, settings(namespace, namespace))
    assert (report.rows, report.dead_letters, report.set_aside) == (1, 2, ())
    letters = lake.table("keylake.dead_letters").read(where=f"pipeline = '{namespace}'").orderBy("offset").toArrow()
    assert [
        (row["partition"], row["offset"], row["reason"], json.loads(row["row"])) for row in letters.to_pylist()
    ] == [
        ("log", 0, "The message is no JSON.", {"id": 1}),
        ("log", 2, "The columns of shop.gone are not known.", {"id": 1}),
    ]


@pytest.mark.slow
def test_a_table_of_pipelines_that_an_older_version_made(lake: kl.Lake, namespace: str) -> None:
    """It gets the columns that it lacks when a pipeline begins; until then it can be looked at."""
    columns = [each for each in state_module._COLUMNS if each.name != "recent"]
    spec = kl.TableSpec.from_arrow(pa.schema(columns), name=f"{namespace}.pipelines", key=state_module._KEY, buckets=1)
    now = datetime.datetime.now(datetime.UTC)
    nothing = dict.fromkeys(each.name for each in columns) | {"pipeline": namespace}
    state = {"run": "1", "state": "stopped", "host": "old", "process": 1, "rounds": 1, "rows": 3, "lag": "0 rows"}
    rows = [
        {**nothing, "kind": "pipeline", "name": "", **state, "started_at": now, "seen_at": now},
        {**nothing, "kind": "partition", "name": "log", "position": 3},
    ]
    lake.create(spec).update(rows, offsets={namespace: (0, 1)})
    [before] = states(lake, namespace)
    assert (before.rows, before.recent) == (3, ())
    log = Log(
        [Changed("shop.orders", {"id": n}) for n in range(3)]
        + [TableCreated(ORDERS), Changed("shop.orders", {"id": 9, "total": 1})]
    )
    assert run(log, lake, settings(namespace, namespace, state_namespace=namespace)).rows == 1
    [after] = states(lake, namespace)
    assert (after.rows, [each.rows for each in after.recent]) == (4, [1])


@pytest.mark.slow
def test_the_table_of_pipelines_has_few_files_without_maintenance(
    lake: kl.Lake, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_module, "_COMMITS", 1)
    kept = state_module.StateTable(lake, namespace, namespace)
    kept.read()
    kept.take(60)
    for position in range(5):
        kept.positions["log"] = position
        kept.write()
    assert lake.spark.sql(f"SELECT count(*) FROM {lake.catalog}.{namespace}.pipelines.files").collect()[0][0] <= 2
    kept.read()
    assert kept.positions == {"log": 4}


@pytest.mark.slow
def test_a_long_step_at_the_end_keeps_the_place_of_its_process(lake: kl.Lake, namespace: str, tmp_path: Path) -> None:
    script = tmp_path / "slow.sql"
    script.write_text("SELECT java_method('java.lang.Thread', 'sleep', 5000 + id) FROM range(0, 1, 1, 1);\n")
    since = datetime.datetime(2026, 10, 31, 23, 50, tzinfo=datetime.UTC)  # two intervals before the rows
    step = TableStep(SqlStep(script, every=5, table=f"{namespace}.orders"), since=since)
    log = Log([Changed("shop.orders", {"id": n, "total": n}) for n in range(3)], [ORDERS])
    some = settings(namespace, namespace, lease=3, steps=(step,))
    running = threading.Thread(target=run, args=(log, lake, some))
    running.start()
    deadline = time.monotonic() + 60
    while not any(state.name == namespace and state.rows == 3 for state in states(lake)):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    time.sleep(6)
    assert running.is_alive(), "steps run"
    with pytest.raises(kl.PipelineBusy, match="runs already"):
        run(log, lake, some)
    running.join(60)
    [state] = [each for each in states(lake) if each.name == namespace]
    assert (state.state, state.rows, state.last_error) == ("stopped", 3, None)
