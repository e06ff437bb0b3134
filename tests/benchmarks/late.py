"""What late rows cost: three tables of the same hours, with the rule for late rows, without it, and without such rows.

A base of all keys, and hourly partial updates of keys at random. 30% of the rows of each are from 2 to 20 hours late.
Each hour all tables are compacted by the default policy; at last the late rows become a run like others.
"""

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Literal

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from rich.console import Console

import keylake as kl
from benchmarks.figures import Figure, Findings, Target, figure
from benchmarks.machine import Machine, machine
from benchmarks.stopwatch import Pace, race

KEYS, HOURS, CHANGED, LATE = 2_000_000, 24, 0.02, 0.3
BEGIN = datetime(2026, 11, 1, 12, tzinfo=UTC)
BUCKETS = 4
VALUES = 10
WARM_UP, ROUNDS = Pace(3, 3, 0), Pace(7, 7, 0)
SOON = kl.CompactionPolicy(late_share=0.0)
COLUMNS = ", ".join(f"v{number} DOUBLE" for number in range(VALUES))
KINDS = ("rule", "no rule", "no late rows")


def run(scale: float, console: Console) -> Findings:
    """The hours one after the other, in all tables; then reads in turns."""
    keys = max(round(KEYS * scale), 10_000)
    with machine() as place:
        words = f"{keys:,} keys, {HOURS} updates of {CHANGED:.0%}, {LATE:.0%} of them late; {place.describe()}"
        console.print(words, highlight=False)
        return Findings(words, _figures(place, keys, console))


def _figures(place: Machine, keys: int, console: Console) -> list[Figure]:
    lake = place.session()
    tables = {kind: _table(lake, f"bench.{kind.replace(' ', '_')}") for kind in KINDS}
    tables["rule"].layout.set_lateness("1 hour")
    for table in tables.values():
        table.upsert(_base(lake, keys), watermark=_time(0))
        table.compact("full")
    rewritten = dict.fromkeys(KINDS, 0)
    late = 0
    for hour in range(1, HOURS + 1):
        rows = _hour(lake, keys, hour).cache()
        for kind, table in tables.items():
            wanted = rows.where("NOT is_late") if kind == "no late rows" else rows
            commit = table.update(wanted.drop("is_late"), watermark=_time(hour))
            late += commit.late
            rewritten[kind] += table.compact().bytes_written
        rows.unpersist()
        console.print(f"  hour {hour}: {rewritten}", highlight=False)
    assert late > 0.9 * LATE * CHANGED * keys * HOURS
    ruled, free, timely = (tables[kind] for kind in KINDS)
    assert _truth(ruled) == _truth(free)
    assert _truth(ruled, freshness="on_time") == _truth(timely)
    reads = {
        "on time": partial(_consume, ruled, "on_time"),
        "timely": partial(_consume, timely, None),
        "all": partial(_consume, ruled, None),
        "without the rule": partial(_consume, free, None),
    }
    times = race(reads, warm_up=WARM_UP, rounds=ROUNDS)
    for name, each in times.items():
        console.print(f"  {name} {each} s", highlight=False)
    before_merge = rewritten["rule"]
    rewritten["rule"] += ruled.compact(SOON).bytes_written
    assert _truth(ruled, freshness="on_time") == _truth(free)
    more = {kind: rewritten[kind] - rewritten["no late rows"] for kind in ("rule", "no rule")}
    return [
        figure("read on time / a table without late rows", times["on time"].over(times["timely"]), Target(1.02)),
        figure("read of all rows / without the rule", times["all"].over(times["without the rule"])),
        figure("bytes rewritten, with the rule / without it", before_merge / rewritten["no rule"]),
        figure("the same with the merge of the late rows", rewritten["rule"] / rewritten["no rule"]),
        figure(
            "bytes rewritten for late rows, with the rule / without it",
            more["rule"] / max(more["no rule"], 1),
            Target(0.5),
            "what the table without late rows has rewritten is taken off both",
        ),
    ]


def _time(hour: int) -> datetime:
    return BEGIN + timedelta(hours=hour)


def _table(lake: kl.Lake, name: str) -> kl.KeyedTable:
    lake.spark.sql(
        f"CREATE TABLE {lake.catalog}.{name} (id BIGINT, at TIMESTAMP, {COLUMNS}, PRIMARY KEY (id)) USING keylake "
        f"CLUSTERED BY (id) INTO {BUCKETS} BUCKETS TBLPROPERTIES ('ordering' = 'at')"
    )
    return lake.table(name)


def _values(count: int) -> list[Column]:
    return [F.rand(number).alias(f"v{number}") for number in range(count)]


def _base(lake: kl.Lake, keys: int) -> DataFrame:
    return lake.spark.range(keys).select("id", F.lit(BEGIN).alias("at"), *_values(VALUES))


def _hour(lake: kl.Lake, keys: int, hour: int) -> DataFrame:
    """Rows of half of the columns; those in time are of the last 50 minutes, late ones are 2 to 20 hours older."""
    drawn = lake.spark.range(round(CHANGED * keys)).select(
        F.floor(F.rand(hour) * keys).alias("id"),
        (F.rand(hour + 1000) < LATE).alias("is_late"),
        F.floor(F.rand(hour + 2000) * 3000).alias("seconds"),
        F.floor(F.rand(hour + 3000) * 18 * 3600).alias("older"),
    )
    behind = F.col("seconds") + F.when(F.col("is_late"), F.col("older") + 2 * 3600 + 1).otherwise(0)
    at = F.timestamp_seconds(F.lit(int(_time(hour).timestamp())) - behind).alias("at")
    return drawn.select("id", at, "is_late", *_values(VALUES // 2)).dropDuplicates(["id"])


def _consume(table: kl.KeyedTable, freshness: Literal["on_time"] | None, _: int) -> None:
    table.read(freshness=freshness).write.format("noop").mode("overwrite").save()


def _truth(table: kl.KeyedTable, freshness: Literal["on_time"] | None = None) -> object:
    rows = table.read(freshness=freshness)
    total = F.sum(F.xxhash64(*rows.columns).cast("decimal(38, 0)"))
    return rows.agg(F.count("*"), total).collect()[0]
