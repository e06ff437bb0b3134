"""The way in without a server: `open()` gives a lake whose tables are read in this process, without Spark and a JVM."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, overload

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError
from typing_extensions import Self

from keylake._definition.definition import near_name
from keylake._definition.names import SPEC_PROPERTY
from keylake._definition.table_names import name_parts, table_name
from keylake._display.html_table import first_rows
from keylake._table.reads import Row
from keylake.errors import DefinitionError, SchemaMismatch, TableNotFound, check_count, check_type
from keylake.local.catalogs import asking, of_folder, opened, other_names, table_names
from keylake.local.layout import layout_of
from keylake.local.parquet import ParquetFiles
from keylake.local.table import LocalTable
from keylake.schema import Table

DEFAULT_MEMORY_BYTES = 256 << 20


def open_lake(
    warehouse: str | os.PathLike[str] | None = None,
    *,
    catalog: str = "lake",
    properties: Mapping[str, str] | None = None,
    memory_bytes: int = DEFAULT_MEMORY_BYTES,
    page_checksums: bool = True,
) -> LocalLake:
    """Open a lake without a server: the directory of an embedded lake, or any catalog of pyiceberg.

    `warehouse` is the directory that `kl.connect(warehouse=...)` keeps a lake in, `./lake` unless said. `properties`
    are those of pyiceberg for another catalog (REST, Hive, SQL), which is called `catalog`. Look-ups keep decoded
    columns in memory, up to `memory_bytes`. `page_checksums=False` leaves the checksums of pages unchecked, in a store
    that checks what it gives; a flipped bit is read as another value there.

    Raises `TableNotFound` if the directory holds no lake, `ServerUnreachable` if the catalog does not answer,
    `DefinitionError` for properties that are wrong or do not go with a directory, and `Unsupported` if a package for
    that catalog is missing.

    Example::

        lake = keylake.local.open("./lake")
        lake = keylake.local.open(properties={"type": "rest", "uri": "https://catalog.example"})
    """
    check_type("warehouse", warehouse, str | os.PathLike | None, "a directory, such as './lake'")
    check_type("catalog", catalog, str, "the name of a catalog")
    check_type("properties", properties, Mapping | None, "a mapping such as {'type': 'rest', 'uri': 'https://...'}")
    check_count("memory_bytes", memory_bytes)
    check_type("page_checksums", page_checksums, bool, "True or False")
    files = ParquetFiles(memory_bytes, page_checksums)
    if properties is not None:
        if warehouse is not None:
            raise DefinitionError(
                "warehouse= is for the directory of an embedded lake, and properties= name another catalog. "
                "Leave either out."
            )
        return LocalLake(opened(catalog, properties), files)
    folder = Path(warehouse or "./lake").expanduser().resolve()
    return LocalLake(of_folder(catalog, folder), files)


class LocalLake:
    """An open lake without a server. Close it, or use it in a `with` block."""

    def __init__(self, catalog: Catalog, files: ParquetFiles) -> None:
        self._catalog = catalog
        self._files = files

    @overload
    def table(self, table: type[Row]) -> LocalTable[Row]: ...

    @overload
    def table(self, table: str) -> LocalTable: ...

    def table(self, table: type[Table] | str) -> LocalTable[Any]:
        """Open a table: by its class, which it must match, or by name.

        Raises `TableNotFound` if there is no such table, `NotKeyed` if it is a plain one, `SchemaMismatch` if the class
        has other columns, `Unsupported` for a table that a newer version has made, `ServerUnreachable` if the catalog
        does not answer, and `StoreFailed` if its metadata cannot be read.

        Example::

            profiles = lake.table("features.user_profile")
        """
        if isinstance(table, str):
            return self._opened(table, None)
        return self._opened(_class_of(table).table_spec().name, table)

    def tables(self) -> tuple[str, ...]:
        """The names of all keyed tables of the catalog; reads the metadata of each table.

        Raises `ServerUnreachable` if the catalog does not answer, and `StoreFailed` if the metadata of a table cannot
        be read.

        Example::

            lake.tables()
        """
        found = list(table_names(self._catalog))
        with asking(self._catalog.name, self._catalog.properties):
            keyed = [name for name in found if SPEC_PROPERTY in self._catalog.load_table(name).properties]
        return tuple(sorted(map(table_name, keyed)))

    def _opened(self, name: str, model: type[Table] | None) -> LocalTable[Any]:
        parts = name_parts(name)
        try:
            with asking(self._catalog.name, self._catalog.properties):
                table = self._catalog.load_table(tuple(parts))
        except (NoSuchTableError, NoSuchNamespaceError):
            raise TableNotFound(self._no_table(name)) from None
        found = layout_of(name, table.metadata, table.metadata.schema()).spec
        if model is None:
            return LocalTable(table, found.name, None, self._files)
        differences = model.table_spec().differences(found)
        if differences:
            raise SchemaMismatch(
                f"{name} is another table than the one that was meant (here) in the lake (there): "
                f"{'; '.join(differences)}. Change the definition, or open the table by its name."
            )
        return LocalTable(table, found.name, model, self._files)

    def _no_table(self, name: str) -> str:
        others = other_names(self._catalog)
        if others:
            return (
                f"There is no table {name} in the catalog {self._catalog.name!r}; its database also has the catalog "
                f"{' and '.join(map(repr, others))}. Give the name of the catalog: keylake.local.open(catalog=...)."
            )
        first, *rest = name_parts(name)
        if first == self._catalog.name and len(rest) > 1:
            return f"There is no table {name}. Leave the name of the catalog out: {table_name(rest)}."
        near = near_name(name, (table_name(each) for each in table_names(self._catalog)))
        return f"There is no table {name}.{near} lake.tables() lists the tables that are there."

    def close(self) -> None:
        """Close the files and the catalog."""
        self._files.close()
        self._catalog.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __getitem__(self, name: str) -> LocalTable:
        """A table by its name, as `table` gives it.

        Example::

            profiles = lake["features.user_profile"]
        """
        return self.table(name)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.tables())

    def __repr__(self) -> str:
        return f"LocalLake({self._catalog.name!r})"

    def _repr_html_(self) -> str:
        return first_rows(repr(self), ("table",), [(name,) for name in self.tables()])


def _class_of(table: object) -> type[Table]:
    if isinstance(table, type) and issubclass(table, Table):
        return table
    raise DefinitionError(f"{table!r} is no definition of a table. Use a class of keylake.Table, or a name.")
