"""Back-fill: the columns of many keyed tables joined to samples, where the tables lie.

    samples ── shuffled once by key_bucket ── join ── join ── join ── samples with features
                                               │       │       │
                                             table   table   table      neither moved nor sorted

A table is joined on its whole key, so that a sample never becomes several rows. With `as_of` a table takes part once
for each of its states that samples fall on (`point_in_time`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import pyarrow as pa
from pyiceberg.types import UUIDType

from keylake._definition.spec import Names, TableSpec, names_of
from keylake._joins.point_in_time import Missing, State, columns_of, states_of
from keylake._server.session import Session
from keylake._server.statements import quoted
from keylake.errors import BadRows, DefinitionError, check_type
from keylake.table import KeyedTable, TableColumns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

How = Literal["left", "inner"]
Matches = Literal["many_to_one", "many_to_many"]


def join(
    samples: object,
    tables: Sequence[TableColumns | KeyedTable[Any]],
    *,
    on: Names,
    as_of: str | None = None,
    missing: Missing = "error",
    how: How = "left",
    validate: Matches = "many_to_one",
) -> DataFrame:
    """Join columns of keyed tables to samples by key, as one lazy Spark frame: a back-fill.

    `samples` is a Spark frame, a keyed table, a pandas frame, an Arrow table or a list of dicts. The result has its
    columns and rows, and beside them the columns of each table that were asked for: of a table itself all value
    columns, of `table["a", "b"]` these. `on` names the key columns; each table is joined on those that are its key. A
    sample whose key a table does not have, or that has a null for a key, gets nulls; with `how="inner"` it is left out.

    There are as many rows as samples, since a key stands once in a table: that is checked before anything runs, and a
    join on a part of a key is an error. With `validate="many_to_many"` it is not, and a sample may become several rows.

    `as_of` names a column of the samples, a date (its midnight in UTC) or a timestamp: each sample gets the row as it
    stood then, never a value from later. That is by business time where a table has archived states
    (`table.states.archive`), and by the time of its commits otherwise: a table that was loaded today has no row of
    yesterday. Samples older than the first commit are refused, as all of them would get nulls; `missing="null"` says
    that these are meant. A sample without a time gets nulls. Columns are those that the table has now: values of the
    time before a column was renamed or widened come with it, and rows that are older than a column have its default.

    Only the columns asked for are read. Tables are neither moved nor sorted, where they are bucketed by what they are
    joined on; samples that lie otherwise are moved once, not once for each table. `kl.explain_join` tells.

    Raises `DefinitionError` for columns that cannot be joined so, such as a part of a key, or a struct that had other
    members at the time of a sample, `BadRows` for samples that are no rows or older than a table, and
    `SnapshotExpired` if samples are older than what a table keeps.

    Example::

        kl.join(samples, [profiles["clicks"], orders["spend"].prefixed("order_")], on=["user_id", "day"]).show()
    """
    check_type("tables", tables, Sequence, "a list of tables, or of columns of them: [profiles['clicks']]")
    for one in tables:
        check_type("A table to join", one, KeyedTable | TableColumns, "a table, or columns of it: profiles['clicks']")
    check_type("as_of", as_of, str | None, "the name of a column of the samples")
    if missing not in get_args(Missing):
        raise DefinitionError(f"missing is {missing!r}. Use 'error' or 'null'.")
    if missing != "error" and as_of is None:
        raise DefinitionError("missing='null' is for samples with a time. Give as_of=, the column that has it.")
    if validate not in get_args(Matches):
        raise DefinitionError(f"validate is {validate!r}. Use 'many_to_one' or 'many_to_many'.")
    picked = _picked(tables)
    if not picked:
        raise DefinitionError("There is no table to join. Give tables, or columns of them: [profiles['clicks']].")
    session = picked[0].table._handle.session  # pyright: ignore[reportPrivateUsage]
    frame = _frame(session, samples)
    columns = tuple(session.columns(frame))
    spelt = {name.lower(): name for name in columns}
    named = tuple(spelt.get(name.lower(), name) for name in names_of(on))
    as_of = as_of and spelt.get(as_of.lower(), as_of)
    plan = _Plan(session, columns, named, tuple(picked), how, as_of, missing)
    plan.check(validate)
    with session.asking():
        return plan.joined(frame)


def _picked(tables: Sequence[KeyedTable[Any] | TableColumns]) -> list[TableColumns]:
    """The columns that are wanted, of tables as they are now."""
    of = {id(table): table for table in (one.table if isinstance(one, TableColumns) else one for one in tables)}
    now = {name: table._current() for name, table in of.items()}  # pyright: ignore[reportPrivateUsage]
    return [
        replace(one) if isinstance(one, TableColumns) else TableColumns(one, now[id(one)].value_columns)
        for one in tables
    ]


def _frame(session: Session, samples: object) -> DataFrame:
    """The samples as a frame of the session."""
    if isinstance(samples, KeyedTable):
        frame: DataFrame = samples.read()
        return frame
    if isinstance(samples, TableColumns):
        return samples.table.read(columns=(*samples.table.spec.key, *samples.columns))
    rows: Any = samples
    if session.is_frame(rows):
        return rows  # type: ignore[no-any-return]
    if isinstance(rows, Sequence) and rows and all(isinstance(row, Mapping) for row in rows):
        try:
            rows = pa.Table.from_pylist([dict(row) for row in rows])
        except pa.ArrowException as error:
            raise BadRows(f"The samples have values of different types in one column: {error}. Convert them.") from None
    elif type(rows).__module__.partition(".")[0] == "pandas":
        rows = pa.Table.from_pandas(rows, preserve_index=False)
    if isinstance(rows, pa.Table):
        return session.frame(rows)
    raise BadRows(
        f"Samples are of the type {type(samples).__name__}. Give a Spark frame, a keyed table, a pandas frame, "
        "an Arrow table, or a list of dicts."
    )


@dataclass(frozen=True)
class _Layout:
    """The layout that tables have to share so that samples lie as all of them do."""

    buckets: int
    bucket_by: tuple[str, ...]

    @classmethod
    def of(cls, spec: TableSpec, on: Sequence[str]) -> _Layout | None:
        """The layout of a table; none where samples cannot be brought into it."""
        has_uuid = any(isinstance(spec.column(name).type, UUIDType) for name in spec.bucket_by)
        of_samples = {name.lower() for name in on}
        if spec.partition_by or spec.groups or has_uuid or not {name.lower() for name in spec.bucket_by} <= of_samples:
            return None
        return cls(spec.buckets, spec.bucket_by)

    def is_like(self, other: _Layout) -> bool:
        """Samples that lie as the tables of one do lie as those of the other, read by as many buckets."""
        few, many = sorted((self.buckets, other.buckets))
        return self.bucket_by == other.bucket_by and many % few == 0


@dataclass(frozen=True)
class _Plan:
    """A join that was asked for."""

    session: Session
    sample_columns: tuple[str, ...]
    on: tuple[str, ...]
    tables: tuple[TableColumns, ...]
    how: How
    as_of: str | None
    missing: Missing

    def check(self, validate: Matches) -> None:
        """Refuse all that can be refused without asking the server."""
        if self.how not in ("left", "inner"):
            raise DefinitionError(f"how={self.how!r}: samples are joined 'left', which keeps all of them, or 'inner'.")
        for name in (*self.on, *(() if self.as_of is None else (self.as_of,))):
            if name not in self.sample_columns:
                raise DefinitionError(
                    f"The samples have no column {name!r}; they have {', '.join(self.sample_columns)}."
                )
        for one in self.tables:
            self._check_key(one.table, validate)
        taken: dict[str, str] = {name.lower(): "the samples" for name in self.sample_columns}
        for one in self.tables:
            for name in one.names:
                other = taken.setdefault(name.lower(), one.table.name)
                if other != one.table.name or one.names.count(name) > 1:
                    raise DefinitionError(
                        f"Both {other} and {one.table.name} have a column {name!r}. "
                        f'Give those of one a prefix: table["{name}"].prefixed("p_").'
                    )
                taken[name.lower()] = f"another part of {one.table.name}"

    def _check_key(self, table: KeyedTable[Any], validate: Matches) -> None:
        joined = self.key_of(table)
        if not joined:
            raise DefinitionError(
                f"on={list(self.on)} has no column of the key of {table.name}, which is {', '.join(table.spec.key)}."
            )
        missing = [name for name in table.spec.key if name not in joined]
        if missing and validate != "many_to_many":
            raise DefinitionError(
                f"{table.name} is keyed by {', '.join(table.spec.key)}, and on={list(self.on)} lacks {missing[0]!r}: "
                f"a sample would become several rows. Join on the whole key, or say validate='many_to_many'."
            )

    def key_of(self, table: KeyedTable[Any]) -> tuple[str, ...]:
        """The key columns on which a table is joined."""
        of_samples = {name.lower() for name in self.on}
        return tuple(name for name in table.spec.key if name.lower() in of_samples)

    def joined(self, frame: DataFrame) -> DataFrame:
        """The samples with all columns, in the order in which they were asked for."""
        states = states_of(self.session, frame, self.as_of, [one.table for one in self.tables], self.missing)
        moved: list[_Layout] = []
        for number in self._order():
            one = self.tables[number]
            layout = _Layout.of(one.table.spec, self.on)
            if layout is not None and not any(layout.is_like(other) for other in moved):
                frame = self._bucketed(frame, layout, len(moved))
                moved.append(layout)
            frame = self._with(frame, number, one, states[number])
        wanted = [*map(quoted, self.sample_columns)]
        for number, one in enumerate(self.tables):
            for column, name in zip(one.columns, one.names, strict=True):
                parts = [quoted(_column(number, at, column)) for at in range(len(states[number]))]
                value = parts[0] if len(parts) == 1 else f"coalesce({', '.join(parts)})" if parts else "NULL"
                wanted.append(f"{value} AS {quoted(name)}")
        return frame.selectExpr(*wanted)

    def _order(self) -> list[int]:
        """Tables among which samples need not be moved come one after the other."""
        layouts = [_Layout.of(one.table.spec, self.on) for one in self.tables]

        def place(number: int) -> int:
            own = layouts[number]
            likes = (at for at, other in enumerate(layouts) if own and other and other.is_like(own))
            return next(likes, number)

        return sorted(range(len(self.tables)), key=place)

    def _bucketed(self, frame: DataFrame, layout: _Layout, number: int) -> DataFrame:
        """The samples where the rows of such tables lie; the server leaves them where they are if they lie there."""
        bucket = f"_keylake_bucket_{number}"
        columns = ", ".join(map(quoted, layout.bucket_by))
        function = f"{quoted(self.session.catalog)}.system.key_bucket({layout.buckets}, {columns})"
        return frame.selectExpr("*", f"{function} AS {bucket}").repartition(layout.buckets, bucket)

    def _with(self, frame: DataFrame, number: int, one: TableColumns, states: Sequence[State]) -> DataFrame:
        """The samples with the columns of a table, once for each of its states."""
        from pyspark.sql.connect.functions import expr

        key = self.key_of(one.table)
        if self.how == "inner" and not states:  # no sample falls on a state
            frame = frame.where("false")
        columns = columns_of(self.session, one.table, states, (*key, *one.columns))
        for at, (state, then) in enumerate(zip(states, columns, strict=True)):
            rows = state.read(one.table)
            names = [
                *(f"{then[name]} AS {quoted(_column(number, at, 'key ' + name))}" for name in key),
                *(f"{then[name]} AS {quoted(_column(number, at, name))}" for name in one.columns),
            ]
            terms = [f"{quoted(name)} = {quoted(_column(number, at, 'key ' + name))}" for name in key]
            terms += [] if state.condition is None else [state.condition]
            frame = frame.join(
                rows.selectExpr(*names), expr(" AND ".join(terms)), "left" if len(states) > 1 else self.how
            )
        if self.how == "inner" and len(states) > 1:
            found = [f"{quoted(_column(number, at, 'key ' + key[0]))} IS NOT NULL" for at in range(len(states))]
            frame = frame.where(" OR ".join(found))
        return frame


def _column(table: int, state: int, name: str) -> str:
    """A column of one state of one table, apart from all others."""
    return f"_keylake_{table}_{state} {name}"
