"""The sources of pipelines: databases, topics, files. Keys of databases are those of Flink CDC."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, SecretStr, model_validator
from typing_extensions import Self

from keylake_pipelines.definition.fields import (
    NO_KEYS,
    NO_OPTIONS,
    Count,
    Definition,
    KeyOfEach,
    KeysByTable,
    Lower,
    Names,
    Options,
    Port,
    Secret,
    TablePattern,
    named,
    unused,
)

NO_COLUMNS: Mapping[str, Literal["as_text"]] = {}
_TABLES = r"Tables, as regular expressions with commas between them, in which `\.` stands for any character: `shop.\.*`"


class _Database(Definition):
    """The keys that all databases have."""

    name: Annotated[str | None, named("name", "What the source is called in messages.")] = None
    hostname: Annotated[str, named("hostname", "The host of the database.")]
    username: Annotated[str, named("username", "Who reads.")]
    password: Annotated[Secret, named("password", "The password: `${DB_PASSWORD}` takes it from the environment.")]
    tables: Annotated[TablePattern, named("tables", _TABLES)]
    tables_exclude: Annotated[TablePattern | None, named("tables.exclude", "Tables of these that are left out.")] = None
    keys: Annotated[KeyOfEach, named("keys", "The key of tables that have none, by table: `{shop.orders: id}`.")] = (
        NO_KEYS
    )
    schema_change_enabled: Annotated[
        bool, named("schema-change.enabled", "Whether changes of tables are followed at all.")
    ] = True
    snapshot_chunk_size: Annotated[
        Count, named("scan.incremental.snapshot.chunk.size", "Rows of a chunk of a snapshot.")
    ] = 8096
    timestamp_millis: Annotated[
        int | None, named("scan.startup.timestamp-millis", "For timestamp: milliseconds since 1970.")
    ] = None

    server_time_zone: Annotated[str | None, unused("server-time-zone")] = None
    fetch_size: Annotated[int | None, unused("scan.snapshot.fetch.size")] = None
    skip_events: Annotated[int | None, unused("scan.startup.specific-offset.skip-events")] = None
    skip_rows: Annotated[int | None, unused("scan.startup.specific-offset.skip-rows")] = None
    connect_timeout: Annotated[str | None, unused("connect.timeout")] = None
    connect_max_retries: Annotated[int | None, unused("connect.max-retries")] = None
    connection_pool_size: Annotated[int | None, unused("connection.pool.size")] = None
    heartbeat_interval: Annotated[str | None, unused("heartbeat.interval")] = None
    chunk_meta_group_size: Annotated[int | None, unused("chunk-meta.group.size")] = None
    close_idle_reader: Annotated[bool | None, unused("scan.incremental.close-idle-reader.enabled")] = None
    unbounded_chunk_first: Annotated[bool | None, unused("scan.incremental.snapshot.unbounded-chunk-first.enabled")] = (
        None
    )
    backfill_skip: Annotated[bool | None, unused("scan.incremental.snapshot.backfill.skip")] = None
    chunk_key_column: Annotated[str | None, unused("scan.incremental.snapshot.chunk.key-column")] = None
    newly_added_table: Annotated[bool | None, unused("scan.newly-added-table.enabled")] = None
    jdbc_properties: Annotated[Options, unused("jdbc.properties.*")] = NO_OPTIONS
    debezium: Annotated[Options, unused("debezium.*")] = NO_OPTIONS


class MySql(_Database):
    r"""Tables of MySQL or MariaDB: a snapshot, then the binary log.

    Example::

        source = kl.MySql(hostname="db", username="etl", password=os.environ["DB_PASSWORD"], tables=r"shop.\.*")
    """

    type: Annotated[Literal["mysql"], named("type", "MySQL or MariaDB.")] = "mysql"
    port: Annotated[Port, named("port", "The port of the database.")] = 3306
    server_id: Annotated[
        str | None,
        named(
            "server-id",
            "Numbers no other replica has: `5400`, or `5400-5404`.",
            pattern=r"^\s*\d+\s*(-\s*\d+\s*)?$",
            json_schema_extra={"type": ["string", "integer"]},
        ),
    ] = None
    startup_mode: Annotated[
        Literal["initial", "earliest-offset", "latest-offset", "specific-offset", "timestamp", "snapshot"],
        Lower,
        named("scan.startup.mode", "Where a pipeline without positions begins."),
    ] = "initial"
    offset_file: Annotated[
        str | None, named("scan.startup.specific-offset.file", "For specific-offset: a file of the binary log.")
    ] = None
    offset_pos: Annotated[
        int | None, named("scan.startup.specific-offset.pos", "For specific-offset: the position in that file.")
    ] = None
    offset_gtid_set: Annotated[
        str | None, named("scan.startup.specific-offset.gtid-set", "For specific-offset: a set of GTIDs.")
    ] = None
    tinyint1_as_boolean: Annotated[bool | None, unused("treat-tinyint1-as-boolean.enabled")] = None
    metadata_list: Annotated[str | None, unused("metadata.list")] = None

    online_schema_changes: Annotated[bool | None, unused("scan.parse.online.schema.changes.enabled")] = None
    binlog_newly_added_table: Annotated[bool | None, unused("scan.binlog.newly-added-table.enabled")] = None
    include_comments: Annotated[bool | None, unused("include-comments.enabled")] = None
    legacy_json_format: Annotated[bool | None, unused("use.legacy.json.format")] = None

    @model_validator(mode="after")
    def _begins_somewhere(self) -> Self:
        if self.startup_mode == "timestamp" and self.timestamp_millis is None:
            raise ValueError("has scan.startup.mode timestamp: say which, scan.startup.timestamp-millis.")
        has_place = self.offset_gtid_set is not None or None not in (self.offset_file, self.offset_pos)
        if self.startup_mode == "specific-offset" and not has_place:
            raise ValueError(
                "has scan.startup.mode specific-offset: say which, scan.startup.specific-offset.file and .pos, or "
                ".gtid-set."
            )
        return self


class Postgres(_Database):
    r"""Tables of PostgreSQL: a snapshot, then its logical replication.

    Example::

        source = kl.Postgres(hostname="db", username="etl", password=os.environ["DB_PASSWORD"],
                             tables=r"app.public.\.*", slot_name="keylake")
    """

    type: Annotated[Literal["postgres"], named("type", "PostgreSQL.")] = "postgres"
    port: Annotated[Port, named("port", "The port of the database.")] = 5432
    slot_name: Annotated[
        str,
        named(
            "slot.name",
            "The replication slot: it is made, and keeps the log until it was read.",
            pattern=r"^[a-z0-9_]{1,63}$",
        ),
    ]
    decoding_plugin_name: Annotated[
        Literal["pgoutput"], named("decoding.plugin.name", "How the database writes changes; no other is read.")
    ] = "pgoutput"
    publication_name: Annotated[
        str | None, named("publication.name", "The publication; one is made for the tables unless said.")
    ] = None
    startup_mode: Annotated[
        Literal["initial", "latest-offset", "committed-offset", "snapshot"],
        Lower,
        named("scan.startup.mode", "Where a pipeline without positions begins."),
    ] = "initial"
    include_database: Annotated[
        bool, named("table-id.include-database", "Whether names of tables have the database: `app.public.orders`.")
    ] = True
    columns: Annotated[
        Mapping[str, Literal["as_text"]],
        named(
            "columns",
            "Columns that are read as text, as the database shows them: `{valid_until: as_text}`, or with its table "
            "`public.orders.valid_until`.",
        ),
    ] = NO_COLUMNS
    metadata_list: Annotated[str | None, unused("metadata.list")] = None

    lsn_commit_delay: Annotated[int | None, unused("scan.lsn-commit.checkpoints-num-delay")] = None


class Kafka(Definition):
    """Topics of Kafka.

    Example::

        source = kl.Kafka(bootstrap_servers="broker:9092", topics=("shop.orders",), format="debezium-json")
    """

    type: Annotated[Literal["kafka"], named("type", "Topics of Kafka.")] = "kafka"
    name: Annotated[str | None, named("name", "What the source is called in messages.")] = None
    bootstrap_servers: Annotated[str, named("bootstrap.servers", "Brokers to ask first: `broker:9092`.")]
    topics: Annotated[Names, named("topics", "Topics, with commas between them.")] = ()
    topic_pattern: Annotated[str | None, named("topic-pattern", "Topics, as a regular expression: `shop\\..*`.")] = None
    format: Annotated[
        Literal["debezium-json", "debezium-avro", "canal-json", "maxwell-json", "json", "avro"],
        Lower,
        named("format", "What messages are."),
    ]
    key: Annotated[
        KeysByTable, named("key", "The key of all tables, or of each: `{orders: id}`. Messages with keys need none.")
    ] = ()
    version: Annotated[
        str | None,
        named("version", "The field with the version of a row: `update_time`, or `a.b`; the offset unless said."),
    ] = None
    unavailable_value: Annotated[
        str | None,
        named(
            "unavailable.value.placeholder",
            "For Debezium's formats: what the connector writes in place of values that were not logged, where it has "
            "another placeholder than `__debezium_unavailable_value`; `hex:...` for one of bytes.",
            min_length=1,
        ),
    ] = None
    schema_file: Annotated[str | None, named("schema", "For avro: the file of the schema of all messages.")] = None
    key_schema_file: Annotated[str | None, named("key.schema", "For avro: the file of the schema of their keys.")] = (
        None
    )
    schema_files: Annotated[
        Options, named("schemas.*", "For avro with numbered schemas: the file of each, as `schemas.17: orders.avsc`.")
    ] = NO_OPTIONS
    startup_mode: Annotated[
        Literal["earliest-offset", "latest-offset", "timestamp", "specific-offsets"],
        Lower,
        named("scan.startup.mode", "Where a pipeline without positions begins."),
    ] = "earliest-offset"
    timestamp_millis: Annotated[
        int | None, named("scan.startup.timestamp-millis", "For timestamp: milliseconds since 1970.")
    ] = None
    specific_offsets: Annotated[
        str | None,
        named("scan.startup.specific-offsets", "For specific-offsets: `partition:0,offset:42;partition:1,offset:7`."),
    ] = None
    lost: Annotated[
        Literal["refuse", "skip"],
        Lower,
        named(
            "lost",
            "What is done where messages were deleted before they were read: refuse ends the pipeline, skip goes on "
            "behind them, with a dead letter that says which.",
        ),
    ] = "refuse"
    properties: Annotated[
        Options, named("properties.*", "Options of Kafka's client, as `properties.security.protocol: SASL_SSL`.")
    ] = NO_OPTIONS

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if bool(self.topics) == (self.topic_pattern is not None):
            raise ValueError("reads topics or topic-pattern: name one of the two.")
        if self.startup_mode == "timestamp" and self.timestamp_millis is None:
            raise ValueError("has scan.startup.mode timestamp: say which, scan.startup.timestamp-millis.")
        if self.startup_mode == "specific-offsets" and self.specific_offsets is None:
            raise ValueError("has scan.startup.mode specific-offsets: say which, scan.startup.specific-offsets.")
        if self.unavailable_value is not None and not self.format.startswith("debezium"):
            raise ValueError(f"has format {self.format}: unavailable.value.placeholder is for debezium-json and -avro.")
        if self.format.endswith("avro") and self.schema_file is None and not self.schema_files:
            raise ValueError(f"has format {self.format}: name the schema, schema, or those by number, schemas.17.")
        return self

    def client_options(self) -> dict[str, str]:
        """The options of the client with their secrets; for nothing else."""
        return {
            name: value.get_secret_value() if isinstance(value, SecretStr) else value
            for name, value in self.properties.items()
        }


class Files(Definition):
    """Files that arrive in a folder, which has a folder for each table.

    Example::

        source = kl.Files(path="/data/in", key={"orders": ("id",)})
    """

    type: Annotated[Literal["files"], named("type", "Files that arrive in a folder.")] = "files"
    name: Annotated[str | None, named("name", "What the source is called in messages.")] = None
    path: Annotated[str, named("path", "A folder with a folder for each table: `.json`, `.jsonl`, `.csv`, `.parquet`.")]
    key: Annotated[KeysByTable, named("key", "The key of all tables, or of each: `{orders: id}`.")]
    op: Annotated[
        str | None, named("op", "The field that says what is done: `c`, `u`, `r` or `d`. A row without it is a `u`.")
    ] = "op"
    version: Annotated[
        str | None, named("version", "The field with the version of a row; later files and rows are newer unless said.")
    ] = None


SourceDefinition = Annotated[MySql | Postgres | Kafka | Files, Field(discriminator="type")]
