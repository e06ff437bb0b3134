"""The way in without a server: `open()` gives a lake whose tables are read in this process, without Spark and a JVM."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, overload

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError
from typing_extensions import Self

from keylake._definition.definition import near_name
from keylake._definition.listed import ListedTable
from keylake._definition.names import SPEC_PROPERTY
from keylake._definition.spec import TableSpec
from keylake._definition.table_names import name_parts, table_name
from keylake._display.html_table import first_rows
from keylake._log.definition import FileLog, KafkaLog
from keylake._log.stored_log import MAY_BE, begin_once
from keylake._table.reads import Row
from keylake.errors import (
    DefinitionError,
    SchemaMismatch,
    StoreFailed,
    TableExists,
    TableNotFound,
    Unsupported,
    check_count,
    check_if_exists,
    check_type,
)
from keylake.local.catalogs import (
    asking,
    of_folder,
    of_new_folder,
    of_temporary_folder,
    opened,
    other_names,
    table_names,
)
from keylake.local.layout import layout_of
from keylake.local.parquet import ParquetFiles
from keylake.local.reopening import Place
from keylake.local.table import LocalTable
from keylake.schema import Table

DEFAULT_MEMORY_BYTES = 256 << 20
TEMPORARY = ":memory:"


def open_lake(
    warehouse: str | os.PathLike[str] | None = None,
    *,
    catalog: str = "lake",
    properties: Mapping[str, str] | None = None,
    memory_bytes: int = DEFAULT_MEMORY_BYTES,
    page_checksums: bool = True,
) -> LocalLake:
    """Open a lake without a server: the directory of an embedded lake, or any catalog of pyiceberg.

    `warehouse` is the directory that `kl.connect(warehouse=...)` keeps a lake in, `./lake` unless said; ":memory:" is
    an empty lake of its own for tests, which `close()` removes with its files. `properties`
    are those of pyiceberg for another catalog (REST, Hive, SQL), which is called `catalog`. Look-ups keep decoded
    columns in memory, up to `memory_bytes`. `page_checksums=False` leaves the checksums of pages unchecked, in a store
    that checks what it gives; a flipped bit is read as another value there.

    Raises `TableNotFound` if the directory holds no lake, `ServerUnreachable` if the catalog does not answer,
    `DefinitionError` for properties that are wrong or do not go with a directory, and `Unsupported` if a package for
    that catalog is missing.

    Example::

        lake = keylake.local.open("./lake")
        lake = keylake.local.open(":memory:")
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
    if warehouse == TEMPORARY:
        opened_catalog, remove = of_temporary_folder(catalog)
        return LocalLake(opened_catalog, files, remove)
    return LocalLake(of_folder(catalog, _folder(warehouse)), files)


def create_table(
    table: type[Row],
    warehouse: str | os.PathLike[str] | None = None,
    *,
    catalog: str = "lake",
    if_exists: Literal["error", "match"] = "error",
    log: FileLog | KafkaLog | None = None,
) -> LocalTable[Row]:
    """Create a table without a server, in the directory of a lake, which is made where there is none.

    It is the table that `kl.connect(warehouse).create(table)` makes: servers open it, read it and write it. Other
    catalogs are opened first: `keylake.local.open(properties=...).create(table)`.

    Raises the errors of `LocalLake.create`, and `DefinitionError` for a directory that cannot be used.

    Example::

        profiles = keylake.local.create(UserProfile, "./lake", if_exists="match")
    """
    check_type("warehouse", warehouse, str | os.PathLike | None, "a directory, such as './lake'")
    check_type("catalog", catalog, str, "the name of a catalog")
    if warehouse == TEMPORARY:
        raise DefinitionError(
            f"A lake in {TEMPORARY!r} ends when it is closed, so open it first: "
            f"lake = keylake.local.open({TEMPORARY!r}); lake.create(...)."
        )
    lake = LocalLake(of_new_folder(catalog, _folder(warehouse)), ParquetFiles(DEFAULT_MEMORY_BYTES, True))
    return lake.create(table, if_exists=if_exists, log=log)


def _folder(warehouse: str | os.PathLike[str] | None) -> Path:
    return Path(warehouse or "./lake").expanduser().resolve()


class LocalLake:
    """An open lake without a server. Close it, or use it in a `with` block."""

    def __init__(self, catalog: Catalog, files: ParquetFiles, remove: Callable[[], object] | None = None) -> None:
        self._catalog = catalog
        self._files = files
        self._remove = remove  # the folder of a temporary lake

    @overload
    def create(
        self, table: type[Row], *, if_exists: Literal["error", "match"] = "error", log: FileLog | KafkaLog | None = None
    ) -> LocalTable[Row]: ...

    @overload
    def create(
        self, table: TableSpec, *, if_exists: Literal["error", "match"] = "error", log: FileLog | KafkaLog | None = None
    ) -> LocalTable: ...

    def create(
        self,
        table: type[Table] | TableSpec,
        *,
        if_exists: Literal["error", "match"] = "error",
        log: FileLog | KafkaLog | None = None,
    ) -> LocalTable[Any]:
        """Create a table, and its namespace: the same one that a server makes of the class or the spec.

        With `if_exists="match"` a table that is there is opened, if it is the same. `log` gives the table a log, unless
        it has one: `table.log.begin` does it later.

        Raises `TableExists` if the table is there, or with `if_exists="match"` `SchemaMismatch` if it is another one,
        `Unsupported` for reducers and hashes that are classes of a server, `DefinitionError` for what is no definition,
        `ServerUnreachable` if the catalog does not answer, `OutcomeUnknown` if it does not say whether it made the
        table, and `StoreFailed` if metadata cannot be written.

        Example::

            profiles = lake.create(UserProfile, if_exists="match")
        """
        check_if_exists(if_exists)
        check_type("log", log, FileLog | KafkaLog | None, MAY_BE)
        spec = table if isinstance(table, TableSpec) else _class_of(table).table_spec()
        # Readers do not wait for what only makers of tables need.
        from keylake.local.creation import create

        try:
            create(self._catalog, spec)
        except TableExists:
            if if_exists == "error":
                raise
        made = self._opened(spec.name, table)
        if log is not None:
            begin_once(made.log, log)
        return made

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

    def tables(self) -> tuple[ListedTable, ...]:
        """All keyed tables of the catalog, by name; one that cannot be opened is listed with its problem.

        The metadata of each table is read.

        Raises `ServerUnreachable` if the catalog does not answer.

        Example::

            lake.tables()
        """
        names = list(table_names(self._catalog))
        return tuple(sorted(listed for name in names for listed in self._listed(name)))

    def _listed(self, name: tuple[str, ...]) -> Iterator[ListedTable]:
        """The table, if it is keyed, or if nobody can tell; one that was dropped meanwhile is none."""
        shown = table_name(name)
        try:
            with asking(self._catalog.name, self._catalog.properties):
                metadata = self._catalog.load_table(name).metadata
            if SPEC_PROPERTY in metadata.properties:
                yield ListedTable(shown, layout_of(shown, metadata, metadata.schema()).spec.versions)
        except (NoSuchTableError, NoSuchNamespaceError):
            return
        except (StoreFailed, Unsupported) as error:
            yield ListedTable(shown, None, str(error))

    def _opened(self, name: str, wanted: type[Table] | TableSpec | None) -> LocalTable[Any]:
        parts = name_parts(name)
        try:
            with asking(self._catalog.name, self._catalog.properties):
                table = self._catalog.load_table(tuple(parts))
        except (NoSuchTableError, NoSuchNamespaceError):
            raise TableNotFound(self._no_table(name)) from None
        found = layout_of(name, table.metadata, table.metadata.schema()).spec
        model = wanted if isinstance(wanted, type) else None
        if wanted is None:
            return LocalTable(table, found.name, None, self._files)
        differences = (wanted if isinstance(wanted, TableSpec) else wanted.table_spec()).differences(found)
        if differences:
            raise SchemaMismatch(
                f"{name} is another table than the one that was meant (here) in the lake (there): "
                f"{'; '.join(differences)}. Change the definition, or open the table by its name."
            )
        return LocalTable(table, found.name, model, self._files)

    def __reduce__(self) -> tuple[Callable[[Place], LocalLake], tuple[Place]]:
        return _opened_again, (Place.of(self._catalog, self._files),)

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
        """Close the files and the catalog; of a lake in ":memory:", remove them."""
        self._files.close()
        self._catalog.close()
        if self._remove is not None:
            self._remove()

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


def _opened_again(place: Place) -> LocalLake:
    return LocalLake(*place.opened())


def _class_of(table: object) -> type[Table]:
    if isinstance(table, type) and issubclass(table, Table):
        return table
    raise DefinitionError(f"{table!r} is no definition of a table. Use a class of keylake.Table, or a name.")
