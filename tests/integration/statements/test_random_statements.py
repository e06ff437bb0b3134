"""Random sequences of UPDATE, DELETE, MERGE, TRUNCATE and writes of rows, against the model."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from random import Random

import pytest

import keylake as kl
from integration.histories import COMPOUND, EPOCH, Shape, operations
from integration.random_runs import seeds
from integration.twin import Twin, fresh_name
from model.model import Row

STEPS = 5
SETTING = "spark.keylake.write.version"
SHAPES = [
    Shape("commit", reducers={}),
    Shape("explicit", buckets=2, groups={"g": ("a", "b")}),
    Shape("ordering", COMPOUND, buckets=2, reducers={}),
    Shape("explicit", COMPOUND, buckets=2, partition_by=("day",), reducers={}),
]
# Conditions on rows, as SQL has them and as Python has them.
CONDITIONS: list[tuple[str, Callable[[Row], bool]]] = [
    ("true", lambda _row: True),
    ("id > 1", lambda row: row["id"] > 1),
    ("id = 0", lambda row: row["id"] == 0),
    ("a > 20", lambda row: row["a"] is not None and row["a"] > 20),
    ("b IS NULL", lambda row: row["b"] is None),
    ("a IN (SELECT e FROM {t})", lambda row: row["a"] is not None and row["a"] in row["all e"]),
    ("size(d) > 1", lambda row: row["d"] is not None and len(row["d"]) > 1),
]
VALUES: list[tuple[str, str, Callable[[Row], object]]] = [
    ("a", "a + id", lambda row: None if row["a"] is None else row["a"] + row["id"]),
    ("a", "(SELECT max(e) FROM {t})", lambda row: max(row["all e"], default=None)),
    ("b", "concat('x', id)", lambda row: f"x{row['id']}"),
    ("d", "NULL", lambda _row: None),
    ("d", "array(a)", lambda row: [row["a"]]),
    ("e", "7", lambda _row: 7),
]


@dataclass
class Statements:
    """A table that statements change, beside its model, and what was said."""

    twin: Twin
    random: Random
    said: list[str]

    def run(self, statement: str) -> None:
        self.said.append(statement)
        self.twin.lake.spark.sql(statement.replace("{t}", self.twin.sql_name)).collect()

    def version(self) -> int:
        """That of the next statement."""
        number = self.random.randint(-9, 9)
        text = (EPOCH.replace(tzinfo=None)).isoformat() if self.twin.model.versions == "ordering" else str(number)
        if self.twin.model.versions == "ordering":
            number = 0
            text += "Z"
        self.twin.lake.spark.conf.set(SETTING, text)
        self.said.append(f"version {text}")
        return number

    def chosen(self, holds: Callable[[Row], bool]) -> list[dict[str, object]]:
        """The rows that a condition holds for, with their keys."""
        model = self.twin.model
        found = model.read()
        every = [row["e"] for row in found.values() if row["e"] is not None]
        whole = [dict(zip(model.key, key, strict=True)) | row | {"all e": every} for key, row in found.items()]
        return [row for row in whole if holds(row)]

    def written(self, rows: list[dict[str, object]]) -> tuple[list[dict[str, object]], str | None]:
        """The rows with the versions that the statement gives them."""
        model = self.twin.model
        if model.versions == "commit":
            return rows, None
        own, there = self.version(), model.read()
        keys = [tuple(row[name] for name in model.key) for row in rows]
        versions = [max(own, model.merge_info(key).version) if key in there else own for key in keys]
        return [row | {"v": version} for row, version in zip(rows, versions, strict=True)], "v"

    def update(self) -> None:
        model = self.twin.model
        condition, holds = self.random.choice(CONDITIONS)
        column, text, value = self.random.choice(VALUES)
        group = next((group for group in model.groups.values() if column in group), (column,))
        rows = [{name: row[name] for name in (*model.key, *group)} | {column: value(row)} for row in self.chosen(holds)]
        rows, version = self.written(rows)
        self.run(f"UPDATE {{t}} SET {column} = {text} WHERE {condition}")
        model.update(rows, version)

    def delete(self) -> None:
        model = self.twin.model
        condition, holds = self.random.choice(CONDITIONS)
        rows, version = self.written([{name: row[name] for name in model.key} for row in self.chosen(holds)])
        self.run(f"DELETE FROM {{t}} WHERE {condition}")
        model.delete(rows, version)

    def merge(self) -> None:
        """Some rows are there, and some are not; what is written is what the first action that applies writes."""
        model = self.twin.model
        there = model.read()
        keys = self.random.sample(sorted(there), min(len(there), 3))
        ids = self.random.sample(range(20, 26), 2)
        new = [tuple(id_ if name == "id" else EPOCH.date() for name in model.key) for id_ in ids]
        source = {key: self.random.randrange(6) for key in (*keys, *(key for key in new if key not in there))}
        deletes, gone = self.random.random() < 0.5, self.random.random() < 0.5
        group = next((group for group in model.groups.values() if "a" in group), ("a",))
        written: list[dict[str, object]] = []
        for key, x in source.items():
            own: dict[str, object] = dict(zip(model.key, key, strict=True))
            if key not in there:
                written.append(own | {"op": "I", "e": 1} | dict.fromkeys(group) | {"a": x})
            elif deletes and x > 3:
                written.append(own | {"op": "D"})
            else:
                written.append(own | {"op": "U"} | {name: there[key][name] for name in group} | {"a": x})
        if gone:
            rest = {key: row for key, row in there.items() if key not in source and row["e"] == 7}
            written += [dict(zip(model.key, key, strict=True)) | {"op": "U", "d": None} for key in rest]
        written, version = self.written(written)
        columns = ", ".join([*model.key, "x"])
        values = ", ".join(f"({', '.join(map(_literal, (*key, x)))})" for key, x in source.items())
        on = " AND ".join(f"t.{name} = s.{name}" for name in model.key)
        values_of = dict.fromkeys(group, "NULL") | {"a": "s.x", "e": "1"}
        inserted = ", ".join([*(f"s.{name}" for name in model.key), *values_of.values()])
        names = ", ".join((*model.key, *values_of))
        self.run(
            f"MERGE INTO {{t}} t USING (SELECT * FROM VALUES {values} AS v ({columns})) s ON {on} "
            + ("WHEN MATCHED AND s.x > 3 THEN DELETE " if deletes else "")
            + f"WHEN MATCHED THEN UPDATE SET a = s.x WHEN NOT MATCHED THEN INSERT ({names}) "
            + f"VALUES ({inserted})"
            + (" WHEN NOT MATCHED BY SOURCE AND t.e = 7 THEN UPDATE SET d = NULL" if gone else "")
        )
        model.apply_changes(written, "op", version)

    def truncate(self) -> None:
        self.run("TRUNCATE TABLE {t}")
        self.twin.model.overwrite([])

    def compact(self) -> None:
        self.twin.table.compact(self.random.choice(["full", "settle"]))  # type: ignore[arg-type]


def _literal(value: object) -> str:
    return f"DATE '{value}'" if isinstance(value, date) else f"{value}L"


@pytest.mark.parametrize("seed", seeds(few=3, many=161))
def test_random_statements(lake: kl.Lake, seed: int) -> None:
    random = Random(seed)
    shape = SHAPES[seed % len(SHAPES)]
    statements = Statements(shape.create(lake, fresh_name("statements")), random, [])
    writes = operations(shape, seed, count=STEPS + 2, rows=8)
    for write in writes[:2]:
        write.apply(statements.twin)
    steps = {statements.update: 4, statements.merge: 4, statements.delete: 2}
    steps |= {statements.truncate: 0.3, statements.compact: 0.7}
    steps[lambda: writes.pop().apply(statements.twin)] = 2
    try:
        for _ in range(STEPS):
            (step,) = random.choices(list(steps), list(steps.values()))
            step()
        statements.twin.check()
    except AssertionError as error:
        raise AssertionError(f"seed {seed}: {statements.said}") from error
    finally:
        lake.spark.conf.unset(SETTING)
