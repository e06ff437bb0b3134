"""Rows by their keys: `get`, and SQL, of a table as it was written; SQL of the same rows in a merged plain table.

The rows are those of W1 of the benchmark `reads`: a base and ten upserts of a tenth of the keys, in eight buckets. The
plain table has a file for each bucket, sorted by key. Every look-up is of another key; one server answers all, in
turns.

1. Time            of a look-up, as who waits sees it: each round is the median of some.
2. Processor time  of the server's process meanwhile.
3. Files           that are opened, of tables of more runs: see `lookup_files`.
4. Values          that are no keys, by an index of them: see `lookup_values`.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from statistics import median

from rich.console import Console

import keylake as kl
from benchmarks.engine import Connected
from benchmarks.figures import Figure, Findings, Target, figure
from benchmarks.lookup_files import METRICS, lookup_files
from benchmarks.lookup_values import lookup_values
from benchmarks.machine import PLAIN, Cost, machine, processor_seconds
from benchmarks.stopwatch import Times, seconds
from benchmarks.systems.keyed import Keyed
from benchmarks.systems.plain import create_in_buckets
from benchmarks.workload import KEY, Batch, Workload
from benchmarks.workloads.whole_rows import FULL_SIZE, whole_rows
from integration.spark_processes import free_port

WARM_UP, ROUNDS, LOOK_UPS = 6, 9, 10
FILES_ALONE = "files"
VALUES_ALONE = "values"
KEYS_OF_VALUES = 3  # times as many as of the rows of W1
GET, KEYED_SQL, PLAIN_SQL = "get", "keylake, SQL", "merged plain table, SQL"


def run(scale: float, console: Console, chosen: Collection[str] = ()) -> Findings:
    """The three ways, in turns, and then the files; the scale is of the keys."""
    port = free_port()
    with machine() as place:
        lake = place.session(server={**METRICS, "spark.ui.port": str(port)})
        keys = round(KEYS_OF_VALUES * FULL_SIZE * scale)
        if VALUES_ALONE in chosen:
            return Findings(f"{keys:,} keys x 6 columns; {place.describe()}", lookup_values(lake, keys))
        workload = whole_rows(round(FULL_SIZE * scale))
        if FILES_ALONE in chosen:
            workload = replace(workload, commits=0)
        words = f"{workload.keys:,} keys x {len(workload.columns)} columns, 8 buckets x 11 runs; {place.describe()}"
        console.print(words, highlight=False)
        batches = workload.stage(lake.spark, place.folder / "staged" / "rows")
        found = [] if FILES_ALONE in chosen else _figures(_by_all_ways(lake, workload, batches))
        files = lookup_files(lake, workload, batches[0], port)
        return Findings(words, [*found, *files, *([] if FILES_ALONE in chosen else lookup_values(lake, keys))])


def _by_all_ways(lake: kl.Lake, workload: Workload, batches: Sequence[Batch]) -> Mapping[str, Cost]:
    keyed = Keyed(lake, "bench.keyed", workload)
    for batch in batches:
        keyed.write(batch)
    plain = f"{PLAIN}.bench.merged"
    create_in_buckets(Connected(lake.spark), plain, workload.columns_in_sql(), keyed.files().properties)
    lake.spark.table(keyed.table).writeTo(plain).append()
    return _costs(lake, workload, keyed, plain)


def _costs(lake: kl.Lake, workload: Workload, keyed: Keyed, plain: str) -> Mapping[str, Cost]:
    ways: dict[str, Callable[[int], object]] = {
        GET: lambda key: keyed.keyed.get(**{KEY: key}),
        KEYED_SQL: lambda key: lake.spark.sql(f"SELECT * FROM {keyed.table} WHERE {KEY} = {key}").collect(),
        PLAIN_SQL: lambda key: lake.spark.sql(f"SELECT * FROM {plain} WHERE {KEY} = {key}").collect(),
    }
    for key in workload.some_keys(3):
        assert ways[KEYED_SQL](key) == ways[PLAIN_SQL](key) != []
    names = list(ways)
    costs = {name: Cost() for name in names}
    for number in range(WARM_UP + ROUNDS):
        if number == WARM_UP:
            costs = {name: Cost() for name in names}
        first = number % len(names)
        for way, name in enumerate(names[first:] + names[:first]):
            keys = [workload.some_key((number * len(names) + way) * LOOK_UPS + each) for each in range(LOOK_UPS)]
            before = processor_seconds(lake.spark)
            costs[name].time.append(median(seconds(lambda key=key, name=name: ways[name](key)) for key in keys))  # type: ignore[misc]
            costs[name].processor.append((processor_seconds(lake.spark) - before) / LOOK_UPS)
    return costs


def _figures(costs: Mapping[str, Cost]) -> list[Figure]:
    times = {name: Times(tuple(cost.time)) for name, cost in costs.items()}
    processor = {name: Times(tuple(cost.processor)) for name, cost in costs.items()}
    found = []
    for name, target in ((GET, Target(0.3)), (KEYED_SQL, None)):
        found.append(figure(f"time: {name} / {PLAIN_SQL}", times[name].over(times[PLAIN_SQL]), target))
        found.append(figure(f"processor time: {name} / {PLAIN_SQL}", processor[name].over(processor[PLAIN_SQL])))
    return [
        *found,
        *(figure(f"seconds: {name}", times[name]) for name in costs),
        *(figure(f"processor seconds: {name}", processor[name]) for name in costs),
    ]
