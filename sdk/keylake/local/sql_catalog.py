"""The catalog in SQL of pyiceberg, which parses no metadata again that has not moved."""

from __future__ import annotations

from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError
from pyiceberg.io import FileIO
from pyiceberg.table import CommitTableResponse, StagedTable, Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import AddSnapshotUpdate, SetSnapshotRefUpdate, TableRequirement, TableUpdate
from pyiceberg.typedef import EMPTY_DICT, Identifier, Properties

from keylake.local.damage import writing
from keylake.local.kept_tables import KeptTables


class KeptSqlCatalog(SqlCatalog):
    """Gives tables by `KeptTables`, which a catalog that reads the same database may share."""

    def __init__(self, name: str, tables: KeptTables | None = None, /, **properties: str) -> None:
        super().__init__(name, **properties)
        self._tables = tables or KeptTables(self.properties)

    @staticmethod
    def identifier_to_database_and_table(
        identifier: str | Identifier,
        err: type[ValueError | NoSuchTableError | NoSuchNamespaceError] = ValueError,  # noqa: ARG004  # each name will do
    ) -> tuple[str, str]:
        """The namespace, which has several levels here, and the name of a table."""
        return Catalog.namespace_to_string(Catalog.namespace_from(identifier)), Catalog.table_name_from(identifier)

    def _load_file_io(self, properties: Properties = EMPTY_DICT, location: str | None = None) -> FileIO:
        return self._tables.io(properties, location)

    def _convert_orm_to_iceberg(self, orm_table: IcebergTables) -> Table:
        if not orm_table.metadata_location:
            return super()._convert_orm_to_iceberg(orm_table)  # says that there is no table
        identifier = (*Catalog.identifier_to_tuple(str(orm_table.table_namespace)), str(orm_table.table_name))
        return self._tables.table(self, identifier, str(orm_table.metadata_location))

    @staticmethod
    def _write_metadata(metadata: TableMetadata, io: FileIO, metadata_path: str) -> None:
        with writing(f"the metadata {metadata_path}"):
            SqlCatalog._write_metadata(metadata, io, metadata_path)

    def _update_and_stage_table(
        self,
        current_table: Table | None,
        table_identifier: tuple[str, ...],
        requirements: tuple[TableRequirement, ...],
        updates: tuple[TableUpdate, ...],
    ) -> StagedTable:
        """The next metadata; of an append, without a copy of every snapshot that the table has."""
        if current_table is None or not all(
            isinstance(each, AddSnapshotUpdate | SetSnapshotRefUpdate) for each in updates
        ):
            return super()._update_and_stage_table(current_table, table_identifier, requirements, updates)
        whole = current_table.metadata
        named = {each.snapshot_id for each in whole.refs.values()}
        heads = [each for each in whole.snapshots if each.snapshot_id in named]
        few = whole.model_copy(update={"snapshots": heads, "snapshot_log": []})
        base = Table(table_identifier, few, current_table.metadata_location, current_table.io, self)
        staged = super()._update_and_stage_table(base, table_identifier, requirements, updates)
        staged.metadata = staged.metadata.model_copy(
            update={
                "snapshots": [*whole.snapshots, *staged.metadata.snapshots[len(heads) :]],
                "snapshot_log": [*whole.snapshot_log, *staged.metadata.snapshot_log],
            }
        )
        return staged

    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        """Commits, and keeps the metadata that was written."""
        response: Any = super().commit_table(table, requirements, updates)
        self._tables.keep(table.name(), response.metadata_location, response.metadata)
        return response  # type: ignore[no-any-return]
