"""Keyed tables read by DuckDB, which does not merge: making the merged state after a commit, and reads of it.

W: 22 columns, a base, then commits of 1% of the keys: whole rows, then one column. A read of the state is beside the
same read after a full compaction. A composed row is whole, so the fewest bytes of a state after a commit of one column
are those of whole rows of its keys. Then many commits of one column to a smaller table, which its policy compacts.
"""

from functools import partial

import duckdb
import duckdb_extension_avro
import duckdb_extension_iceberg
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from rich.console import Console

import keylake as kl
from benchmarks.figures import Figure, Findings, Target, figure
from benchmarks.machine import Machine, machine
from benchmarks.stopwatch import Times, seconds
from integration.duck import duck_with

KEYS, NUMBERS = 2_000_000, 20
WARM_UP, ROUNDS = 2, 5
MANY, COMPACTED_EVERY = 120, 10


def run(scale: float, console: Console) -> Findings:
    """Commits, states and reads in turns."""
    keys = max(round(KEYS * scale), 1000)
    with machine() as place, duck_with(duckdb_extension_avro, duckdb_extension_iceberg) as duck:
        words = f"{keys:,} keys, {NUMBERS + 2} columns, commits of 1%, {place.describe()}"
        console.print(words, highlight=False)
        return Findings(words, _figures(place, duck, keys))


def _figures(place: Machine, duck: duckdb.DuckDBPyConnection, keys: int) -> list[Figure]:
    lake = place.session()
    columns = ", ".join(f"c{number} DOUBLE" for number in range(NUMBERS))
    lake.spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.bench")
    lake.spark.sql(
        f"CREATE TABLE lake.bench.any_engine (id BIGINT NOT NULL, {columns}, label STRING, PRIMARY KEY (id)) "
        "USING keylake CLUSTERED BY (id) INTO 4 BUCKETS"
    )
    table = lake.table("bench.any_engine")
    whole = [f.rand(number).alias(f"c{number}") for number in range(NUMBERS)]
    label = f.concat(f.lit("label "), f.col("id")).alias("label")
    table.upsert(lake.spark.range(keys).select("id", *whole, label))

    def ids(seed: int) -> DataFrame:
        return lake.spark.range(keys // 100).select((f.rand(seed) * keys).cast("bigint").alias("id")).distinct()

    def rows(seed: int) -> None:
        table.upsert(ids(seed).select("id", *whole, label))

    def one_column(seed: int) -> None:
        table.update(ids(seed).select("id", f.rand(seed).alias("c1")))

    table.serving.merged_state()
    making, same, reading, again = [], [], [], []
    for number in range(WARM_UP + ROUNDS):
        rows(17 * number + 1)
        making.append(seconds(table.serving.merged_state))
        same.append(seconds(table.serving.merged_state))
        state = table.serving.merged_state()
        reading.append(seconds(partial(_read, duck, state, keys)))
        again.append(seconds(partial(_read, duck, state, keys)))
    of_rows = _written(lake), _bytes_of_states(place)
    partly = []
    for number in range(WARM_UP + ROUNDS):
        one_column(17 * number + 2000)
        partly.append(seconds(table.serving.merged_state))
    of_column = _written(lake) - of_rows[0], _bytes_of_states(place) - of_rows[1]
    unmerged = _times([seconds(partial(_read, duck, table.serving.merged_state(), keys)) for _ in making])
    table.compact("full")
    compacted = table.serving.merged_state()
    full = [seconds(partial(_read, duck, compacted, keys)) for _ in range(WARM_UP + ROUNDS)]
    return [
        figure("seconds: state after a commit of 1%, whole rows", _times(making), Target(0.3)),
        figure("seconds: state after a commit of 1%, one column", _times(partly), Target(0.3)),
        figure("seconds: the same state again", _times(same)),
        figure("DuckDB, first read of a state / after compaction", _times(reading).over(_times(full)), Target(1.2)),
        figure("DuckDB, next read of a state / first one", _times(again).over(_times(reading)), Target(1.05)),
        figure("DuckDB, state after commits of one column / after compaction", unmerged.over(_times(full))),
        figure("bytes of states / bytes of commits, whole rows", of_rows[1] / of_rows[0], Target(1.3)),
        figure("bytes of states / bytes of commits, one column", of_column[1] / of_column[0], Target(2)),
        figure(
            "bytes of states, one column / bytes of whole rows of their keys", of_column[1] / of_rows[0], Target(1.3)
        ),
        *_of_many_commits(place, lake, keys // 10),
    ]


def _of_many_commits(place: Machine, lake: kl.Lake, keys: int) -> list[Figure]:
    """A state after each of many commits of one column of 1%, with compactions in between."""
    columns = ", ".join(f"c{number} DOUBLE" for number in range(NUMBERS))
    lake.spark.sql(
        f"CREATE TABLE lake.bench.many_commits (id BIGINT NOT NULL, {columns}, PRIMARY KEY (id)) "
        "USING keylake CLUSTERED BY (id) INTO 4 BUCKETS"
    )
    table = lake.table("bench.many_commits")
    whole = [f.rand(number).alias(f"c{number}") for number in range(NUMBERS)]
    table.upsert(lake.spark.range(keys).select("id", *whole))
    table.serving.merged_state()

    def ids(seed: int) -> DataFrame:
        return lake.spark.range(keys // 100).select((f.rand(seed) * keys).cast("bigint").alias("id")).distinct()

    table.upsert(ids(1).select("id", *whole))
    of_rows = _written(lake, "many_commits") * MANY
    table.serving.merged_state()
    before = _bytes_of_states(place, "many_commits")
    of_commits = 0
    for number in range(MANY):
        table.update(ids(number + 2).select("id", f.rand(number).alias("c1")))
        of_commits += _newest(lake, "many_commits")
        if number % COMPACTED_EVERY == COMPACTED_EVERY - 1:
            table.compact()
        table.serving.merged_state()
    of_states = _bytes_of_states(place, "many_commits") - before
    words = f"{MANY} commits of one column, compacted every {COMPACTED_EVERY}"
    return [
        figure(f"{words}: bytes of states / bytes of commits", of_states / of_commits, Target(2)),
        figure(f"{words}: bytes of states / bytes of whole rows of their keys", of_states / of_rows, Target(2)),
    ]


def _times(rounds: list[float]) -> Times:
    return Times(tuple(rounds[WARM_UP:]))


def _read(duck: duckdb.DuckDBPyConnection, state: kl.MergedState, keys: int) -> None:
    """All columns of all rows."""
    sums = ", ".join(f"sum(c{number})" for number in range(NUMBERS))
    statement = f"SELECT count(*), {sums}, max(label) FROM iceberg_scan('{state.metadata_location}')"
    assert duck.execute(statement).fetchall()[0][0] == keys


def _newest(lake: kl.Lake, name: str) -> int:
    """The bytes of files of the newest commit."""
    files = f"lake.bench.{name}.keyed_files"
    newest = f"SELECT max(commit_order) FROM {files}"
    (row,) = lake.spark.sql(f"SELECT sum(bytes) FROM {files} WHERE commit_order = ({newest})").collect()
    return int(row[0])


def _written(lake: kl.Lake, name: str = "any_engine") -> int:
    """The bytes of files of commits after the first."""
    files = f"lake.bench.{name}.keyed_files"
    first = f"SELECT min(commit_order) FROM {files}"
    (row,) = lake.spark.sql(f"SELECT sum(bytes) FROM {files} WHERE commit_order > ({first})").collect()
    return int(row[0])


def _bytes_of_states(place: Machine, name: str = "any_engine") -> int:
    folder = place.folder / "lake" / "bench" / name / "merged-state"
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
