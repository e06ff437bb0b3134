"""A keyed table without a server: reads of its merged rows, and of single keys, and small writes."""

# pyright: reportUnknownParameterType=false

from __future__ import annotations

import datetime
import getpass
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic

import pyarrow as pa
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table as IcebergTable
from pyiceberg.table.metadata import TableMetadata

from keylake._definition.spec import Names, TableSpec, names_of
from keylake._table.business_time import BusinessTime
from keylake._table.intention import Intention
from keylake._table.reads import Row
from keylake._table.rows import Rows
from keylake._values.arrow_types import natural
from keylake.errors import SchemaMismatch, TableNotFound, check_type
from keylake.local.accumulators import check_accumulator
from keylake.local.files import Listing, StoredFile
from keylake.local.filters import Filter, Where
from keylake.local.layout import Layout, layout_of
from keylake.local.lookups import BucketFiles, Lookup
from keylake.local.merging import Merge
from keylake.local.moments import At, check_lineage, moment_of
from keylake.local.parquet import ParquetFiles
from keylake.local.result import MergedRows
from keylake.local.stretches import WholeFile
from keylake.local.writes import SmallWrite
from keylake.results import Commit

_PLANS_AT_MOST = 16


@dataclass(frozen=True, eq=False)
class _Plan:
    """What a read of a snapshot opens: it never changes."""

    layout: Layout
    files: tuple[StoredFile, ...]
    buckets: BucketFiles


class LocalTable(Generic[Row]):
    """A keyed table that is read in this process. `lake.table()` returns one; threads may share it.

    Every read looks for the newest commit first. Reads of a commit that was read before need no metadata again.
    """

    def __init__(self, table: IcebergTable, name: str, model: type[Row], files: ParquetFiles) -> None:
        self._table = table
        self._name = name
        self._model = model
        self._parquet = files
        self._lock = threading.RLock()
        self._plans: OrderedDict[tuple[int | None, int], _Plan] = OrderedDict()
        self._listings: dict[int, tuple[Layout, Listing]] = {}

    @property
    def name(self) -> str:
        """The table's name with its namespace."""
        return self._name

    @property
    def spec(self) -> TableSpec:
        """The definition of the table as it was when it was opened."""
        return self._model.table_spec()

    def read(
        self,
        *,
        columns: Names | None = None,
        where: Where | None = None,
        at: At | None = None,
        as_of: BusinessTime | None = None,
        branch: str | None = None,
    ) -> MergedRows[Row]:
        """The merged rows: some columns, some rows, now or at a moment.

        `where` is a condition in text, or an expression of pyiceberg. `at` is a commit, a snapshot id, a time with a
        zone, or the name of a tag or branch. `as_of` is the business time of an archived state. Conditions compare
        as Iceberg does: a NaN is equal to nothing.

        Example::

            profiles.read(columns=["clicks", "spend"], where="day >= '2026-01-01'", at=commit).to_pandas()
        """
        plan = self._plan(branch, at, as_of)
        names = self._columns(plan.layout, columns)
        chosen = None if where is None else Filter.of(where, plan.layout)
        read = names if chosen is None else tuple(dict.fromkeys((*names, *chosen.columns)))
        merge = self._merge(plan.layout, read)
        pieces = [_empty(plan.layout, read)]
        for files in _together(plan.files):
            wanted = [file for file in files if chosen is None or chosen.may_have(file)]
            if wanted:
                rows = merge.rows([WholeFile(file, self._parquet, self._table.io) for file in wanted])
                pieces.append(rows if chosen is None else chosen.of_rows(rows))
        return MergedRows(pa.concat_tables(pieces).select(list(names)), self._model)

    def get(
        self,
        *unnamed: object,
        at: At | None = None,
        as_of: BusinessTime | None = None,
        branch: str | None = None,
        **key: object,
    ) -> Row | None:
        """The row of a key, or None; opens the files of one bucket that can have it.

        Example::

            profiles.get(user_id=7, day=today)
        """
        if unnamed:
            raise SchemaMismatch(
                f"get() takes the key of {self._name} by the names of its columns: get({self._said()})."
            )
        return self.get_many([key], at=at, as_of=as_of, branch=branch)[0]

    def get_many(
        self,
        keys: Iterable[Mapping[str, object]],
        *,
        at: At | None = None,
        as_of: BusinessTime | None = None,
        branch: str | None = None,
    ) -> list[Row | None]:
        """The rows of some keys, in the order of the keys; None where there is no row.

        Example::

            profiles.get_many([{"user_id": 7, "day": today}, {"user_id": 8, "day": today}])
        """
        check_type("keys", keys, Iterable, f"a list of mappings such as dict({self._said()})")
        fitted = [self._fitted(key) for key in keys]
        plan = self._plan(branch, at, as_of)
        once = list(dict.fromkeys(fitted))
        stretches, owners = Lookup(plan.layout, self._parquet, self._table.io).found(plan.buckets, once)
        rows, numbers = self._merge(plan.layout, plan.layout.spec.column_names).found(stretches, owners)
        found = {once[number]: row for number, row in zip(numbers.tolist(), rows.to_pylist(), strict=True)}
        return [self._model.from_row(found[key]) if key in found else None for key in fitted]

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
        commits or an ordering column needs none. `branch` is main unless said. Raises `Unsupported` for columns that
        are reduced by anything but their newest value: write those through Spark.

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

        Example::

            profiles.delete([{"user_id": 7}])
        """
        return self._write(rows, Intention("delete", version, stream=stream, watermark=watermark), branch)

    def _write(self, rows: object, intention: Intention, branch: str | None) -> Commit:
        check_type("branch", branch, str | None, "the name of a branch")
        check_type("version", intention.version, str | int | None, "a number, or the name of a column")
        check_type("stream", intention.stream, str | None, "the name of a stream")
        try:
            table = self._table.catalog.load_table(self._table.name())
        except NoSuchTableError:
            raise TableNotFound(f"{self._name} is not in the catalog any more.") from None
        return SmallWrite(self._name, table, branch or "main", replace(intention, writer=_user())).made(rows)

    def _fitted(self, key: Mapping[str, object]) -> tuple[object, ...]:
        check_type("A key", key, Mapping, f"a mapping such as dict({self._said()})")
        columns = {attribute: column for column, attribute in self._model.attributes().items()}
        given = {columns.get(name, name): value for name, value in key.items()}
        if set(given) != set(self.spec.key):
            wanted = ", ".join(map(repr, self.spec.key))
            raise SchemaMismatch(
                f"The key of {self._name} is {wanted}, and get() has {', '.join(map(repr, given)) or 'none'}."
            )
        return self.spec.fitted_key(*(given[name] for name in self.spec.key))

    def _said(self) -> str:
        return ", ".join(f"{name}=..." for name in self.spec.key)

    def _columns(self, layout: Layout, columns: Names | None) -> tuple[str, ...]:
        if columns is None:
            return layout.spec.column_names
        by_lower = {name.lower(): name for name in layout.spec.column_names}
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

    # -------------------------------------------------------------------------------------------------- planning

    def _plan(self, branch: str | None, at: At | None, as_of: BusinessTime | None) -> _Plan:
        check_type("branch", branch, str | None, "the name of a branch")
        with self._lock:
            try:
                metadata = self._table.refresh().metadata
            except NoSuchTableError:
                raise TableNotFound(f"{self._name} is not in the catalog any more.") from None
            moment = moment_of(self._name, metadata, branch, at, as_of)
            snapshot = moment.snapshot
            layout, listing = self._listing(metadata, moment.schema.schema_id)
            place = (None if snapshot is None else snapshot.snapshot_id, id(layout))
            plan = self._plans.get(place)
            if plan is None:
                files: tuple[StoredFile, ...] = ()
                if snapshot is not None:
                    is_proven = check_lineage(self._name, metadata, snapshot, self._table.io)
                    files = listing.files(snapshot, is_proven)
                plan = self._plans[place] = _Plan(layout, files, BucketFiles(layout, files))
                if len(self._plans) > _PLANS_AT_MOST:
                    self._plans.popitem(last=False)
            self._plans.move_to_end(place)
            return plan

    def _listing(self, metadata: TableMetadata, schema_id: int) -> tuple[Layout, Listing]:
        """The layout of a schema. It is kept as long as nothing that it depends on has changed."""
        depends = hash(
            (
                schema_id,
                metadata.current_schema_id,
                tuple(sorted(metadata.properties.items())),
                len(metadata.partition_specs),
            )
        )
        if depends not in self._listings:
            schema = next(each for each in metadata.schemas if each.schema_id == schema_id)
            layout = layout_of(self._name, metadata, schema)
            if len(self._listings) >= _PLANS_AT_MOST:
                self._listings.clear()
                self._plans.clear()
            self._listings[depends] = (layout, Listing(self._name, layout, self._table.io))
        return self._listings[depends]


def _user() -> str | None:
    """Who writes, as the history says it; None where the system does not know."""
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        return None


def _empty(layout: Layout, names: Sequence[str]) -> Any:
    fields = [pa.field(name, natural(layout.fields[name].field_type), name not in layout.spec.key) for name in names]
    return pa.schema(fields).empty_table()


def _together(files: Sequence[StoredFile]) -> list[list[StoredFile]]:
    """Files that can share a key, in commit order: those of a bucket, of the smallest count where there are several."""
    coarsest = min((file.buckets for file in files), default=1)
    by_bucket: dict[tuple[object, ...], list[StoredFile]] = {}
    for file in files:
        by_bucket.setdefault((*file.partition[:-1], file.bucket % coarsest), []).append(file)
    return list(by_bucket.values())
