"""Look-ups of single keys from Python without Spark, beside others that read files from Python.

    keylake.local   a table as streams leave it: a base and ten updates of a tenth of its keys each, nothing compacted
    pyiceberg       a scan with a filter on the key, of one merged file in key order
    DuckDB          the same of the Parquet file of that table
    delta-rs        the same of one file that it has written
    LanceDB         the same of a table with an index on the key

Each answers the same keys, one after the other, in turns. Then those that write by key take the same thousand rows,
again in turns. DuckDB, delta-rs and LanceDB take part where they are installed.
"""

import importlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from random import Random
from statistics import median, quantiles
from typing import Any

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from rich.console import Console

import keylake as kl
import keylake.local
from benchmarks.figures import Figure, Findings, Target, figure
from benchmarks.machine import processor
from benchmarks.repair import rows
from benchmarks.spark_server import ALIKE, HEAP
from benchmarks.stopwatch import Times, seconds

KEYS, UPDATES, CHANGED, BUCKETS = 2_000_000, 10, 0.1, 8
ROUNDS, OTHERS, MANY, WARM_UP, WRITES = 400, 40, 1000, 50, 7
MINE = "keylake.local"
Look = Callable[[int], object]
Upsert = Callable[[pa.Table], object]

PEAK = """
import sys
from pathlib import Path
from random import Random
import keylake.local

def peak_kilobytes():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

before = peak_kilobytes()
table = keylake.local.open(sys.argv[1]).table("bench.looked_up")
draw = Random(5)
for _ in range(500):
    table.get(id=draw.randrange(int(sys.argv[2])))
print(peak_kilobytes() - before)
"""


class Profile(kl.Table, name="bench.looked_up", buckets=BUCKETS, versions="explicit"):
    """Some columns of each kind."""

    id: kl.Int64 = kl.key()
    a: kl.Int64 | None = kl.column()
    b: kl.Int64 | None = kl.column()
    c: kl.Float64 | None = kl.column()
    d: kl.Float64 | None = kl.column()
    e: str | None = kl.column()


def run(scale: float, console: Console) -> Findings:
    """Write the table, merge a copy for the others, and look the same keys up."""
    keys = max(round(KEYS * scale / 1000), 10) * 1000
    with tempfile.TemporaryDirectory(prefix="keylake-bench-") as name:
        folder = Path(name)
        settings = {**ALIKE, "spark.keylake.maintenance.enabled": "false"}
        with kl.connect(warehouse=folder / "lake", memory=HEAP, settings=settings) as lake:
            table = lake.create(Profile)
            for number in range(UPDATES + 1):
                count = round(keys * CHANGED) if number else keys
                table.upsert(rows(lake, keys, count, number), version="version")
        words = f"{keys:,} keys, {BUCKETS} buckets, {UPDATES + 1} runs in each, 6 columns; {processor()}"
        words = f"{words}, keylake {version('keylake')}, pyarrow {pa.__version__}, seed 1"
        console.print(words, highlight=False)
        return Findings(words, _measured(folder, keys, console))


def _measured(folder: Path, keys: int, console: Console) -> list[Figure]:
    draw = Random(1)
    with keylake.local.open(folder / "lake") as lake:
        table = lake.table(Profile)
        read = Times((seconds(lambda: table.read().to_arrow()),))
        merged = table.read().to_arrow().sort_by("id")
        others = _others(folder, merged)
        for _ in range(WARM_UP):
            table.get(id=draw.randrange(keys))
        sought = [draw.randrange(keys) for _ in range(ROUNDS)]
        alone = sorted(seconds(lambda key=key: table.get(id=key)) * 1000 for key in sought)  # type: ignore[misc]
        found: dict[str, list[float]] = {name: [] for name in (MINE, *others)}
        looks: dict[str, Look] = {MINE: lambda key: _of(table.get(id=key)), **others}
        for key in sought[:OTHERS]:
            answers = {name: _timed(look, key, found[name]) for name, look in looks.items()}
            assert len({repr(answer) for answer in answers.values()}) == 1, f"they differ for {key}: {answers}"
        batch = [{"id": key} for key in draw.sample(range(keys), MANY)]
        many = sorted(seconds(lambda: table.get_many(batch)) * 1000 for _ in range(5))
        memory = _peak(folder, keys)
        written = _written(folder, table, merged, draw)
    figures = [
        figure("get, median", _at(alone, 50), Target(15), f"milliseconds, {ROUNDS} keys"),
        figure("get, 99th percentile", _at(alone, 99), Target(40), f"milliseconds, {ROUNDS} keys"),
        figure(f"get_many of {MANY} / get", many[2] / _at(alone, 50), Target(10), f"{many[2]:.1f} milliseconds"),
        figure("memory of look-ups, MB", memory, None, "beyond the imports, 500 look-ups"),
        figure("read of the whole table", read, None, f"seconds, {len(merged):,} rows merged"),
    ]
    figures += [
        figure(f"{name}, median", _at(times, 50), None, f"milliseconds, {OTHERS} keys") for name, times in found.items()
    ]
    how = f"milliseconds, median of {WRITES}"
    figures += [
        figure(f"upsert of {MANY} rows by {name}", median(times), Target(300) if name == MINE else None, how)
        for name, times in written.items()
    ]
    return figures


def _written(
    folder: Path, table: keylake.local.LocalTable[Profile], merged: pa.Table, draw: Random
) -> dict[str, list[float]]:
    """Milliseconds of each upsert, by who wrote it; all have the same rows afterwards."""
    upserts: dict[str, Upsert] = {MINE: lambda rows: table.upsert(rows, version=UPDATES + 1), **_writers(folder)}
    times: dict[str, list[float]] = {name: [] for name in upserts}
    for number in range(WRITES):
        chosen = pa.array(sorted(draw.sample(range(len(merged)), MANY)))
        rows = merged.take(chosen).set_column(1, merged.schema.field("a"), pa.array([number] * MANY, pa.int64()))
        for name, upsert in upserts.items():
            times[name].append(seconds(lambda: upsert(rows)) * 1000)  # noqa: B023
    return times


def _writers(folder: Path) -> dict[str, Upsert]:
    writers: dict[str, Upsert] = {}
    if find_spec("deltalake"):
        delta = importlib.import_module("deltalake")
        writers["delta-rs"] = lambda rows: (
            delta.DeltaTable(str(folder / "delta"))
            .merge(rows, "s.id = t.id", source_alias="s", target_alias="t")
            .when_matched_update_all()
            .when_not_matched_insert_all()
            .execute()
        )
    if find_spec("lancedb"):
        lance = importlib.import_module("lancedb").connect(str(folder / "lance")).open_table("merged")
        writers["LanceDB"] = lambda rows: (
            lance.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(rows)
        )
    return writers


def _timed(look: Look, key: int, times: list[float]) -> object:
    begun = time.perf_counter()
    answer = look(key)
    times.append((time.perf_counter() - begun) * 1000)
    return answer


def _of(row: Profile | None) -> dict[str, Any] | None:
    return None if row is None else row.model_dump()


def _others(folder: Path, merged: pa.Table) -> dict[str, Look]:
    """The others over the merged rows, each by its usual way of looking a key up."""
    catalog = SqlCatalog("plain", uri=f"sqlite:///{folder}/plain.db", warehouse=str(folder / "plain"))
    catalog.create_namespace("bench")
    plain = catalog.create_table("bench.merged", merged.schema)
    plain.append(merged)
    (task,) = plain.scan().plan_files()
    file = task.file.file_path.removeprefix("file://")
    looks: dict[str, Look] = {
        "pyiceberg": lambda key: _first(catalog.load_table("bench.merged").scan(f"id = {key}").to_arrow())
    }
    if find_spec("duckdb"):
        session = importlib.import_module("duckdb").connect()
        looks["DuckDB"] = lambda key: _first(
            session.execute("SELECT * FROM read_parquet(?) WHERE id = ?", [file, key]).to_arrow_table()
        )
    if find_spec("deltalake"):
        delta = importlib.import_module("deltalake")
        delta.write_deltalake(str(folder / "delta"), merged)
        looks["delta-rs"] = lambda key: _first(
            delta.QueryBuilder()
            .register("t", delta.DeltaTable(str(folder / "delta")))
            .execute(f"SELECT * FROM t WHERE id = {key}")
        )
    if find_spec("lancedb"):
        lance = importlib.import_module("lancedb").connect(str(folder / "lance")).create_table("merged", merged)
        lance.create_scalar_index("id")
        looks["LanceDB"] = lambda key: _first(lance.search().where(f"id = {key}").limit(1).to_arrow())
    return looks


def _first(rows: Any) -> dict[str, Any] | None:
    found = pa.table(rows).to_pylist()
    return found[0] if found else None


def _at(times: list[float], percent: int) -> float:
    return quantiles(times, n=100, method="inclusive")[percent - 1]


def _peak(folder: Path, keys: int) -> float:
    told = subprocess.run(
        [sys.executable, "-c", PEAK, folder / "lake", str(keys)], capture_output=True, text=True, check=True
    )
    return int(told.stdout) / 1024
