"""A keyed table, and the verbs people call. Each builds a statement, runs it, and returns a small frozen result.

rows ── LocalRows ──┐
frame ──────────────┴─ intention.write ── Write ── session ── commits(write_id) ── Commit
"""

from __future__ import annotations

import contextlib
import re
import time
import uuid
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, Unpack

import pyarrow as pa
from typing_extensions import TypedDict, TypeVar

from keylake._definition.spec import Names, TableSpec, names_of
from keylake._maintenance.compaction import (
    BucketPicture,
    CompactionPlan,
    CompactionPolicy,
    CompactionReport,
    Merge,
    PolicyWord,
)
from keylake._maintenance.retention import Cleaned, RetentionPolicy
from keylake._rows.misfit import shown
from keylake._rows.rows import Helper, LocalRows
from keylake._server.session import Session
from keylake._server.statements import Call, Moment, Select, TablePath, Watermark, Write
from keylake._table.branches import TEMPORARY
from keylake._table.business_time import BusinessTime
from keylake._table.intention import Intention, Version, write
from keylake._table.selection import TableColumns
from keylake._table.serving import TableKv
from keylake.errors import BadRows, DefinitionError, KeylakeError, SchemaMismatch
from keylake.results import Commit, CommitInfo
from keylake.schema import Table

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

Row = TypeVar("Row", bound=Table, default=Table)
Rows = object  # a Spark frame, a pandas frame, an Arrow table, or a list of dicts or of rows of the table's class


class Labels(TypedDict, total=False):
    """What any verb may say about its commit, for `history()` and for doing it again safely."""

    stream: str | None  # where the rows come from
    idempotency_key: str | None  # a second commit with the same key does nothing and returns the first
    watermark: datetime | None  # event time up to which the stream is complete, for at=kl.watermark(...)
    business_time: BusinessTime | None  # archived states of that time or later get the rows, too


class KeyedTable(TableKv, Generic[Row]):
    """A table in which every key stands once. `lake.create()` and `lake.table()` give one.

    Rows may be a Spark frame of `lake.spark`, a pandas frame, an Arrow table, or a list of dicts or of rows of the
    table's class; an empty one makes a commit of no rows. `version=` says how new the rows are, where they do not carry
    an ordering column: the name of one of their columns, one number for all, or a mapping from columns to the columns
    that hold their versions.
    """

    def __init__(self, session: Session, spec: TableSpec, model: type[Row], branch: str | None = None) -> None:
        super().__init__(session, spec, TablePath(spec.name, branch))
        self._model = model

    @property
    def name(self) -> str:
        """The table's name with its namespace, as SQL has it behind the catalog."""
        return self._path.name

    @property
    def _main(self) -> TablePath:
        """What is asked about the table as a whole, whichever branch this is."""
        return TablePath(self._path.name)

    def branch(self, name: str) -> KeyedTable[Row]:
        """The same table on a branch: the same verbs, apart from what everybody reads.

        A branch whose name begins with `tmp_` is made from main, if it is not there; any other has to exist.

            draft = profiles.branch("tmp_nightly")
        """
        branch = None if name == "main" else name
        if name.startswith(TEMPORARY):
            self._session.call(Call.of("ensure_branch", TablePath(self.name, name)))
        other = KeyedTable(self._session, self.spec, self._model, branch)
        other.history(at_most=1)  # an error when there is no such branch
        return other

    def __getitem__(self, columns: Names) -> TableColumns:
        """Some value columns of the table, for `kl.join`.

        profiles["clicks", "spend"]
        """
        return TableColumns(self, names_of(columns))

    # ------------------------------------------------------------------------------------------------------- writes

    def upsert(self, rows: Rows, *, version: Version | None = None, **labels: Unpack[Labels]) -> Commit:
        """Write whole rows: every column, at the version of the row.

        profiles.upsert([UserProfile(user_id=7, day=today, event_time=now, clicks=3)])
        """
        return self._write(rows, Intention("upsert", version=version, **labels))

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
        return self._write(rows, Intention("update", version=version, columns_from=columns_from, **labels))

    def delete(self, rows: Rows, *, version: Version | None = None, **labels: Unpack[Labels]) -> Commit:
        """Delete the rows of these keys, up to the version: what was written at a larger one stays.

        profiles.delete([{"user_id": 7, "day": today}], version=now_micros)
        """
        return self._write(rows, Intention("delete", version=version, **labels))

    def apply_changes(self, rows: Rows, *, op: str, version: Version | None = None, **labels: Unpack[Labels]) -> Commit:
        """Insert, update and delete in one commit; the column `op` says which: I, U, D, or Debezium's c, r, u, d.

        profiles.apply_changes(captured, op="op")
        """
        return self._write(rows, Intention("apply_changes", version=version, op=op, **labels))

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
        return self._write(rows, Intention("overwrite", version=version, **labels), where)

    def _write(self, rows: Rows, intention: Intention, replaced: str | Column | None = None) -> Commit:
        begun_at = time.perf_counter()
        intention = replace(intention, writer=self._session.writer)
        key = intention.idempotency_key
        found = () if key is None else self._commits(idempotency_key=key, at_most=1)
        if not found:
            write_id = str(uuid.uuid4())
            self._send(rows, intention, write_id, replaced)
            found = self._commits(write_id=write_id, at_most=1)
            # Another writer with the same key may have been first, in between.
            found = found or (() if key is None else self._commits(idempotency_key=key, at_most=1))
        if not found:
            raise KeylakeError(
                f"The write to {self._path} ended without a commit. Look at history(), and write it again."
            )
        done = found[0]
        return Commit(done.snapshot_id, done.rows or 0, done.versions, time.perf_counter() - begun_at)

    def _send(self, rows: Rows, intention: Intention, write_id: str, replaced: str | Column | None) -> None:
        """Check all that can be checked here, then let Spark write the rows."""
        if self._session.is_frame(rows):
            frame: Any = rows
            statement = write(self.spec, self._path, intention, self._session.columns(frame), write_id)
            try:
                self._session.write(statement, frame, replaced)
            except (SchemaMismatch, BadRows) as error:
                raise type(error)(f"{error}{self._sample(str(error), frame)}") from None
            return
        local = LocalRows.of(rows, self.spec, intention.verb)
        row_order = _free_name("_row", (*local.names, *self.spec.column_names))
        statement = write(self.spec, self._path, replace(intention, row_order=row_order), local.names, write_id)
        table = local.to_arrow(self.spec, _helpers(statement))
        table = table.append_column(row_order, pa.array(range(local.count), pa.int64()))
        with self._session.local_frame(table) as sent:
            self._session.write(statement, sent, replaced)

    def _sample(self, sentence: str, frame: DataFrame) -> str:
        """A value of the column that a sentence is about, unless it tells of a row itself."""
        columns = {name.lower(): name for name in self._session.columns(frame)}
        named = [columns[name.lower()] for name in re.findall(r"'([^']+)'", sentence) if name.lower() in columns]
        values: list[object] = []
        if named and " row " not in sentence:
            with contextlib.suppress(KeylakeError):  # the frame may be what is wrong
                values = self._session.values(frame, named[0], at_most=1)
        return f" A value there is {shown(values[0])}." if values else ""

    # -------------------------------------------------------------------------------------------------------- reads

    def read(
        self,
        *,
        columns: Names | None = None,
        where: str | Column | None = None,
        at: Commit | CommitInfo | Moment | Watermark | None = None,
        as_of: BusinessTime | None = None,
    ) -> DataFrame:
        """The merged rows as a plain Spark frame: some columns, some rows, now or at a moment.

        `where` is Spark SQL or a column. `at` is a commit, a snapshot id, a time with a zone, the name of a tag or
        branch, or `kl.watermark(...)`. `as_of` is the business time of an archived state.

            profiles.read(columns=["clicks", "spend"], where="day >= '2026-01-01'", at=commit).show()
        """
        if as_of is not None and at is not None:
            raise DefinitionError(f"at={at!r} and as_of={as_of!r} name two states. Leave one of them out.")
        moment = at.snapshot_id if isinstance(at, Commit | CommitInfo) else at
        moment = self._at_watermark(moment) if isinstance(moment, Watermark) else moment
        if not _is_moment(moment):
            raise DefinitionError(
                f"at={at!r} is no moment. Give a commit, a snapshot id, a time, or the name of a tag."
            )
        names = None if columns is None else names_of(columns)
        if names is not None and moment is None:  # at another moment the table may have had other columns
            self._check_columns(names)
        return self._session.frame_of(Select(self._at(as_of), names, moment), where)

    def get(self, *, as_of: BusinessTime | None = None, **key: object) -> Row | None:
        """The row of a key, or None; opens one bucket. `as_of` is the business time of an archived state.

        profiles.get(user_id=7, day=today)
        """
        columns = {attribute: column for column, attribute in self._model.attributes().items()}
        given = {columns.get(name, name): value for name, value in key.items()}
        if set(given) != set(self.spec.key):
            wanted = ", ".join(map(repr, self.spec.key))
            raise SchemaMismatch(f"The key of {self._path} is {wanted}, and get() has {', '.join(map(repr, given))}.")
        fitted = LocalRows.of([given], self.spec, "delete").to_arrow(self.spec).to_pylist()[0]
        parts = tuple((name, self.spec.column(name).type, fitted[name]) for name in self.spec.key)
        rows = self._session.fetch(Select(self._at(as_of), self.spec.column_names, key=parts)).to_pylist()
        return self._model.from_row(rows[0]) if rows else None

    # -------------------------------------------------------------------------------------------------- compaction

    def compaction_plan(self, policy: CompactionPolicy | PolicyWord | None = None) -> CompactionPlan:
        """What `compact` would do now, bucket by bucket, with its reasons. Nothing is done.

        print(profiles.compaction_plan())
        """
        rows = self._session.call(Call.of("compaction_plan", self._path, policy=_policy_text(policy))).to_pylist()
        return CompactionPlan(str(self._path), map(BucketPicture.from_row, rows))

    def compact(self, policy: CompactionPolicy | PolicyWord | None = None) -> CompactionReport:
        """Merge and settle runs until a policy is content: the table's own, unless another is given.

        "full" merges all there is. "settle" merges nothing, and only records which rows are superseded: reads need no
        merge from then on, and other engines read the merged rows, where every row was written whole.

        Readers and writers go on meanwhile, and no answer changes. Each merge is committed by itself, so what is done
        stays done if the rest is stopped.

            profiles.compact("full")
        """
        rows = self._session.call(Call.of("compact", self._path, policy=_policy_text(policy))).to_pylist()
        return CompactionReport(str(self._path), (Merge(**row) for row in rows))

    def compaction_policy(self) -> CompactionPolicy:
        """The policy of the table: its own, or the default.

        profiles.compaction_policy().tier_runs
        """
        rows = self._session.call(Call.of("compaction_policy", self._main)).to_pylist()
        return CompactionPolicy.from_json(rows[0]["policy"])

    def set_compaction_policy(self, policy: CompactionPolicy) -> None:
        """Give the table a policy of its own, for all of its branches.

        profiles.set_compaction_policy(kl.CompactionPolicy(tier_runs=8))
        """
        self._session.call(Call.of("compaction_policy", self._main, policy=policy.to_json()))

    def refresh_merged(self) -> Commit:
        """Make the branch `merged` anew, in which every key stands once, for engines that know nothing of keyed tables.

        Trino, DuckDB or pyiceberg read the right rows from that branch; its snapshot says of which one of main it was
        made (`keylake.merged_of`). It takes as long as merging everything that is not merged yet.

            profiles.refresh_merged().rows
        """
        begun_at = time.perf_counter()
        row = self._session.call(Call.of("refresh_merged", self._main)).to_pylist()[0]
        return Commit(row["snapshot_id"], row["rows"], None, time.perf_counter() - begun_at)

    def retention_policy(self) -> RetentionPolicy:
        """What of the table's past is kept: its own policy, or the default, which keeps every snapshot.

        profiles.retention_policy().days
        """
        rows = self._session.call(Call.of("retention_policy", self._main)).to_pylist()
        return RetentionPolicy.from_json(rows[0]["policy"])

    def set_retention_policy(self, policy: RetentionPolicy) -> None:
        """Say what of the table's past is kept; maintenance cleans up by it, and so does `clean`.

        profiles.set_retention_policy(kl.RetentionPolicy(days=7, snapshots=100))
        """
        self._session.call(Call.of("retention_policy", self._main, policy=policy.to_json()))

    def clean(self, policy: RetentionPolicy | None = None) -> Cleaned:
        """Expire snapshots and delete files that nobody needs, by a policy: the table's own unless another is given.

        profiles.clean(kl.RetentionPolicy(days=7))
        """
        text = None if policy is None else policy.to_json()
        return Cleaned(**self._session.call(Call.of("clean", self._main, policy=text)).to_pylist()[0])

    # ------------------------------------------------------------------------------------------------------- shown

    def __repr__(self) -> str:
        branch = "" if self._path.branch is None else f", branch {self._path.branch!r}"
        return f"KeyedTable({self.name!r}{branch})"

    def __str__(self) -> str:
        return str(self.spec)

    def _repr_html_(self) -> str:
        return self.spec._repr_html_()  # pyright: ignore[reportPrivateUsage]


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


def _is_moment(moment: object) -> bool:
    return isinstance(moment, int | str | datetime | None) and not isinstance(moment, bool)


def _policy_text(policy: CompactionPolicy | PolicyWord | None) -> str | None:
    return policy.to_json() if isinstance(policy, CompactionPolicy) else policy


def _free_name(name: str, taken: tuple[str, ...]) -> str:
    lower = {each.lower() for each in taken}
    while name in lower:
        name = f"_{name}"
    return name
