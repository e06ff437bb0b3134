"""The verb `update_json`: a batch is looked at, planned, counted and written.

    documents (kept meanwhile) ── fields ── Plan ── what is rescued ── alter_columns ── update(columns_from=)

Everything that can fail does so before the table is changed; between its change and the write stands nothing but them.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from itertools import count
from typing import TYPE_CHECKING, Any

from typing_extensions import Unpack

from keylake._definition.spec import TableSpec
from keylake._json.batch import NAMES, RESCUED, Batch
from keylake._json.mapping import JsonMapping, check_mapping, payload_column
from keylake._json.plan import Plan
from keylake._rows.intention import Intention, Labels, check_labels, write
from keylake._server.session import Session
from keylake._server.statements import literal, quoted
from keylake._table.columns import ColumnChanges
from keylake._table.handle import Handle, Verbs
from keylake._table.writes import WriteVerbs, commit_of
from keylake.errors import BadRows, DefinitionError, KeylakeError, SchemaMismatch, check_type
from keylake.results import Commit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# The name by which statements list the columns of a row: such a list may be empty.
_COLUMNS_FROM = "_merge_info:columns_from"
_MOST_REASONS = 100
_ATTEMPTS = 5
_CHANGED = "[KEYLAKE_BAD_ROWS] The rows of the frame were others when they were read again. Write them from a table."


@dataclass(frozen=True)
class Rescued:
    """Values that fit nowhere: the field, None for a whole payload, why, and how many."""

    field: str | None
    reason: str
    values: int


@dataclass(frozen=True)
class JsonCommit(Commit):
    """The result of `update_json`: the commit, the columns that it added, and what it rescued."""

    added: tuple[str, ...] = ()
    rescued: int = 0
    reasons: tuple[Rescued, ...] = ()  # the most frequent ones

    def __str__(self) -> str:
        added = f", new columns: {', '.join(self.added)}" if self.added else ""
        rescued = f", {self.rescued:,} values rescued" if self.rescued else ""
        return f"{super().__str__()}{added}{rescued}"


class JsonVerbs(Verbs):
    """Updates from payloads whose fields map themselves to columns."""

    def update_json(
        self,
        rows: DataFrame,
        *,
        column: str = "payload",
        mapping: JsonMapping | None = None,
        version: str | int | None = None,
        **labels: Unpack[Labels],
    ) -> JsonCommit:
        """Write the fields of payloads as columns: exactly those that each payload has, null where it has null.

        `rows` is a Spark frame: the key, the ordering column or what `version` names, and the column with the payload,
        a JSON STRING, MAP<STRING, STRING>, MAP<STRING, VARIANT> or VARIANT. Other columns of the table may stand beside
        it, and are written as `update` does. They are not taken from the payload; what `version` names is no column.

        A field that the table has no column for gets one, whose type all rows of the batch decide; `mapping` says
        otherwise, `kl.JsonMapping`. Values are not changed to fit. What fits nowhere goes into the column `_rescued`,
        which is made then: a list of (field, value as JSON, reason), with field null for a payload that is no object.
        A row keeps those of its newest write that had any. The rows are computed once and kept while it runs.

        Raises `BadRows` if the rows are no frame or a stream, the payload has another type, or more columns are new
        than `mapping` allows; `DefinitionError` if `mapping` or `column` names what is not there; `VersionMissing` if
        the rows say no version or two; `SchemaMismatch` if a column does not fit the table; and `Unsupported` on an
        experiment.

        Example::

            commit = profiles.update_json(events.select("user_id", "at", "payload"))
            print(commit.added, commit.rescued)
        """
        begun_at = time.perf_counter()
        mapping = check_mapping(mapping)
        check_type("version", version, str | int | None, "the name of a column of the rows, or an int")
        checked = check_labels(labels)
        self._handle.check_no_experiment("columns that payloads bring (update_json)")
        session = self._handle.session
        if not session.is_frame(rows):
            raise BadRows("update_json takes a Spark frame. Make one with lake.spark.createDataFrame(...).")
        found = commit_of(self._handle, begun_at, checked.get("idempotency_key"), checked.get("offsets"))
        if found is not None:
            return _with_columns(found)
        with session.asking():
            batch = _batch(rows, column, mapping, version, self.spec)
        call = _JsonUpdate(self._handle, batch, version, checked)
        try:
            with _kept(batch.documents, session):
                commit = call.run()
        finally:
            if call.handle != self._handle:
                self._learn(call.handle)
        return replace(commit, seconds=time.perf_counter() - begun_at)


def _with_columns(commit: Commit, **told: Any) -> JsonCommit:
    """A commit with what its payloads have added and rescued, which is nothing where the write was made before."""
    return JsonCommit(**{each.name: getattr(commit, each.name) for each in fields(commit)}, **told)


def _batch(rows: DataFrame, column: str, mapping: JsonMapping, version: str | int | None, spec: TableSpec) -> Batch:
    if rows.isStreaming:
        raise BadRows("The frame is a stream. Call update_json in foreachBatch, for the frame of each batch.")
    payload = payload_column(column, rows.columns)
    type_ = next(each.dataType.simpleString() for each in rows.schema if each.name == payload)
    stored = {name.lower() for name in (*spec.key, spec.ordering) if name is not None}
    versions = [name for name in rows.columns if name.lower() == str(version).lower() and name.lower() not in stored]
    return Batch.of(rows, payload, type_, mapping, next(iter(versions), None))


@contextmanager
def _kept(frame: DataFrame, session: Session) -> Generator[None]:
    """Rows that are computed once, for the looks at them and for the write: so all of these see the same."""
    with session.asking():
        frame.persist()
    try:
        yield
    finally:
        with contextlib.suppress(KeylakeError), session.asking():
            frame.unpersist()


@dataclass
class _JsonUpdate:
    """One call of the verb; its handle learns the columns that the table has."""

    handle: Handle
    batch: Batch
    version: str | int | None
    labels: Labels
    added: dict[str, None] = field(default_factory=dict[str, None])  # in order, by all attempts

    def run(self) -> JsonCommit:
        """Plan and write; where somebody has changed the columns meanwhile, plan anew."""
        for attempt in count(1):
            try:
                return self._written()
            except (SchemaMismatch, BadRows, DefinitionError):
                found = self.handle.as_now()
                if found == self.handle or attempt == _ATTEMPTS:
                    raise
                self.handle = found
        raise AssertionError

    def _written(self) -> JsonCommit:
        session = self.handle.session
        plan = self._plan()
        with session.asking():
            rows = self.batch.rows(plan)
            reasons, rescued = _count(rows)
        additions = plan.additions(is_rescued=rescued > 0)
        if additions:
            changes = ColumnChanges(self.handle.spec, add=additions).to_json()
            spec = TableSpec.from_json(str(self.handle.on_main.value("alter_columns", changes=changes)))
            self.handle = replace(self.handle, spec=spec)
            self.added.update(dict.fromkeys(additions))
        version = self._version()
        with session.asking():
            frame = self._frame(rows, plan, is_rescued=rescued > 0)
        commit = WriteVerbs(self.handle).update(frame, version=version, columns_from=_COLUMNS_FROM, **self.labels)
        return _with_columns(commit, added=tuple(self.added), rescued=rescued, reasons=reasons)

    def _plan(self) -> Plan:
        """The plan of the batch; all that can be refused from names and types is refused here."""
        spec, mapping = self.handle.spec, self.batch.mapping
        beside = {name.lower() for name in self.batch.beside}
        self._check()
        with self.handle.session.asking():
            seen = self.batch.seen(self.batch.fields().toArrow().to_pylist())
        return Plan.of(spec, mapping, [name for name in spec.column_names if name.lower() in beside], seen)

    def _check(self) -> None:
        """Refuse columns beside the payload that are none of the table, and words of the write that do not fit it."""
        spec = self.handle.spec
        Plan(spec, self.batch.mapping).check_types()
        known = {name.lower() for name in spec.column_names}
        for name in self.batch.beside:
            if name.lower() not in known:
                raise SchemaMismatch(
                    f"The rows have the column {name!r} beside the payload, and {self.handle.path} has none of that "
                    f"name. Drop it. {spec.hint(name)}"
                )
        # Columns of a group may come from the payload, so that only the rest can be checked already.
        grouped = {name for group in spec.column_groups for name in group.columns}
        rest = [name for name in self.batch.columns if name not in grouped]
        intention = Intention("update", version=self.version, columns_from=_COLUMNS_FROM, **self.labels)
        write(spec, self.handle.path, intention, [*rest, _COLUMNS_FROM], "")

    def _version(self) -> str | int | None:
        """The version of the write; a column of the rows gets a name that no column of the table has."""
        name = self.batch.version
        if name is None:
            return self.version
        taken = {known.lower() for known in self.handle.spec.column_names}
        while name.lower() in taken:
            name = f"_{name}"
        return name

    def _frame(self, rows: DataFrame, plan: Plan, *, is_rescued: bool) -> DataFrame:
        """The rows under the names of the table."""
        of = {name.lower(): name for name in plan.spec.column_names}
        columns = [f"{self.batch.of_column(name)} AS {quoted(of[name.lower()])}" for name in self.batch.beside]
        if self.batch.version is not None:
            columns.append(f"{self.batch.of_column(self.batch.version)} AS {quoted(str(self._version()))}")
        columns += [f"c{number} AS {quoted(target.column)}" for number, target in enumerate(plan.updates)]
        if not is_rescued:
            # Rows that are not those that were counted would lose what does not fit.
            none = f"if(size({RESCUED}) = 0, {NAMES}, raise_error('{_CHANGED}'))"
            return rows.selectExpr(*columns, f"{none} AS {quoted(_COLUMNS_FROM)}")
        key = [next(name for name in self.batch.beside if name.lower() == each.lower()) for each in plan.spec.key]
        # Of several rows of a key the newest counts, so each has what any of them has.
        own = f"flatten(collect_list({RESCUED}) OVER (PARTITION BY {', '.join(map(self.batch.of_column, key))}))"
        whole = rows.selectExpr("*", f"{own} AS of_key")
        named = f"if(size(of_key) = 0, {NAMES}, array_append({NAMES}, {literal(plan.rescue)}))"
        return whole.selectExpr(*columns, f"of_key AS {quoted(plan.rescue)}", f"{named} AS {quoted(_COLUMNS_FROM)}")


def _count(rows: DataFrame) -> tuple[tuple[Rescued, ...], int]:
    """The numbers of rescued values by field and reason, the most frequent first, and the number of all."""
    counted = rows.selectExpr(f"inline({RESCUED})").groupBy("field", "reason").count()
    found = (
        counted.selectExpr("*", "sum(count) OVER () AS total")
        .orderBy(counted["count"].desc(), "field", "reason")
        .limit(_MOST_REASONS)
        .toArrow()
        .to_pylist()
    )
    reasons = tuple(Rescued(row["field"], row["reason"], row["count"]) for row in found)
    return reasons, found[0]["total"] if found else 0
