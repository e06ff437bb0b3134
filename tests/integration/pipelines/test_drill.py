"""The drill: a database under random transactions and statements, a pipeline that is killed, connections that are cut.

At the end every keyed table equals its table of the database, row by row, and so does what its change feed sums up to.
"""

import random
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

import keylake as kl
from integration.pipelines.mariadb.server import MariaDb
from integration.pipelines.mariadb.shop import TABLES, Shop, as_json
from integration.pipelines.scripted import settings
from integration.random_runs import FIRST
from integration.twin import fresh_name
from keylake._mysql.source import MySqlSource
from keylake._running.loop import run

KEYS = {"orders": ["id"], "lines": ["city", "no"], "marks": ["id"]}
RUNS = 4
Rows = list[dict[str, object]]


@pytest.mark.nightly
def test_tables_equal_a_database_after_kills_cuts_and_restarts(lake: kl.Lake, mariadb: MariaDb, tmp_path: Path) -> None:
    name = fresh_name("drill").replace(".", "_")
    draw = random.Random(FIRST)
    shop = Shop(mariadb, name, draw, keeps_types=True)
    shop.fill(200)
    script = tmp_path / "runs.py"
    assert lake._server is not None
    script.write_text(
        f"import sys\nsys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
        "from integration.pipelines import test_drill\n"
        f"test_drill.in_a_process({lake._server.url!r}, {lake.catalog!r}, {name!r}, {mariadb.port})\n"
    )
    for number in range(RUNS):
        with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "begins\n"
            until = time.monotonic() + draw.uniform(4, 8)
            while time.monotonic() < until and process.poll() is None:
                shop.transaction()
                time.sleep(0.02)
            if number == 0:
                for _ in range(5):
                    shop.statement()
                    shop.transaction()
                assert process.wait(120) == 0
            elif number == 1:
                mariadb.cut_connections()
                shop.connection = mariadb.connect(name)
            elif number == 2:
                mariadb.restart(signal.SIGTERM)
                shop.connection = mariadb.connect(name)
            process.kill()
            shop.transaction()
    shop.close()
    last = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300)
    assert last.returncode == 0, last.stderr[-3000:]
    for table in TABLES:
        keyed = lake.table(f"{name}.{table}")
        truth = shop.rows(table, KEYS[table])
        assert sorted_by(KEYS[table], keyed.read().toArrow().to_pylist()) == truth, table
        assert sorted_by(KEYS[table], summed(keyed, KEYS[table])) == truth, table


def sorted_by(key: Sequence[str], rows: Sequence[Mapping[str, object]]) -> Rows:
    """Rows as the database gives them."""
    shown = [{name: as_json(value) for name, value in row.items()} for row in rows]
    return sorted(shown, key=lambda row: [str(row[name]) for name in key])


def summed(keyed: kl.KeyedTable, key: Sequence[str]) -> Rows:
    """What the change feed adds up to, in the columns that the table has now."""
    rows: dict[tuple[object, ...], dict[str, object]] = {}
    order = {commit.snapshot_id: number for number, commit in enumerate(reversed(keyed.history()))}
    changes = keyed.changes(every_commit=True).toArrow().to_pylist()
    for change in sorted(changes, key=lambda change: order[change["_commit"]]):
        place = tuple(change[name] for name in key)
        if change["_change"] == "delete":
            del rows[place]
        else:
            assert (change["_change"] == "insert") == (place not in rows)
            rows[place] = dict(zip(key, place, strict=True)) | change["_after"]
    return list(rows.values())


def in_a_process(url: str, catalog: str, name: str, port: int) -> None:
    """The pipeline, until its source has nothing more."""
    source = MySqlSource(
        host="127.0.0.1", port=port, user=MariaDb.READER, password=MariaDb.PASSWORD, tables=[rf"{name}\..*"]
    )
    with kl.connect(url, catalog=catalog) as lake:
        print("begins", flush=True)
        run(source, lake, settings(name, name, rows=500, behaviour="evolve"))
