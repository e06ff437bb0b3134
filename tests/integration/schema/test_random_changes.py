"""Random writes, statements, changes of columns, compactions and looks at the past, against the model.

The model has ids for columns, and the table their names of the moment. Two writers change it: SQL, which knows each
column, and a handle that may be older than the last changes.
"""

from dataclasses import dataclass, field
from random import Random

import pytest

import keylake as kl
from integration.query_plans import changed_settings
from integration.random_runs import seeds
from integration.schema.evolving import Evolving
from model.model import KeyedTable, Row

MOST_COLUMNS = 30
TYPES = {"INT": "BIGINT", "FLOAT": "DOUBLE", "DECIMAL(6, 2)": "DECIMAL(18, 2)", "STRING": None}


@dataclass(frozen=True)
class Column:
    """A column of this moment; in the model it has its number for a name, whatever it is called here."""

    number: int
    name: str
    type: str
    wide: bool = False

    @property
    def own(self) -> str:
        return f"c{self.number}"

    def value(self, random: Random) -> object:
        small = random.randrange(5)
        return None if random.random() < 0.2 else f"s{small}" if self.type == "STRING" else small


@dataclass
class Play:
    """A table and its model, and what both were at some commits."""

    lake: kl.Lake
    random: Random
    columns: list[Column] = field(default_factory=list)
    made: int = 0
    key: str = "id"
    past: list[tuple[int, int, str, list[Column]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.table = Evolving(
            self.lake, "id BIGINT, PRIMARY KEY (id)", "'versions' = 'explicit'", "CLUSTERED BY (id) INTO 2 BUCKETS"
        )
        self.model = KeyedTable(key=("id",), columns=tuple(f"c{number}" for number in range(MOST_COLUMNS)))
        self.handle = self.table.table
        for _ in range(3):
            self.add()

    # ---------------------------------------------------------------------------------------------------- changes

    def add(self) -> None:
        if self.made == MOST_COLUMNS:
            return
        free = [name for name in "abcdefgh" if name not in [column.name for column in self.columns]]
        column = Column(self.made, self.random.choice(free), self.random.choice(list(TYPES)))
        place = self.random.choice(["", " FIRST", f" AFTER {self.key}"])
        self.table.run(f"ALTER TABLE {{t}} ADD COLUMN {column.name} {column.type}{place}")
        self.made += 1
        self.columns.append(column)

    def drop(self) -> None:
        if len(self.columns) > 1:
            column = self.random.choice(self.columns)
            self.table.run(f"ALTER TABLE {{t}} DROP COLUMN {column.name}")
            self.columns.remove(column)

    def rename(self) -> None:
        free = [name for name in "abcdefghxy" if name not in [column.name for column in self.columns]]
        name = self.random.choice(free)
        if self.random.random() < 0.3:
            key = "id" if self.key == "key" else "key"
            self.table.run(f"ALTER TABLE {{t}} RENAME COLUMN {self.key} TO {key}")
            self.key = key
            return
        column = self.random.choice(self.columns)
        self.table.run(f"ALTER TABLE {{t}} RENAME COLUMN {column.name} TO {name}")
        self.columns[self.columns.index(column)] = Column(column.number, name, column.type, column.wide)

    def widen(self) -> None:
        narrow = [column for column in self.columns if not column.wide and TYPES[column.type] is not None]
        if narrow:
            column = self.random.choice(narrow)
            self.table.run(f"ALTER TABLE {{t}} ALTER COLUMN {column.name} TYPE {TYPES[column.type]}")
            self.columns[self.columns.index(column)] = Column(column.number, column.name, column.type, wide=True)

    def move(self) -> None:
        self.table.run(f"ALTER TABLE {{t}} ALTER COLUMN {self.random.choice(self.columns).name} FIRST")

    # ----------------------------------------------------------------------------------------------------- writes

    def write(self) -> None:
        chosen = self.random.sample(self.columns, self.random.randint(0, len(self.columns)))
        ids = self.random.sample(range(6), self.random.randint(1, 4))
        version = self.random.randrange(6)
        values = [{column: column.value(self.random) for column in chosen} for _ in ids]
        rows = list(zip(ids, values, strict=True))
        if self.random.random() < 0.2:
            self.model.delete([{"id": id_} for id_ in ids], version)
            self.handle = self.table.table
            self.handle.delete([{self.key: id_} for id_ in ids], version=version)
        else:
            self.model.update([{"id": id_} | {c.own: v for c, v in row.items()} for id_, row in rows], version)
            sent = [{self.key: id_} | {c.name: v for c, v in row.items()} for id_, row in rows]
            self.handle.update(sent, version=version)  # a handle from before whatever has changed since
        self._remember()

    def statement(self) -> None:
        """UPDATE, DELETE or MERGE, whose version is the statement's or that of the row, whichever is larger."""
        kind = self.random.choice(["update", "delete", "merge"])
        column = self.random.choice(self.columns)
        least, own = self.random.randrange(5), self.random.randrange(6)
        value, literal = ("s1", "'s1'") if column.type == "STRING" else (1, "1")
        there = [key[0] for key in self.model.read()]
        chosen = [id_ for id_ in there if id_ >= least]
        text = {
            "update": f"UPDATE {{t}} SET {column.name} = {literal} WHERE {self.key} >= {least}",
            "delete": f"DELETE FROM {{t}} WHERE {self.key} >= {least}",
            "merge": f"MERGE INTO {{t}} t USING (SELECT id AS s FROM range({least}, 6)) ON t.{self.key} = s "
            f"WHEN MATCHED THEN UPDATE SET {column.name} = {literal} "
            f"WHEN NOT MATCHED THEN INSERT ({self.key}, {column.name}) VALUES (s, {literal})",
        }[kind]
        if kind == "merge":
            chosen = list(range(least, 6))
        with changed_settings(self.lake, {"spark.keylake.write.version": str(own)}):
            self.table.run(text)
        stamps = {id_: self.model.merge_info((id_,)).version if id_ in there else own for id_ in chosen}
        rows: list[Row] = [{"id": id_, "v": max(own, version)} for id_, version in stamps.items()]
        if kind == "delete":
            self.model.delete(rows, "v")
        else:
            self.model.update([row | {column.own: value} for row in rows], "v")
        self._remember()

    def _remember(self) -> None:
        self.past.append((self.table.head, len(self.model.replaced), self.key, list(self.columns)))

    def compact(self) -> None:
        self.table.table.compact(self.random.choice(["full", "settle"]))

    # ------------------------------------------------------------------------------------------------------ looks

    def check(self) -> None:
        self._same("", None, self.key, self.columns)
        if self.past:
            snapshot, commits, key, columns = self.random.choice(self.past)
            self._same(f"VERSION AS OF {snapshot}", commits, key, columns)

    def _same(self, at: str, commits: int | None, key: str, columns: list[Column]) -> None:
        read = self.model.read([column.own for column in columns], commits)
        expected = sorted((k[0], *(row[column.own] for column in columns)) for k, row in read.items())
        names = ", ".join([key, *(column.name for column in columns)])
        rows = self.table.rows(f"SELECT {names} FROM {{t}} {at}")
        assert [tuple(map(_plain, row)) for row in rows] == sorted(expected, key=repr)
        column = self.random.choice(columns)
        literal = "'s1'" if column.type == "STRING" else "1"
        found = self.table.rows(f"SELECT {key} FROM {{t}} {at} WHERE {column.name} = {literal} AND {key} < 4")
        wanted = "s1" if column.type == "STRING" else 1
        assert found == sorted((k[0],) for k, row in read.items() if row[column.own] == wanted and k[0] < 4)


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, str) else int(value)  # type: ignore[call-overload]


@pytest.mark.parametrize("seed", seeds(few=1, many=65))
def test_writes_and_changes_in_any_order(lake: kl.Lake, seed: int) -> None:
    random = Random(seed)
    play = Play(lake, random)
    play.write()
    changes = [play.add, play.drop, play.rename, play.widen, play.move, play.compact]
    for _ in range(9):
        step = random.choices([play.write, play.statement, *changes], [5, 5, 2, 2, 2, 1, 1, 1.5])[0]
        step()
        if random.random() < 0.4:
            play.check()
    play.check()
