"""The way in: `connect()` gives a Lake, which creates, opens, lists and drops keyed tables."""

from __future__ import annotations

import getpass
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from typing_extensions import Self, Unpack

from keylake._definition.definition import near_name
from keylake._definition.listed import ListedTable
from keylake._definition.spec import TableSpec, Versions
from keylake._definition.table_names import name_parts, table_name
from keylake._definition.words import Definition
from keylake._display.html_table import html_table, in_notebook
from keylake._log.definition import FileLog, KafkaLog
from keylake._log.stored_log import MAY_BE, begin_once
from keylake._maintenance.adoption import Adopted
from keylake._maintenance.caches import CacheUse
from keylake._maintenance.equality_deletes import AppliedDeletes
from keylake._maintenance.maintenance import Maintenance
from keylake._maintenance.registration import Registered
from keylake._rows.rows import Rows, arrow_schema_of
from keylake._server.address import with_token
from keylake._server.attached import AttachedSession
from keylake._server.channel import check_client
from keylake._server.conditions import condition_text
from keylake._server.embedded import EmbeddedServer, checked_warehouse
from keylake._server.server import Setup, check_catalog_name
from keylake._server.session import Session
from keylake._server.statements import Call, TablePath, quoted
from keylake._table.condition import checked, planned
from keylake._table.handle import Handle
from keylake._table.reads import Row
from keylake._table.states import HistoryBranch
from keylake._triggers.triggers import Triggers
from keylake.checks import CheckLevel, CheckReport, RepairPlan
from keylake.conditions import Condition
from keylake.errors import (
    DefinitionError,
    KeylakeError,
    SchemaMismatch,
    ServerUnreachable,
    TableExists,
    TableNotFound,
    check_count,
    check_if_exists,
    check_type,
)
from keylake.schema import Table, model_of
from keylake.table import KeyedTable, class_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DEFAULT_WAREHOUSE = "./lake"


def connect(
    url: str | os.PathLike[str] | None = None,
    *,
    catalog: str = "lake",
    warehouse: str | os.PathLike[str] | None = None,
    memory: str | None = None,
    settings: Mapping[str, str] | None = None,
    writer: str | None = None,
    spark: SparkSession | None = None,
) -> Lake:
    """Open a lake: on a Spark Connect server, or, without a `url`, on one that is started here.

    The embedded server keeps everything in the directory `warehouse`, `./lake` unless said. It gets a third of the
    machine's memory, or `memory` ("4g"), and further Spark `settings`. Its sessions are in UTC, in which
    Spark reads and shows times without a zone; set `spark.sql.session.timeZone` for another. Paths that Spark reads
    are relative to this process. The directory may also stand first: `kl.connect("/data/lake")`.

    A `url` is what pyspark takes, `sc://host:15002/;token=...;use_ssl=true`; the environment's SPARK_REMOTE stands for
    it where nothing else is said. One without a token gets that of the environment's KEYLAKE_TOKEN. `writer` is who
    the history says wrote a commit: the user's name unless said.

    `spark` is a Connect session that is open already, such as `batch.sparkSession` in `foreachBatch`; it stays open.

    Raises `ServerUnreachable` if no server answers or the embedded one does not start, `ServerRefused` if the token is
    refused, `ServerMissingPlugin` if the server runs without the plug-in or with another version of it,
    `DefinitionError` for words that do not go together and a directory that cannot be used, and `StoreFailed` if that
    cannot be written to.

    Example::

        with kl.connect() as lake:
            profiles = lake.create(UserProfile)
    """
    check_catalog_name(catalog)
    check_type("url", url, str | os.PathLike | None, "an address such as 'sc://host:15002', or a directory")
    if url is not None and not _is_address(url):
        if warehouse is not None:
            raise DefinitionError(f"{url!r} and warehouse={warehouse!r} are two directories. Leave one of them out.")
        url, warehouse = None, url
    check_type("settings", settings, Mapping | None, "a mapping such as {'spark.sql.shuffle.partitions': '8'}")
    check_type("writer", writer, str | None, "text that says who writes")
    writer = writer or _user()
    check_client()
    if spark is not None:
        if (url, warehouse, memory, settings) != (None, None, None, None):
            raise DefinitionError(
                "url=, warehouse=, memory= and settings= are for a session that is to be opened, and spark= is one "
                "that is open. Leave either out."
            )
        return Lake(AttachedSession(spark, catalog, writer))
    if url is not None and (warehouse, memory, settings) != (None, None, None):
        raise DefinitionError(
            "warehouse=, memory= and settings= are for an embedded server, and a url names one that runs already. "
            "Leave either out."
        )
    if (warehouse, memory, settings) == (None, None, None):
        url = url or os.environ.get("SPARK_REMOTE") or None
    if url is not None:
        return Lake(Session(with_token(os.fspath(url)), catalog, writer))
    more = tuple(sorted((settings or {}).items()))
    setup = Setup(checked_warehouse(warehouse or DEFAULT_WAREHOUSE), catalog, memory, more)
    server = EmbeddedServer.shared(setup)
    try:
        return Lake(Session(server.url, catalog, writer, server), server)
    except BaseException:
        server.release()
        raise


def _is_address(url: str | os.PathLike[str]) -> bool:
    """A directory has no scheme; nobody means one that is called like a host with a port."""
    text = os.fspath(url)
    if re.fullmatch(r"[\w.-]+:\d+", text):
        raise DefinitionError(f"{text!r} is no address of a server and no directory. Use 'sc://{text}'.")
    return "://" in text


class Lake:
    """An open lake. `lake.spark` is the plain Spark session behind it, always at hand.

    Close it, or use it in a `with` block; the end of the process closes it, too.
    """

    def __init__(self, session: Session, server: EmbeddedServer | None = None) -> None:
        self._session = session
        self._server = server
        self._triggers = Triggers(session)

    @property
    def spark(self) -> SparkSession:
        """The Spark Connect session."""
        return self._session.spark

    def sql(self, statement: str, **parameters: object) -> DataFrame:
        """A statement in Spark's SQL, as `lake.spark.sql` runs it; keyed tables read as merged rows.

        `parameters` are the values of markers such as `:user`. Names without a catalog are those of this lake.

        Raises `DefinitionError` for a statement that cannot be read, and `TableNotFound` and `SchemaMismatch` for names
        that are not there.

        Example::

            lake.sql("SELECT * FROM features.profile WHERE user_id = :user", user=7).show()
        """
        check_type("statement", statement, str, "a statement of SQL, such as 'SELECT 1'")
        with self._session.asking():
            found = self.spark.sql(statement, args=parameters or None)
            _ = found.schema  # names that are not there are told here, and not by the frame
            return found

    @property
    def catalog(self) -> str:
        """The catalog in which the tables are, as SQL has it in front of their names."""
        return self._session.catalog

    @property
    def maintenance(self) -> Maintenance:
        """The maintenance that the server does for its tables by itself: what it did and why, pause and resume."""
        return Maintenance(self._session)

    @property
    def triggers(self) -> Triggers:
        """The triggers of this process, for every closed interval of event time, and for every commit."""
        return self._triggers

    # ------------------------------------------------------------------------------------------------------- tables

    @overload
    def create(
        self, table: type[Row], *, if_exists: Literal["error", "match"] = "error", log: FileLog | KafkaLog | None = None
    ) -> KeyedTable[Row]: ...

    @overload
    def create(
        self, table: TableSpec, *, if_exists: Literal["error", "match"] = "error", log: FileLog | KafkaLog | None = None
    ) -> KeyedTable: ...

    @overload
    def create(
        self,
        table: Rows,
        *,
        if_exists: Literal["error", "match"] = "error",
        log: FileLog | KafkaLog | None = None,
        **definition: Unpack[Definition],
    ) -> KeyedTable: ...

    def create(
        self,
        table: type[Table] | TableSpec | Rows,
        *,
        if_exists: Literal["error", "match"] = "error",
        log: FileLog | KafkaLog | None = None,
        **definition: Any,
    ) -> KeyedTable[Any]:
        """Create a table, and its namespace. With `if_exists="match"` one that is there is opened, if it is the same.

        The definition is a class or a spec. Rows in its place, of any kind that `upsert` takes, make a table with their
        columns, and are its first commit; `name=`, `key=` and the other words of a definition say the rest. `log` gives
        the table a log, unless it has one: `table.log.begin` does it later.

        Raises `TableExists` if the table is there, or with `if_exists="match"` `SchemaMismatch` if it is another one,
        `DefinitionError` for a definition that cannot be, and for rows what `upsert` raises, such as `BadRows`; no
        table is left then. A log that cannot begin raises what `log.begin` raises; the table is there without it.

        Example::

            profiles = lake.create(UserProfile, if_exists="match")
            clicks = lake.create(frame, name="features.clicks", key=["user_id", "day"], ordering="at")
        """
        check_if_exists(if_exists)
        check_type("log", log, FileLog | KafkaLog | None, MAY_BE)
        made = self._created(table, if_exists, definition)
        if log is not None:
            begin_once(made.log, log)
        return made

    def _created(
        self, table: type[Table] | TableSpec | Rows, if_exists: Literal["error", "match"], definition: dict[str, Any]
    ) -> KeyedTable[Any]:
        if definition and not isinstance(table, type | TableSpec):
            return self._created_from(table, if_exists, definition)
        if definition:
            raise DefinitionError(
                f"{', '.join(map(repr, definition))} go with rows; a class or a spec has said them already."
            )
        defined = table if isinstance(table, TableSpec) else class_of(table)
        spec = defined if isinstance(defined, TableSpec) else defined.table_spec()
        try:
            return self._opened(self._spec_from("create_table", TablePath(spec.name), spec=spec.to_json()), defined)
        except TableExists:
            if if_exists == "error":
                raise TableExists(
                    f"Table {spec.name} exists already. Open it with create(..., if_exists='match'), drop it with "
                    f"drop({spec.name!r}), or take another name."
                ) from None
            return self._matching(spec, defined)

    def _created_from(
        self, rows: Rows, if_exists: Literal["error", "match"], definition: Mapping[str, Any]
    ) -> KeyedTable[Any]:
        given: Any = list(rows) if isinstance(rows, Iterator) else rows  # they are looked at, and then written
        schema = self._session.arrow_schema(given) if self._session.is_frame(given) else arrow_schema_of(given)
        missing = [word for word in ("name", "key") if word not in definition]
        if missing:
            raise DefinitionError(
                f"A table from rows needs {' and '.join(f'{word}=' for word in missing)}: "
                "lake.create(frame, name='features.clicks', key='user_id')."
            )
        spec = TableSpec.from_arrow(schema, **cast("Definition", definition))
        if spec.versions == "explicit":
            raise DefinitionError(
                "With versions='explicit' each write says its version. Create the table from a spec, "
                "TableSpec.from_arrow(...), and write the rows with upsert(rows, version=...)."
            )
        is_there = any(each.name == spec.name for each in self.tables())
        made = self.create(spec, if_exists=if_exists)
        try:
            made.upsert(given)
        except KeylakeError:
            if not is_there and not made.history(1):
                self.drop(spec.name)
            raise
        return made

    @overload
    def table(self, table: type[Row]) -> KeyedTable[Row]: ...

    @overload
    def table(self, table: str) -> KeyedTable: ...

    def table(self, table: type[Table] | str) -> KeyedTable[Any]:
        """Open a table: by its class, which it must match, or by name.

        Raises `TableNotFound` if there is no such table, `NotKeyed` if it is a plain one, `SchemaMismatch` if the class
        has other columns, and `DefinitionError` for what is neither a class nor a name.

        Example::

            profiles = lake.table("features.user_profile")
        """
        if isinstance(table, str):
            path, spec = self._found(table)
            return KeyedTable(Handle(self._session, path, spec), model_of(spec))
        return self._matching(class_of(table).table_spec(), table)

    def __getitem__(self, name: str) -> KeyedTable:
        """A table by its name, as `table` gives it.

        Example::

            profiles = lake["features.user_profile"]
        """
        return self.table(name)

    def _ipython_key_completions_(self) -> list[str]:
        return [listed.name for listed in self.tables()]

    def tables(self) -> tuple[ListedTable, ...]:
        """All keyed tables of the catalog, by name; one that cannot be opened is listed with its problem.

        Raises `ServerUnreachable` if the server or the session is gone, and `Unavailable` if the catalog does not
        answer.

        Example::

            [table.name for table in lake.tables()]
        """
        rows = self._session.call(Call("tables")).to_pylist()
        listed = (ListedTable(row["table"], row["versions"], row.get("problem")) for row in rows)
        return tuple(sorted(listed))

    def cache(self) -> tuple[CacheUse, ...]:
        """The caches of the server's process: their values and bytes, and how often they answered.

        Executors of a cluster have caches of their own, which are not among them. Numbers of questions begin with the
        server, and count those of all its clients.

        Raises `ServerUnreachable` if the server or the session is gone.

        Example::

            [(use.cache, use.bytes) for use in lake.cache()]
        """
        return tuple(CacheUse(**row) for row in self._session.call(Call("cache")).to_pylist())

    def history_branches(self) -> tuple[HistoryBranch, ...]:
        """The archived states of all tables, by table, the oldest first.

        Raises `ServerUnreachable` if the server or the session is gone, and `Unavailable` if the catalog does not
        answer.

        Example::

            lake.history_branches()[0].business_time
        """
        return HistoryBranch.all_of(self._session, Call("history_branches"))

    def apply_equality_deletes(
        self, table: str, *, where: str | Condition | None = None, dry_run: bool = False, portions_per_commit: int = 32
    ) -> AppliedDeletes:
        """Turn the equality deletes of a plain Iceberg table, such as one that Flink upserts into, into positions.

        No data file is written again: tasks read the key columns of the data files that deletes may touch, and write
        deletion vectors, or files of positions in a table of format 2. Equality deletes that then apply to no data file
        are removed, and so are data files of which no row is left. Reads give the same rows as before, and need less
        memory.

        Writers go on meanwhile: what they delete applies as always, and is left to the next call. A commit is made
        for so many portions, that is, partitions; after an end in between, the next call goes on where this one was.

        `where` is SQL on columns of the table: data files that cannot have such rows stay as they are, with their
        deletes. With `dry_run` nothing is read or written but metadata.

        Raises `CommitConflict` if other commits rewrite the same data files again and again, `TableNotFound` if there
        is no such table, `Unsupported` if it is a keyed one, and `DefinitionError` for a `where` that cannot be read.

        Example::

            lake.apply_equality_deletes("streams.orders", where="day >= '2026-11-01'").rows
        """
        check_type("The name of a table", table, str, "text such as 'namespace.table'")
        text = condition_text(where, "a condition in SQL, such as \"day >= '2026-11-01'\"")
        check_type("dry_run", dry_run, bool, "True or False")
        check_count("portions_per_commit", portions_per_commit, least=1)
        call = Call.of(
            "apply_equality_deletes",
            TablePath(table),
            where=text,
            dry_run=dry_run,
            portions_per_commit=portions_per_commit,
        )
        return AppliedDeletes(**self._session.call(call).to_pylist()[0])

    def register(
        self,
        table: str | None = None,
        *,
        path: str | os.PathLike[str] | None = None,
        into: str | None = None,
        key: Sequence[str] = (),
        ordering: str | None = None,
        versions: Versions | None = None,
        version: str | None = None,
        buckets: int | None = None,
        bucket_by: Sequence[str] = (),
        partition_by: Sequence[str] = (),
    ) -> Registered:
        """Make a keyed table of a plain Iceberg table, or of the Parquet files below `path`, by writing all rows anew.

        The new table is `into`, and is there once all its rows are. Without `into` the Iceberg table itself becomes
        keyed, in one commit: its history stays, and where others commit meanwhile, it stays as it is.

        `key`, `ordering`, `versions`, `buckets`, `bucket_by` and `partition_by` are those of a `TableSpec`. Without a
        `key` the identifier fields of the Iceberg table are the key. Of several rows of a key the newest by `ordering`,
        or by the column `version`, is written; without either, repeated keys are refused.

        Hudi's columns `_hoodie_*` are left out. In files of Paimon `_SEQUENCE_NUMBER` is the version of a row, unless
        an `ordering` or `version` is said, and `_VALUE_KIND` says what is deleted.

        Raises `BadRows` for null or repeated keys, `TableExists` for `into`, `TableNotFound` if there is no such table
        or path, `DefinitionError` for words that do not go together, `VersionMissing` for explicit versions without a
        column, `Unsupported` if the table is keyed already, and `CommitConflict` if it is changed meanwhile. Nothing is
        written then.

        Example::

            lake.register("streams.orders", into="features.orders", key=["id"], ordering="at", buckets=8).keys_written
        """
        for word, said in (("table", table), ("into", into), ("ordering", ordering), ("version", version)):
            check_type(word, said, str | None, "text")
        check_type("path", path, str | os.PathLike | None, "a path, such as '/data/orders'")
        lists = {"key": key, "bucket_by": bucket_by, "partition_by": partition_by}
        for word, names in lists.items():
            check_type(word, names, list | tuple, "a list of columns, such as ['id']")
            for name in names:
                check_type(f"A column of {word}", name, str, "text")
        if buckets is not None:
            check_count("buckets", buckets, least=1)
        call = Call.of(
            "register",
            None if table is None else TablePath(table),
            path=None if path is None else os.fspath(path),
            into=None if into is None else f"{quoted(self.catalog)}.{TablePath(into).name}",
            ordering=ordering,
            versions=versions,
            version=version,
            buckets=buckets,
            **{word: list(names) for word, names in lists.items() if names},
        )
        return Registered(**self._session.call(call).to_pylist()[0])

    def adopt(self, table: str, *, into: str, buckets: int | None = None, dry_run: bool = False) -> Adopted:
        """Take the rows of a plain Iceberg table, such as one that Flink upserts into, over into a keyed table.

        The first call creates `into` (with 16 `buckets`, unless said) and writes the rows that are there. Every later
        call takes over the commits that came since, one by one, each once, also after an end in between. Writers go on
        meanwhile, and the plain table stays as it is.

        The identifier fields of the plain table are the key. Versions are explicit: the sequence number of the commit
        that wrote a row or deleted a key. So other writers of the keyed table give versions, too.

        Raises `DefinitionError` for a table without identifier fields, `TableExists` if `into` was not made by such a
        call, `SchemaMismatch` if columns have changed since, `SnapshotExpired` if the plain table has expired commits
        before they were taken over, and `Unsupported` for deletes by other columns than the key.

        Example::

            lake.adopt("streams.orders", into="features.orders").commits
        """
        check_type("The name of a table", table, str, "text such as 'namespace.table'")
        check_type("into", into, str, "text such as 'namespace.table'")
        check_type("dry_run", dry_run, bool, "True or False")
        if buckets is not None:
            check_count("buckets", buckets, least=1)
        target = TablePath(into).in_sql(self.catalog)
        call = Call.of("adopt", TablePath(table), into=target, buckets=buckets, dry_run=dry_run)
        return Adopted(**self._session.call(call).to_pylist()[0])

    def drop(self, name: str) -> TableSpec:
        """Take a keyed table out of the catalog, and return what it was. Its files stay, as with DROP TABLE.

        Raises `TableNotFound` if there is no such table, and `NotKeyed` if it is a plain one.

        Example::

            lake.drop("features.user_profile")
        """
        path, spec = self._found(name)
        self._session.drop(path)
        return spec

    def check(self, table: str, level: CheckLevel = "files") -> CheckReport:
        """Look at every file of a table, as its own `check` does, also where damage prevents that it is opened.

        Raises `TableNotFound` if there is no such table, `DefinitionError` for a level other than "files" or "pages",
        and `Unavailable` if the store does not answer.

        Example::

            lake.check("features.user_profile").is_ok
        """
        return checked(self._session, table, level)

    def repair_plan(
        self, table: str, level: CheckLevel = "files", *, copy: str | os.PathLike[str] | None = None
    ) -> RepairPlan:
        """Check a table, and say what can be had back, as its own `repair_plan` does, also where it cannot be opened.

        Of a metadata file that cannot be read, the plan names the one before it, and what it would lose. The statements
        of a plan are SQL, which a person runs.

        Raises `TableNotFound` if there is no such table, `DefinitionError` for another level, and `Unavailable` if the
        store does not answer.

        Example::

            print(lake.repair_plan("features.user_profile", copy="/backups/lake/features/user_profile"))
        """
        return planned(self._session, table, level, copy)

    def _found(self, name: str) -> tuple[TablePath, TableSpec]:
        """The table of a name; the catalog's name may stand before it, as errors and logs print it."""
        check_type("The name of a table", name, str, "text such as 'namespace.table'")
        path = TablePath(name)
        try:
            return path, self._spec_from("describe", path)
        except TableNotFound as error:
            catalog, *parts = name_parts(name)
            if catalog != self.catalog or len(parts) < 2:
                near = near_name(name, (each.name for each in self.tables()))
                raise TableNotFound(
                    f"{error}{near} lake.tables(), or keylake tables, lists those that are there."
                ) from None
            path = TablePath(table_name(parts))
            return path, self._spec_from("describe", path)

    def _spec_from(self, procedure: str, path: TablePath, **arguments: str) -> TableSpec:
        return TableSpec.from_json(str(self._session.call(Call.of(procedure, path, **arguments)).column("spec")[0]))

    def _matching(self, wanted: TableSpec, table: type[Table] | TableSpec) -> KeyedTable[Any]:
        found = self._spec_from("describe", TablePath(wanted.name))
        differences = wanted.differences(found)
        if differences:
            raise SchemaMismatch(
                f"{wanted.name} is another table than the one that was meant (here) in the lake (there): "
                f"{'; '.join(differences)}. Change the definition, or open the table by its name."
            )
        return self._opened(found, table)

    def _opened(self, found: TableSpec, table: type[Table] | TableSpec) -> KeyedTable[Any]:
        model = table if isinstance(table, type) else model_of(found)
        return KeyedTable(Handle(self._session, TablePath(found.name), found), model)

    # --------------------------------------------------------------------------------------------------- end, shown

    def close(self) -> None:
        """End the triggers and the session, and the embedded server when nobody else in this process uses it."""
        self._triggers.stop()
        self._session.close()
        if self._server is not None:
            self._server.release()
            self._server = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        where = self._session.address if self._server is None else self._server.setup.warehouse
        return f"Lake({self.catalog!r} at {where})"

    def _repr_html_(self) -> str:
        try:
            rows = [(table, table.versions or table.problem) for table in self.tables()]
        except ServerUnreachable as error:  # it was closed: shown, it says so
            return in_notebook(html_table(repr(self), (str(error),), ()))
        return in_notebook(html_table(repr(self), ("table", "versions"), rows))


def _user() -> str | None:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return None
