"""Columns with reducers, and random histories of them."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from random import Random

import pyarrow as pa
import pytest

import keylake as kl
from integration.histories import Operation
from integration.twin import Twin, comparable, fresh_name
from keylake._values.read import python_value
from model.sums import SumOverflow

NUMBERS = [0.0, -0.0, 0.1, 0.2, 1e16, -1e16, 1e308, -1e308, 5e-324, math.inf, -math.inf, math.nan]
SMALL = [-7, 0, 1, 99]
LARGE = [2**62, -(2**62), 2**63 - 1, -(2**63), 1]


@dataclass(frozen=True)
class Reduced:
    """A column with a reducer, and values that try it."""

    type: pa.DataType
    reducer: kl.Reducer
    draw: Callable[[Random], object]


def one_of(values: Sequence[object]) -> Callable[[Random], object]:
    return lambda random: random.choice(values)


def lists_of(values: Sequence[object], longest: int = 4) -> Callable[[Random], object]:
    return lambda random: [random.choice([*values, None]) for _ in range(random.randint(0, longest))]


def maps_of(keys: Sequence[object], values: Sequence[object]) -> Callable[[Random], object]:
    def draw(random: Random) -> object:
        return [(key, random.choice(values)) for key in random.sample(keys, random.randint(0, len(keys)))]

    return draw


def days_of(values: Sequence[object]) -> Callable[[Random], object]:
    def draw(random: Random) -> object:
        listed = (
            None if random.random() < 0.1 else [random.choice([*values, None]) for _ in range(random.randint(0, 3))]
        )
        return {"day": date(1970, 1, 1) + timedelta(days=random.randint(-4, 4)), "values": listed}

    return draw


def daily(of: pa.DataType) -> pa.DataType:
    return pa.struct([("day", pa.date32()), ("values", pa.list_(of))])


def structs_of(members: Mapping[str, Sequence[object]], nulls: float = 0.0) -> Callable[[Random], object]:
    def draw(random: Random) -> object:
        return {name: None if random.random() < nulls else random.choice(values) for name, values in members.items()}

    return draw


def lists_of_structs(members: Mapping[str, Sequence[object]]) -> Callable[[Random], object]:
    draw = structs_of(members)
    return lambda random: [draw(random) if random.random() < 0.9 else None for _ in range(random.randint(0, 3))]


DECIMAL = pa.decimal128(5, 2)
DECIMALS = [Decimal("0.01"), Decimal("-3.50"), Decimal("12.00")]

CASES: Mapping[str, Reduced] = {
    "sum of longs": Reduced(pa.int64(), kl.Sum(), one_of(SMALL)),
    "sum of ints": Reduced(pa.int32(), kl.Sum(), one_of(SMALL)),
    "sum of large longs": Reduced(pa.int64(), kl.Sum(), one_of(LARGE)),
    "sum of doubles": Reduced(pa.float64(), kl.Sum(), one_of(NUMBERS)),
    "sum of floats": Reduced(pa.float32(), kl.Sum(), one_of([0.5, 0.1, 16777216.0, 3e38, -0.0, math.nan])),
    "sum of decimals": Reduced(DECIMAL, kl.Sum(), one_of(DECIMALS)),
    "min of doubles": Reduced(pa.float64(), kl.Min(), one_of(NUMBERS)),
    "max of doubles": Reduced(pa.float64(), kl.Max(), one_of(NUMBERS)),
    "min of texts": Reduced(pa.string(), kl.Min(), one_of(["", "a", "é", "\U0001f600", "\uffff"])),
    "max of dates": Reduced(pa.date32(), kl.Max(), one_of([date(1969, 12, 31), date(2026, 1, 1)])),
    "min of decimals": Reduced(DECIMAL, kl.Min(), one_of(DECIMALS)),
    "max of bytes": Reduced(pa.binary(), kl.Max(), one_of([b"", b"\x7f", b"\x80\x00"])),
    "count": Reduced(pa.int64(), kl.Count(), one_of(SMALL)),
    "first": Reduced(pa.string(), kl.First(), one_of(["x", "y", "z"])),
    "first of lists": Reduced(pa.list_(pa.int64()), kl.First(), lists_of(SMALL)),
    "and": Reduced(pa.bool_(), kl.BoolAnd(), one_of([True, True, False])),
    "or": Reduced(pa.bool_(), kl.BoolOr(), one_of([False, False, True])),
    "list": Reduced(pa.list_(pa.string()), kl.Collect(), lists_of(["a", "b", ""])),
    "set": Reduced(pa.list_(pa.int64()), kl.Collect(distinct=True), lists_of(SMALL)),
    "set of doubles": Reduced(pa.list_(pa.float64()), kl.Collect(distinct=True), lists_of([math.nan, 1.5])),
    "few": Reduced(pa.list_(pa.string()), kl.Collect(limit=3), lists_of(["a", "b", "c"])),
    "few of a set": Reduced(pa.list_(pa.string()), kl.Collect(distinct=True, limit=2), lists_of(["a", "b", "c"])),
    "sums of longs": Reduced(pa.list_(pa.int64()), kl.ArraySum(), lists_of(SMALL)),
    "sums of doubles": Reduced(pa.list_(pa.float64()), kl.ArraySum(), lists_of(NUMBERS)),
    "sums of decimals": Reduced(pa.list_(DECIMAL), kl.ArraySum(), lists_of(DECIMALS)),
    "days of longs": Reduced(daily(pa.int64()), kl.Daily(days=4), days_of(SMALL)),
    "days of large longs": Reduced(daily(pa.int64()), kl.Daily(days=3), days_of(LARGE)),
    "days of doubles": Reduced(daily(pa.float64()), kl.Daily(days=5), days_of(NUMBERS)),
    "largest of days": Reduced(daily(pa.float64()), kl.Daily(days=2, of=kl.Max()), days_of(NUMBERS)),
    "map": Reduced(pa.map_(pa.string(), pa.int64()), kl.MapMerge(), maps_of(["a", "b", "c"], [1, 2, None])),
    "map of sums": Reduced(
        pa.map_(pa.string(), pa.float64()), kl.MapMerge(of=kl.Sum()), maps_of(["a", "é", ""], [*NUMBERS, None])
    ),
    "map of large sums": Reduced(
        pa.map_(pa.int64(), pa.int64()), kl.MapMerge(of=kl.Sum()), maps_of([3, -1, 2], [*LARGE, None])
    ),
    "map of counts": Reduced(
        pa.map_(pa.string(), pa.int64()), kl.MapMerge(of=kl.Count()), maps_of(["a", "b"], [7, 8, None])
    ),
    "map of lists": Reduced(
        pa.map_(pa.date32(), pa.list_(pa.string())),
        kl.MapMerge(of=kl.Collect(limit=3)),
        maps_of([date(2026, 1, 1), date(1969, 1, 1)], [["a"], ["b", None], [], None]),
    ),
    "largest": Reduced(
        pa.list_(pa.struct([("name", pa.string()), ("score", pa.float64())])),
        kl.TopN(by="score", n=3),
        lists_of_structs({"name": ["a", "b", None], "score": [0.0, -0.0, 7.5, math.nan]}),
    ),
    "newest": Reduced(pa.list_(pa.string()), kl.LatestN(4), lists_of(["a", "b", "c", "d"])),
    "newest structs": Reduced(
        pa.list_(pa.struct([("page", pa.string()), ("seconds", pa.int32())])),
        kl.LatestN(2),
        lists_of_structs({"page": ["x", "y"], "seconds": [1, None]}),
    ),
    "average of doubles": Reduced(
        pa.struct([("sum", pa.float64()), ("count", pa.int64())]),
        kl.Average(),
        structs_of({"sum": NUMBERS, "count": [1, 2, 2**62]}),
    ),
    "average of longs": Reduced(
        pa.struct([("sum", pa.int64()), ("count", pa.int64())]), kl.Average(), structs_of({"sum": LARGE, "count": [1]})
    ),
    "moments": Reduced(
        pa.struct([("count", pa.int64()), *((f"sum{power}", pa.float64()) for power in ("", "2", "3", "4"))]),
        kl.Moments(),
        structs_of({"count": [1, 3]} | {f"sum{power}": [0.1, 1e9, -7.25] for power in ("", "2", "3", "4")}),
    ),
    "struct": Reduced(
        pa.struct(
            [("total", pa.float32()), ("seen", pa.int64()), ("tags", pa.list_(pa.string())), ("least", pa.int32())]
        ),
        kl.Struct({"least": kl.Min(), "seen": kl.Count(), "tags": kl.Collect(distinct=True), "total": kl.Sum()}),
        structs_of({"total": [0.1, 16777216.0], "seen": [5], "tags": [["a"], ["b", "a"]], "least": SMALL}, nulls=0.3),
    ),
    "struct of large sums": Reduced(
        pa.struct([("many", DECIMAL), ("most", pa.int64()), ("by_key", pa.map_(pa.string(), pa.int32()))]),
        kl.Struct({"many": kl.Sum(), "most": kl.Max(), "by_key": kl.MapMerge(of=kl.Sum())}),
        structs_of(
            {
                "many": [Decimal("999.99"), Decimal("-999.99"), Decimal("0.01")],
                "most": LARGE,
                "by_key": [[("a", 2**31 - 1)], [("b", 3), ("a", -7)], []],
            },
            nulls=0.2,
        ),
    ),
}


def table_of(lake: kl.Lake, reduced: Reduced, versions: str = "explicit", buckets: int = 2) -> Twin:
    """A table with the column `v`, and a register `r` beside it."""
    schema = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", reduced.type), ("r", pa.int64())])
    spec = kl.TableSpec.from_arrow(
        schema,
        name=fresh_name("reducers"),
        key=["k"],
        versions=versions,  # type: ignore[arg-type]
        buckets=buckets,
        reducers={"v": reduced.reducer},
    )
    return Twin.create(lake, spec, schema)


def history(reduced: Reduced, random: Random, commits: int) -> list[Operation]:
    """Writes of a few keys; some of them delete, some are late."""

    def row() -> dict[str, object]:
        value = None if random.random() < 0.15 else reduced.draw(random)
        return {"k": random.randint(0, 5), "v": value, "r": random.randint(0, 9), "x": random.randint(0, 6)}

    made: list[Operation] = []
    for _ in range(commits):
        rows = [row() for _ in range(random.randint(1, 12))]
        if random.random() < 0.2:
            made.append(Operation("delete", tuple({"k": r["k"], "x": r["x"]} for r in rows[:2]), "x"))
        elif random.random() < 0.2:
            made.append(Operation("apply_changes", tuple(r | {"op": random.choice("IIID")} for r in rows), "x"))
        else:
            made.append(Operation("upsert", tuple(rows), "x"))
    return made


def check(twin: Twin) -> None:
    """The same rows as the model; where a sum has no place in its type, the error says so."""
    if any(isinstance(row["v"], SumOverflow) for row in twin.model.read().values()):
        with pytest.raises(Exception, match=r"KEYLAKE_BAD_ROWS.*'v'.*for the key k=\d") as said:
            twin.table.read().toArrow()
        assert "widen the column's type" in str(said.value)
        twin.check(["r"])
    else:
        twin.check()


def check_explanations(twin: Twin) -> None:
    """Values explained as they are read; a sum that has no place in its type is told, and spoils no other row."""
    type_ = twin.table.spec.column("v").type
    for (key,) in sorted(twin.model.written_keys())[:2]:
        row = twin.table.explain_row(k=key)
        expected = twin.model.read().get((key,))
        assert row.exists == (expected is not None)
        if expected is not None and isinstance(expected["v"], SumOverflow):
            assert (row["v"].value, row["v"].missing_because) == (None, "does not fit its type")
        elif expected is not None:
            assert comparable(row["v"].value) == comparable(python_value(type_, expected["v"]))
            assert row["r"].value == expected["r"]
