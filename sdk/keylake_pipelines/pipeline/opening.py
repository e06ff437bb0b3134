"""Sources as definitions say: each is opened by what it takes, and packages of one are needed for it only."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from keylake.errors import DefinitionError, Unsupported
from keylake.extension import session_of
from keylake_pipelines.definition.patterns import Pattern
from keylake_pipelines.definition.pipeline import Pipeline
from keylake_pipelines.definition.routes import is_captured
from keylake_pipelines.definition.sources import Files, Kafka, MySql, Postgres
from keylake_pipelines.files.source import FilesSource
from keylake_pipelines.mysql.places import GtidSet
from keylake_pipelines.source.source import Source
from keylake_pipelines.source.tables import SourceSchema, SourceTable

if TYPE_CHECKING:
    from keylake.lake import Lake
    from keylake_pipelines.comparison.rows import RowsNow

_PLAIN_NAME = re.compile(r"\w+(?:\.\w+){1,2}")
_SECONDS_OF_A_WRITE = 5.0
_FROM = "Use --from earliest, latest, timestamp=2026-01-31T12:00:00Z or offset=..."


def opened_source(pipeline: Pipeline, lake: Lake) -> Source:
    """The source of a pipeline, not begun."""
    match pipeline.source:
        case Files() as files:
            return FilesSource(files.path, key=files.key, op=files.op, version=files.version)
        case MySql() as database:
            return _mysql(database, _keys(pipeline))
        case Postgres() as database:
            return _postgres(database, _keys(pipeline))
        case Kafka() as topics:
            return _kafka(topics, lake)


def rows_now(pipeline: Pipeline) -> RowsNow:
    """The rows of the source as a check of the pipeline reads them.

    Errors: `Unsupported` for a source that has no rows but those of its log.
    """
    match pipeline.source:
        case MySql() as database:
            return _mysql_rows(database, _keys(pipeline))
        case Postgres() as database:
            named = _named(database, _keys(pipeline))
            from keylake_pipelines.comparison.postgres_rows import PostgresRows

            waiting = pipeline.freshness + pipeline.sink.freshness
            return PostgresRows(
                named.address,
                named.tables,
                slot=database.slot_name,
                publication=database.publication_name or database.slot_name,
                keys=named.keys,
                as_text=named.as_text,
                snapshot=database.startup_mode == "initial",
                seconds=waiting.total_seconds() + _SECONDS_OF_A_WRITE,
            )
        case other:
            raise Unsupported(
                f"A source of type {other.type} keeps no rows that could be compared with those of tables. A check is "
                "for MariaDB, MySQL and PostgreSQL."
            )


def started_from(pipeline: Pipeline, start: str) -> Pipeline:
    """The pipeline with another place to begin: earliest, latest, timestamp=... or offset=...

    >>> started_from(Pipeline(source=Files(path="in", key=("id",))), "latest")
    Traceback (most recent call last):
    keylake.errors.DefinitionError: Files are read from the first one on. Use --from earliest, or leave it out.
    """
    source = pipeline.source
    if isinstance(source, Files):
        if start != "earliest":
            raise DefinitionError("Files are read from the first one on. Use --from earliest, or leave it out.")
        return pipeline
    word, _, value = start.partition("=")
    if isinstance(source, Postgres) and word != "latest":
        raise DefinitionError(
            f"PostgreSQL keeps no log before its slot, so there is no {start!r}. Use --from latest, or leave it "
            "out: rows are read, then what changes."
        )
    said = {name: getattr(source, name) for name in type(source).model_fields if name in source.model_fields_set}
    begun = type(source)(**{**said, **_start(source, word, value)})
    return pipeline.model_copy(update={"source": begun})


def _mysql(database: MySql, keys: Mapping[str, Sequence[str]]) -> Source:
    try:
        from keylake_pipelines.mysql.source import MySqlSource
    except ImportError as error:
        raise Unsupported(f"{error.name} is missing. Install it: pip install 'keylake[pipelines]'.") from None
    return MySqlSource(
        host=database.hostname,
        port=database.port,
        user=database.username,
        password=database.password.get_secret_value(),
        tables=[_selected(database)],
        start=_start_of_log(database),
        keys=keys,
        chunk_rows=database.snapshot_chunk_size,
        server_id=int(database.server_id.partition("-")[0]) if database.server_id else None,
    )


def _mysql_rows(database: MySql, keys: Mapping[str, Sequence[str]]) -> RowsNow:
    from keylake_pipelines.comparison.mysql_rows import MySqlRows
    from keylake_pipelines.mysql.known import Selection
    from keylake_pipelines.mysql.server import Server

    server = Server(database.hostname, database.port, database.username, database.password.get_secret_value())
    selection = Selection((re.compile(_selected(database)),), {name: tuple(key) for name, key in keys.items()})
    return MySqlRows(server, selection, snapshot=database.startup_mode == "initial")


def _selected(database: MySql) -> str:
    """A regular expression of Python for the names of the tables."""
    tables = Pattern(database.tables).regex
    if database.tables_exclude is None:
        return tables
    return rf"(?!(?:{Pattern(database.tables_exclude).regex})\Z)(?:{tables})"


def _start_of_log(database: MySql) -> Any:
    """The place from which the log is read first."""
    from keylake_pipelines.mysql.starts import AtByte, AtGtids, AtTime

    match database.startup_mode:
        case "initial":
            return "snapshot"
        case "earliest-offset" | "latest-offset":
            return database.startup_mode.removesuffix("-offset")
        case "timestamp":
            return AtTime(_moment(database.timestamp_millis or 0))
        case "specific-offset" if database.offset_gtid_set is not None:
            return AtGtids(database.offset_gtid_set)
        case "specific-offset":
            return AtByte(database.offset_file or "", database.offset_pos or 0)
        case "snapshot":
            raise Unsupported(
                "scan.startup.mode snapshot cannot be read from MySQL in this version. "
                "Use initial with --once: rows, then what changed meanwhile."
            )


def _moment(millis: int) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(millis / 1000, datetime.timezone.utc)


def looked_at(pipeline: Pipeline) -> tuple[SourceSchema, ...] | None:
    """The tables of a source that makes something on its server when it begins, without that; None for others."""
    if not isinstance(pipeline.source, Postgres):
        return None
    named = _named(pipeline.source, _keys(pipeline))
    from keylake_pipelines.postgres.look import tables_of

    return tables_of(named.address, named.tables, named.keys, named.as_text)


class _Named(NamedTuple):
    """The parts of a definition of PostgreSQL, as keylake_pipelines.postgres takes them."""

    address: str
    tables: Callable[[SourceTable], bool]
    keys: Mapping[str, Sequence[str]]
    as_text: Sequence[str]


def _named(database: Postgres, keys: Mapping[str, Sequence[str]]) -> _Named:
    try:
        from psycopg.conninfo import make_conninfo
    except ImportError as error:
        raise Unsupported(f"{error.name} is missing. Install it: pip install 'keylake[pipelines]'.") from None
    if database.startup_mode == "snapshot":
        raise Unsupported(
            "scan.startup.mode snapshot cannot be read from PostgreSQL in this version. "
            "Use initial with --once, or latest-offset."
        )
    name = _only_database(database.tables)
    address = make_conninfo(
        host=database.hostname,
        port=database.port,
        user=database.username,
        password=database.password.get_secret_value(),
        dbname=name,
    )
    in_database = {table.removeprefix(f"{name}."): key for table, key in keys.items()}
    as_text = [column.removeprefix(f"{name}.") for column in database.columns]
    return _Named(address, lambda table: is_captured(database, table), in_database, as_text)


def _postgres(database: Postgres, keys: Mapping[str, Sequence[str]]) -> Source:
    named = _named(database, keys)
    from keylake_pipelines.postgres.source import PostgresSource

    return PostgresSource(
        named.address,
        named.tables,
        slot=database.slot_name,
        publication=database.publication_name or database.slot_name,
        keys=named.keys,
        as_text=named.as_text,
        snapshot=database.startup_mode == "initial",
    )


def _only_database(tables: str) -> str:
    r"""The database that patterns begin with: a connection has one.

    >>> _only_database(r"app.public.orders_\d+, app.public.people")
    'app'
    """
    names = {table.strip().partition(".")[0] for table in tables.split(",")}
    name = min(names)
    if len(names) > 1 or not re.fullmatch(r"\w+", name):
        raise DefinitionError(f"tables is {tables!r}. Begin each with the name of the one database: app.public.orders.")
    return name


def _kafka(topics: Kafka, lake: Lake) -> Source:
    from keylake_pipelines.kafka.messages import MessageFormat
    from keylake_pipelines.kafka.offsets import Topics
    from keylake_pipelines.kafka.source import KafkaSource

    said = MessageFormat(
        topics.format,
        key=topics.key,
        version=topics.version,
        placeholder=topics.unavailable_value,
        schema=_text(topics.schema_file),
        key_schema=_text(topics.key_schema_file),
        schemas={int(number): _text(str(file)) or "" for number, file in topics.schema_files.items()},
    )
    read = Topics(
        topics.bootstrap_servers,
        tuple(topics.topics),
        topics.topic_pattern,
        start=_place(topics),
        lost=topics.lost,
        settings=topics.client_options(),
    )
    return KafkaSource(session_of(lake), read, said)


def _text(file: str | None) -> str | None:
    if file is None:
        return None
    try:
        return Path(file).read_text()
    except OSError as error:
        raise DefinitionError(f"The schema {file!r} cannot be read: {error.strerror}.") from None


def _place(topics: Kafka) -> Any:
    """The place where partitions begin that have no position."""
    if topics.startup_mode == "timestamp":
        return _moment(topics.timestamp_millis or 0)
    if topics.startup_mode == "specific-offsets":
        text = topics.specific_offsets or ""
        found = re.findall(r"partition:(\d+),offset:(\d+)", text)
        if len(topics.topics) != 1 or len(found) != len(text.strip(";").split(";")):
            raise DefinitionError(
                f"scan.startup.specific-offsets is {text!r}. Name one topic, and write partition:0,offset:42;..."
            )
        return {f"{topics.topics[0]}-{partition}": int(offset) for partition, offset in found}
    return topics.startup_mode.removesuffix("-offset")


def _keys(pipeline: Pipeline) -> dict[str, tuple[str, ...]]:
    """The keys of tables that the source or a transform names, for those that have none of their own."""
    keys = dict(pipeline.source.keys) if isinstance(pipeline.source, MySql | Postgres) else {}
    named = [each for each in pipeline.transform if each.primary_keys and _PLAIN_NAME.fullmatch(each.source_table)]
    return {**keys, **{each.source_table: each.primary_keys for each in named}}


def _start(source: MySql | Postgres | Kafka, word: str, value: str) -> dict[str, Any]:
    match word:
        case "earliest" | "latest":
            return {"startup_mode": f"{word}-offset"}
        case "timestamp":
            return {"startup_mode": "timestamp", "timestamp_millis": _millis(value)}
        case "offset" if isinstance(source, Kafka):
            return {"startup_mode": "specific-offsets", "specific_offsets": value}
        case "offset" if isinstance(source, MySql) and _is_gtid_set(value):
            return {"startup_mode": "specific-offset", "offset_gtid_set": value}
        case "offset" if isinstance(source, MySql) and value.rpartition(":")[2].isdecimal():
            file, _, place = value.rpartition(":")
            return {"startup_mode": "specific-offset", "offset_file": file, "offset_pos": int(place)}
        case "offset":
            raise DefinitionError(
                f"{value!r} is no place of a binary log. Use --from offset=mysql-bin.000003:4, or a set of GTIDs: "
                "offset=0-1-100 (MariaDB), offset=3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5 (MySQL)."
            )
        case _:
            raise DefinitionError(f"--from is {word!r}. {_FROM}")


def _is_gtid_set(text: str) -> bool:
    return bool(text) and not (GtidSet.of_mysql(text) is None and GtidSet.of_mariadb(text) is None)


def _millis(text: str) -> int:
    """Milliseconds since 1970 of a time with a zone."""
    try:
        moment = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise DefinitionError(f"{text!r} is no time. {_FROM}") from None
    if moment.tzinfo is None:
        raise DefinitionError(f"{text!r} has no time zone. {_FROM}")
    return int(moment.timestamp() * 1000)
