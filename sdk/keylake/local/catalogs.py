"""Catalogs of pyiceberg: how they are opened, and what is said where one does not answer.

A catalog that Spark opens as JDBC, pyiceberg opens as SQL: the properties of either are taken.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import quote, urlsplit

from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError, NotInstalledError
from pyiceberg.table import Table as IcebergTable

from keylake._definition.names import MERGING_CLIENT
from keylake.errors import (
    DefinitionError,
    KeylakeError,
    ServerUnreachable,
    StoreFailed,
    TableNotFound,
    Unsupported,
    check_type,
)
from keylake.local.folder_catalog import FILE, FolderCatalog

if TYPE_CHECKING:
    from pyiceberg.catalog.sql import SqlCatalog

_SECRET = re.compile(r"token|credential|password|secret|(?:access|private|account)[-_.]?key|sas", re.IGNORECASE)
_TABLES = "iceberg_tables"  # where a catalog in SQL has its tables
_NO_TABLES = re.compile(r'no such table: iceberg_|"iceberg_\w+" does not exist')


def opened(name: str, properties: Mapping[str, str]) -> Catalog:
    """The catalog of that name; nothing is made where there is none."""
    for key, value in properties.items():
        check_type("A name in properties=", key, str, "text such as 'uri'")
        check_type(f"properties[{key!r}]", value, str, "text")
    given = _of_jdbc(properties)
    _check_file(given.get("uri", ""))
    with asking(name, given):
        try:
            found = load_catalog(name, **{"init_catalog_tables": "false", **given})
        except (NotInstalledError, ImportError) as error:
            raise Unsupported(
                f"Catalog {name!r} needs a package that is not installed: {scrubbed(error, given)}."
            ) from None
        except ValueError as error:
            raise DefinitionError(
                f"Catalog {name!r} cannot be opened: {scrubbed(error, given)}. Give its type and uri in properties=, "
                "such as {'type': 'rest', 'uri': 'https://...'}. Types are rest, sql (jdbc), hive, glue, dynamodb."
            ) from None
        return _keeping(name, found)


def _keeping(name: str, catalog: Catalog) -> Catalog:
    """A catalog that keeps metadata that has not moved, for the kinds that have one."""
    # What they need takes a fifth of a second to import, which readers of other catalogs need not wait for.
    if is_sql(catalog):
        from keylake.local.sql_catalog import KeptSqlCatalog

        return KeptSqlCatalog(name, **catalog.properties)
    if is_rest(catalog):
        from keylake.local.rest_catalog import KeptRestCatalog

        catalog.close()
        return KeptRestCatalog(name, **(MERGING_CLIENT | catalog.properties))
    return catalog


def is_rest(catalog: Catalog) -> bool:
    """A catalog is behind REST, whether its properties say so or only its address does."""
    return any(kind.__module__ == "pyiceberg.catalog.rest" for kind in type(catalog).__mro__)


def is_sql(catalog: Catalog) -> bool:
    """A catalog has its tables in a database."""
    return hasattr(catalog, "engine")


def of_folder(name: str, folder: Path) -> Catalog:
    """The catalog of an embedded lake."""
    if not (folder / FILE).is_file():
        raise TableNotFound(
            f"{folder} is no lake: it has no file {FILE}. Make one with keylake.local.create() or keylake.connect()."
        )
    return FolderCatalog.of(name, folder)


def of_new_folder(name: str, folder: Path) -> Catalog:
    """The catalog of an embedded lake, which is made where the folder has none."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DefinitionError(
            f"The warehouse {str(folder)!r} cannot be used: {error.strerror}. Name a directory."
        ) from None
    catalog = FolderCatalog.of(name, folder)
    with asking(name, catalog.properties):
        cast("SqlCatalog", catalog).create_tables()
    return catalog


def of_temporary_folder(name: str) -> tuple[Catalog, Callable[[], object]]:
    """The catalog of a new lake in a folder of its own, and what removes that: called, or at the end of the catalog."""
    folder = tempfile.mkdtemp(prefix="keylake-")
    catalog = of_new_folder(name, Path(folder).resolve())
    return catalog, weakref.finalize(catalog, shutil.rmtree, folder, True)


def loaded(table: IcebergTable, name: str) -> IcebergTable:
    """The table as the catalog has it now, if it is still the one that was opened."""
    try:
        with asking(table.catalog.name, table.catalog.properties):
            found = table.catalog.load_table(table.name())
    except NoSuchTableError:
        raise TableNotFound(f"{name} is not in the catalog any more.") from None
    if found.metadata.table_uuid != table.metadata.table_uuid:
        raise TableNotFound(
            f"{name} was dropped, and another table made under its name, since it was opened here. "
            f"Open it again: lake.table({name!r})."
        )
    return found


def table_names(catalog: Catalog) -> Iterator[tuple[str, ...]]:
    """The tables of all namespaces of a catalog, at any depth."""
    with asking(catalog.name, catalog.properties):
        spaces = list(catalog.list_namespaces())
        while spaces:
            space = spaces.pop()
            yield from catalog.list_tables(space)
            spaces += [each for each in catalog.list_namespaces(space) if len(each) > len(space)]


def other_names(catalog: Catalog) -> tuple[str, ...]:
    """The names of other catalogs that have tables in the same database."""
    if not is_sql(catalog):
        return ()
    with asking(catalog.name, catalog.properties), cast("SqlCatalog", catalog).engine.connect() as connection:
        found = connection.exec_driver_sql(f"SELECT DISTINCT catalog_name FROM {_TABLES}").scalars()
        return tuple(sorted(name for name in found if name != catalog.name))


@contextmanager
def asking(name: str, properties: Mapping[str, str]) -> Generator[None]:
    """Whatever a catalog raises in the block comes out as one sentence, without secrets."""
    try:
        yield
    except (KeylakeError, NoSuchTableError, NoSuchNamespaceError):
        raise
    except FileNotFoundError as error:
        raise StoreFailed(
            f"Catalog {name!r} names a file that is not there: {scrubbed(error, properties)}. Was the table moved?"
        ) from None
    except Exception as error:  # noqa: BLE001  # clients of catalogs raise of many kinds
        said = scrubbed(error, properties)
        if _NO_TABLES.search(said):
            raise TableNotFound(
                f"{_place(properties)} is no catalog: it has no table {_TABLES}. Give the uri of the catalog that the "
                "server has in spark.sql.catalog.<name>.uri."
            ) from None
        raise ServerUnreachable(
            f"Catalog {name!r} at {_place(properties)} does not answer: {type(error).__name__}: {said}. "
            "Check its address and the credentials."
        ) from None


def _of_jdbc(properties: Mapping[str, str]) -> dict[str, str]:
    """Properties of Spark for a JDBC catalog as those of pyiceberg; others as they are."""
    given = dict(properties)
    uri = given.get("uri", "")
    if given.get("type", "").lower() == "jdbc" or uri.startswith("jdbc:"):
        given["type"] = "sql"
        kind, _, place = uri.removeprefix("jdbc:").partition(":")
        if kind == "sqlite":
            file = place.removeprefix("file:").partition("?")[0]  # what follows are settings of Java's driver
            given["uri"] = f"sqlite:///{file}"
        else:
            user, password = given.pop("jdbc.user", ""), given.pop("jdbc.password", "")
            login = f"{quote(user, safe='')}:{quote(password, safe='')}@" if user else ""
            given["uri"] = f"{kind}://{login}{place.removeprefix('//')}"
    return given


def _check_file(uri: str) -> None:
    """Refuse a file that is not there, which SQLite would make."""
    if uri.startswith("sqlite:///"):
        file = Path(uri.removeprefix("sqlite:///").partition("?")[0])
        if not file.is_file():
            raise TableNotFound(f"There is no file {file.absolute()}, so there is no catalog. Check the uri.")


def _place(properties: Mapping[str, str]) -> str:
    """The address of a catalog, without its user and password."""
    uri = properties.get("uri")
    return "an unknown place" if uri is None else re.sub(r"//[^/@]*@", "//", uri.partition("?")[0])


def is_secret(name: str) -> bool:
    """A property of a catalog is one that other processes have to get from their environment."""
    return name.lower().startswith(("header.", "auth")) or _SECRET.search(name) is not None


def scrubbed(error: Exception, properties: Mapping[str, str]) -> str:
    """The first line of what an error says, without secrets."""
    said = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
    secrets = [value for key, value in properties.items() if value and _SECRET.search(key)]
    login = urlsplit(properties.get("uri", "")).netloc.rpartition("@")[0]
    for secret in sorted([*secrets, *filter(None, [login.partition(":")[2]])], key=len, reverse=True):
        said = said.replace(secret, "***")
    return said
