"""The keyed tables of a golden lake that have a model: what they are, and what was written to them, commit by commit.

Archives hold what this module wrote when they were made, so that it changes with a new archive only.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Literal, TypeAlias
from uuid import UUID

import pyarrow as pa

import keylake as kl
from integration.golden.range_reducer import Range
from integration.histories import EPOCH, Operation
from integration.twin import Twin
from model.model import KeyedTable, Version, Versions
from model.reducers import rule_of

Upkeep: TypeAlias = Literal["full", "settle", "change_buckets", "rebucket"]
Values: TypeAlias = Mapping[str, object]

MICROS = pa.timestamp("us")
UTC_MICROS = pa.timestamp("us", tz="UTC")
REGISTERS = {"a": pa.int64(), "b": pa.string(), "c": pa.float64(), "d": pa.list_(pa.int32())}
PAIR = pa.struct([("x", pa.int64()), ("y", pa.float64())])


@dataclass(frozen=True)
class Golden:
    """One table. `upkeep` says what is done to its files after which commit."""

    key: Mapping[str, pa.DataType]
    versions: Versions
    columns: Mapping[str, pa.DataType] = field(default_factory=lambda: dict(REGISTERS))
    reducers: Mapping[str, kl.Reducer] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    partition_by: tuple[str, ...] = ()
    key_groups: int | None = None
    table_format: int = 2
    upkeep: Mapping[int, Upkeep] = field(default_factory=dict)

    @property
    def schema(self) -> pa.Schema:
        ordering = {"t": UTC_MICROS} if self.versions == "ordering" else {}
        keys = [pa.field(name, type_, nullable=False) for name, type_ in self.key.items()]
        return pa.schema([*keys, *(pa.field(name, type_) for name, type_ in {**ordering, **self.columns}.items())])

    def spec(self, name: str) -> kl.TableSpec:
        return kl.TableSpec.from_arrow(
            self.schema,
            name=name,
            key=list(self.key),
            ordering="t" if self.versions == "ordering" else None,
            versions=None if self.versions == "ordering" else self.versions,
            buckets=2,
            reducers=dict(self.reducers),
            column_groups=dict(self.groups),
            bucket_by=[each for each in self.key if each not in self.partition_by],
            partition_by=list(self.partition_by),
            groups=self.key_groups,
            hash=None if self.key_groups is None else "xxhash64",
        )

    def write(self, lake: kl.Lake, name: str) -> None:
        """Make the table as the archive has it."""
        twin = Twin.create(lake, self.spec(name), self.schema)
        lake.spark.sql(f"ALTER TABLE {twin.sql_name} SET TBLPROPERTIES ('format-version' = '{self.table_format}')")
        for number, operation in enumerate(self.operations()):
            operation.apply(twin)
            done = self.upkeep.get(number)
            if done == "change_buckets":
                twin.table.change_buckets(4)
            elif done == "rebucket":
                twin.table.rebucket()
            elif done is not None:
                twin.table.compact(done)
        twin.check()

    def opened(self, lake: kl.Lake, name: str) -> Twin:
        """The table of an archive beside a model to which the same was written."""
        spec = self.spec(name)
        model = KeyedTable(
            key=spec.key,
            columns=spec.value_columns,
            versions=spec.versions,
            ordering=spec.ordering,
            reducers={each.name: rule_of(each.reducer.to_json(), str(each.type)) for each in spec.columns},
            groups={group.name: group.columns for group in spec.column_groups},
        )
        for operation in self.operations():
            to_model(model, operation)
        return Twin(lake, lake.table(name), model, self.schema)

    def operations(self) -> Iterator[Operation]:
        """Upserts, late updates, deletes, changes, and a key that comes back."""
        own = list(self.columns)
        some = own[: max(1, len(own) // 2)]
        for leaf in self.groups.values():
            some = [each for each in some if each not in leaf] + list(leaf)
        yield self.made("upsert", range(6), own, 10, 0)
        yield self.made("update", range(2, 5), some, 20, 1)
        yield self.made("delete", (1, 4), [], 30, 2)
        yield self.made("upsert", (4, 6, 7), own, 25, 3)
        changes = self.made("apply_changes", (0, 3, 8), own, 40, 4)
        rows = tuple({**row, "op": op} for row, op in zip(changes.rows, "UDI", strict=True))
        yield Operation("apply_changes", rows, changes.version)
        yield self.made("upsert", (1, 5), own, 50, 5)
        yield self.made("delete", (6,), [], 15, 6)

    def made(self, verb: str, keys: range | tuple[int, ...], columns: list[str], version: int, step: int) -> Operation:
        """One commit, with the version that the table wants for it."""
        wanted: Version = version if self.versions == "explicit" else None
        rows = [
            {name: key_value(type_, key) for name, type_ in self.key.items()}
            | {name: value(self.columns[name], 7 * key + step) for name in columns}
            for key in keys
        ]
        if self.versions == "ordering" and verb in ("upsert", "apply_changes"):
            rows = [row | {"t": EPOCH + timedelta(seconds=version)} for row in rows]
        elif self.versions == "ordering":
            wanted = version * 1_000_000
        return Operation(verb, tuple(rows), wanted)


def to_model(model: KeyedTable, operation: Operation) -> None:
    if operation.verb == "apply_changes":
        model.apply_changes(operation.rows, "op", operation.version)
    else:
        getattr(model, operation.verb)(operation.rows, operation.version)


def key_value(type_: pa.DataType, number: int) -> object:
    """The key of that number; some of the numbers have one boolean or one day together."""
    if type_ == pa.bool_():
        return number % 2 == 0
    if type_ == pa.date32():
        return date(1970, 1, 1) + timedelta(days=number % 3 - 1)
    if type_ == pa.string():
        return ("", "k", "é", "\U0001f600")[number % 4] + str(number)
    if type_ == pa.binary():
        return bytes([number, 255 - number])
    if type_ == pa.uuid():
        return UUID(int=number << 64)
    if type_ == MICROS:
        return datetime(1969, 12, 31, 23, 59, 58) + timedelta(microseconds=700_001 * number)
    if type_ == UTC_MICROS:
        return datetime(2026, 11, 1, tzinfo=timezone.utc) + timedelta(hours=number)
    return Decimal(number - 3) / 4 if pa.types.is_decimal(type_) else number - 3


def value(type_: pa.DataType, number: int) -> object:
    """A value of that type; every ninth is null."""
    if number % 9 == 8:
        return None
    if pa.types.is_list(type_):
        return [value(type_.value_type, 10 * number + place) for place in range(number % 4)]
    if pa.types.is_map(type_):
        return [(f"key {place}", value(type_.item_type, number + place)) for place in range(number % 3)]
    if type_ == DAYS:
        return {"day": date(2026, 11, 1) + timedelta(days=number % 5), "values": [number, None, 1][: number % 4]}
    if type_ == AVERAGE:
        return {"sum": number / 7, "count": number % 3 + 1}
    if type_ == MOMENTS:
        return {"count": 1} | {f"sum{power or ''}": number / 7 for power in (0, 2, 3, 4)}
    if pa.types.is_struct(type_):
        return {each.name: value(each.type, number + place) for place, each in enumerate(type_.fields)}
    if type_ == pa.string():
        return f"text {number}"
    if type_ == pa.float64():
        return (0.1, -0.0, 1e16, 5e-324)[number % 4] * number
    return number % 3 == 0 if type_ == pa.bool_() else number


DAYS = pa.struct([("day", pa.date32()), ("values", pa.list_(pa.int64()))])
AVERAGE = pa.struct([("sum", pa.float64()), ("count", pa.int64())])
MOMENTS = pa.struct([("count", pa.int64()), *((f"sum{power}", pa.float64()) for power in ("", "2", "3", "4"))])
LISTS = pa.list_(pa.string())

# Each with the type of its column.
ACCUMULATORS: Mapping[str, tuple[pa.DataType, kl.Reducer]] = {
    "total": (pa.int64(), kl.Sum()),
    "exact": (pa.float64(), kl.Sum()),
    "least": (pa.string(), kl.Min()),
    "most": (pa.float64(), kl.Max()),
    "number": (pa.int64(), kl.Count()),
    "first": (pa.string(), kl.First()),
    "every": (pa.bool_(), kl.BoolAnd()),
    "some": (pa.bool_(), kl.BoolOr()),
    "collected": (LISTS, kl.Collect()),
    "distinct": (pa.list_(pa.int64()), kl.Collect(distinct=True, limit=5)),
    "sums": (pa.list_(pa.int64()), kl.ArraySum()),
    "days": (DAYS, kl.Daily(days=4)),
    "map": (pa.map_(pa.string(), pa.int64()), kl.MapMerge()),
    "map_of_sums": (pa.map_(pa.string(), pa.int64()), kl.MapMerge(of=kl.Sum())),
    "top": (pa.list_(PAIR), kl.TopN(by="x", n=3)),
    "newest": (LISTS, kl.LatestN(4)),
    "average": (AVERAGE, kl.Average()),
    "moments": (MOMENTS, kl.Moments()),
    "range": (pa.int64(), Range),
    "median": (pa.int64(), kl.Own("com.acme.Examples$Median")),
    "members": (PAIR, kl.Struct({"x": kl.Sum(), "y": kl.Max()})),
    "kept": (pa.int32(), kl.LatestNotNull()),
    "plain": (pa.string(), kl.Latest()),
}


def accumulators(versions: Versions, table_format: int, upkeep: Mapping[int, Upkeep]) -> Golden:
    return Golden(
        {"id": pa.int64()},
        versions,
        {name: type_ for name, (type_, _) in ACCUMULATORS.items()},
        {name: reducer for name, (_, reducer) in ACCUMULATORS.items()},
        table_format=table_format,
        upkeep=upkeep,
    )


ID: Mapping[str, pa.DataType] = {"id": pa.int64()}
ID_AND_DAY: Mapping[str, pa.DataType] = {"id": pa.int32(), "day": pa.date32()}
TABLES: Mapping[str, Golden] = {
    "golden.logical": Golden({"flag": pa.bool_(), **ID_AND_DAY}, "explicit", upkeep={2: "full"}),
    "golden.times": Golden({"at": MICROS, "zoned": UTC_MICROS}, "ordering", table_format=3),
    "golden.texts": Golden({"name": pa.string(), "code": pa.binary()}, "commit", table_format=3, upkeep={4: "settle"}),
    "golden.numbers": Golden({"amount": pa.decimal128(9, 2), "uid": pa.uuid()}, "explicit", upkeep={5: "settle"}),
    "golden.grouped": Golden(
        ID_AND_DAY,
        "explicit",
        groups={"g": ("b", "c")},
        partition_by=("day",),
        upkeep={1: "change_buckets", 4: "rebucket"},
    ),
    "golden.moving": Golden(ID, "explicit", upkeep={2: "change_buckets"}),
    "golden.key_groups": Golden(ID, "ordering", key_groups=7, table_format=3, upkeep={3: "full"}),
    "golden.accumulators": accumulators("commit", 2, {3: "full"}),
    "golden.late_accumulators": accumulators("explicit", 3, {2: "settle"}),
}
