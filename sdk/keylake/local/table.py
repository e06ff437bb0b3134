"""A keyed table without a server: reads of its merged rows, and of single keys, and small writes."""

# pyright: reportUnknownParameterType=false

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Generic

import numpy as np
import pyarrow as pa
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError
from pyiceberg.table import Table as IcebergTable

from keylake._definition.spec import Names, TableSpec, names_of
from keylake._definition.table_names import name_parts
from keylake._rows.business_time import BusinessTime
from keylake._rows.intention import Intention
from keylake._rows.rows import Rows
from keylake._server.statements import Freshness
from keylake._table.finding import condition_of
from keylake._table.handle import snapshot_id_of
from keylake._table.reads import Row, check_freshness, one_key
from keylake.checks import CheckLevel, CheckReport, checked_level
from keylake.errors import DefinitionError, SchemaMismatch, TableNotFound, check_type
from keylake.local.accumulators import check_accumulator
from keylake.local.background import awaited
from keylake.local.catalogs import asking, loaded
from keylake.local.changes.feed import Feed
from keylake.local.damage import decoding
from keylake.local.decisions import NOWHERE
from keylake.local.filters import Filter, Where
from keylake.local.fresh import LoggedRows, grouped
from keylake.local.indexes import IndexProbes, indexes_of
from keylake.local.lateness import is_late
from keylake.local.layout import Layout
from keylake.local.log import KeptLog, LocalLog
from keylake.local.lookups import Lookup, Sought
from keylake.local.merging import Merge
from keylake.local.models import Models, by_column
from keylake.local.models import said as _said
from keylake.local.moments import At
from keylake.local.parquet import ParquetFiles
from keylake.local.plans import Plan, Plans
from keylake.local.reopening import Place
from keylake.local.result import Changes, MergedRows
from keylake.local.stretches import Stretch, WholeFile
from keylake.local.waiting import HistoryReads
from keylake.results import Commit, CommitInfo


class LocalTable(HistoryReads, Generic[Row]):
    """A keyed table that is read in this process. `lake.table()` returns one; threads may share it.

    Every read looks for the newest commit first. Reads of a commit that was read before need no metadata again.
    """

    def __init__(self, table: IcebergTable, name: str, model: type[Row] | None, files: ParquetFiles) -> None:
        self._name = name
        self._parquet = files
        self._plans = Plans(table, name)
        self._models = Models(name, model)
        self._log = KeptLog()

    @property
    def name(self) -> str:
        """The table's name with its namespace."""
        return self._name

    @property
    def spec(self) -> TableSpec:
        """The definition of the table: as it is now, or as the class says by which it was opened."""
        return self._models.of(self._plans.layout()).table_spec()

    @property
    def log(self) -> LocalLog:
        """The log of the table: `begin`, `drop`, `state`, writes that are durable at once, and `follow`."""
        return LocalLog(self._name, self._plans, self._log, self._parquet)

    def __reduce__(self) -> tuple[Callable[..., LocalTable[Any]], tuple[Place, str, type[Row] | None]]:
        place = Place.of(self._plans.table.catalog, self._parquet)
        return _opened_again, (place, self._name, self._models.named_class)

    def __repr__(self) -> str:
        return f"LocalTable({self._name!r})"

    def __str__(self) -> str:
        return str(self.spec)

    def _repr_html_(self) -> str:
        return self.spec._repr_html_()  # pyright: ignore[reportPrivateUsage]

    def read(
        self,
        *,
        columns: Names | None = None,
        where: Where | None = None,
        at: At | None = None,
        as_of: BusinessTime | None = None,
        branch: str | None = None,
        fresh: bool = False,
        freshness: Freshness | None = None,
    ) -> MergedRows[Row]:
        """The merged rows: some columns, some rows, now or at a moment.

        `where` is a condition in text, on columns (`kl.col(Profile.clicks) > 5`), or an expression of pyiceberg. `at`
        is a commit, a snapshot id, a time with a zone, or the name of a tag or branch. `as_of` is the business time of
        an archived state. Texts and expressions compare as Iceberg does: a NaN is equal to nothing. Conditions on
        columns compare as Spark does. With `fresh` what is in the log of the table and not in files yet is merged, too.
        With `freshness="on_time"` late rows are left out, and no file of them is opened.

        Raises `SchemaMismatch` for a column that the table does not have, `DefinitionError` for a `where` that cannot
        be read and for moments that do not go together, `TableNotFound` or `SnapshotExpired` for a moment that is not
        there, `Unsupported` for a column whose reducer is not known here, `ForeignCommit` after a commit of another
        engine, and `StoreFailed` for files that are gone or damaged.

        Example::

            profiles.read(columns=["clicks", "spend"], where="day >= '2026-01-01'", at=commit).to_pandas()
        """
        check_freshness(freshness, fresh=fresh or None)
        plan, logged = self._planned(branch, at, as_of, None, fresh)
        planned = plan.files if freshness is None else [file for file in plan.files if not is_late(file.path)]
        names = self._columns(plan.layout, columns)
        chosen = None if where is None else Filter.of(where, plan.layout)
        read = names if chosen is None else tuple(dict.fromkeys((*names, *chosen.columns)))
        merge = self._merge(plan.layout, read)
        pieces = [plan.layout.empty(read)]
        probes = IndexProbes.of(chosen, self._plans.table, plan.layout, self._parquet)
        for files, behind in grouped(planned, logged):
            wanted = [file for file in files if chosen is None or chosen.may_have(file)]
            if behind is not None or (wanted and probes.may_pass(wanted)):
                stretches: list[Stretch] = [WholeFile(file, self._parquet, probes.io) for file in wanted]
                rows = merge.rows([*stretches, *([] if behind is None else [behind])])
                pieces.append(rows if chosen is None else chosen.of_rows(rows))
        return MergedRows(pa.concat_tables(pieces).select(list(names)), self._models.unchecked(plan.layout))

    def get(
        self,
        key: Mapping[str, object] | None = None,
        /,
        *unnamed: object,
        at: At | None = None,
        as_of: BusinessTime | None = None,
        branch: str | None = None,
        max_age: datetime.timedelta | None = None,
        fresh: bool = False,
        **columns: object,
    ) -> Row | None:
        """The row of a key, or None; opens the files of one bucket that can have it.

        The key is given by its columns, or as a mapping where one of these is called as a word of this verb. `max_age`
        is how old the answer may be: within it the catalog is not asked again, and commits of others may be missing.
        With `fresh` the row has what is in the table's log, too, and not in files yet.

        Raises `SchemaMismatch` if the key has other columns than the table's, `BadRows` if a value of it does not fit,
        and otherwise the errors of `read`, such as `Unsupported` and `StoreFailed`.

        Example::

            profiles.get(user_id=7, day=today)
        """
        given = one_key((key, *unnamed), columns)
        if given is None:
            raise SchemaMismatch(
                f"get() takes the key of {self._name} by the names of its columns: get({_said(self.spec)}), "
                "or as a mapping."
            )
        return self.get_many([given], at=at, as_of=as_of, branch=branch, max_age=max_age, fresh=fresh)[0]

    def get_many(
        self,
        keys: Iterable[Mapping[str, object]],
        *,
        at: At | None = None,
        as_of: BusinessTime | None = None,
        branch: str | None = None,
        max_age: datetime.timedelta | None = None,
        fresh: bool = False,
    ) -> list[Row | None]:
        """The rows of some keys, in the order of the keys; None where there is no row.

        `max_age` and `fresh` are those of `get`.

        Raises `SchemaMismatch` if a key has other columns than the table's, `BadRows` if a value of it does not fit,
        and otherwise the errors of `read`, such as `Unsupported` and `StoreFailed`.

        Example::

            profiles.get_many([{"user_id": 7, "day": today}, {"user_id": 8, "day": today}])
        """
        check_type("keys", keys, Iterable, "a list of mappings such as {'user_id': 7}")
        plan, logged = self._planned(branch, at, as_of, max_age, fresh)
        model = self._models.of(plan.layout)
        sought = Sought.of(plan.layout, by_column(keys, model, self._name), plan.buckets.counts)
        found, owners = Lookup(plan.layout, self._parquet, self._plans.table.io).found(plan.buckets, sought)
        stretches: list[Stretch] = list(found)
        if logged is not None:
            behind, of_keys = logged.found(sought)
            stretches.append(behind)
            owners.append(of_keys)
        rows, numbers = self._merge(plan.layout, model.table_spec().column_names).found(stretches, owners)
        row_of = np.full(len(sought.keys), NOWHERE)
        row_of[numbers] = np.arange(len(numbers))
        places = row_of[sought.numbers].tolist()
        with decoding(self._name):
            read = rows.to_pylist()
        shown = iter(model.from_rows(read[place] for place in places if place != NOWHERE))
        return [None if place == NOWHERE else next(shown) for place in places]

    def find(
        self,
        values: Mapping[str, object] | None = None,
        /,
        *,
        at: At | None = None,
        as_of: BusinessTime | None = None,
        branch: str | None = None,
        fresh: bool = False,
        **columns: object,
    ) -> list[Row]:
        """The rows with some values, in no order. One of their columns at least has an index, or is of the key.

        With `fresh` what is in the table's log counts, too.

        Raises `DefinitionError` if none has an index, `SchemaMismatch` for a column that the table does not have,
        `BadRows` for None, and otherwise the errors of `read`, such as `Unsupported` and `StoreFailed`.

        Example::

            profiles.find(device="d-17")
        """
        layout = self._plans.layout()
        indexes = indexes_of(self._plans.table, layout)
        condition = condition_of(layout.spec, {**(values or {}), **columns}, indexes)
        return self.read(where=condition, at=at, as_of=as_of, branch=branch, fresh=fresh).rows()

    def changes(
        self,
        *,
        after: Commit | CommitInfo | int | None = None,
        until: Commit | CommitInfo | int | None = None,
        every_commit: bool = False,
        columns: Names | None = None,
        as_of: BusinessTime | None = None,
        branch: str | None = None,
    ) -> Changes[Row]:
        """The differences of merged rows between two commits: a row for each key that was inserted, updated or deleted.

        The columns are those of the same verb of a server: beside the key `_change` (insert, update, delete),
        `_columns` (the names of those that an update changed), `_before` and `_after` (the other columns, as a struct;
        null where there is no row), and `_commit`. A key that was written with equal values has not changed, and
        compactions change nothing. With `every_commit` the changes of each commit are told, not the net changes of all.
        Without `after` the range begins with the first commit, without `until` it ends with the newest. With `columns`
        only these are compared and told.

        Raises `Unsupported` for a range whose commits wrote more than 1,000,000 rows, `SnapshotExpired` if a commit of
        it is not kept any more, and otherwise the errors of `read`, such as `SchemaMismatch` and `StoreFailed`.

        Example::

            profiles.changes(after=commit).to_pandas()
        """
        check_type("every_commit", every_commit, bool, "True or False")
        ends = snapshot_id_of("after", after), snapshot_id_of("until", until)
        layout, files = self._plans.changed(branch, as_of, *ends, every_commit)
        values = tuple(name for name in self._columns(layout, columns) if name not in layout.spec.key)
        self._merge(layout, values)
        feed = Feed(Lookup(layout, self._parquet, self._plans.table.io), values)
        return Changes(feed.of(files), self._models.unchecked(layout))

    def check(self, level: CheckLevel = "files") -> CheckReport:
        """Look at every file that the table needs, on all of its branches, tags and kept snapshots. Nothing is changed.

        "files" reads metadata and the ends of files: whether each file is there, has its size and its own name, whether
        its footer fits its checksum, and whether footers, manifests and summaries agree on files and rows. "pages" also
        reads every page of every column with its checksum. Damage is a result and no error. The server's check also
        compares keys with their order, bucket and bounds, reads deletion vectors, and plans a repair.

        Raises `DefinitionError` for another level, `StoreFailed` if the metadata cannot be read, and `Unavailable` if
        the store does not answer.

        Example::

            report = profiles.check("pages")
            report.is_ok, report.readable_buckets
        """
        # Readers do not wait for what only checks need.
        from keylake.local.check import Walk

        level = checked_level(level)
        self._plans.metadata()
        return Walk(self._name, self._plans.table).report(level)

    def upsert(
        self,
        rows: Rows,
        *,
        version: str | int | None = None,
        branch: str | None = None,
        stream: str | None = None,
        watermark: datetime.datetime | None = None,
    ) -> Commit:
        """Write every value column of some rows, up to 10,000, and commit them.

        `version` is that of all rows, or the name of a column that has it; as with Spark, a table whose versions are
        commits or an ordering column needs none. `branch` is main unless said.

        Raises `Unsupported` for more rows, and for columns that are reduced by anything but their newest value: write
        those through Spark. Raises `SchemaMismatch`, `VersionMissing` and `BadRows` as the same verb of a server does,
        `CommitConflict` if other commits come first again and again, and `OutcomeUnknown` if the catalog does not say
        what became of the commit.

        Example::

            profiles.upsert([{"user_id": 7, "clicks": 4, "city": "Oslo"}], stream="web")
        """
        return self._write(rows, Intention("upsert", version, stream=stream, watermark=watermark), branch)

    def update(
        self,
        rows: Rows,
        *,
        version: str | int | None = None,
        branch: str | None = None,
        stream: str | None = None,
        watermark: datetime.datetime | None = None,
    ) -> Commit:
        """Write the value columns that the rows have, up to 10,000 rows, and commit them.

        Raises the errors of `upsert`, where a column that the rows lack is none: `Unsupported`, `SchemaMismatch`,
        `VersionMissing`, `BadRows`, `CommitConflict` and `OutcomeUnknown`.

        Example::

            profiles.update([{"user_id": 7, "clicks": 5}], stream="web")
        """
        return self._write(rows, Intention("update", version, stream=stream, watermark=watermark), branch)

    def delete(
        self,
        rows: Rows,
        *,
        version: str | int | None = None,
        branch: str | None = None,
        stream: str | None = None,
        watermark: datetime.datetime | None = None,
    ) -> Commit:
        """Remove what is older than the delete of some keys, up to 10,000, and commit that.

        Raises `SchemaMismatch` if the rows carry more than key and version, and otherwise the errors of `upsert`:
        `Unsupported`, `VersionMissing`, `BadRows`, `CommitConflict` and `OutcomeUnknown`.

        Example::

            profiles.delete([{"user_id": 7}])
        """
        return self._write(rows, Intention("delete", version, stream=stream, watermark=watermark), branch)

    def _write(self, rows: object, intention: Intention, branch: str | None) -> Commit:
        check_type("branch", branch, str | None, "the name of a branch")
        check_type("version", intention.version, str | int | None, "a number, or the name of a column")
        check_type("stream", intention.stream, str | None, "the name of a stream")
        table = loaded(self._plans.table, self._name)
        # The commands that read, and services that only read, do not wait for the writer.
        from keylake.local.writing.small_write import SmallWrite, user

        try:
            return SmallWrite(self._name, table, branch or "main", replace(intention, writer=user())).made(rows)
        finally:
            self._plans.changed_here()

    aget, aget_many, afind = awaited(get), awaited(get_many), awaited(find)
    aread, achanges = awaited(read), awaited(changes)
    aupsert, aupdate, adelete = awaited(upsert), awaited(update), awaited(delete)

    def _planned(
        self,
        branch: str | None,
        at: At | None,
        as_of: BusinessTime | None,
        max_age: datetime.timedelta | None,
        fresh: bool,
    ) -> tuple[Plan, LoggedRows | None]:
        """The files of a moment, or those of now and what the log has beyond them."""
        check_type("fresh", fresh, bool, "True or False")
        if not fresh:
            return self._plans.at(branch, at, as_of, max_age), None
        said = {"at": at, "as_of": as_of, "branch": branch, "max_age": max_age}
        for name, value in said.items():
            if value is not None and (name, value) != ("branch", "main"):
                raise DefinitionError(f"fresh=True reads main as it is now. Leave {name}={value!r} out, or fresh=True.")
        return self._log.fresh(self._name, self._plans)

    def _columns(self, layout: Layout, columns: Names | None) -> tuple[str, ...]:
        if columns is None:
            return layout.spec.column_names
        by_lower = {name.lower(): name for name in layout.spec.column_names}
        if again := [name for name, count in Counter(map(str.lower, names_of(columns))).items() if count > 1]:
            raise SchemaMismatch(f"columns= names {again[0]!r} of {self._name} more than once. Name it once.")
        for name in names_of(columns):
            if name.lower() not in by_lower:
                raise SchemaMismatch(f"{self._name} has no column {name!r}. {layout.spec.hint(name)}")
        return tuple(by_lower[name.lower()] for name in names_of(columns))

    def _merge(self, layout: Layout, columns: tuple[str, ...]) -> Merge:
        for name in columns:
            reducer = layout.spec.column(name).reducer
            if reducer.accumulates:
                check_accumulator(self._name, layout.fields[name], reducer)
        return Merge(layout, columns)


def _opened_again(place: Place, name: str, model: type[Row] | None) -> LocalTable[Row]:
    catalog, files = place.opened()
    try:
        with asking(catalog.name, catalog.properties):
            table = catalog.load_table(tuple(name_parts(name)))
    except (NoSuchTableError, NoSuchNamespaceError):
        raise TableNotFound(f"{name} is not in the catalog {catalog.name!r} any more.") from None
    return LocalTable(table, name, model, files)
