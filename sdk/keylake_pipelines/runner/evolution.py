"""The schema that is known of a source table, after a change of it, and what the keyed table needs for that.

    schema + TableChange ── after_change ── schema then
    schema then + columns of the keyed table ── alteration ── Alteration: words of `alter`, and what cannot be

What the keyed table has already is left out, so that a change that is seen twice is made once.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from pyiceberg.types import (
    BinaryType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    PrimitiveType,
    StringType,
)

import keylake as kl
from keylake_pipelines.source.tables import (
    ColumnAdded,
    ColumnDropped,
    ColumnModified,
    ColumnRenamed,
    KeyChanged,
    SourceColumn,
    SourceSchema,
    SourceTable,
    TableChange,
    TableCreated,
    TableRenamed,
)


@dataclass(frozen=True)
class Made:
    """A change, and its place: the ends of its step, and its number in the step."""

    change: TableChange
    ends: Mapping[str, int] = field(hash=False)
    number: int


def table_of(change: TableChange) -> SourceTable:
    """The source table that changes."""
    return change.schema.table if isinstance(change, TableCreated) else change.table


def runs(changes: Iterable[Made]) -> Iterator[list[Made]]:
    """Changes in their order, those together that may be one change of a keyed table.

    These are columns of one source table that are added, dropped or modified, each once, one behind the other: a
    statement may name hundreds.

    >>> from keylake_pipelines.source.tables import SourceTable
    >>> orders = SourceTable(("shop", "orders"))
    >>> changes = [ColumnDropped(orders, "a"), ColumnDropped(orders, "b"), ColumnDropped(orders, "A")]
    >>> [len(run) for run in runs(Made(change, {}, number) for number, change in enumerate(changes))]
    [2, 1]
    """
    run: list[Made] = []
    names: set[str] = set()
    for made in changes:
        name = _column_of(made.change)
        if run and (name is None or name in names or table_of(made.change) != table_of(run[0].change)):
            yield run
            run, names = [], set()
        run.append(made)
        if name is None:
            yield run
            run = []
        else:
            names.add(name)
    if run:
        yield run


def _column_of(change: TableChange) -> str | None:
    match change:
        case ColumnAdded(column=column) | ColumnModified(column=column):
            return column.name.lower()
        case ColumnDropped(name=name):
            return name.lower()
        case _:
            return None


def after_change(schema: SourceSchema, change: TableChange) -> SourceSchema:
    """The schema of a source table after a change of it.

    >>> from keylake_pipelines.source.tables import SourceTable
    >>> orders = SourceTable(("shop", "orders"))
    >>> schema = SourceSchema(orders, (SourceColumn("id", LongType()),), ("id",))
    >>> after_change(schema, ColumnRenamed(orders, "id", "number")).key
    ('number',)
    """
    columns = list(schema.columns)
    names = [column.name.lower() for column in columns]
    match change:
        case TableCreated(schema=created):
            return created
        case ColumnAdded(column=column, after=after) if column.name.lower() not in names:
            place = names.index(after.lower()) + 1 if after is not None and after.lower() in names else len(columns)
            columns.insert(place, column)
        case ColumnDropped(name=name):
            columns = [column for column in columns if column.name.lower() != name.lower()]
        case ColumnModified(column=column):
            columns = [column if each.name.lower() == column.name.lower() else each for each in columns]
        case ColumnRenamed(name=name, to=to):
            # One that had the new name before is gone, or the name would not have been free.
            columns = [c for c in columns if c.name.lower() != to.lower() or c.name.lower() == name.lower()]
            columns = [replace(c, name=to) if c.name.lower() == name.lower() else c for c in columns]
            key = tuple(to if each.lower() == name.lower() else each for each in schema.key)
            return replace(schema, columns=tuple(columns), key=key)
        case TableRenamed(to=to):
            return replace(schema, table=to)
        case KeyChanged(key=key):
            return replace(schema, key=key)
        case _:
            return schema
    return replace(schema, columns=tuple(columns))


@dataclass(frozen=True)
class Alteration:
    """The arguments of `alter`, and sentences about changes that it has no arguments for.

    `copied` are columns of a new name beside the one of the old name, so that they have none of its values.
    """

    add: Mapping[str, IcebergType] = field(default_factory=dict[str, IcebergType])
    drop: tuple[str, ...] = ()
    rename: Mapping[str, str] = field(default_factory=dict[str, str])
    widen: Mapping[str, IcebergType] = field(default_factory=dict[str, IcebergType])
    comment: Mapping[str, str] = field(default_factory=dict[str, str])
    after: Mapping[str, str | None] = field(default_factory=dict[str, "str | None"])
    refused: tuple[str, ...] = ()
    copied: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.add or self.drop or self.rename or self.widen or self.comment)


def alteration(
    then: SourceSchema,
    there: kl.TableSpec,
    *,
    dropped: Collection[str] = (),
    renamed: Mapping[str, str] | None = None,
    others: Collection[str] = (),
    only: Collection[str] | None = None,
    keep: bool = False,
) -> Alteration:
    """The alteration of a keyed table after which rows of this schema fit.

    With `only`, other columns stay as they are: one that could not follow before would be refused once more.
    `dropped` and `renamed` are what the change says of columns; `others` are columns that other source tables of the
    keyed table have, which stay. With `keep`, columns are added only: none is dropped or renamed, but for those of the
    key, which no row lacks.

    >>> import pyarrow as pa
    >>> from keylake_pipelines.source.tables import SourceTable
    >>> then = SourceSchema(SourceTable(("a",)), (SourceColumn("id", LongType()), SourceColumn("b", LongType())), ())
    >>> there = kl.TableSpec.from_arrow(pa.schema([("id", pa.int64()), ("a", pa.int32())]), name="x.y", key="id")
    >>> print(alteration(then, there, renamed={"a": "b"}).rename, alteration(then, there, keep=True).add)
    {'a': 'b'} {'b': LongType()}
    """
    have = {column.name.lower(): column for column in there.columns}
    kept = {name.lower() for name in others}
    rename: dict[str, str] = {}
    copied: list[str] = []
    refused: list[str] = []
    taken: set[str] = set()
    of_key = {name.lower() for name in there.key}
    for old, new in (renamed or {}).items():
        stays = (keep and old.lower() not in of_key) or old.lower() in kept
        if old.lower() in have and new.lower() not in have and not stays:
            rename[have[old.lower()].name] = new
            have[new.lower()] = replace(have.pop(old.lower()), name=new)
        elif old.lower() in of_key and not stays:
            taken.add(new.lower())
            refused.append(
                f"Column {old!r} of the key is called {new!r} now, and {there.name} has another column of that name. "
                "Drop that one or rename it, with alter, then resume"
            )
        elif stays or old.lower() in have:
            copied.append(old)
    back = {new: old for old, new in rename.items()}
    add: dict[str, IcebergType] = {}
    widen: dict[str, IcebergType] = {}
    comment: dict[str, str] = {}
    after: dict[str, str | None] = {}
    previous: str | None = None
    named = None if only is None else {name.lower() for name in only}
    for column in then.columns:
        found = have.get(column.name.lower())
        if (named is not None and column.name.lower() not in named) or column.name.lower() in taken:
            previous = previous if found is None else back.get(found.name, found.name)
        elif found is None:
            add[column.name] = column.type
            after |= {} if previous is None else {column.name: previous}
            comment |= {column.name: column.comment} if column.comment else {}
            previous = column.name
        else:
            name = previous = back.get(found.name, found.name)
            if not holds(found.type, column.type):
                if widens(found.type, column.type) and found.name not in there.key:
                    widen[name] = column.type
                else:
                    refused.append(_cannot(there, found.name, found.type, column))
            if column.comment and column.comment != found.doc:
                comment[name] = column.comment
    gone = [name.lower() for name in (*dropped, *copied) if name.lower() not in of_key]
    drop = [] if keep else [have[name].name for name in gone if name in have and name not in kept]
    return Alteration(add, tuple(drop), rename, widen, comment, after, tuple(refused), tuple(copied))


def texts_for_bytes(schema: SourceSchema, there: kl.TableSpec) -> tuple[str, ...]:
    """Sentences about columns of text that are bytes in the keyed table, where they would be read as base64."""
    have = {column.name.lower(): column for column in there.columns}
    return tuple(
        _cannot(there, found.name, found.type, column)
        for column in schema.columns
        if isinstance(column.type, StringType)
        and (found := have.get(column.name.lower())) is not None
        and isinstance(found.type, BinaryType | FixedType)
    )


def _cannot(there: kl.TableSpec, name: str, type_: IcebergType, column: SourceColumn) -> str:
    said = f"Column {name!r} of {there.name} is {type_} and cannot become {column.type}"
    if name in there.key:
        return (
            f"{said}: it is of the key, whose types stay. Drop or rename {there.name}, and let keylake resnapshot make "
            "it anew; a topic is read from its beginning by a pipeline of another name"
        )
    wide = str(column.type) if isinstance(column.type, PrimitiveType) else "string"
    other = "" if wide == "string" else " (or string, which holds all values)"
    return (
        f"{said}: Iceberg does not widen one to the other. Give it another type with its values, keylake retype "
        f"{there.name} {name} {shlex.quote(wide)}{other}, then resume"
    )


def holds(type_: IcebergType, other: IcebergType) -> bool:
    """A column of a type takes every value of another one; text does, as the text of its JSON.

    >>> holds(LongType(), IntegerType()), holds(IntegerType(), LongType())
    (True, False)
    """
    return str(type_) == str(other) or isinstance(type_, StringType) or widens(other, type_)


def widens(type_: IcebergType, wide: IcebergType) -> bool:
    """Iceberg makes a column of one type one of another.

    >>> widens(DecimalType(5, 2), DecimalType(9, 2)), widens(IntegerType(), DoubleType())
    (True, False)
    """
    if isinstance(type_, DecimalType) and isinstance(wide, DecimalType):
        return type_.scale == wide.scale and type_.precision < wide.precision
    return (type(type_), type(wide)) in ((IntegerType, LongType), (FloatType, DoubleType))
