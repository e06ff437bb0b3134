"""A table that aggregates as it merges, beside one that `MERGE INTO` keeps in Delta, each on a server of its own.

Events of users over some days, a commit a day. Both tables have a row per user: the sum, the number of events, a sketch
of the items, and a value for each of the last 90 days. A MERGE is of the aggregate of its commit.

1. Ingest   every commit is written to both, in turns.
2. Reads    sum, count, distinct items, and the last 7 and 30 days of every user. The answers are compared before they
            are timed. Delta refuses the sink that throws rows away, so both give one row of hashes of all values.
"""

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame, SparkSession
from rich.console import Console

import keylake as kl
from benchmarks.figures import Figure, Findings, figure
from benchmarks.machine import PLAIN, machine
from benchmarks.reducers import BUCKETS, FEATURES, LAST_DAY, contribute, events_of, keyed
from benchmarks.spark_server import SparkServer
from benchmarks.stopwatch import Pace, Times, race, seconds
from benchmarks.systems.delta_merge import DeltaMerge

EVENTS_OF_A_COMMIT, USERS, COMMITS = 500_000, 1_000_000, 8
WARM_UP, ROUNDS = Pace(1, 1, 0), Pace(3, 5, 60)
DELTA_SETTINGS = {**DeltaMerge.settings, "spark.databricks.delta.snapshotPartitions": "2"}
TABLE = "CREATE TABLE spending (user BIGINT, spend BIGINT, events BIGINT, items BINARY, days MAP<DATE, BIGINT>)"
MERGED = f"""
    MERGE INTO spending t USING (
      SELECT user, sum(amount) AS spend, sum(events) AS events, hll_union_agg(items) AS items,
        map_from_entries(collect_list(struct(day, amount))) AS days
      FROM (
        SELECT user, day, sum(amount) AS amount, count(amount) AS events, hll_sketch_agg(item) AS items
        FROM commit GROUP BY user, day
      ) GROUP BY user
    ) s ON t.user = s.user
    WHEN MATCHED THEN UPDATE SET spend = t.spend + s.spend, events = t.events + s.events,
      items = hll_union(t.items, s.items),
      days = map_filter(
        map_zip_with(t.days, s.days, (day, a, b) -> coalesce(a, 0) + coalesce(b, 0)),
        (day, amount) -> day > date_sub({LAST_DAY}, 90))
    WHEN NOT MATCHED THEN INSERT *
"""
DELTA_FEATURES = f"""
    SELECT user, spend, events, hll_sketch_estimate(items) AS items,
      aggregate(map_entries(days), CAST(NULL AS BIGINT), (sum, e) ->
        if(e.key > date_sub({LAST_DAY}, 7), coalesce(sum, 0) + e.value, sum)) AS last_7,
      aggregate(map_entries(days), CAST(NULL AS BIGINT), (sum, e) ->
        if(e.key > date_sub({LAST_DAY}, 30), coalesce(sum, 0) + e.value, sum)) AS last_30
    FROM spending
"""


def run(scale: float, console: Console) -> Findings:
    """Users follow the scale as events do."""
    rows, users = max(round(EVENTS_OF_A_COMMIT * scale), 5_000), max(round(USERS * scale), 5_000)
    with machine() as place, TemporaryDirectory(prefix="keylake-bench-") as folder:
        words = f"{COMMITS} commits of {rows:,} events of {users:,} users, {BUCKETS} buckets; {place.describe()}"
        console.print(words, highlight=False)
        lake = place.session({"spark.sql.shuffle.partitions": str(BUCKETS)})
        delta = SparkServer(Path(folder), DELTA_SETTINGS)
        try:
            return Findings(words, _figures(lake, delta.session(), rows, users, console))
        finally:
            delta.stop()


def _figures(lake: kl.Lake, delta: SparkSession, rows: int, users: int, console: Console) -> list[Figure]:
    lake.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {PLAIN}.bench")
    name = keyed(lake, "bench.spending")
    delta.sql(f"{TABLE} USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')").collect()
    mine: list[float] = []
    theirs: list[float] = []
    for commit in range(-COMMITS, 0):  # the last days
        number = 40 + commit
        turns = [
            (mine, partial(contribute, events_of(lake.spark, number, rows, users), name)),
            (theirs, partial(_merge, delta, events_of(delta, number, rows, users))),
        ]
        for taken, write in turns if commit % 2 else reversed(turns):
            taken.append(seconds(write))
        console.print(f"  commit {len(mine)}: keylake {mine[-1]:.2f} s, MERGE {theirs[-1]:.2f} s", highlight=False)
    ingest = Times(tuple(theirs[1:])).over(Times(tuple(mine[1:])))  # the first of each is warm-up
    found = [figure("a commit: MERGE of its aggregate into Delta / keylake", ingest)]
    features = FEATURES.format(table=name)
    for state in (f"{COMMITS} runs", "compacted"):
        if state == "compacted":
            lake.table("bench.spending").compact("full")
        assert _all_values(lake.spark, features) == _all_values(delta, DELTA_FEATURES)
        times = race(
            {
                "keylake": lambda _: _all_values(lake.spark, features),
                "Delta": lambda _: _all_values(delta, DELTA_FEATURES),
            },
            warm_up=WARM_UP,
            rounds=ROUNDS,
        )
        found.append(figure(f"read, {state}: Delta / keylake", times["Delta"].over(times["keylake"])))
    return found


def _merge(delta: SparkSession, frame: DataFrame) -> None:
    frame.createOrReplaceTempView("commit")
    delta.sql(MERGED).collect()


def _all_values(spark: SparkSession, query: str) -> tuple[object, ...]:
    columns = "user, spend, events, CAST(items AS BIGINT), last_7, last_30"
    (row,) = spark.sql(f"SELECT count(*), sum(CAST(xxhash64({columns}) AS DECIMAL(38, 0))) FROM ({query})").collect()
    return tuple(row)
