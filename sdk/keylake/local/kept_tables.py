"""Tables at the place of their metadata, which is not parsed again where it has not moved."""

from __future__ import annotations

import json
from io import BytesIO
from typing import TYPE_CHECKING, cast

from pyiceberg.io import PY_IO_IMPL, FileIO, InputStream, load_file_io
from pyiceberg.serializers import Compressor
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil

from keylake.local.damage import reading
from keylake.local.disk import Disk, is_on_disk
from keylake.local.metadata_file import check_metadata
from keylake.local.newest import Newest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyiceberg.catalog import Catalog


class KeptTables:
    """Keeps the newest metadata of the tables that were asked for last: what lies at a location never changes."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._properties = properties
        self._newest: Newest[tuple[str, TableMetadata]] = Newest()

    def table(self, catalog: Catalog, identifier: tuple[str, ...], location: str) -> Table:
        """The table of a catalog whose metadata lies there."""
        metadata = self._metadata(identifier, location, self.io({}, location))
        io = self.io(metadata.properties, location)
        return Table(identifier=identifier, metadata=metadata, metadata_location=location, io=io, catalog=catalog)

    def keep(self, identifier: tuple[str, ...], location: str, metadata: TableMetadata) -> None:
        """Keeps metadata that was written."""
        self._newest.keep(identifier, (location, metadata))

    def io(self, properties: Mapping[str, str], location: str | None) -> FileIO:
        """The reader and writer of files of a table that has these properties."""
        given = {**self._properties, **properties}
        if location is not None and is_on_disk(location) and PY_IO_IMPL not in given:
            return Disk(given)
        return load_file_io(given, location)

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
        self.keep(identifier, location, found)
        return found
