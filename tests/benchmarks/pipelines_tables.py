"""Rounds of 20 rows for each of many tables: one job for all of them, beside a loop that appends table by table.

The rows are JSON, of tables with different columns, in one local frame. The loop is what a foreachBatch does: it keeps
the frame in memory, and for each table filters it, reads the JSON, and appends to a plain Iceberg table without
buckets. Of many tables the loop writes every tenth, and its time counts ten times.

1. Time             of a round, in turns.
2. Processor time   of the server's process meanwhile.
3. Heap             that is in use after a round and a full collection.
"""

import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
from rich.console import Console

import keylake as kl
from benchmarks.figures import Figure, Findings, Target, figure
from benchmarks.machine import PLAIN, Cost, machine, processor_seconds
from benchmarks.stopwatch import Times
from keylake_pipelines.multi_table.write import TableBatch, write_tables

COUNTS = (100, 1_000)
ROWS, ROUNDS, BUCKETS, EVERY = 20, 3, 2, 10
MOST, FEW_ROWS, MOST_ROUNDS = 5_000, 4, 2
TYPES = (("price", "decimal(12, 2)"), ("at", "timestamp"), ("name", "string"), ("amount", "double"), ("items", "int"))
ARROW = (pa.decimal128(12, 2), pa.timestamp("us", tz="UTC"), pa.string(), pa.float64(), pa.int32())
VALUES: tuple[Callable[[int], object], ...] = (
    lambda number: f"{number}.25",
    lambda number: f"2026-11-24T10:00:{number % 60:02}.000001Z",
    lambda number: f"the name of row {number}",
    lambda number: number + 0.5,
    lambda number: number,
)
ONE_JOB, BY_TABLE = "one job", "table by table"


def columns_of(table: int) -> list[int]:
    """The types of a table's value columns: three to five of them, in one of five orders."""
    return [(table + number) % len(TYPES) for number in range(3 + table % 3)]


def rows_of(count: int, number: int, each: int = ROWS) -> pa.Table:
    """The rows of a round, so many of each table: some keys are new, others are updated."""
    tables, rows = [], []
    for table in range(count):
        for key in range(each):
            values = {f"{TYPES[kind][0]}": VALUES[kind](number * each + key) for kind in columns_of(table)}
            tables.append(f"n{count}.t{table}")
            rows.append(json.dumps({"id": number * each // 2 + key} | values))
    versions = range(number * len(rows), (number + 1) * len(rows))
    return pa.table({"table": tables, "op": ["u"] * len(rows), "version": pa.array(versions, pa.int64()), "row": rows})


def run(scale: float, console: Console) -> Findings:
    """100 and 1,000 tables; the scale is of the rounds."""
    rounds = max(round(ROUNDS * scale), 1)
    with machine() as place:
        lake = place.session()
        words = f"{ROWS} rows a table, {BUCKETS} buckets, {rounds} rounds; {place.describe()}"
        console.print(words, highlight=False)
        found: list[Figure] = []
        for count in COUNTS:
            found += _figures(lake, count, rounds, console)
        return Findings(words, found)


def run_most(scale: float, console: Console) -> Findings:
    """5,000 tables with a few rows each, in one job only; the scale is of the tables."""
    count = max(round(MOST * scale), 50)
    with machine() as place:
        lake = place.session()
        words = f"{FEW_ROWS} rows a table, {BUCKETS} buckets, {MOST_ROUNDS} rounds; {place.describe()}"
        console.print(words, highlight=False)
        begun_at = time.perf_counter()
        _create(lake, count)
        console.print(f"{count} tables created in {time.perf_counter() - begun_at:.0f} s", highlight=False)
        cost, heap = Cost(), 0.0
        for number in range(MOST_ROUNDS + 1):  # the first one warms up
            rows = rows_of(count, number, FEW_ROWS)
            spent = _spent(lake, lambda rows=rows, number=number: _one_job(lake, count, rows, number))
            heap = _heap(lake)
            console.print(f"  {count} tables, round {number}: {spent}, heap {heap:.0f} MB", highlight=False)
            if number:
                cost.time.append(spent[0])
                cost.processor.append(spent[1])
        of = f"{count:,} tables x {FEW_ROWS} rows"
        return Findings(
            words,
            [
                figure(f"{of}, seconds of a round in one job", Times(tuple(cost.time))),
                figure(f"{of}, processor seconds of a round in one job", Times(tuple(cost.processor))),
                figure(f"{of}, heap in use after a round, MB", heap),
            ],
        )


def _figures(lake: kl.Lake, count: int, rounds: int, console: Console) -> list[Figure]:
    begun_at = time.perf_counter()
    every = 1 if count <= COUNTS[0] else EVERY
    _create(lake, count, every)
    console.print(f"{count} tables created in {time.perf_counter() - begun_at:.0f} s", highlight=False)
    costs = {ONE_JOB: Cost(), BY_TABLE: Cost()}
    heap = 0.0
    for number in range(rounds + 1):  # the first one warms up
        rows = rows_of(count, number)
        spent = {ONE_JOB: _spent(lake, lambda rows=rows, number=number: _one_job(lake, count, rows, number))}
        heap = _heap(lake)
        loop = _spent(lake, lambda rows=rows: _by_table(lake, count, rows, every))
        spent[BY_TABLE] = (loop[0] * every, loop[1] * every)
        console.print(f"  {count} tables, round {number}: {spent}, heap {heap:.0f} MB", highlight=False)
        for name, (seconds, processor) in spent.items() if number else ():
            costs[name].time.append(seconds)
            costs[name].processor.append(processor)
    one, other = costs[ONE_JOB], costs[BY_TABLE]
    of = f"{count:,} tables"
    ratios = [b / a for a, b in zip(one.time, other.time, strict=True)]
    processor = [b / a for a, b in zip(one.processor, other.processor, strict=True)]
    is_all = count == COUNTS[-1]
    return [
        figure(f"{of}, seconds of a round in one job", Times(one.time), Target(60) if is_all else None),
        figure(f"{of}, processor seconds of a round in one job", Times(one.processor)),
        figure(f"{of}, appends table by table / one job", Times(ratios), Target(6, at_least=True) if is_all else None),
        figure(f"{of}, the same of processor seconds", Times(processor)),
        figure(f"{of}, heap in use after a round, MB", heap),
    ]


def _create(lake: kl.Lake, count: int, every: int | None = None) -> None:
    """Keyed tables, and plain ones beside every so many of them."""
    lake.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {PLAIN}.n{count}")

    def create(table: int) -> None:
        kinds = columns_of(table)
        fields = [pa.field("id", pa.int64(), nullable=False), *((TYPES[each][0], ARROW[each]) for each in kinds)]
        name = f"n{count}.t{table}"
        lake.create(
            kl.TableSpec.from_arrow(pa.schema(fields), name=name, key="id", versions="explicit", buckets=BUCKETS)
        )
        if every is not None and table % every == 0:
            columns = ", ".join(f"`{TYPES[each][0]}` {TYPES[each][1]}" for each in kinds)
            lake.spark.sql(f"CREATE TABLE {PLAIN}.{name} (id bigint, {columns}) USING iceberg")

    create(0)  # and the namespace
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(create, range(1, count)))


def _one_job(lake: kl.Lake, count: int, rows: pa.Table, number: int) -> None:
    offsets = {"log": (number * len(rows), (number + 1) * len(rows))}
    batches = [TableBatch(f"n{count}.t{table}", offsets, "bench") for table in range(count)]
    outcomes = write_tables(lake, lake.spark.createDataFrame(rows), batches, count=len(rows))
    failed = [each for each in outcomes if each.commit is None or each.commit.rows != len(rows) // count]
    assert not failed, failed[0]


def _by_table(lake: kl.Lake, count: int, rows: pa.Table, every: int) -> None:
    from pyspark.sql.connect.functions import col, expr

    frame = lake.spark.createDataFrame(rows).cache()
    for table in range(0, count, every):
        schema = ", ".join(["id bigint", *(f"`{TYPES[each][0]}` {TYPES[each][1]}" for each in columns_of(table))])
        own = frame.where(col("table") == f"n{count}.t{table}").select(expr(f"from_json(row, '{schema}') AS r"))
        own.select("r.*").writeTo(f"{PLAIN}.n{count}.t{table}").append()
    frame.unpersist()


def _spent(lake: kl.Lake, task: Callable[[], None]) -> tuple[float, float]:
    """Seconds, and seconds of the server's processors."""
    processor, begun_at = processor_seconds(lake.spark), time.perf_counter()
    task()
    return time.perf_counter() - begun_at, processor_seconds(lake.spark) - processor


def _heap(lake: kl.Lake) -> float:
    """What of the server's heap is in use after a full collection, in MB."""
    process = str(lake.spark.sql("SELECT java_method('java.lang.ProcessHandle', 'current')").collect()[0][0])
    jcmd = shutil.which("jcmd")
    assert jcmd is not None, "jcmd is part of the JDK"
    subprocess.run([jcmd, process, "GC.run"], check=True, capture_output=True)
    said = subprocess.run([jcmd, process, "GC.heap_info"], check=True, capture_output=True, text=True).stdout
    used = re.search(r"used (\d+)K", said)
    assert used is not None, said
    return int(used[1]) / 1024
