"""The files that a look-up opens: two tables of many runs, whose files have filters of their keys, or have none.

Both have 64 buckets and 20 runs, and take the same rows: a run has a twentieth of the keys, so a key is in one file.
They are written and asked by one server, in turns.

1. Files    that a `get` opens, as the metrics of the server count them, of keys that are there and of others.
2. Time     of `get`, and of `get_many` of 1,000 keys; of the writes, with the processor time of the server.
3. Bytes    of the files.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from urllib.request import urlopen

import keylake as kl
from benchmarks.figures import Figure, Target, figure
from benchmarks.machine import Cost, processor_seconds
from benchmarks.stopwatch import Times, seconds
from benchmarks.workload import KEY, TIME, Batch, Workload

BUCKETS, RUNS = 64, 20
WARM_UP, ROUNDS, LOOK_UPS, MANY = 2, 7, 20, 1000
WITH, WITHOUT = "with filters", "without"
METRICS = {
    "spark.ui.enabled": "true",
    "spark.metrics.namespace": "keylake",
    "spark.metrics.conf.*.sink.prometheusServlet.class": "org.apache.spark.metrics.sink.PrometheusServlet",
    "spark.metrics.conf.*.sink.prometheusServlet.path": "/metrics/prometheus",
}
_NUMBER = re.compile(r"KeylakePlugin_(files_opened|files_left_out|lookups|footer_misses)_Value\{[^}]*\} (\d+)")
_ABSENT = 7  # every seventh key is left out
_NO_FILTER = f"write.parquet.bloom-filter-enabled.column.{KEY}"


@dataclass
class _Asked:
    """What look-ups of one table have cost, round by round."""

    there: list[float] = field(default_factory=list)
    absent: list[float] = field(default_factory=list)
    many: list[float] = field(default_factory=list)
    opened: list[float] = field(default_factory=list)
    opened_for_absent: list[float] = field(default_factory=list)


def lookup_files(lake: kl.Lake, workload: Workload, base: Batch, port: int) -> list[Figure]:
    """The figures of both tables; `port` is that of the server's metrics."""
    names = {WITH: "bench.with_filters", WITHOUT: "bench.without_filters"}
    tables = {}
    for words, name in names.items():
        tables[words] = lake.create(
            kl.TableSpec.from_arrow(workload.schema, name=name, key=KEY, ordering=TIME, buckets=BUCKETS)
        )
    lake.spark.sql(f"ALTER TABLE {lake.catalog}.{names[WITHOUT]} SET TBLPROPERTIES ('{_NO_FILTER}'='false')")
    written = _written(lake, tables, base)
    asked = {words: _Asked() for words in tables}
    for number in range(WARM_UP + ROUNDS):
        if number == WARM_UP:
            asked = {words: _Asked() for words in tables}
        order: Sequence[str] = list(tables) if number % 2 else list(reversed(tables))
        for words in order:
            _ask(tables[words], workload, number, port, asked[words])
    size = {
        words: lake.spark.sql(f"SELECT sum(file_size_in_bytes) FROM {lake.catalog}.{name}.files").collect()[0][0]
        for words, name in names.items()
    }
    return _figures(written, asked, size)


def _written(lake: kl.Lake, tables: Mapping[str, kl.KeyedTable], base: Batch) -> Mapping[str, Cost]:
    frame = base.frame(lake.spark)
    costs = {words: Cost() for words in tables}
    for run in range(RUNS):
        rows = frame.where(f"{KEY} % {_ABSENT} > 0 AND pmod(xxhash64({KEY}), {RUNS}) = {run}")
        for words in list(tables) if run % 2 else list(reversed(tables)):
            before = processor_seconds(lake.spark)
            costs[words].time.append(seconds(lambda words=words, rows=rows: tables[words].upsert(rows)))  # type: ignore[misc]
            costs[words].processor.append(processor_seconds(lake.spark) - before)
    return {words: Cost(cost.time[2:], cost.processor[2:]) for words, cost in costs.items()}


def _ask(table: kl.KeyedTable, workload: Workload, number: int, port: int, asked: _Asked) -> None:
    drawn = [workload.some_key(number * LOOK_UPS + each) for each in range(LOOK_UPS)]
    absent = [key - key % _ABSENT for key in drawn]
    keys = [key + 1 for key in absent]

    def found(key: int) -> None:
        assert table.get(**{KEY: key}) is not None

    def missed(key: int) -> None:
        assert table.get(**{KEY: key}) is None

    for times, opened, look_up, sought in (
        (asked.there, asked.opened, found, keys),
        (asked.absent, asked.opened_for_absent, missed, absent),
    ):
        before = _numbers(port)
        times.append(median(_times(look_up, sought)))
        opened.append((_numbers(port)["files_opened"] - before["files_opened"]) / LOOK_UPS)
    many = [{KEY: workload.some_key(10**6 + number * MANY + each)} for each in range(MANY)]
    asked.many.append(seconds(lambda: table.get_many(many)))


def _times(look_up: Callable[[int], None], keys: Sequence[int]) -> list[float]:
    return [seconds(lambda key=key: look_up(key)) for key in keys]  # type: ignore[misc]


def _numbers(port: int) -> dict[str, int]:
    """Numbers of the server, from its page of metrics."""
    with urlopen(f"http://127.0.0.1:{port}/metrics/prometheus", timeout=30) as page:
        return {name: int(number) for name, number in _NUMBER.findall(page.read().decode())}


def _figures(written: Mapping[str, Cost], asked: Mapping[str, _Asked], size: Mapping[str, float]) -> list[Figure]:
    ours, others = asked[WITH], asked[WITHOUT]
    of = f"{BUCKETS} buckets x {RUNS} runs"

    def ratio(name: str, mine: list[float], theirs: list[float], target: Target | None = None) -> Figure:
        return figure(f"{of}, {name}: {WITH} / {WITHOUT}", Times(tuple(mine)).over(Times(tuple(theirs))), target)

    return [
        figure(f"{of}, files opened by a get: {WITH}", Times(tuple(ours.opened)), Target(1.2)),
        figure(f"{of}, files opened by a get: {WITHOUT}", Times(tuple(others.opened))),
        figure(f"{of}, files opened by a get of an absent key: {WITH}", Times(tuple(ours.opened_for_absent))),
        figure(f"{of}, files opened by a get of an absent key: {WITHOUT}", Times(tuple(others.opened_for_absent))),
        ratio("time of a get", ours.there, others.there),
        ratio("time of a get of an absent key", ours.absent, others.absent),
        ratio(f"time of get_many of {MANY:,} keys", ours.many, others.many),
        figure(f"{of}, get_many of {MANY:,} keys / get", Times(tuple(ours.many)).over(Times(tuple(ours.there)))),
        figure(f"{of}, seconds of a get: {WITH}", Times(tuple(ours.there))),
        figure(f"{of}, seconds of a get: {WITHOUT}", Times(tuple(others.there))),
        figure(f"{of}, bytes of files: {WITH} / {WITHOUT}", size[WITH] / size[WITHOUT], Target(1.02)),
        ratio("time of a write", written[WITH].time, written[WITHOUT].time, Target(1.03)),
        ratio("processor time of a write", written[WITH].processor, written[WITHOUT].processor, Target(1.03)),
    ]
