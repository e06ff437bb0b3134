"""What readers are asked: reads that are consumed where they run, and checks that their answers are the same."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.system import Reader
from benchmarks.workload import KEY, Workload

Ask = Callable[[Reader, int], object]
OF_KEYS = " of keys"


@dataclass(frozen=True)
class Question:
    """Something to ask, the same of every reader. `ask` gets the number of the round; `answer` is what is checked.

    Where a scan would answer from metadata, `by_scan` is what it is asked besides, to do the work.
    """

    name: str
    ask: Ask
    answer: Callable[[Reader], object] | None = None
    by_scan: "Question | None" = None


def consume(reader: Reader, columns: Sequence[str], where: str = "") -> None:
    """Read every value of these columns; nothing of it travels."""
    reader.engine.consume(_selected(reader, columns, where))


def scan_of_keys(reader: Reader, _: int) -> None:
    """Read the key and nothing else."""
    consume(reader, [KEY])


def count(reader: Reader) -> int:
    """How many rows the reader sees."""
    return int(str(reader.engine.fetch(f"SELECT count(*) FROM ({reader.rows([KEY])})")[0][0]))


def look_up(reader: Reader, key: int) -> None:
    """One row by its key."""
    found = reader.engine.fetch(_selected(reader, reader.workload.columns, f"{KEY} = {key}"))
    assert found, "every key that is asked for was written"


def fingerprint(reader: Reader, columns: Sequence[str], where: str = "") -> tuple[object, ...]:
    """The number of rows and a sum over all their values: equal for equal rows, in whatever order."""
    hashed = ", ".join(map(reader.workload.hashable, columns))
    rows = _selected(reader, columns, where)
    total = f"CAST(sum(CAST(xxhash64({hashed}) AS DECIMAL(38, 0))) AS STRING)"
    return reader.engine.fetch(f"SELECT count(*), {total} FROM ({rows})")[0]


def exchanges(reader: Reader, columns: Sequence[str]) -> int:
    """How often the plan moves rows between tasks."""
    return str(reader.engine.fetch(f"EXPLAIN {reader.rows(columns)}")[0][0]).count("Exchange")


def questions(workload: Workload) -> dict[str, Question]:
    """All of them, by the words that choose them."""
    every, narrow = workload.columns, workload.narrow
    first = workload.keys // 3
    in_range = f"{KEY} BETWEEN {first} AND {first + workload.keys // 100}"
    group, summed = workload.group_on
    groups = f"SELECT {group}, count(*) AS rows, sum({summed}) AS total FROM ({{rows}}) GROUP BY {group}"
    return {
        "all": _read("all columns", every),
        "few": _read(f"key + {len(narrow) - 1} columns", narrow),
        "key": Question("key only", scan_of_keys),
        "count": Question("count(*)", lambda reader, _: count(reader), count, Question(OF_KEYS, scan_of_keys)),
        "filter": _read("1% by a value", every, workload.filter_on),
        "range": _read("1% by key range", every, in_range),
        "one": Question("one key", lambda reader, number: look_up(reader, workload.some_key(number))),
        "group": Question(
            "group by a value",
            lambda reader, _: reader.engine.fetch(groups.format(rows=reader.rows([group, summed]))),
            lambda reader: sorted(reader.engine.fetch(groups.format(rows=reader.rows([group, summed])))),
        ),
    }


def _read(name: str, columns: Sequence[str], where: str = "") -> Question:
    return Question(
        name, lambda reader, _: consume(reader, columns, where), lambda reader: fingerprint(reader, columns, where)
    )


def _selected(reader: Reader, columns: Sequence[str], where: str) -> str:
    rows = reader.rows(columns)
    return f"SELECT * FROM ({rows}) WHERE {where}" if where else rows
