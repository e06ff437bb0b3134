"""The catalog in SQL of pyiceberg, which parses no metadata again that has not moved."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any, cast

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError
from pyiceberg.io import PY_IO_IMPL, FileIO, InputStream
from pyiceberg.serializers import Compressor
from pyiceberg.table import CommitTableResponse, StagedTable, Table
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil
from pyiceberg.table.update import AddSnapshotUpdate, SetSnapshotRefUpdate, TableRequirement, TableUpdate
from pyiceberg.typedef import EMPTY_DICT, Identifier, Properties

from keylake.local.damage import reading, writing
from keylake.local.disk import Disk, is_on_disk
from keylake.local.metadata_file import check_metadata
from keylake.local.newest import Newest


class KeptSqlCatalog(SqlCatalog):
    """Keeps the newest metadata of the tables that were asked for last: what lies at a location never changes."""

    def __init__(self, name: str, **properties: str) -> None:
        super().__init__(name, **properties)
        self._newest: Newest[tuple[str, TableMetadata]] = Newest()

    @staticmethod
    def identifier_to_database_and_table(
        identifier: str | Identifier,
        err: type[ValueError | NoSuchTableError | NoSuchNamespaceError] = ValueError,  # noqa: ARG004  # each name will do
    ) -> tuple[str, str]:
        """The namespace, which has several levels here, and the name of a table."""
        return Catalog.namespace_to_string(Catalog.namespace_from(identifier)), Catalog.table_name_from(identifier)

    def _load_file_io(self, properties: Properties = EMPTY_DICT, location: str | None = None) -> FileIO:
        given = {**self.properties, **properties}
        if location is not None and is_on_disk(location) and PY_IO_IMPL not in given:
            return Disk(given)
        return super()._load_file_io(properties, location)

    def _convert_orm_to_iceberg(self, orm_table: IcebergTables) -> Table:
        if not orm_table.metadata_location:
            return super()._convert_orm_to_iceberg(orm_table)  # says that there is no table
        location = str(orm_table.metadata_location)
        identifier = (*Catalog.identifier_to_tuple(str(orm_table.table_namespace)), str(orm_table.table_name))
        metadata = self._metadata(identifier, location, self._load_file_io(location=location))
        return Table(
            identifier=identifier,
            metadata=metadata,
            metadata_location=location,
            io=self._load_file_io(metadata.properties, location),
            catalog=self,
        )

    def _metadata(self, identifier: tuple[str, ...], location: str, io: FileIO) -> TableMetadata:
        at, found = self._newest.get(identifier) or ("", None)
        if found is None or at != location:
            with reading("Metadata", location, io):
                with io.new_input(location).open() as stream:
                    content = stream.read()
                unpacking = Compressor.get_compressor(location).stream_decompressor(
                    cast("InputStream", BytesIO(content))
                )
                text = unpacking.read()
                found = TableMetadataUtil.parse_raw(text.decode())
                check_metadata(json.loads(text), found)
        self._newest.keep(identifier, (location, found))
        return found

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
        self._newest.keep(table.name(), (response.metadata_location, response.metadata))
        return response  # type: ignore[no-any-return]
