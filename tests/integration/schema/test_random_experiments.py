"""Random writes to a table and its experiments, compactions, promotions and drops, against the model."""

from dataclasses import dataclass, field
from random import Random
from typing import TypeAlias

import pytest

import keylake as kl
from integration.random_runs import seeds
from integration.schema.evolving import Evolving
from keylake import Int64
from model.model import KeyedTable

Writing: TypeAlias = tuple[str, list[dict[str, object]], int]


@dataclass
class Play:
    """A table with experiments, and what was written to each: main first, so experiments win at equal versions."""

    lake: kl.Lake
    random: Random
    versions: str
    main: list[Writing] = field(default_factory=list)
    own: dict[str, list[Writing]] = field(default_factory=dict)
    promoted: list[str] = field(default_factory=list)
    commits: int = 0

    def __post_init__(self) -> None:
        ordering, said = ("at BIGINT, ", "'ordering' = 'at'") if self.versions == "ordering" else ("", "")
        self.made = Evolving(
            self.lake,
            f"id BIGINT, {ordering}a BIGINT, b BIGINT, PRIMARY KEY (id)",
            said or f"'versions' = '{self.versions}'",
            "CLUSTERED BY (id) INTO 2 BUCKETS",
        )

    @property
    def columns(self) -> list[str]:
        return ["a", "b", *self.promoted]

    def version(self) -> int:
        self.commits += 1
        return self.commits if self.versions == "commit" else self.random.randrange(8)

    def _rows(self, columns: list[str]) -> list[dict[str, object]]:
        ids = self.random.sample(range(6), self.random.randint(1, 4))
        return [{"id": i} | {name: self.random.randrange(9) for name in columns} for i in ids]

    def write(self) -> None:
        verb = self.random.choice(["update", "update", "upsert", "delete"])
        few = self.random.sample(self.columns, self.random.randint(0, len(self.columns)))
        version = self.version()
        written = self._rows([] if verb == "delete" else self.columns if verb == "upsert" else few)
        sent, said = written, {} if self.versions == "commit" else {"version": version}
        if self.versions == "ordering" and verb != "delete":
            sent, said = [row | {"at": version} for row in written], {}
        getattr(self.made.table, verb)(sent, **said)
        self.main.append(("delete" if verb == "delete" else "update", written, version))

    def begin(self) -> None:
        number = self.commits = self.commits + 1
        if len(self.own) < 3:
            self.made.table.experiment(f"e{number}", add={f"x{number}": Int64, f"y{number}": Int64})
            self.own[f"e{number}"] = []

    def _chosen(self) -> str | None:
        return self.random.choice(list(self.own)) if self.own else None

    def update(self) -> None:
        name = self._chosen()
        if name is not None:
            columns = [f"{letter}{name[1:]}" for letter in self.random.choice(["x", "y", "xy"])]
            written, version = self._rows(columns), self.version()
            said = {} if self.versions == "commit" else {"version": version}
            self.made.table.experiment(name).update(written, **said)
            self.own[name].append(("update", written, version))

    def compact(self) -> None:
        name = self._chosen()
        if name is not None and self.random.random() < 0.5:
            self.made.table.experiment(name).compact("full")
        else:
            self.made.table.compact(self.random.choice(["full", "settle"]))

    def replace(self) -> None:
        self.made.run("TRUNCATE TABLE {t}")
        self.main.clear()

    def drop(self) -> None:
        name = self._chosen()
        if name is not None:
            self.made.table.drop_experiment(name)
            del self.own[name]

    def promote(self) -> None:
        name = self._chosen()
        if name is not None:
            self.made.table.experiment(name).promote()
            self.main += self.own.pop(name)
            self.promoted += [f"x{name[1:]}", f"y{name[1:]}"]

    def check(self) -> None:
        names = list(self.own)
        for each in [[], *([name] for name in names), names]:
            columns = [*self.columns, *(f"{letter}{name[1:]}" for name in each for letter in "xy")]
            model = KeyedTable(key=("id",), columns=tuple(columns))
            for verb, written, version in [*self.main, *(one for name in each for one in self.own[name])]:
                getattr(model, verb)(written, version)
            expected = sorted((key[0], *(row[c] for c in columns)) for key, row in model.read().items())
            read = self.made.table.read(columns=["id", *columns], experiments=each)
            assert sorted(map(tuple, read.collect()), key=repr) == sorted(expected, key=repr), each
            some = self.random.choice(columns)
            found = self.made.table.read(columns=["id"], where=f"{some} > 4", experiments=each)
            column = columns.index(some) + 1
            assert sorted(row[0] for row in found.collect()) == [
                row[0] for row in expected if row[column] is not None and row[column] > 4
            ]


@pytest.mark.parametrize("seed", seeds(few=1, many=30))
def test_experiments_in_any_order(lake: kl.Lake, seed: int) -> None:
    random = Random(seed)
    play = Play(lake, random, ("explicit", "commit", "ordering")[seed % 3])
    play.write()
    play.begin()
    for number in range(14):
        step = random.choices(
            [play.write, play.begin, play.update, play.compact, play.replace, play.drop, play.promote],
            [6, 1, 6, 2, 0.5, 0.5, 1],
        )[0]
        step()
        if number % 3 == 2:
            play.check()
    play.check()
