"""Features that a table aggregates as it merges, beside Spark's aggregation of the raw events in plain Iceberg.

Events of users over forty days, a commit a day, some of them late. A keyed table has a row per user: the sum, the
number of events, a sketch of the items, and a value for each of the last 90 days.

1. Ingest   every commit is written to both, in turns.
2. Reads    sum, count, distinct items, and the last 7 and 30 days of every user: from the keyed table with all its
            runs, compacted, and by aggregation of the events. The answers are compared before they are timed.
3. Hot key  a write in which half of the events are of one user, beside one without.
4. Python   the largest amount less the smallest by a reducer in Python, beside Max and Min: a write, a read of runs.
"""

import os
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from rich.console import Console

import keylake as kl
from benchmarks.figures import Figure, Findings, Target, figure
from benchmarks.machine import PLAIN, machine
from benchmarks.stopwatch import Pace, Times, race, seconds
from integration.reducers import acme

EVENTS, USERS, COMMITS = 20_000_000, 1_000_000, 40
BUCKETS = 16
FIRST_DAY = "2026-09-01"
LAST_DAY = f"date_add(DATE'{FIRST_DAY}', {COMMITS - 1})"
LATE_SHARE, MOST_DAYS_LATE = 0.05, 5
WARM_UP, ROUNDS = Pace(1, 1, 0), Pace(3, 5, 60)
FEATURES = f"""
    SELECT user, spend, events, hll_sketch_estimate(items) AS items,
      window_sum(by_day, 7, {LAST_DAY}) AS last_7, window_sum(by_day, 30, {LAST_DAY}) AS last_30
    FROM {{table}}
"""
AGGREGATED = f"""
    SELECT user, sum(amount) AS spend, count(amount) AS events, hll_sketch_estimate(hll_sketch_agg(item)) AS items,
      sum(amount) FILTER (WHERE day > date_sub({LAST_DAY}, 7)) AS last_7,
      sum(amount) FILTER (WHERE day > date_sub({LAST_DAY}, 30)) AS last_30
    FROM {{table}} GROUP BY user
"""


def run(scale: float, console: Console) -> Findings:
    """Users follow the scale as events do, so that each has as many events as ever."""
    events, users = max(round(EVENTS * scale), 100_000), max(round(USERS * scale), 5_000)
    os.environ["PYTHONPATH"] = str(Path(__file__).parents[1])  # where Spark's Python finds the reducer
    with machine() as place:
        own = {"spark.keylake.reducers": acme.Range.name}
        lake = place.session({"spark.sql.shuffle.partitions": str(BUCKETS)}, server=own)
        words = f"{events:,} events of {users:,} users in {COMMITS} commits, {BUCKETS} buckets; {place.describe()}"
        console.print(words, highlight=False)
        return Findings(words, _figures(lake, events, users, console))


def _figures(lake: kl.Lake, events: int, users: int, console: Console) -> list[Figure]:
    table, raw = keyed(lake, "bench.spending"), f"{PLAIN}.bench.events"
    lake.spark.sql(f"CREATE TABLE {raw} (user BIGINT, day DATE, amount BIGINT, item BIGINT) USING iceberg")
    mine, theirs = [], []
    for commit in range(COMMITS):
        frame = events_of(lake.spark, commit, events // COMMITS, users)
        turns = [(mine, partial(contribute, frame, table)), (theirs, partial(_append, frame, raw))]
        for taken, write in turns if commit % 2 else reversed(turns):
            taken.append(seconds(write))
    ingest = Times(tuple(mine)).over(Times(tuple(theirs)))
    console.print(f"  ingest, keylake / append {ingest}", highlight=False)
    found = [figure("ingest: keylake / append of the events to plain Iceberg", ingest, Target(1.3))]
    for state in ("40 runs", "compacted"):
        if state == "compacted":
            lake.table("bench.spending").compact("full")
        features, aggregated = FEATURES.format(table=table), AGGREGATED.format(table=raw)
        _check_same(lake, features, aggregated)
        times = race(
            {"keylake": partial(_consume, lake, features), "aggregation": partial(_consume, lake, aggregated)},
            warm_up=WARM_UP,
            rounds=ROUNDS,
        )
        for system, taken in times.items():
            console.print(f"  {state}, {system:12} {taken} s", highlight=False)
        ratio = times["aggregation"].over(times["keylake"])
        found.append(figure(f"read, {state}: aggregation of the events / keylake", ratio, Target(10, at_least=True)))
    return [*found, _hot_key(lake, events // COMMITS, users, console), *_in_python(lake, events // COMMITS, users)]


def keyed(lake: kl.Lake, name: str) -> str:
    """Make the table that aggregates; its name in SQL."""
    lake.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {lake.catalog}.bench")
    lake.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {PLAIN}.bench")
    lake.spark.sql(
        f"CREATE TABLE {lake.catalog}.{name} (user BIGINT PRIMARY KEY, spend BIGINT, events BIGINT, items BINARY, "
        "by_day STRUCT<day: DATE, values: ARRAY<BIGINT>>) "
        f"USING keylake CLUSTERED BY (user) INTO {BUCKETS} BUCKETS TBLPROPERTIES ('versions' = 'commit', "
        "'reduce.spend' = 'Sum', 'reduce.events' = 'Count', 'reduce.items' = 'Hll', "
        "'reduce.by_day' = 'Daily(days=90, of=Sum)')"
    )
    return f"{lake.catalog}.{name}"


def events_of(spark: SparkSession, commit: int, rows: int, users: int, hot: bool = False) -> DataFrame:
    """Those of one day; some are of the days before. They are made anew for each who reads them, at the same cost."""
    user = f"bigint(pmod(xxhash64(id, {commit}), {users}))"
    late = f"if(pmod(xxhash64(id, 'late'), 1000) < {round(1000 * LATE_SHARE)}, pmod(id, {MOST_DAYS_LATE}), 0)"
    return spark.range(0, rows, 1, BUCKETS).selectExpr(
        f"if(id % 2 = 0, 0, {user}) AS user" if hot else f"{user} AS user",
        f"date_add(DATE'{FIRST_DAY}', int({commit} - {late})) AS day",
        "pmod(xxhash64(id, 'amount'), 1000) AS amount",
        "pmod(xxhash64(id, 'item'), 100000) AS item",
    )


def contribute(frame: DataFrame, name: str) -> None:
    """Write events as contributions."""
    frame.selectExpr(
        "user",
        "amount AS spend",
        "amount AS events",
        "hll_of(item) AS items",
        "named_struct('day', day, 'values', array(amount)) AS by_day",
    ).writeTo(name).append()


def _append(frame: DataFrame, name: str) -> None:
    frame.writeTo(name).append()


def _consume(lake: kl.Lake, query: str, _: int) -> None:
    lake.spark.sql(query).write.format("noop").mode("overwrite").save()


def _check_same(lake: kl.Lake, one: str, other: str) -> None:
    first, second = lake.spark.sql(one), lake.spark.sql(other)
    assert first.exceptAll(second).count() == 0
    assert first.count() == second.count()


def _hot_key(lake: kl.Lake, rows: int, users: int, console: Console) -> Figure:
    tables = {hot: keyed(lake, f"bench.hot_{hot}".lower()) for hot in (True, False)}

    def write(hot: bool, commit: int) -> None:
        contribute(events_of(lake.spark, commit, rows, users, hot=hot), tables[hot])

    times = race(
        {"hot": partial(write, True), "even": partial(write, False)}, warm_up=Pace(2, 2, 0), rounds=Pace(7, 7, 0)
    )
    ratio = times["hot"].over(times["even"])
    console.print(f"  hot key / none {ratio}", highlight=False)
    return figure("a write with half of the events of one key / a write without", ratio, Target(1.2))


def _in_python(lake: kl.Lake, rows: int, users: int) -> list[Figure]:
    tables = {"python": f"{lake.catalog}.bench.in_python", "java": f"{lake.catalog}.bench.in_java"}
    for system, name in tables.items():
        columns = "spread BIGINT" if system == "python" else "most BIGINT, least BIGINT"
        reducers = (
            f"'reduce.spread' = 'Python(name={acme.Range.name}, state=`{acme.Range.state}`)'"
            if system == "python"
            else "'reduce.most' = 'Max', 'reduce.least' = 'Min'"
        )
        lake.spark.sql(
            f"CREATE TABLE {name} (user BIGINT PRIMARY KEY, {columns}) USING keylake CLUSTERED BY (user) "
            f"INTO {BUCKETS} BUCKETS TBLPROPERTIES ('versions' = 'commit', {reducers})"
        )

    def write(system: str, commit: int) -> None:
        amounts = ["amount AS spread"] if system == "python" else ["amount AS most", "amount AS least"]
        events_of(lake.spark, commit, rows, users).where("amount <> 13").selectExpr("user", *amounts).writeTo(
            tables[system]
        ).append()

    writes = race({name: partial(write, name) for name in tables}, warm_up=Pace(1, 1, 0), rounds=Pace(7, 7, 0))
    read = {
        "python": f"SELECT user, spread FROM {tables['python']}",
        "java": f"SELECT user, most - least AS spread FROM {tables['java']}",
    }
    _check_same(lake, read["python"], read["java"])
    reads = race({name: partial(_consume, lake, query) for name, query in read.items()}, warm_up=WARM_UP, rounds=ROUNDS)
    return [
        figure("a write: a reducer in Python / Max and Min", writes["python"].over(writes["java"])),
        figure("a read of 8 runs: a reducer in Python / Max and Min", reads["python"].over(reads["java"])),
    ]
