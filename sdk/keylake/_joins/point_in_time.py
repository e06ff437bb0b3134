"""The states of a table on which samples fall, each with its time.

    archived states     2026-11-01 ── 2026-11-02 ── 2026-11-03      a table that has any
    snapshots           09:00:17 ── 09:05:02 ── 09:11:40 ── now     any other
    a sample at 09:07   takes what was committed at 09:05:02

A sample takes the last state that is not younger than itself. Times are compared in microseconds since 1970 in UTC; a
date is its midnight in UTC.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pyiceberg.schema import Schema
from pyiceberg.types import NestedField, PrimitiveType

from keylake._definition.spec_json import FullForm, parse
from keylake._server.session import Session
from keylake._server.statements import Call, TablePath, literal, quoted, sql_type
from keylake.errors import BadRows, DefinitionError, SnapshotExpired

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from keylake.table import KeyedTable

Missing = Literal["error", "null"]  # for samples older than a table
MOST_STATES = 100  # each is a join
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


@dataclass(frozen=True)
class State:
    """A state of a table, and which samples take it."""

    snapshot_id: int | None = None  # None: what the table is now
    branch: str | None = None
    condition: str | None = None  # on the samples, in SQL; None: all of them

    def read(self, table: KeyedTable[Any]) -> DataFrame:
        """The merged rows of the state."""
        return table.read(at=self.branch if self.snapshot_id is None else self.snapshot_id)


def columns_of(
    session: Session, table: KeyedTable[Any], states: Sequence[State], names: Sequence[str]
) -> list[dict[str, str]]:
    """Columns as they are called now, each as SQL over the rows of each state, which have the names of their time.

    Raises `DefinitionError` for a column that has other members now.
    """
    as_it_is = {name: quoted(name) for name in names}
    if all(state.snapshot_id is None for state in states):
        return [as_it_is for _ in states]
    now = {field.name: field for field in _schema(session, table, None).fields}
    found: list[dict[str, str]] = []
    for state in states:
        if state.snapshot_id is None:
            found.append(as_it_is)
        else:
            then = {field.field_id: field for field in _schema(session, table, state.snapshot_id).fields}
            found.append(as_it_is | {name: _as_it_was(table, now[name], then) for name in names if name in now})
    return found


def _schema(session: Session, table: KeyedTable[Any], at: int | None) -> Schema:
    answer = session.call(Call.of("describe", TablePath(table.name), at=at))
    return parse(answer.column("spec")[0].as_py(), FullForm).schema_


def _as_it_was(table: KeyedTable[Any], now: NestedField, then: Mapping[int, NestedField]) -> str:
    was = then.get(now.field_id)
    if was is None:
        return _default(now)
    if was.field_type == now.field_type:
        return quoted(was.name)
    if isinstance(now.field_type, PrimitiveType):  # which was widened
        return f"CAST({quoted(was.name)} AS {sql_type(now.field_type)})"
    raise DefinitionError(
        f"Column {now.name!r} of {table.name} has other members now than at the time of some samples. Name the columns "
        "to join without it, or leave these samples out."
    )


def _default(column: NestedField) -> str:
    """The value of a column in rows that are older than it."""
    if not isinstance(column.field_type, PrimitiveType):
        return "NULL"
    value = "NULL" if column.initial_default is None else literal(str(column.initial_default))
    return f"CAST({value} AS {sql_type(column.field_type)})"


@dataclass(frozen=True)
class _Moment:
    """The moment at which a state begins."""

    micros: int
    state: State


def states_of(
    session: Session, samples: DataFrame, as_of: str | None, tables: Sequence[KeyedTable[Any]], missing: Missing
) -> list[tuple[State, ...]]:
    """The states of each table that samples fall on; without `as_of` that is what each is now.

    Raises `BadRows` if samples are older than a table's first commit, unless `missing` says that nulls are meant.
    """
    if as_of is None:
        return [(State(),)] * len(tables)
    micros = _micros(samples, as_of)
    first, last = _asked(session, samples, f"min({micros})", f"max({micros})")
    if first is None:
        return [()] * len(tables)
    histories = [_reaching(table, first, last) for table in tables]
    # One question for all tables: the samples may be costly to compute.
    timed = samples.where(f"{quoted(as_of)} IS NOT NULL")
    hits = _asked(session, timed, *(f"collect_set({_count(moments, micros)})" for moments in histories))
    if missing == "error":
        for table, moments, hit in zip(tables, histories, hits, strict=True):
            _check_is_not_before(table, moments, hit, first)
    return [
        _hit(table, moments, sorted(hit), micros) for table, moments, hit in zip(tables, histories, hits, strict=True)
    ]


def _asked(session: Session, samples: DataFrame, *expressions: str) -> tuple[Any, ...]:
    rows: Any = session.answer(lambda: samples.selectExpr(*expressions).collect())
    return tuple(rows[0])


def _count(moments: Sequence[_Moment], micros: str) -> str:
    """The number of states that begin before a sample or with it, as SQL."""
    begins = ", ".join(f"{moment.micros}L" for moment in moments)
    return f"size(filter(array({begins}), t -> t <= {micros}))" if moments else "0"


def _hit(table: KeyedTable[Any], moments: Sequence[_Moment], hit: Sequence[int], micros: str) -> tuple[State, ...]:
    """The states that samples fall on; a count of 0 is before the first write, where there is no row."""
    wanted = [count for count in hit if count > 0]
    if len(wanted) > MOST_STATES:
        raise DefinitionError(
            f"The samples fall on {len(wanted)} states of {table.name}; a join reads at most {MOST_STATES}. "
            "Archive states that are further apart, table.states.archive(...), or join fewer samples at a time."
        )
    states: list[State] = []
    for count in wanted:
        begin = moments[count - 1]
        until = "" if count == len(moments) else f" AND {micros} < {moments[count].micros}L"
        states.append(State(begin.state.snapshot_id, begin.state.branch, f"({micros} >= {begin.micros}L{until})"))
    return tuple(states)


def _check_is_not_before(table: KeyedTable[Any], moments: Sequence[_Moment], hit: Sequence[int], first: int) -> None:
    """Refuse samples from before the first commit of a table, which have no row there."""
    if 0 in hit:
        begin = f"begins at {_told(moments[0].micros)}" if moments else "has no commit up to the latest sample"
        raise BadRows(
            f"The earliest sample is of {_told(first)}, and {table.name} {begin}, by the time of commits. "
            "Leave earlier samples out, or say with missing='null' that they get nulls."
        )


def _reaching(table: KeyedTable[Any], first: int, last: int) -> list[_Moment]:
    """The states between the times of the first and the last sample, and the one before; oldest first."""
    moments = _archived(table) or _committed(table, first)
    archived = bool(moments) and moments[0].state.branch is not None
    if archived and first < moments[0].micros:
        raise SnapshotExpired(
            f"The earliest sample is of {_told(first)}, and the archived states of {table.name} begin at "
            f"{_told(moments[0].micros)}. Leave earlier samples out, or archive an earlier state."
        )
    before = [moment for moment in moments if moment.micros <= first][-1:]
    return before + [moment for moment in moments if first < moment.micros <= last]


def _archived(table: KeyedTable[Any]) -> list[_Moment]:
    return [_Moment(_since_epoch(state.business_time), State(branch=state.branch)) for state in table.states()]


def _committed(table: KeyedTable[Any], first: int) -> list[_Moment]:
    """The states of main from commit to commit, each with its moment."""
    commits = sorted(table.history(compactions=True), key=lambda commit: commit.committed_at)
    moments = [_Moment(_since_epoch(each.committed_at), State(snapshot_id=each.snapshot_id)) for each in commits]
    if commits and commits[0].parent_id is not None and first < moments[0].micros:
        raise SnapshotExpired(
            f"The earliest sample is of {_told(first)}, and the oldest snapshot of {table.name} that is kept is of "
            f"{_told(moments[0].micros)}. Leave earlier samples out; a RetentionPolicy says what is kept from now on."
        )
    return moments


def _micros(samples: DataFrame, as_of: str) -> str:
    """The time of a sample in SQL."""
    kind = next(field.dataType.simpleString() for field in samples.schema.fields if field.name == as_of)
    column = quoted(as_of)
    if kind == "timestamp":
        return f"unix_micros({column})"
    if kind == "date":
        return f"(CAST(unix_date({column}) AS BIGINT) * 86400000000L)"
    raise DefinitionError(
        f"as_of={as_of!r} is of the type {kind}. "
        "Give a timestamp, or a date; a time without a zone is no point in time."
    )


def _since_epoch(moment: datetime.datetime) -> int:
    return (moment - _EPOCH) // datetime.timedelta(microseconds=1)


def _told(micros: int) -> str:
    return (_EPOCH + datetime.timedelta(microseconds=micros)).isoformat()
