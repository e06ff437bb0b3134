"""Random commits of another engine, between them Spark's own deletes and changes of the table, beside a plain model."""

import random
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest

import keylake as kl
from deletes.foreign_table import File, ForeignTable, ForeignWriter, foreign_table, foreign_writer
from integration.query_plans import changed_settings
from integration.random_runs import FIRST, of_every

KEYS: dict[str, tuple[str, list[Any]]] = {
    "long": ("BIGINT", [0, 1, -(2**63), 2**32]),
    "int": ("INT", [0, 1, -(2**31)]),
    "text": ("STRING", ["", "a", "é\0", "aa"]),
    "date": ("DATE", [date(2026, 11, 1), date(1582, 10, 10)]),
    "decimal": ("DECIMAL(20, 2)", [Decimal("1.50"), Decimal("-0.01")]),
    "boolean": ("BOOLEAN", [True, False]),
    "double": ("DOUBLE", [0.0, 1.5, -2.25]),
    "float": ("FLOAT", [0.0, 1.5]),
    "binary": ("BINARY", [b"", b"\0\xff", b"\0"]),
    "local time": ("TIMESTAMP_NTZ", [datetime(2026, 11, 1, 1, 2, 3, 4), datetime(1900, 1, 1)]),
}
FIELDS = [["k"], ["l"], ["k", "l"], ["v", "k"]]


@pytest.fixture(scope="module")
def writer(lake: kl.Lake) -> Iterator[ForeignWriter]:
    with foreign_writer(lake) as writer:
        yield writer


class Commits:
    """Draws what happens to a table with a column `k` of some type."""

    def __init__(self, seed: int, table: ForeignTable, values: list[Any]) -> None:
        self.random = random.Random(seed)
        self.table = table
        self.values: dict[str, list[Any]] = {"k": values, "l": ["x", "y", ""], "v": list(range(6))}
        self.formats = self.random.choice([["parquet"], ["parquet", "avro", "orc"]])

    def rows(self) -> list[dict[str, Any]]:
        part = self.random.choice([0, 1, None])
        columns = {name: [*values, None] for name, values in self.values.items()}
        drawn = [{name: self.random.choice(values) for name, values in columns.items()} for _ in range(6)]
        return [row | {"part": part} for row in drawn]

    def file(self, *deletes: str) -> File:
        return File(self.rows(), deletes, self.random.choice(self.formats))

    def step(self) -> None:
        match self.random.randrange(12):
            case 0:
                is_partitioned = bool(self.table.partition)
                self.table.alter(f"{'DROP' if is_partitioned else 'ADD'} PARTITION FIELD part")
                self.table.partition = () if is_partitioned else ("part",)
            case 1 if len(self.values) < 5:
                name = f"n{len(self.values)}"
                self.table.alter(f"ADD COLUMN {name} INT")
                self.values[name] = [1, 2]
            case 2 | 3:
                self.table.delete("v", self.random.randrange(6))
            case 4 | 5 | 6:
                self.table.commit(self.file())
            case 7 | 8:
                self.table.commit(self.file(), self.file("k"), self.file())
            case _:
                fields = self.random.choice([*FIELDS, [list(self.values)[-1]]])
                self.table.commit(self.file(*fields))

    def check(self) -> None:
        columns = [*self.values, "part"]
        self.table.check(columns)
        self.table.check(self.random.sample(columns, 1))
        self.table.check(["v"], self.random.choice(list(self.table.states)))


@of_every("key", KEYS, today=1)
def test_a_random_table(lake: kl.Lake, writer: ForeignWriter, key: tuple[str, list[Any]]) -> None:
    """Partitions and schemas move, keys are of any type and may be null, deletes are of any kind."""
    for seed in (FIRST, FIRST + 1):
        kind, values = key
        columns = f"k {kind}, l STRING, v BIGINT, part INT"
        with (
            changed_settings(lake, {"spark.keylake.equality-deletes.memory": "1m"}),
            foreign_table(lake, writer, columns, version=2 + seed % 2) as table,
        ):
            commits = Commits(seed, table, values)
            table.commit(commits.file(), commits.file())
            for _ in range(3):
                for _ in range(4):
                    commits.step()
                commits.check()
