"""Random payloads in random batches, against a naive reading of the same rules in Python.

The naive side knows values as Python parses them: bool, int, Decimal (a number with a point), float (one with an
exponent), str, list, dict. Types are words, ("list", type) and ("struct", {name: type}).
"""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random
from typing import Any

import pytest

import keylake as kl
from integration.random_runs import seeds
from integration.schema.evolving import Evolving
from model.model import KeyedTable

SCALARS = ("a", "A", "n", "N", "v", "id", "_bucket", "x.y", "it's `\"", "_RESCUED", "")
NESTED = ("home", "tags", "mixed")
COLUMNS = ("n", "a", "v", "it's `\"", *NESTED, "_rescued")
BROKEN = ("{", "", "[1, 2]", '{"a": 1} 2', '{"a": 1, "a": 1}', "null", "NaN")
LONG = range(-(2**63), 2**63)


# ----------------------------------------------------------------------------------------------------- random payloads


def number(random: Random) -> str:
    whole = random.choice([0, 1, -7, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1])
    return random.choice([str(whole), str(whole), "0.5", "-2.25", "1e3", "25e-2"])


def text_of(random: Random, depth: int) -> str:
    """A value as JSON; at depth 0 one without lists and objects."""
    kind = random.choice(["number", "number", "text", "truth", "null"] + ["list", "object"] * 3 * (depth > 0))
    if kind == "list":
        return f"[{', '.join(text_of(random, depth - 1) for _ in range(random.randrange(3)))}]"
    if kind == "object":
        names = random.sample(["zip", "street", "geo", "a b"], random.randrange(3))
        return "{" + ", ".join(f'"{name}": {text_of(random, depth - 1)}' for name in names) + "}"
    return {"number": number(random), "text": random.choice(['"x"', '"7"', '""', '"é\\"\'"']), "truth": "true"}.get(
        kind, "null"
    )


def payload(random: Random) -> str | None:
    if random.random() < 0.1:
        return random.choice([*BROKEN, None])
    names = random.sample([*SCALARS, *NESTED], random.randrange(6))
    fields = [f"{json.dumps(name)}: {text_of(random, 2 * (name in NESTED))}" for name in names]
    return "{" + ", ".join(fields) + "}"


# ----------------------------------------------------------------------------------------------------------- the rules


def parsed(text: str | None) -> dict[str, Any] | None:
    """The fields of a payload; None where it is none."""

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError
        return dict(pairs)

    def fraction(said: str) -> object:
        return float(said) if "e" in said else Decimal(said)

    def refused(said: str) -> object:
        raise ValueError(said)

    if text is None:
        return {}
    try:
        found = json.loads(text, parse_float=fraction, parse_constant=refused, object_pairs_hook=members)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def inferred(values: Iterable[Any]) -> Any:
    """The type that values have by the rules for new columns; None: not known."""
    known = [value for value in values if value is not None]
    kinds = {type(value) for value in known}
    if not known:
        return None
    if kinds == {list}:
        element = inferred(each for value in known for each in value)
        return None if element is None else ("list", element)
    if kinds == {dict}:
        names = sorted({name for value in known for name in value})
        members = {name: inferred(value.get(name) for value in known) for name in names}
        members = {name: type_ for name, type_ in members.items() if type_ is not None}
        return ("struct", members) if members else None
    if kinds <= {int, Decimal, float}:
        is_whole = kinds == {int}
        return "double" if not is_whole else "long" if all(value in LONG for value in known) else "decimal"
    return {bool: "boolean", str: "string"}.get(kinds.pop(), "string") if len(kinds) == 1 else "string"


def extended(have: Any, seen: Any) -> Any:
    """A type with the members that values have besides."""
    if isinstance(have, tuple) and isinstance(seen, tuple) and have[0] == seen[0]:
        if have[0] == "list":
            return ("list", extended(have[1], seen[1]))
        both = {name: extended(type_, seen[1].get(name)) for name, type_ in have[1].items()}
        return ("struct", both | {name: type_ for name, type_ in seen[1].items() if name not in both})
    return have


def fits(value: Any, type_: Any) -> bool:
    if value is None or type_ == "string":
        return True
    if isinstance(type_, tuple):
        if type_[0] == "list":
            return isinstance(value, list) and all(fits(each, type_[1]) for each in value)
        others = isinstance(value, dict) and any(value[name] is not None for name in value if name not in type_[1])
        return isinstance(value, dict) and not others and all(fits(value.get(n), t) for n, t in type_[1].items())
    if isinstance(value, bool) or type_ == "boolean":
        return isinstance(value, bool) and type_ == "boolean"
    if not isinstance(value, int | Decimal | float):
        return False
    if type_ == "double":
        if isinstance(value, int) and value in LONG:
            return int(float(value)) == value
        return not isinstance(value, int) or Decimal(repr(float(value))) == value
    if type_ == "decimal":
        return not isinstance(value, float) and value == int(value)
    return value == int(value) and int(value) in (range(-(2**31), 2**31) if type_ == "int" else LONG)


def stored(value: Any, type_: Any) -> Any:
    if value is None:
        return None
    if isinstance(type_, tuple):
        if type_[0] == "list":
            return [stored(each, type_[1]) for each in value]
        return {name: stored(value.get(name), member) for name, member in type_[1].items()}
    if type_ == "string":
        return value if isinstance(value, str) else Json(value)
    return {"boolean": bool, "double": float, "decimal": Decimal}.get(type_, int)(value)


@dataclass(frozen=True)
class Json:
    """Equal to a text that says the same in JSON."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and json.loads(other) == json.loads(json.dumps(self.value, default=float))

    __hash__ = None  # type: ignore[assignment]


# ---------------------------------------------------------------------------------------------------------- both sides


@dataclass
class Play:
    """A table and its model; columns of the model are in lower case, and `names` has them as the table does."""

    lake: kl.Lake
    random: Random
    types: dict[str, Any] = field(default_factory=lambda: {"n": "int"})
    names: dict[str, str] = field(default_factory=lambda: {"n": "n"})
    version: int = 0

    def __post_init__(self) -> None:
        self.table = Evolving(self.lake, "id BIGINT, n INT, PRIMARY KEY (id)", "'versions' = 'explicit'").table
        self.model = KeyedTable(key=("id",), columns=COLUMNS)

    def batch(self) -> None:
        versions = self.random.sample(range(self.version - 20, self.version + 20), self.random.randrange(1, 25))
        self.version += 10
        rows = [(self.random.randrange(6), version, payload(self.random)) for version in versions]
        frame = self.lake.spark.createDataFrame(rows, "id LONG, V LONG, payload STRING")
        commit = self.table.update_json(frame.repartition(2), version="v")
        assert commit.rescued == self.follow(rows), rows

    def follow(self, rows: list[tuple[int, int, str | None]]) -> int:
        """What the batch means, by the rules; returns how many values fit nowhere."""
        payloads = [(id_, version, text, parsed(text)) for id_, version, text in rows]
        seen: dict[str, list[tuple[str, Any]]] = {}
        for *_, found in payloads:
            for name, value in (found or {}).items():
                seen.setdefault(name.lower(), []).append((name, value))
        for lower, values in seen.items():
            type_ = inferred(value for _, value in values)
            if lower in self.types:
                self.types[lower] = extended(self.types[lower], type_)
            elif lower in COLUMNS and lower != "_rescued" and type_ is not None:
                self.types[lower], self.names[lower] = type_, min(name for name, _ in values)
        written = [(id_, version, *self.row(id_, text, found)) for id_, version, text, found in payloads]
        for id_, version, row, _ in written:
            lost = [each for other, _, _, kept in written if other == id_ for each in kept]
            carried = row | ({"_rescued": Counter(lost)} if lost else {})
            self.model.update([{"id": id_, **carried}], version)
        return sum(len(kept) for *_, kept in written)

    def row(
        self, id_: int, text: str | None, found: dict[str, Any] | None
    ) -> tuple[dict[str, Any], list[tuple[str | None, str]]]:
        """The columns that a payload writes, and what of it fits nowhere."""
        if found is None:
            return {}, [(None, str(text))]
        columns: dict[str, Any] = {}
        lost: list[tuple[str | None, str]] = []
        for name, value in found.items():
            lower = name.lower()
            alike = [other for other in found if other.lower() == lower]
            is_chosen = len(alike) == 1 or name == self.names.get(lower)
            if lower == "id":
                fitting = fits(value, "long") and value == id_
            elif lower in self.types and is_chosen:
                fitting = fits(value, self.types[lower])
                columns |= {lower: stored(value, self.types[lower])} if fitting else {}
            else:
                fitting = value is None
            if not fitting:
                lost.append((name, canonical(value)))
        return columns, lost

    def check(self) -> None:
        expected = self.model.read()
        rows = self.table.read().toArrow().to_pylist()
        assert len(rows) == len(expected)
        for row in rows:
            wanted = expected[row["id"],]
            for lower, name in self.names.items():
                assert wanted[lower] == row[name], (row["id"], name)
            kept = row.get("_rescued")
            found = None if kept is None else Counter((e["field"], as_canonical(e)) for e in kept)
            assert found == wanted["_rescued"], row["id"]
        assert {name.lower() for name in self.table.spec.column_names} - {"id", "_rescued"} == self.types.keys()


def canonical(value: Any) -> str:
    return json.dumps(json.loads(json.dumps(value, default=float), parse_int=float), sort_keys=True)


def as_canonical(entry: dict[str, Any]) -> str:
    return str(entry["value"]) if entry["field"] is None else canonical(json.loads(entry["value"]))


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(few=1, many=20))
def test_random_payloads(lake: kl.Lake, seed: int) -> None:
    play = Play(lake, Random(seed))
    for _ in range(3):
        play.batch()
        play.check()
