"""A pipeline whose process is killed at any moment: at the end its tables are as if it had never been."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyiceberg.types import LongType, StringType

import keylake as kl
from integration.random_runs import FIRST
from integration.twin import fresh_name
from keylake_pipelines.runner.control import states
from keylake_pipelines.runner.loop import run
from keylake_pipelines.source.tables import (
    ColumnAdded,
    ColumnDropped,
    ColumnRenamed,
    SourceColumn,
    SourceSchema,
    TableCreated,
    TableTruncated,
)
from pipelines.scripted import Changed, Event, Log, found, model, settings, table

TABLES = ("shop.orders", "shop.people", "shop.goods")
KILLS = 3
EVENTS = 200


def drawn(seed: int, count: int) -> list[Event]:
    """Rows of three tables, and changes of these; the same for the same seed."""
    draw = random.Random(seed)
    columns = {name: ["a", "b"] for name in TABLES}
    first = (SourceColumn("id", LongType()), SourceColumn("a", StringType()), SourceColumn("b", StringType()))
    events: list[Event] = [TableCreated(SourceSchema(table(name), first, ("id",))) for name in TABLES]
    for number in range(count):
        name = draw.choice(TABLES)
        has, what = columns[name], draw.random()
        if what < 0.02:
            has.append(f"c{number}")
            events.append(ColumnAdded(table(name), SourceColumn(has[-1], StringType())))
        elif what < 0.03 and len(has) > 1:
            events.append(ColumnDropped(table(name), has.pop(draw.randrange(len(has)))))
        elif what < 0.04:
            events.append(ColumnRenamed(table(name), has[0], f"r{number}"))
            has[0] = f"r{number}"
        elif what < 0.05:
            events.append(TableTruncated(table(name)))
        elif what < 0.15:
            events.append(Changed(name, {"id": draw.randrange(20)}, "d"))
        else:
            some = draw.sample(has, draw.randint(1, len(has)))
            events.append(Changed(name, {"id": draw.randrange(20), **dict.fromkeys(some, f"{number}")}))
    return events


@pytest.mark.slow
def test_a_process_that_is_killed_loses_and_doubles_nothing(lake: kl.Lake, tmp_path: Path) -> None:
    namespace = fresh_name("killed").replace(".", "_")
    draw = random.Random(FIRST)
    assert lake._server is not None
    script = tmp_path / "runs.py"
    script.write_text(
        f"import sys\nsys.path.insert(0, {str(Path(__file__).parents[1])!r})\n"
        "from pipelines import test_kills\n"
        f"test_kills.in_a_process({lake._server.url!r}, {lake.catalog!r}, {namespace!r})\n"
    )
    for kill in (*[True] * KILLS, False):
        with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "begins\n"
            if kill:
                time.sleep(draw.uniform(0, 4))
                process.kill()
        assert kill or process.returncode == 0
        shown = {state.state for state in states(lake) if state.name == namespace}
        assert shown <= ({"lost", "stopped"} if kill else {"stopped"}), "whether it had begun, or had come to its end"
    events = drawn(FIRST, EVENTS)
    expected = model(events)
    for name in TABLES:
        keyed = lake.table(f"{namespace}.{name.partition('.')[2]}")
        assert found(keyed) == expected[name]
        assert summed(keyed) == expected[name]
        assert keyed.offsets()["log"] <= len(events)


def summed(keyed: kl.KeyedTable) -> dict[object, dict[str, object]]:
    """What the change feed adds up to."""
    rows: dict[object, dict[str, object]] = {}
    order = {commit.snapshot_id: number for number, commit in enumerate(reversed(keyed.history()))}
    changes = keyed.changes(every_commit=True).toArrow().to_pylist()
    for change in sorted(changes, key=lambda change: order[change["_commit"]]):
        if change["_change"] == "delete":
            assert rows.pop(change["id"], None) is not None or not change["_before"]
        else:
            assert (change["_change"] == "insert") == (change["id"] not in rows)
            rows[change["id"]] = {"id": change["id"]} | {k: v for k, v in change["_after"].items() if v is not None}
    return rows


def in_a_process(url: str, catalog: str, namespace: str) -> None:
    with kl.connect(url, catalog=catalog) as lake:
        print("begins", flush=True)
        run(Log(drawn(FIRST, EVENTS)), lake, settings(namespace, namespace, rows=15, behaviour="evolve"))
