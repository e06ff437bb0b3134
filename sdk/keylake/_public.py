"""The names of `keylake`, each from the module that defines it; `keylake` imports them when one is asked for."""

from importlib.util import find_spec
from typing import TYPE_CHECKING

from keylake._definition.columns import Column, ColumnGroup, Versions
from keylake._definition.indexes import Bloom
from keylake._definition.listed import ListedTable
from keylake._definition.spec import TableSpec
from keylake._gate.checks import Check, condition, null_rate, references, row_count_change, unique, value_range
from keylake._joins.joins import join
from keylake._joins.shuffles import JoinExplanation, assert_no_shuffle, explain_join
from keylake._json.mapping import JsonMapping
from keylake._json.verb import JsonCommit, Rescued
from keylake._log.definition import FileLog, KafkaLog
from keylake._log.state import LogState
from keylake._maintenance.adoption import Adopted
from keylake._maintenance.caches import CacheUse
from keylake._maintenance.compaction import (
    BucketPicture,
    CompactionPlan,
    CompactionPolicy,
    CompactionReport,
    Merge,
    RunPicture,
)
from keylake._maintenance.equality_deletes import AppliedDeletes
from keylake._maintenance.maintenance import Maintenance, MaintenanceEntry
from keylake._maintenance.registration import Registered
from keylake._maintenance.retention import Cleaned, RetentionPolicy
from keylake._outcomes.commits import CommitEvent
from keylake._outcomes.findings import Finding
from keylake._outcomes.intervals import Interval
from keylake._outcomes.lateness import LateHour, LateHours, Lateness
from keylake._server.statements import Watermark, watermark
from keylake._streams.query import TableStream
from keylake._table.branches import Picked, Published
from keylake._table.experiments import Experiment
from keylake._table.files import FilesChanged
from keylake._table.layout import BucketAdvice, BucketChange
from keylake._table.log import Moved
from keylake._table.positions import Consumer
from keylake._table.quarantine import Held, Released
from keylake._table.serving import MergedState, PublishedIceberg, PublishedKv, kv_key
from keylake._table.states import HistoryBranch
from keylake._triggers.steps import SqlStep, register_steps
from keylake._triggers.trigger import Fired, Trigger
from keylake._triggers.triggers import Triggers
from keylake.checks import CheckedFiles, CheckReport, Damage, RepairedFile, RepairPlan, RepairStep
from keylake.conditions import Condition, col
from keylake.errors import (
    AccessDenied,
    BadRows,
    Cancelled,
    CommitConflict,
    DefinitionError,
    ForeignCommit,
    GateFailed,
    KeylakeError,
    NothingToDo,
    NotKeyed,
    OutcomeUnknown,
    PipelineBusy,
    SchemaMismatch,
    ServerMissingPlugin,
    ServerRefused,
    ServerUnreachable,
    SnapshotExpired,
    SourceFailed,
    StoreFailed,
    TableExists,
    TableNotFound,
    TriggerFailed,
    Unavailable,
    Unsupported,
    VersionMissing,
)
from keylake.explanations import CellOrigin, Origin, RowExplanation, StoredValue
from keylake.health import Health, IndexHealth, PastHealth, ReadHealth, StreamHealth
from keylake.lake import Lake, connect
from keylake.reducers import (
    ArraySum,
    Average,
    BitmapOr,
    BoolAnd,
    BoolOr,
    Collect,
    Count,
    Daily,
    First,
    Hll,
    Kll,
    Latest,
    LatestN,
    LatestNotNull,
    MapMerge,
    Max,
    Min,
    Moments,
    Own,
    Python,
    Reducer,
    Struct,
    Sum,
    Theta,
    TopN,
    reducer,
)
from keylake.results import Commit, CommitInfo, History, Undone
from keylake.schema import Table, column, group, key, ordering
from keylake.table import KeyedTable, TableColumns
from keylake.types import (
    UUID,
    Binary,
    Bool,
    Date,
    Decimal,
    Fixed,
    Float32,
    Float64,
    Int32,
    Int64,
    String,
    Time,
    Timestamp,
    Timestamptz,
)

if TYPE_CHECKING:
    from keylake_pipelines.comparison.results import PipelineCheck, RowDifference, TableCheck
    from keylake_pipelines.definition.pipeline import LakeSink, Pipeline, PipelineOptions, Route, Transform
    from keylake_pipelines.definition.sources import Files, Kafka, MySql, Postgres
    from keylake_pipelines.definition.steps import Step
    from keylake_pipelines.pipeline.checking import check_pipeline
    from keylake_pipelines.pipeline.running import run_pipeline
    from keylake_pipelines.runner.settings import PipelineReport

__all__ = [
    # the way in
    "connect", "Lake", "KeyedTable", "ListedTable", "CacheUse",
    # a table as a class, or as a value
    "Table", "key", "ordering", "column", "group", "TableSpec", "Column", "ColumnGroup", "Versions",
    # indices of values
    "Bloom",
    # writes before they are in files
    "FileLog", "KafkaLog", "LogState", "Moved",
    # rows that a write has held back
    "Held", "Released",
    # conditions on columns
    "col", "Condition",
    # types of columns
    "Bool", "Int32", "Int64", "Float32", "Float64", "Decimal", "Date", "Time", "Timestamp", "Timestamptz",
    "String", "Binary", "Fixed", "UUID",
    # how values of one column combine
    "Reducer", "Latest", "LatestNotNull", "Sum", "Min", "Max", "Count", "First", "BoolAnd", "BoolOr", "Collect",
    "Daily", "ArraySum", "MapMerge", "TopN", "LatestN", "Average", "Moments", "Struct",
    "BitmapOr", "Hll", "Theta", "Kll", "Own", "Python", "reducer",
    # payloads of JSON
    "JsonMapping", "JsonCommit", "Rescued",
    # what verbs give back
    "Commit", "CommitInfo", "History", "TableStream", "Undone", "Picked", "Consumer", "FilesChanged", "PublishedKv",
    "PublishedIceberg", "MergedState", "Health", "IndexHealth", "PastHealth", "ReadHealth", "StreamHealth",
    "Lateness", "LateHour", "LateHours",
    "RowExplanation", "CellOrigin", "StoredValue", "Origin", "CheckReport", "CheckedFiles", "Damage", "RepairPlan",
    "RepairStep", "RepairedFile",
    # back-fill, and what a query moves
    "join", "TableColumns", "explain_join", "JoinExplanation", "assert_no_shuffle",
    # a table in an online store
    "kv_key",
    # event time, and states that are kept
    "watermark", "Watermark", "HistoryBranch",
    # columns that are tried out
    "Experiment",
    # what is run for intervals of event time, and for commits
    "Triggers", "Trigger", "Interval", "CommitEvent", "Fired", "SqlStep", "register_steps",
    # sources into tables, always
    "Pipeline", "MySql", "Postgres", "Kafka", "Files", "LakeSink", "Route", "Transform", "Step", "PipelineOptions",
    "run_pipeline", "PipelineReport", "check_pipeline", "PipelineCheck", "TableCheck", "RowDifference",
    # how files are kept few
    "CompactionPolicy", "CompactionPlan", "BucketPicture", "RunPicture", "CompactionReport", "Merge",
    "Maintenance", "MaintenanceEntry", "RetentionPolicy", "Cleaned", "BucketChange", "BucketAdvice",
    # plain tables of other engines
    "Adopted", "AppliedDeletes", "Registered",
    # what a branch has to pass
    "Check", "null_rate", "row_count_change", "value_range", "unique", "references", "condition",
    "Finding", "Published",
    # what can go wrong
    "KeylakeError", "DefinitionError", "SchemaMismatch", "BadRows", "VersionMissing", "CommitConflict", "TableExists",
    "TableNotFound", "NothingToDo", "NotKeyed", "SnapshotExpired", "ForeignCommit", "Unsupported",
    "AccessDenied", "ServerMissingPlugin", "ServerRefused", "ServerUnreachable", "StoreFailed", "Unavailable",
    "OutcomeUnknown", "Cancelled", "GateFailed", "TriggerFailed", "PipelineBusy", "SourceFailed",
]  # fmt: skip


if find_spec("keylake_pipelines") is None:  # what an extension defines cannot be imported with the rest
    globals()["__all__"] = [name for name in __all__ if name in globals()]
