"""What readers are asked: reads that are consumed where they run, and checks that their answers are the same."""

from collections.abc import Iterator, Sequence

from benchmarks.system import Reader
from benchmarks.workload import COLUMNS, KEY


def consume(reader: Reader, columns: Sequence[str]) -> None:
    """Read every value of these columns; nothing of it travels."""
    reader.spark.sql(reader.rows(columns)).write.format("noop").mode("overwrite").save()


def count(reader: Reader) -> int:
    """How many rows the reader sees."""
    return int(reader.spark.sql(f"SELECT count(*) FROM ({reader.rows([KEY])})").collect()[0][0])


def look_up(reader: Reader, keys: Iterator[int]) -> None:
    """One row by its key."""
    found = reader.spark.sql(f"SELECT * FROM ({reader.rows(COLUMNS)}) WHERE {KEY} = {next(keys)}").collect()
    assert found, "every key that is asked for was written"


def fingerprint(reader: Reader, columns: Sequence[str]) -> tuple[object, ...]:
    """The number of rows and a sum over all their values: equal for equal rows, in whatever order."""
    hashes = f"sum(CAST(xxhash64({', '.join(columns)}) AS DECIMAL(38, 0)))"
    return tuple(reader.spark.sql(f"SELECT count(*), {hashes} FROM ({reader.rows(columns)})").collect()[0])


def exchanges(reader: Reader, columns: Sequence[str]) -> int:
    """How often the plan moves rows between tasks."""
    return str(reader.spark.sql(f"EXPLAIN {reader.rows(columns)}").collect()[0][0]).count("Exchange")
