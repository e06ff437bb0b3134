"""Primary-key tables on Apache Iceberg: write like an append, read like a scan, and be right."""

from keylake.archive import HistoryBranch
from keylake.branch import Picked, Published
from keylake.commit_events import CommitEvent
from keylake.compaction import BucketPicture, CompactionPlan, CompactionPolicy, CompactionReport, Merge, RunPicture
from keylake.definition import Column, ColumnGroup, Versions
from keylake.errors import (
    BadRows,
    CommitConflict,
    DefinitionError,
    GateFailed,
    KeylakeError,
    NotKeyed,
    SchemaMismatch,
    ServerMissingPlugin,
    ServerUnreachable,
    SnapshotExpired,
    TableExists,
    TableNotFound,
    TriggerFailed,
    Unsupported,
    VersionMissing,
)
from keylake.gate import Check, Finding, condition, null_rate, references, row_count_change, unique, value_range
from keylake.intervals import Interval
from keylake.joins import join
from keylake.kv import PublishedKv, kv_key
from keylake.lake import Lake, ListedTable, connect
from keylake.maintenance import Maintenance, MaintenanceEntry
from keylake.metadata import FilesChanged
from keylake.positions import Consumer
from keylake.rebucketing import BucketAdvice, BucketChange
from keylake.reducers import (
    ArraySum,
    BitmapOr,
    BoolAnd,
    BoolOr,
    Collect,
    Count,
    First,
    Latest,
    LatestNotNull,
    MapMerge,
    Max,
    Min,
    Reducer,
    Sum,
)
from keylake.results import Commit, CommitInfo, History, Undone
from keylake.retention import Cleaned, RetentionPolicy
from keylake.schema import Table, column, group, key, ordering
from keylake.selection import TableColumns
from keylake.shuffles import JoinExplanation, assert_no_shuffle, explain_join
from keylake.spec import TableSpec
from keylake.statements import Watermark, watermark
from keylake.table import KeyedTable
from keylake.trigger import Fired, Trigger
from keylake.triggers import Triggers
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

__all__ = [
    # the way in
    "connect", "Lake", "KeyedTable", "ListedTable",
    # a table as a class, or as a value
    "Table", "key", "ordering", "column", "group", "TableSpec", "Column", "ColumnGroup", "Versions",
    # types of columns
    "Bool", "Int32", "Int64", "Float32", "Float64", "Decimal", "Date", "Time", "Timestamp", "Timestamptz",
    "String", "Binary", "Fixed", "UUID",
    # how values of one column combine
    "Reducer", "Latest", "LatestNotNull", "Sum", "Min", "Max", "Count", "First", "BoolAnd", "BoolOr", "Collect",
    "ArraySum", "MapMerge", "BitmapOr",
    # what verbs give back
    "Commit", "CommitInfo", "History", "Undone", "Picked", "Consumer", "FilesChanged", "PublishedKv",
    # back-fill, and what a query moves
    "join", "TableColumns", "explain_join", "JoinExplanation", "assert_no_shuffle",
    # a table in an online store
    "kv_key",
    # event time, and states that are kept
    "watermark", "Watermark", "HistoryBranch",
    # what is run for intervals of event time, and for commits
    "Triggers", "Trigger", "Interval", "CommitEvent", "Fired",
    # how files are kept few
    "CompactionPolicy", "CompactionPlan", "BucketPicture", "RunPicture", "CompactionReport", "Merge",
    "Maintenance", "MaintenanceEntry", "RetentionPolicy", "Cleaned", "BucketChange", "BucketAdvice",
    # what a branch has to pass
    "Check", "null_rate", "row_count_change", "value_range", "unique", "references", "condition",
    "Finding", "Published",
    # what can go wrong
    "KeylakeError", "DefinitionError", "SchemaMismatch", "BadRows", "VersionMissing", "CommitConflict", "TableExists",
    "TableNotFound", "NotKeyed", "SnapshotExpired", "Unsupported", "ServerMissingPlugin", "ServerUnreachable",
    "GateFailed", "TriggerFailed",
]  # fmt: skip
