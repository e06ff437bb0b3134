"""Keyed tables without Spark: reads in this process, by the same merge law, for applications that have no JVM."""

from keylake.local.lake import LocalLake
from keylake.local.lake import create_table as create
from keylake.local.lake import open_lake as open  # noqa: A004  # keylake.local.open() is what people write
from keylake.local.log import LocalLog, LogEntry, Logged
from keylake.local.result import Change, Changes, MergedRows
from keylake.local.table import LocalTable

__all__ = [
    "Change",
    "Changes",
    "LocalLake",
    "LocalLog",
    "LocalTable",
    "LogEntry",
    "Logged",
    "MergedRows",
    "create",
    "open",
]
