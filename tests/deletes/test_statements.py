"""UPDATE, DELETE and MERGE of tables with equality deletes: what they read is right, and they read it by an index."""

import random
from collections.abc import Iterator

import pytest

import keylake as kl
from deletes.foreign_table import File, ForeignTable, ForeignWriter, foreign_table, foreign_writer
from integration.query_plans import explained
from integration.random_runs import FIRST, of_every

MODES = ["write_update_mode", "write_merge_mode", "write_delete_mode"]


@pytest.fixture(scope="module")
def writer(lake: kl.Lake) -> Iterator[ForeignWriter]:
    with foreign_writer(lake) as writer:
        yield writer


class Rows:
    """The rows of a table beside it: a key is in one row at most."""

    def __init__(self, seed: int, table: ForeignTable) -> None:
        self.random = random.Random(seed)
        self.table = table
        self.rows: dict[int, tuple[int, int]] = {}
        self.indexed = 0

    def upsert(self) -> None:
        """As Flink does it, in the partitions of the keys."""
        part = self.random.randrange(2)
        keys = self.random.sample(range(part, 40, 2), 8)
        rows = [{"id": key, "part": part, "v": self.random.randrange(9)} for key in keys]
        self.table.commit(File(rows, ["id", "part"]), File(rows))
        self.rows |= {int(row["id"]): (row["part"], row["v"]) for row in rows}

    def update(self) -> None:
        value = self.random.randrange(9)
        self.run(f"UPDATE {self.table.sql} SET v = v + 10 WHERE v % 9 = {value}")
        self.rows = {key: (p, v + 10 if v % 9 == value else v) for key, (p, v) in self.rows.items()}

    def delete(self) -> None:
        value = self.random.randrange(9)
        self.run(f"DELETE FROM {self.table.sql} WHERE v % 9 = {value}")
        self.rows = {key: row for key, row in self.rows.items() if row[1] % 9 != value}

    def merge(self) -> None:
        first = self.random.randrange(36)
        self.run(
            f"MERGE INTO {self.table.sql} t USING (SELECT int(id) AS id FROM range({first}, {first + 6})) s "
            "ON t.id = s.id "
            "WHEN MATCHED AND t.v < 3 THEN DELETE WHEN MATCHED THEN UPDATE SET v = t.v + 100 "
            "WHEN NOT MATCHED THEN INSERT (id, part, v) VALUES (s.id, s.id % 2, 7)"
        )
        for key in range(first, first + 6):
            part, value = self.rows.pop(key, (None, None))
            if part is None or value is None:
                self.rows[key] = (key % 2, 7)
            elif value >= 3:
                self.rows[key] = (part, value + 100)

    def run(self, statement: str) -> None:
        self.indexed += "equality deletes: " in explained(self.table.lake, statement)
        self.table.lake.spark.sql(statement).collect()

    def check(self) -> None:
        seen = self.table.lake.spark.table(self.table.sql).collect()
        assert sorted((row.id, (row.part, row.v)) for row in seen) == sorted(self.rows.items())


CASES = {
    f"{mode}, format {version}, {'partitioned' if by else 'one partition'}": (by, mode, version)
    for by in ([], ["part"])
    for mode in ("merge-on-read", "copy-on-write")
    for version in (2, 3)
}


@pytest.mark.slow
@of_every("case", CASES, today=1)
def test_statements_between_upserts(lake: kl.Lake, writer: ForeignWriter, case: tuple[list[str], str, int]) -> None:
    partition, mode, version = case
    properties = dict.fromkeys(MODES, mode)
    with foreign_table(lake, writer, "id INT, part INT, v INT", partition, version, **properties) as table:
        rows = Rows(FIRST + version, table)
        for _ in range(2):
            rows.upsert()
            for step in rows.random.sample([rows.update, rows.delete, rows.merge, rows.upsert], 3):
                step()
                rows.check()
        assert rows.indexed > 0
