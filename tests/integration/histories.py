"""Random histories: operations drawn from a seed, on few keys and few versions, so that they meet all the time."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta, timezone
from random import Random

import pyarrow as pa

import keylake as kl
from integration.twin import Form, Twin
from model.model import KeyedTable, Row, Version, Versions

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
VERSIONS_AT_MOST = 9


@dataclass(frozen=True)
class Shape:
    """A kind of table to write histories for: the types of its key, and where its versions come from."""

    versions: Versions
    key: Mapping[str, pa.DataType] = field(default_factory=lambda: {"id": pa.int64()})
    buckets: int = 3
    reducers: Mapping[str, kl.Reducer] = field(default_factory=lambda: {"e": kl.LatestNotNull()})
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    partition_by: tuple[str, ...] = ()
    key_groups: int | None = None

    @property
    def columns(self) -> dict[str, pa.DataType]:
        ordering = {"t": pa.timestamp("us", tz="UTC")} if self.versions == "ordering" else {}
        own = {"a": pa.int64(), "b": pa.string(), "c": pa.float64(), "d": pa.list_(pa.int64()), "e": pa.int32()}
        return ordering | own

    @property
    def schema(self) -> pa.Schema:
        keys = [pa.field(name, type_, nullable=False) for name, type_ in self.key.items()]
        return pa.schema([*keys, *(pa.field(name, type_) for name, type_ in self.columns.items())])

    @property
    def leaves(self) -> dict[str, str]:
        """What each column shares its version with: its group, or nothing but itself."""
        return {name: name for name in self.columns} | {c: group for group, cs in self.groups.items() for c in cs}

    def create(self, lake: kl.Lake, name: str, buckets: int | None = None) -> Twin:
        """An empty table of this shape, beside an empty model."""
        spec = kl.TableSpec.from_arrow(
            self.schema,
            name=name,
            key=list(self.key),
            ordering="t" if self.versions == "ordering" else None,
            versions=None if self.versions == "ordering" else self.versions,
            buckets=self.buckets if buckets is None else buckets,
            reducers=dict(self.reducers),
            column_groups=dict(self.groups),
            bucket_by=[name for name in self.key if name not in self.partition_by],
            partition_by=list(self.partition_by),
            groups=self.key_groups,
            hash=None if self.key_groups is None else "crc32",
        )
        return Twin.create(lake, spec, self.schema)


COMPOUND: dict[str, pa.DataType] = {"id": pa.int64(), "day": pa.date32()}
TENANTS: dict[str, pa.DataType] = COMPOUND | {"tenant": pa.string()}
TEXT: dict[str, pa.DataType] = {"name": pa.string()}
SUMS: dict[str, kl.Reducer] = {"a": kl.Sum(), "c": kl.Sum(), "d": kl.ArraySum(), "e": kl.First()}
OTHER_ACCUMULATORS: dict[str, kl.Reducer] = {
    "a": kl.Count(),
    "b": kl.Min(),
    "c": kl.Max(),
    "d": kl.Collect(distinct=True, limit=5),
    "e": kl.Sum(),
}


@dataclass(frozen=True)
class Operation:
    """One verb with its rows; printed, it is what one needs to run it again."""

    verb: str
    rows: tuple[Row, ...]
    version: Version = None
    columns_from: str | None = None
    form: Form = "arrow"

    def apply(self, twin: Twin) -> None:
        if self.verb == "update":
            twin.update(self.rows, self.version, self.columns_from, self.form)
        else:
            getattr(twin, self.verb)(self.rows, self.version, form=self.form)

    def write(self, model: KeyedTable, rows: Sequence[Row]) -> None:
        """Write some of the rows to a model."""
        if self.verb == "update":
            model.update(rows, self.version, self.columns_from)
        elif self.verb == "apply_changes":
            model.apply_changes(rows, "op", self.version)
        else:
            getattr(model, self.verb)(rows, self.version)


def operations(
    shape: Shape, seed: int, count: int, rows: int, *, forms: tuple[Form, ...] = ("arrow",)
) -> list[Operation]:
    """Operations of at most `rows` rows each, on about as many keys as one of them has rows."""
    random = Random(seed)
    return [_Draw(random, shape, random.randint(1, rows), random.choice(forms)).operation() for _ in range(count)]


def operations_until(
    is_met: Callable[[], object],
    shape: Shape,
    seed: int,
    count: int,
    rows: int,
    *,
    forms: tuple[Form, ...] = ("arrow",),
) -> Iterator[Operation]:
    """`count` operations, and others until `is_met`: not every draw has a case of what a test is about."""
    for more in range(20):
        if more == 0 or not is_met():
            yield from operations(shape, seed + 1000 * more, count, rows, forms=forms)
    assert is_met()


@dataclass
class _Draw:
    """Draws one operation."""

    random: Random
    shape: Shape
    rows: int
    form: Form

    def operation(self) -> Operation:
        verbs = {"upsert": 4, "update": 6, "columns_from": 3, "delete": 3, "apply_changes": 2, "overwrite": 0.3}
        (verb,) = self.random.choices(list(verbs), list(verbs.values()))
        if verb == "delete":
            return self._delete()
        if verb == "columns_from":
            names = list(self.shape.columns)
            rows = [row | {"changed": self._some(names)} for row in self._rows(names)]
            return self._versioned("update", rows, columns_from="changed")
        if verb == "apply_changes":
            rows = [row | {"op": self.random.choice("IUDcrud")} for row in self._rows(list(self.shape.columns))]
            return self._versioned(verb, rows)
        if verb == "update":
            return self._update()
        return self._versioned(verb, self._rows(list(self.shape.columns)))

    def _update(self) -> Operation:
        carried = self._some(list(self.shape.columns))
        rows = self._rows(carried)
        if self.shape.versions != "commit" and self.random.random() < 0.4:
            return self._versions_of_columns(rows, carried)
        return self._versioned("update", rows)

    def _versions_of_columns(self, rows: list[dict[str, object]], carried: list[str]) -> Operation:
        """Versions of their own for every column, or for some of them where the ordering column has the rest."""
        named = [name for name in carried if name != "t"]
        if "t" in carried:
            named = self._some(named) if named else []
        of = {name: f"v_{self.shape.leaves[name]}" for name in named}
        own = [row | {version: self._version() for version in sorted(set(of.values()))} for row in rows]
        return Operation("update", tuple(own), of or None, form=self.form)

    def _delete(self) -> Operation:
        rows = self._rows(["t"] if self.shape.versions == "ordering" and self.random.random() < 0.5 else [])
        return self._versioned("delete", rows)

    def _versioned(self, verb: str, rows: list[dict[str, object]], columns_from: str | None = None) -> Operation:
        """The rows with the version that the table wants for them."""
        version: Version = None
        if self.shape.versions == "explicit" or (self.shape.versions == "ordering" and "t" not in rows[0]):
            version = "v" if self.random.random() < 0.7 else self._version()
        if version == "v":
            rows = [row | {"v": self._version()} for row in rows]
        return Operation(verb, tuple(rows), version, columns_from, self.form)

    def _rows(self, columns: list[str]) -> list[dict[str, object]]:
        drawn = [self._key() | {name: self._value(name) for name in columns} for _ in range(self.rows)]
        if self.form != "spark":
            return drawn
        # Of equal versions in a distributed frame any may win: there, keys do not repeat.
        return list({tuple(row[name] for name in self.shape.key): row for row in drawn}.values())

    def _key(self) -> dict[str, object]:
        number = self.random.randint(-self.rows // 2, self.rows)
        makers: dict[str, object] = {
            "id": number,
            "day": date(1970, 1, 1) + timedelta(days=self.random.randint(-1, 1)),
            "tenant": ("", "k é", "/")[number % 3],
            "name": ("", "k", "é", "\uffff", "\U0001f600")[number % 5] + str(number),
        }
        return {name: makers[name] for name in self.shape.key}

    def _value(self, column: str) -> object:
        if column == "t":
            return EPOCH + timedelta(microseconds=self._version())
        if self.random.random() < 0.2:
            return None
        number = self.random.randint(-9, 99)
        values: dict[str, object] = {
            "a": number,
            "b": f"text {number}",
            "c": self.random.choice([0.0, -0.0, float("nan"), float("inf"), number / 7]),
            "d": [number] * (number % 4),
            "e": number,
        }
        return values[column]

    def _version(self) -> int:
        return self.random.randint(-VERSIONS_AT_MOST, VERSIONS_AT_MOST)

    def _some(self, names: list[str]) -> list[str]:
        """Some of the columns, of a group all or none."""
        drawn = {self.shape.leaves[name] for name in self.random.sample(names, self.random.randint(1, len(names)))}
        return [name for name in names if self.shape.leaves[name] in drawn]


def shapes() -> Iterator[tuple[str, Shape]]:
    """The kinds of tables that random histories are written for."""
    yield "explicit", Shape("explicit")
    yield "explicit, compound key", Shape("explicit", COMPOUND)
    yield "ordering, compound key", Shape("ordering", COMPOUND)
    yield "ordering, text key", Shape("ordering", TEXT)
    yield "commit", Shape("commit")
    yield "partitions and groups", Shape("explicit", TENANTS, groups={"g": ("a", "b")}, partition_by=("tenant", "day"))
    yield "key groups", Shape("explicit", COMPOUND, key_groups=7)
    yield "accumulators", Shape("explicit", reducers=SUMS)
    yield "accumulators, commit", Shape("commit", reducers=OTHER_ACCUMULATORS)
    yield "accumulators, ordering and groups", Shape("ordering", COMPOUND, reducers=SUMS, groups={"g": ("a", "b")})


def distinct(history: list[Operation], seed: int) -> list[Operation]:
    """The same operations with versions that never repeat, so that no answer hangs on the order of arrival."""
    fresh = iter(Random(seed).sample(range(-(10**9), 10**9), 10_000))
    return [_restamped(operation, fresh) for operation in history if operation.verb != "overwrite"]


def _restamped(operation: Operation, fresh: Iterator[int]) -> Operation:
    own = operation.version if isinstance(operation.version, Mapping) else {}
    names = list(own.values()) or ["v"]
    rows = tuple({**row, **{name: next(fresh) for name in names}} for row in operation.rows)
    return replace(operation, rows=rows, version=own or "v")


def cut(history: list[Operation], rows: int) -> list[Operation]:
    """The same rows in the same order, in commits of at most so many rows."""
    return [
        replace(operation, rows=operation.rows[start : start + rows])
        for operation in history
        for start in range(0, len(operation.rows), rows)
    ]
