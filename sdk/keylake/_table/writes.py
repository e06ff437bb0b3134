"""Verbs that write rows: each becomes a Write, is sent, and is found again in the history by its write id.

rows ── LocalRows ──┐
frame ──────────────┴─ intention.write ── Write ── session ── commits(write_id) ── Commit
"""

from __future__ import annotations

import contextlib
import re
import time
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from typing_extensions import Unpack

from keylake._server.statements import Write
from keylake._table.handle import Verbs
from keylake._table.intention import Intention, Labels, Version, check_labels, write
from keylake._table.rows import Helper, LocalRows, Rows
from keylake._values.misfit import shown
from keylake.errors import BadRows, KeylakeError, SchemaMismatch
from keylake.results import Commit

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


class WriteVerbs(Verbs):
    """What a table can be told: rows to write, to delete, and to replace."""

    def upsert(self, rows: Rows, *, version: Version | None = None, **labels: Unpack[Labels]) -> Commit:
        """Write whole rows: every column, at the version of the row.

        profiles.upsert([UserProfile(user_id=7, day=today, event_time=now, clicks=3)])
        """
        return self._write(rows, Intention("upsert", version=version, **check_labels(labels)))

    def update(
        self,
        rows: Rows,
        *,
        version: Version | None = None,
        columns_from: str | None = None,
        **labels: Unpack[Labels],
    ) -> Commit:
        """Write exactly the columns that the rows carry; a key that is new makes a row.

        `columns_from` names a column of the rows, a list of names, which says row by row which of them are written.

            profiles.update(clicks, version="event_time")
        """
        return self._write(
            rows, Intention("update", version=version, columns_from=columns_from, **check_labels(labels))
        )

    def delete(self, rows: Rows, *, version: Version | None = None, **labels: Unpack[Labels]) -> Commit:
        """Delete the rows of these keys, up to the version: what was written at a larger one stays.

        profiles.delete([{"user_id": 7, "day": today}], version=now_micros)
        """
        return self._write(rows, Intention("delete", version=version, **check_labels(labels)))

    def apply_changes(self, rows: Rows, *, op: str, version: Version | None = None, **labels: Unpack[Labels]) -> Commit:
        """Insert, update and delete in one commit; the column `op` says which: I, U, D, or Debezium's c, r, u, d.

        profiles.apply_changes(captured, op="op")
        """
        return self._write(rows, Intention("apply_changes", version=version, op=op, **check_labels(labels)))

    def overwrite(
        self,
        rows: Rows,
        *,
        where: str | Column | None = None,
        version: Version | None = None,
        **labels: Unpack[Labels],
    ) -> Commit:
        """Replace the whole content by these rows, or with `where` the partitions for which that holds.

        profiles.overwrite(frame, where="day = DATE '2026-01-01'")
        """
        return self._write(rows, Intention("overwrite", version=version, **check_labels(labels)), where)

    def _write(self, rows: Rows, intention: Intention, replaced: str | Column | None = None) -> Commit:
        begun_at = time.perf_counter()
        intention = replace(intention, writer=self._handle.session.writer)
        key = intention.idempotency_key
        found = () if key is None else self._handle.commits(idempotency_key=key, at_most=1)
        if not found:
            write_id = str(uuid.uuid4())
            self._send(rows, intention, write_id, replaced)
            found = self._handle.commits(write_id=write_id, at_most=1)
            # Another writer with the same key may have been first, in between.
            found = found or (() if key is None else self._handle.commits(idempotency_key=key, at_most=1))
        if not found:
            raise KeylakeError(
                f"The write to {self._handle.path} ended without a commit. Look at history(), and write it again."
            )
        done = found[0]
        return Commit(done.snapshot_id, done.rows or 0, done.versions, time.perf_counter() - begun_at, done.undone)

    def _send(self, rows: Rows, intention: Intention, write_id: str, replaced: str | Column | None) -> None:
        """Check all that can be checked here, then let Spark write the rows."""
        if self._handle.session.is_frame(rows):
            frame: Any = rows
            columns = self._handle.session.columns(frame)
            statement = write(self.spec, self._handle.path, intention, columns, write_id)
            try:
                self._handle.session.write(statement, frame, replaced)
            except (SchemaMismatch, BadRows) as error:
                raise type(error)(f"{error}{self._sample(str(error), frame)}") from None
            return
        local = LocalRows.of(rows, self.spec, intention.verb)
        row_order = _free_name("_row", (*local.names, *self.spec.column_names))
        statement = write(self.spec, self._handle.path, replace(intention, row_order=row_order), local.names, write_id)
        table = local.to_arrow(self.spec, _helpers(statement))
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


def _helpers(statement: Write) -> dict[str, Helper]:
    """The columns of the rows that the options of a write name, and what they are for."""
    roles: dict[str, Helper] = {
        "version": "version",
        "version_of": "version",
        "op": "op",
        "columns_from": "columns_from",
    }
    return {
        value: roles[name.partition(".")[0]] for name, value in statement.options if name.partition(".")[0] in roles
    }


def _free_name(name: str, taken: tuple[str, ...]) -> str:
    lower = {each.lower() for each in taken}
    while name in lower:
        name = f"_{name}"
    return name
