"""Verbs that write rows: each becomes a Write, is sent, and is found again in the history by its write id.

rows ── LocalRows ──┐
frame ──────────────┴─ intention.write ── Write ── session ── commit_of ── Commit
"""

# pyright: reportUnknownParameterType=false
# Arrow's own types stand in signatures, and Arrow carries no types for a checker.

from __future__ import annotations

import contextlib
import re
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

import pyarrow as pa
from typing_extensions import TypedDict, Unpack

from keylake._definition.spec import TableSpec
from keylake._gate.checks import Check, OnFailure, row_conditions
from keylake._rows.intention import Intention, Labels, Version, check_labels, offsets_in_json, write
from keylake._rows.rows import LocalRows, Rows, helpers, local_rows
from keylake._server.conditions import required_text
from keylake._table.columns import ColumnChanges, new_columns
from keylake._table.handle import Handle, Verbs
from keylake._values.misfit import shown
from keylake.conditions import Condition
from keylake.errors import BadRows, DefinitionError, KeylakeError, SchemaMismatch, Unsupported, check_type
from keylake.results import Commit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from keylake._server.conditions import Where


def commit_of(
    handle: Handle,
    begun_at: float,
    idempotency_key: str | None,
    offsets: Mapping[str, tuple[int, int]] | None,
    write_id: str | None = None,
) -> Commit | None:
    """The commit of a write, by the first source that knows it; None where none does, as before rows are sent.

    1. The answer of the server to this session, by the write id: these rows were written.
    2. The history, by the write id: they were, and another write of the session has taken the place of the answer.
    3. The history, by the idempotency key or all of the offsets: a write that had them was first, and nothing was
       written. Offsets that the branch has in part are an error.
    """
    in_json = offsets_in_json(offsets)
    if write_id is not None:
        told = handle.session.committed(write_id)
        if told is not None:
            return Commit.from_row(told, time.perf_counter() - begun_at)
    found = [] if write_id is None else handle.call("commits", write_id=write_id, at_most=1)
    repeated = not found
    if not found and idempotency_key is not None:
        found = handle.call("commits", idempotency_key=idempotency_key, at_most=1)
    if not found and in_json is not None:
        found = handle.call("commits", offsets=in_json)
    if not found:
        return None
    known = handle.next_offsets((repeated and offsets) or ())
    return Commit.from_row(found[0], time.perf_counter() - begun_at, repeated=repeated, offsets=known)


class _Required(TypedDict):
    require: tuple[str, ...]
    on_failure: OnFailure


def _required(require: object, on_failure: OnFailure) -> _Required:
    return {"require": row_conditions(require, on_failure), "on_failure": on_failure}


class WriteVerbs(Verbs):
    """The verbs that write, delete and replace rows."""

    def upsert(
        self,
        rows: Rows,
        *,
        version: Version | None = None,
        evolve: bool = False,
        require: Sequence[Check] = (),
        on_failure: OnFailure = "raise",
        **labels: Unpack[Labels],
    ) -> Commit:
        """Write whole rows: every column, at the version of the row. `evolve` adds columns first, as `update` does.

        `require` takes conditions that each row has to satisfy: `kl.condition` and `kl.value_range`. If one does not,
        nothing is written; with `on_failure="quarantine"` such rows are held back in `table.quarantine`, and the others
        are written in the same commit of the table, which says how many are `held`.

        Raises `SchemaMismatch` if the rows lack a column of the table or have one that it does not know,
        `VersionMissing` if they say no version or two, and `BadRows` if a key or version is null, a value does not fit
        its column, a row fails a check of `require`, or `offsets` leave a gap. A repeated `idempotency_key` or source
        of `offsets` whose commit cannot be told any more raises `SnapshotExpired`; a write that loses against other
        commits too often raises `CommitConflict`, and one after a commit of another engine `ForeignCommit`.

        Example::

            profiles.upsert([UserProfile(user_id=7, day=today, event_time=now, clicks=3)])
        """
        intention = Intention("upsert", version=version, **check_labels(labels), **_required(require, on_failure))
        return self._write(rows, intention, evolve=evolve)

    def update(
        self,
        rows: Rows,
        *,
        version: Version | None = None,
        columns_from: str | None = None,
        evolve: bool = False,
        retract: bool = False,
        require: Sequence[Check] = (),
        on_failure: OnFailure = "raise",
        **labels: Unpack[Labels],
    ) -> Commit:
        """Write exactly the columns that the rows carry; a key that is new makes a row.

        `columns_from` names a column of the rows, a list of names, which says row by row which of them are written.

        With `evolve=True`, columns of the rows that the table does not have are added to it first, in a commit of their
        own, each with the type that holds all values of the rows' type: whole numbers of up to 32 bits become int,
        larger ones long; Python's int is long, float double, a dict a struct. Columns that are there keep their types.

        With `retract=True`, the rows carry contributions to take back, to columns reduced by Sum, Count, ArraySum,
        Average, Moments, Daily of Sum, or a Struct of such: what a `Count` column holds does not matter, each value
        takes one back. It may come before the contributions themselves. An infinite or NaN contribution cannot be taken
        back.

        `require` and `on_failure` are those of `upsert`. A condition concerns rows that carry its columns.

        Raises the errors of `upsert`, where a column that the rows lack is none: `SchemaMismatch`, `VersionMissing`,
        `BadRows`, `SnapshotExpired`, `CommitConflict` and `ForeignCommit`; and `Unsupported` if `retract` meets a
        column that gives nothing back, or `evolve` an experiment.

        Example::

            profiles.update(clicks, version="event_time")
        """
        check_type("retract", retract, bool, "True or False")
        intention = Intention(
            "update",
            version=version,
            columns_from=columns_from,
            retract=retract,
            **check_labels(labels),
            **_required(require, on_failure),
        )
        return self._write(rows, intention, evolve=evolve)

    def backfill_from(self, rows: Rows, *, version: Version | None = None, **labels: Unpack[Labels]) -> Commit:
        """Contribute what came before a column counted: a baseline for columns of reducers that combine values.

        The rows carry the key and such columns, one row per key with everything up to `version`, as a query over the
        raw events gives it. What is written later, or was written since the column was added, is combined with it. So
        let the baseline end where the stream of contributions begins: what both have counts twice. A baseline of the
        same columns at the same version is written once; to write another one, say another `idempotency_key`.

        Raises `SchemaMismatch` if the rows carry no column whose values are combined, `Unsupported` if they carry one
        whose values are not, and otherwise the errors of `update`, such as `VersionMissing` and `BadRows`.

        Example::

            clicks.backfill_from(frame.groupBy("user_id").agg(F.sum("clicks").alias("clicks")), version=begin)
        """
        is_frame = self._handle.session.is_frame(rows)
        given: Any = rows if is_frame else LocalRows.of(rows, self._handle.writes, "update")
        names = self._handle.session.columns(given) if is_frame else given.names
        columns = self._combined(names)
        labels.setdefault(
            "idempotency_key", f"baseline of {', '.join(columns)} at {'its commit' if version is None else version}"
        )
        return self._write(rows, Intention("update", version=version, **check_labels(labels)))

    def _combined(self, names: Sequence[str]) -> list[str]:
        """The columns of rows whose values are combined; others are refused."""
        spec = self._handle.writes
        given = {name.lower() for name in names}
        values = [column for column in spec.columns if column.name.lower() in given and column.name not in spec.key]
        other = [c for c in values if not c.reducer.accumulates and c.name != spec.ordering]
        if other:
            raise Unsupported(
                f"backfill_from takes the key and columns whose values are combined, and {other[0].name!r} of "
                f"{self._handle.path} is reduced by {other[0].reducer.type}. Write it with update at its version."
            )
        combined = [column.name for column in values if column.reducer.accumulates]
        if not combined:
            raise SchemaMismatch(
                f"The rows carry no column of {self._handle.path} whose values are combined. Add one, or use update."
            )
        return combined

    def insert(self, rows: Rows, *, version: Version | None = None, **labels: Unpack[Labels]) -> Commit:
        """Write whole rows, as `upsert` does: a key has one row, so that one that is there gets the newer of both.

        Raises what `upsert` raises, such as `SchemaMismatch`, `VersionMissing`, `BadRows` and `ForeignCommit`.

        Example::

            profiles.insert({"user_id": 7, "day": today, "clicks": 1}, version=now_micros)
        """
        return self.upsert(rows, version=version, **labels)

    @overload
    def delete(self, rows: Rows, *, version: Version | None = None, **labels: Unpack[Labels]) -> Commit: ...

    @overload
    def delete(self, *, where: str | Condition, idempotency_key: str | None = None) -> Commit | None: ...

    def delete(
        self,
        rows: Rows | None = None,
        *,
        where: str | Condition | None = None,
        version: Version | None = None,
        **labels: Unpack[Labels],
    ) -> Commit | None:
        """Delete the rows of these keys, up to the version: what was written at a larger one stays.

        With `where` instead of rows, SQL or `kl.col(Profile.day) < day`: the rows for which it holds now, as `DELETE
        FROM` does it in SQL, which gives each its version; None for a condition that no row can fulfil, such as
        `false`, which commits nothing.

        Raises `SchemaMismatch` if the rows lack a column of the key or carry more than key and version,
        `VersionMissing` if they say no version or two, `BadRows` if a key or version is null or does not fit,
        `DefinitionError` for both rows and `where`, for none of them, and for a condition that cannot be read, and
        `ForeignCommit` after a commit of another engine.

        Example::

            profiles.delete([{"user_id": 7, "day": today}], version=now_micros)
            profiles.delete(where="day < DATE '2026-01-01'")
        """
        if where is None and rows is not None:
            return self._write(rows, Intention("delete", version=version, **check_labels(labels)))
        if where is None or rows is not None:
            raise DefinitionError('delete() takes rows with keys, or where="a condition". Give one of them.')
        text = required_text(where)
        if version is not None or labels.keys() - {"idempotency_key"}:
            raise DefinitionError(
                "where= goes with idempotency_key= alone: the statement gives each row its version. Read the keys and "
                "delete these, where more is to be said of them."
            )
        return self._delete_where(text, labels.get("idempotency_key"))

    def _delete_where(self, where: str, idempotency_key: str | None) -> Commit | None:
        """Delete by a statement; its commit is found by its key, since others may write in this session."""
        begun_at = time.perf_counter()
        before = None if idempotency_key is None else commit_of(self._handle, begun_at, idempotency_key, None)
        if before is not None:
            return before
        key = idempotency_key or f"delete {uuid.uuid4()}"
        table = self._handle.path.in_sql(self._handle.session.catalog)
        self._handle.session.run_once([f"DELETE FROM {table} WHERE {where}"], {}, key)
        made = commit_of(self._handle, begun_at, key, None)
        return None if made is None else replace(made, repeated=False)

    def apply_changes(
        self,
        rows: Rows,
        *,
        op: str,
        version: Version | None = None,
        require: Sequence[Check] = (),
        on_failure: OnFailure = "raise",
        **labels: Unpack[Labels],
    ) -> Commit:
        """Insert, update and delete in one commit; the column `op` says which: I, U, D, or Debezium's c, r, u, d.

        Flink's +I, +U, -U and -D, too: where the rows carry columns of reducers that combine values, -U and -D take the
        row's contributions back, as `update(retract=True)` does, and leave other columns as they are. Where they carry
        none, -U says nothing and -D deletes. `require` and `on_failure` are those of `upsert`; rows that delete pass.

        Raises `BadRows` for an operation that is none of these, `SchemaMismatch` if the rows have no column `op`, and
        otherwise the errors of `upsert`, such as `VersionMissing`.

        Example::

            profiles.apply_changes(captured, op="op")
        """
        intention = Intention(
            "apply_changes", version=version, op=op, **check_labels(labels), **_required(require, on_failure)
        )
        return self._write(rows, intention)

    def overwrite(
        self,
        rows: Rows,
        *,
        where: Where | None = None,
        version: Version | None = None,
        **labels: Unpack[Labels],
    ) -> Commit:
        """Replace the whole content by these rows, or with `where` the partitions for which that holds.

        Raises `Unsupported` if `where` is not on `partition_by`, `DefinitionError` if it cannot be read or with
        `business_time`, and otherwise the errors of `upsert`, such as `SchemaMismatch`, `VersionMissing`, `BadRows` and
        `ForeignCommit`.

        Example::

            profiles.overwrite(frame, where="day = DATE '2026-01-01'")
        """
        return self._write(rows, Intention("overwrite", version=version, **check_labels(labels)), where)

    def _write(
        self, rows: Rows, intention: Intention, replaced: Where | None = None, *, evolve: bool = False
    ) -> Commit:
        begun_at = time.perf_counter()
        intention = replace(intention, writer=self._handle.session.writer)
        marks = intention.idempotency_key, intention.offsets
        made = commit_of(self._handle, begun_at, *marks)
        if made is None:
            write_id = str(uuid.uuid4())
            self._send(rows, intention, write_id, replaced, evolve=evolve)
            made = commit_of(self._handle, begun_at, *marks, write_id)
        if made is None:
            raise KeylakeError(
                f"The write to {self._handle.path} ended without a commit. Look at history(), and write it again."
            )
        return made

    def _send(self, rows: Rows, intention: Intention, write_id: str, replaced: Where | None, *, evolve: bool) -> None:
        """Check all that can be checked here, then let Spark write the rows."""
        is_frame = self._handle.session.is_frame(rows)
        given: Any = rows
        if not is_frame:
            given, intention = local_rows(rows, self._handle.writes, intention)
        sent = self._send_frame if is_frame else self._send_local
        if evolve:
            schema = self._handle.session.arrow_schema(given) if is_frame else None
            types = given.types if schema is None else dict(zip(schema.names, schema.types, strict=True))
            self._knowing(lambda: self._add_columns(types, intention))
        self._knowing(lambda: sent(given, intention, write_id, replaced))

    def _add_columns(self, types: Mapping[str, pa.DataType], intention: Intention) -> None:
        """Add the columns of rows that the table lacks."""
        self._handle.check_no_experiment("columns that are added later (evolve=True)")
        version = intention.version
        versions = version.values() if isinstance(version, Mapping) else [version]
        beside = [name for name in (*versions, intention.columns_from, intention.op) if isinstance(name, str)]
        new = new_columns(self.spec, types, beside)
        if new:
            changes = ColumnChanges(self.spec, add=new).to_json()
            spec = TableSpec.from_json(str(self._handle.on_main.value("alter_columns", changes=changes)))
            self._learn(replace(self._handle, spec=spec))

    def _send_frame(self, frame: DataFrame, intention: Intention, write_id: str, replaced: Where | None) -> None:
        columns = self._handle.session.columns(frame)
        statement = write(self._handle.writes, self._handle.path, intention, columns, write_id)
        try:
            self._handle.session.write(statement, frame, replaced)
        except (SchemaMismatch, BadRows) as error:
            raise type(error)(f"{error}{self._sample(str(error), frame)}") from None

    def _send_local(self, local: LocalRows, intention: Intention, write_id: str, replaced: Where | None) -> None:
        spec = self._handle.writes
        row_order = _free_name("_row", (*local.names, *spec.column_names))
        statement = write(spec, self._handle.path, replace(intention, row_order=row_order), local.names, write_id)
        table = local.to_arrow(spec, helpers(statement))
        table = table.append_column(row_order, pa.array(range(local.count), pa.int64()))
        with self._handle.session.local_frame(table) as sent:
            self._handle.session.write(statement, sent, replaced)

    def _sample(self, sentence: str, frame: DataFrame) -> str:
        """A value of the column that a sentence is about, unless it tells of a row itself."""
        columns = {name.lower(): name for name in self._handle.session.columns(frame)}
        named = [columns[name.lower()] for name in re.findall(r"'([^']+)'", sentence) if name.lower() in columns]
        values: list[object] = []
        if named and " row " not in sentence:
            with contextlib.suppress(KeylakeError):  # the frame may be what is wrong
                values = self._handle.session.values(frame, named[0], at_most=1)
        return f" A value there is {shown(values[0])}." if values else ""


def _free_name(name: str, taken: tuple[str, ...]) -> str:
    lower = {each.lower() for each in taken}
    while name in lower:
        name = f"_{name}"
    return name
