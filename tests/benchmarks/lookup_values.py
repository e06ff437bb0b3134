"""Rows by a value that is no key: a table whose files have an index of it, and one whose files have none.

Both have 64 buckets, a base of all keys and five updates of a fiftieth of them, and take the same rows, in turns. Each
row has a value of its own, and each look-up asks for another one.

1. Time   of a look-up in SQL, as who waits sees it, and of the writes.
2. Bytes  of the files.
"""

from collections.abc import Mapping, Sequence

import keylake as kl
from benchmarks.figures import Figure, Target, figure
from benchmarks.stopwatch import Times, seconds

BUCKETS, UPDATES, SHARE = 64, 5, 50
WARM_UP, ROUNDS = 3, 15
WITH, WITHOUT = "with an index", "without"
INDEX = "'write.parquet.bloom-filter-enabled.column.device' = 'true'"
ROWS = "concat('d-', CAST(xxhash64(id, {update}) AS STRING)), rand(1), rand(2), concat('text ', id % 1000), id * 7"


def lookup_values(lake: kl.Lake, keys: int) -> list[Figure]:
    """The figures of tables with so many keys."""
    names = {WITH: f"{lake.catalog}.bench.indexed", WITHOUT: f"{lake.catalog}.bench.not_indexed"}
    for words, name in names.items():
        index = f", {INDEX}" if words == WITH else ""
        lake.spark.sql(
            f"CREATE TABLE {name} (id BIGINT, device STRING, x DOUBLE, y DOUBLE, t STRING, n BIGINT, PRIMARY KEY (id)) "
            f"USING keylake CLUSTERED BY (id) INTO {BUCKETS} BUCKETS TBLPROPERTIES ('versions' = 'commit'{index})"
        ).collect()
    written = {words: [seconds(lambda words=words: _write(lake, names[words], keys, 0))] for words in names}  # type: ignore[misc]
    for update in range(1, UPDATES + 1):
        for words in _turn(names, update):
            written[words].append(seconds(lambda words=words, update=update: _write(lake, names[words], keys, update)))  # type: ignore[misc]
    asked: dict[str, list[float]] = {words: [] for words in names}
    for number in range(WARM_UP + ROUNDS):
        if number == WARM_UP:
            asked = {words: [] for words in names}
        id_ = number * 7919 % keys
        device = lake.spark.sql(f"SELECT device FROM {names[WITH]} WHERE id = {id_}").collect()[0][0]
        for words in _turn(names, number):
            asked[words].append(seconds(lambda words=words, device=device: _find(lake, names[words], device)))  # type: ignore[misc]
    size = {
        words: lake.spark.sql(f"SELECT sum(file_size_in_bytes) FROM {name}.files").collect()[0][0]
        for words, name in names.items()
    }
    times = {words: Times(tuple(each)) for words, each in asked.items()}
    updates = {words: Times(tuple(each[1:])) for words, each in written.items()}
    of = f"{keys:,} keys, {BUCKETS} buckets x {1 + UPDATES} runs"
    return [
        figure(
            f"{of}, time of a look-up by a value of one row: {WITH} / {WITHOUT}",
            times[WITH].over(times[WITHOUT]),
            Target(0.05),
        ),
        figure(f"{of}, seconds of a look-up by a value: {WITH}", times[WITH]),
        figure(f"{of}, seconds of a look-up by a value: {WITHOUT}", times[WITHOUT]),
        figure(f"{of}, bytes of files: {WITH} / {WITHOUT}", size[WITH] / size[WITHOUT], Target(1.02)),
        figure(f"{of}, time of an update: {WITH} / {WITHOUT}", updates[WITH].over(updates[WITHOUT]), Target(1.03)),
    ]


def _turn(names: Mapping[str, str], number: int) -> Sequence[str]:
    return list(names) if number % 2 else list(reversed(names))


def _write(lake: kl.Lake, name: str, keys: int, update: int) -> None:
    of = "" if update == 0 else f" WHERE id % {SHARE} = {update}"
    lake.spark.sql(f"INSERT INTO {name} SELECT id, {ROWS.format(update=update)} FROM range({keys}){of}").collect()


def _find(lake: kl.Lake, name: str, device: str) -> None:
    (row,) = lake.spark.sql(f"SELECT * FROM {name} WHERE device = '{device}'").collect()
    assert row.device == device
