"""Conditions on columns: both engines find the rows that plain Python finds, wherever conditions are taken."""

import datetime
import enum
import math
import random
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pytest

import keylake as kl
import keylake.local
from integration.random_runs import seeds
from integration.twin import fresh_name

UTC = datetime.timezone.utc
Truth = bool | None  # None: neither true nor false


class Tier(enum.Enum):
    FREE, PAID = "free", "pa`id"


class Wide(kl.Table, name=fresh_name("conditions"), buckets=2, versions="explicit"):
    """A column of each kind that can be compared."""

    k: int = kl.key()
    flag: bool | None = kl.column(name="fl`ag")
    whole: kl.Int32 | None = kl.column()
    long: int | None = kl.column()
    single: kl.Float32 | None = kl.column()
    double: float | None = kl.column()
    spend: Annotated[Decimal, kl.Decimal(9, 2)] | None = kl.column()
    day: datetime.date | None = kl.column()
    local: kl.Timestamp | None = kl.column()
    at: datetime.datetime | None = kl.column()
    city: str | None = kl.column(name="the city's")
    photo: bytes | None = kl.column()
    user: UUID | None = kl.column()
    tier: Tier | None = kl.column()


NOON = datetime.datetime(2026, 3, 8, 12, 30, 0, 1)
NUMBERS = [0.0, -0.0, 1.5, -2.0, math.nan, math.inf]
VALUES: dict[str, list[Any]] = {
    "k": list(range(40)),
    Wide.flag: [True, False],
    Wide.whole: [0, -(2**31), 2**31 - 1, 7],
    Wide.long: [0, -(2**63), 2**63 - 1, 7],
    Wide.single: NUMBERS,
    Wide.double: [*NUMBERS, 0.1],
    Wide.spend: [Decimal("0.00"), Decimal("-1.50"), Decimal("1234567.89")],
    Wide.day: [datetime.date(1969, 12, 31), datetime.date(2026, 3, 8)],
    Wide.local: [NOON, NOON.replace(year=1)],
    Wide.at: [NOON.replace(tzinfo=UTC), NOON.replace(year=1900, tzinfo=UTC)],
    Wide.city: ["Oslo", "it's", 'back\\slash "`', "", "\U0001f600", "\uffff", "%_;--"],
    Wide.photo: [b"", b"\0'", b"\xff"],
    Wide.user: [UUID(int=0), UUID(int=2**128 - 1)],
    Wide.tier: list(Tier),
}
OTHERS: dict[str, list[Any]] = {  # what columns are compared with beside their own values
    Wide.whole: [5, np.int64(2**40), -(2**70), 7.0, math.nan, -math.inf],
    Wide.long: [2**63, Decimal("-1E+30")],
    Wide.single: [0.1, 3, 1e300, -1e300, -math.inf],
    Wide.double: [np.float32(0.5), 2],
    Wide.spend: [3, Decimal("7.5"), Decimal("1E+9")],
    Wide.at: [NOON.replace(hour=13, tzinfo=datetime.timezone(datetime.timedelta(hours=1)))],
}
COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "__eq__": lambda one, other: one == other,
    "__ne__": lambda one, other: one != other,
    "__lt__": lambda one, other: one < other,
    "__le__": lambda one, other: one <= other,
    "__gt__": lambda one, other: one > other,
    "__ge__": lambda one, other: one >= other,
}


def ordered(value: Any) -> Any:
    """The value as SQL orders it: NaN is equal to itself and above all, a text goes by its bytes, a uuid is text."""
    if isinstance(value, float | np.floating):
        return (math.isnan(value), 0.0 if math.isnan(value) else float(value))
    if isinstance(value, bool):
        return value
    if isinstance(value, enum.Enum):
        return ordered(value.value)
    if isinstance(value, str):
        return value.encode()
    return str(value) if isinstance(value, UUID) else value


class Drawn:
    """A random condition, and what it says of a row."""

    def __init__(self, draw: random.Random, depth: int = 3) -> None:
        self.condition, self.of = self._joined(draw, depth) if depth and draw.random() < 0.7 else self._leaf(draw)

    def _leaf(self, draw: random.Random) -> tuple[kl.Condition, Callable[[dict[str, Any]], Truth]]:
        name = draw.choice(list(VALUES))
        values = [*VALUES[name], *OTHERS.get(name, ())]
        kind = draw.random()
        if kind < 0.15:
            return kl.col(name).is_null(), lambda row: row[name] is None
        if kind < 0.35:
            some = draw.sample(values, draw.randint(0, len(values) - 1))
            known = [self._beside(name, each) for each in some]
            return kl.col(name).isin(
                some
            ), lambda row: False if not known else None if row[name] is None else ordered(row[name]) in known
        sign, value = draw.choice(list(COMPARED)), draw.choice(values)
        return getattr(kl.col(name), sign)(
            value
        ), lambda row: None if row[name] is None else COMPARED[sign](ordered(row[name]), self._beside(name, value))

    @staticmethod
    def _beside(name: str, value: Any) -> Any:
        if name in (Wide.whole, Wide.long):
            return 2**80 if value != value else -(2**80) if value == -math.inf else int(value)
        return ordered(float(value)) if name in (Wide.single, Wide.double) else ordered(value)

    @staticmethod
    def _joined(draw: random.Random, depth: int) -> tuple[kl.Condition, Callable[[dict[str, Any]], Truth]]:
        one, other = Drawn(draw, depth - 1), Drawn(draw, depth - 1)
        kind = draw.choice("&|~")
        if kind == "~":
            return ~one.condition, lambda row: None if one.of(row) is None else not one.of(row)
        decisive = kind == "|"

        def of(row: dict[str, Any]) -> Truth:
            both = one.of(row), other.of(row)
            return decisive if decisive in both else None if None in both else not decisive

        return (one.condition | other.condition if decisive else one.condition & other.condition), of


def rows_of(draw: random.Random) -> list[dict[str, Any]]:
    return [
        {name: k if name == "k" else draw.choice([None, *values]) for name, values in VALUES.items()}
        for k in VALUES["k"]
    ]


@pytest.fixture(scope="module")
def rows(lake: kl.Lake) -> list[dict[str, Any]]:
    """The rows of the table, which is made with them; they are in two runs."""
    found = rows_of(random.Random(17))
    table = lake.create(Wide)
    table.upsert(rows_of(random.Random(16)), version=1)
    table.upsert(found, version=2)
    return found


@pytest.fixture(scope="module")
def local(lake: kl.Lake, warehouse: Path) -> Iterator[keylake.local.LocalLake]:
    with keylake.local.open(warehouse) as opened:
        yield opened


@pytest.mark.parametrize("seed", seeds(few=1, many=20))
def test_random_conditions(
    lake: kl.Lake, local: keylake.local.LocalLake, rows: list[dict[str, Any]], seed: int
) -> None:
    draw = random.Random(seed)
    there, here = lake.table(Wide), local.table(Wide)
    for _ in range(12):
        drawn = Drawn(draw)
        wanted = [row["k"] for row in rows if drawn.of(row)]
        found = there.to_arrow(["k"], where=drawn.condition)["k"].to_pylist()
        assert sorted(found) == wanted, drawn.condition
        for _ in range(8):
            found = here.read(columns=["k"], where=drawn.condition).to_arrow()["k"].to_pylist()
            assert sorted(found) == [row["k"] for row in rows if drawn.of(row)], drawn.condition
            drawn = Drawn(draw)


LITERALS = {
    "long": ["0", "7", "-3", "9223372036854775807"],
    "`WHOLE`": ["7", "5", "-2147483648"],
    "double": ["1.5", "-2.0", "0.0", "100.0"],
    "spend": ["-1.50", "3.00", "1234567.89"],
    "`the city's`": ["'Oslo'", "'it''s'", "''", "'%_;--'"],
    "day": ["'2026-03-08'", "'1970-01-01'"],
    "`fl``ag`": ["TRUE", "FALSE"],
}


def text_of(draw: random.Random, depth: int = 2) -> str:
    """A random condition as text, such as both engines take."""
    if depth and draw.random() < 0.6:
        one, other = text_of(draw, depth - 1), text_of(draw, depth - 1)
        return draw.choice([f"({one} AND {other})", f"({one} or {other})", f"NOT ({one})"])
    column, literals = draw.choice(list(LITERALS.items()))
    some = ", ".join(draw.choices(literals, k=draw.randint(1, 3)))
    sign = draw.choice(["=", "<>", "!=", "<", "<=", ">", ">="])
    leaves = [f"{column} {sign} {draw.choice(literals)}"] * 4
    leaves += [f"{column} IN ({some})", f"{column} not in ({some})", f"{column} IS NULL", f"{column} IS NOT NULL"]
    if "city" in column:
        leaves += [f"{column} LIKE 'O%'", f"{column} NOT LIKE 'it%'", f"{column} like 'Oslo'"] * 2
    return draw.choice(leaves)


@pytest.mark.parametrize("seed", seeds(few=1, many=20))
def test_random_texts(lake: kl.Lake, local: keylake.local.LocalLake, rows: list[dict[str, Any]], seed: int) -> None:
    """Nulls, NaN and names between backticks mean the same with a server and without one."""
    draw = random.Random(seed)
    there, here = lake.table(Wide), local.table(Wide)
    for _ in range(15):
        text = text_of(draw)
        found = there.to_arrow(["k"], where=text)["k"].to_pylist()
        assert sorted(here.read(columns=["k"], where=text).to_arrow()["k"].to_pylist()) == sorted(found), text
    assert rows


def test_a_uuid_in_a_text_is_compared_without_a_server(
    local: keylake.local.LocalLake, rows: list[dict[str, Any]]
) -> None:
    last = UUID(int=2**128 - 1)
    wanted = sorted(row["k"] for row in rows if row[Wide.user] == last)
    for text in (f"user = '{last}'", f"user in ('{last}')", f"user > '{UUID(int=5)}' and user is not null"):
        found = local.table(Wide).read(columns=["k", Wide.user], where=text).to_arrow()
        assert sorted(found["k"].to_pylist()) == wanted
        assert set(found[Wide.user].to_pylist()) == {last}


def test_conditions_wherever_they_are_taken(lake: kl.Lake) -> None:
    name = "it's `a`"
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field(name, pa.string(), nullable=False)])
    words = {"name": fresh_name("conditions"), "key": ["id", name], "partition_by": name, "versions": "commit"}
    table = lake.create(kl.TableSpec.from_arrow(schema, buckets=1, **words))
    first = table.upsert([{"id": n, name: f"'{n % 2}"} for n in range(6)])
    odd = kl.col(name) == "'1"
    assert table.count(odd) == 3
    assert table.changes(where=kl.col("_change") != "insert").count() == 0
    assert table.feed.appended(where=odd).count() == 3
    assert table.feed.undo(until=first, where=kl.col("id") < 2).count() == 2
    assert table.overwrite([{"id": 1, name: "'1"}], where=odd).rows == 1
    draft = table.branch("tmp_draft")
    draft.upsert([{"id": 20, name: "'2"}])
    assert draft.publish(require=[kl.condition(~odd)]).commits
    with pytest.raises(kl.TableNotFound, match=r"no file of .* matches `bucket` = 7"):
        table.files.drop_plan(kl.col("bucket") == 7)
    other = table.branch("tmp_other")
    other.upsert([{"id": 30, name: "'3"}])
    assert table.branches.cherry_pick_plan(other, where=kl.col(name) == "'3").files_cut == 0
    assert table.delete(where=~odd) is not None
    assert table.to_arrow(["id"])["id"].to_pylist() == [1]
    assert table.delete(where=kl.col("id").isin([])) is None


def test_conditions_that_are_refused(lake: kl.Lake, local: keylake.local.LocalLake, rows: list[dict[str, Any]]) -> None:
    here, there = local.table(Wide), lake.table(Wide)
    with pytest.raises(kl.DefinitionError, match="& , | and ~".replace("& ,", "&,").replace("|", r"\|")):
        here.read(where=(kl.col(Wide.long) > 3) and (kl.col(Wide.long) < 9))  # type: ignore[operator]
    for where, words in {
        "a fraction": (kl.col(Wide.long) > 2.5, "2.5 is no whole number"),
        "digits": (kl.col(Wide.spend) > Decimal("1.005"), "more than the 2 digits"),
        "a zone": (kl.col(Wide.local) > NOON.replace(tzinfo=UTC), "has a zone, and column 'local' is timestamp"),
        "no zone": (kl.col(Wide.at) > NOON, "has no zone, and column 'at' is timestamptz"),
        "no column": (kl.col("citi") == "Oslo", "no condition on columns"),
        "a pattern": ("`the city's` like 'O_lo%'", "has the sign _"),
        "a backslash": (r"`the city's` = 'it\'s'", "has a backslash. Compare by kl.col"),
        "a tab": ("`the city's` = 'a\tb'", "cannot be printed"),
        "double quotes": ('"the city\'s" = 2', "begins a text in SQL"),
        "a pattern of numbers": ("long LIKE '1%'", "LIKE is for texts"),
        "no number": ("long = '1_0'", "no value of column 'long'"),
        "a truth of a number": ("double = true", "no value of column 'double'"),
        "a number of a date": ("day = 18262", "no value of column 'day'"),
        "another spelling": ("user = 'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF'", "no value of column 'user'"),
        "a name without its end": ("`the city's = 'Oslo'", "cannot be parsed"),
    }.values():
        with pytest.raises(kl.DefinitionError, match=words):
            here.read(where=where)
    with pytest.raises(kl.DefinitionError, match=r"where is False. Use .* kl\.col\(Profile\.clicks\) > 0"):
        there.read(where=Wide.long == 3)  # type: ignore[arg-type]  # a name is no text of a number
    with pytest.raises(kl.SchemaMismatch, match="citi"):
        there.read(where=kl.col("citi") == "Oslo")
    with pytest.raises(kl.DefinitionError, match="where is None"):
        there.files.drop(None)  # type: ignore[arg-type]
    assert rows
