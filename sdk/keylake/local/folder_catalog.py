"""The catalog of an embedded lake, whose readers do not wait for what only its writers need."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError

from keylake.local.kept_tables import KeptTables

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.typedef import Identifier

    from keylake.local.sql_catalog import KeptSqlCatalog

FILE = "catalog.db"
_TABLE = "SELECT * FROM iceberg_tables WHERE catalog_name = ? AND table_namespace = ? AND table_name = ?"
_TYPE = "iceberg_type"  # databases of an old schema have no such column, and no views


class FolderCatalog:
    """Asks the database for a table by itself, and leaves everything else to pyiceberg's catalog of the same file.

    That one needs SQLAlchemy, which takes 0.2 s to import.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self._file = folder / FILE
        self.properties = {"uri": f"sqlite:///{self._file}", "warehouse": str(folder), "init_catalog_tables": "false"}
        self._tables = KeptTables(self.properties)

    @classmethod
    def of(cls, name: str, folder: Path) -> Catalog:
        """The catalog of a folder, which has all that pyiceberg asks of a catalog."""
        return cast("Catalog", cls(name, folder))

    def load_table(self, identifier: str | Identifier) -> Table:
        """The table as it is now."""
        namespace = Catalog.namespace_to_string(Catalog.namespace_from(identifier))
        name = Catalog.table_name_from(identifier)
        row = self._row(namespace, name)
        if row is None or row.get(_TYPE) not in (None, "TABLE") or not row["metadata_location"]:
            raise NoSuchTableError(f"Table does not exist: {namespace}.{name}")
        names = (*Catalog.identifier_to_tuple(namespace), name)
        return self._tables.table(cast("Catalog", self), names, row["metadata_location"])

    def close(self) -> None:
        """Closes the connections that are open."""
        if "_whole" in vars(self):
            self._whole.close()

    def _row(self, namespace: str, name: str) -> dict[str, Any] | None:
        # SQLite makes a file that is not there, unless it is told not to.
        with closing(sqlite3.connect(f"{self._file.as_uri()}?mode=rw", uri=True)) as database:
            database.row_factory = sqlite3.Row
            found = database.execute(_TABLE, (self.name, namespace, name)).fetchone()
        return None if found is None else dict(found)

    @cached_property
    def _whole(self) -> KeptSqlCatalog:
        from keylake.local.sql_catalog import KeptSqlCatalog

        return KeptSqlCatalog(self.name, self._tables, **self.properties)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)
