"""Pipelines, part by part; each part is a module of its own.

batches small batches of a stream, beside an append to a plain table by the same stream
changes a stream of changes with random keys, beside appends, MERGE in foreachBatch and Flink's upsert sink
ddl     columns that are added to a source table while its rows are written
freshness seconds from a commit in a database to a row of its keyed table; 1,000 tables that are made
load    a day of a load that changes, replayed with the controller of pipelines and with fixed sizes
most    rounds of 4 rows for each of 5,000 tables, in one job
sources rows of MariaDB, PostgreSQL and Kafka, to the end
tables  rounds of 20 rows for each of 100 and 1,000 tables, in one job and table by table
"""

from collections.abc import Callable, Mapping, Sequence

from rich.console import Console

from benchmarks import (
    pipelines_batches,
    pipelines_changes,
    pipelines_ddl,
    pipelines_freshness,
    pipelines_load,
    pipelines_sources,
    pipelines_tables,
)
from benchmarks.figures import Findings

PARTS: Mapping[str, Callable[[float, Console], Findings]] = {
    "batches": pipelines_batches.run,
    "changes": pipelines_changes.run,
    "ddl": pipelines_ddl.run,
    "freshness": pipelines_freshness.run,
    "load": pipelines_load.run,
    "most": pipelines_tables.run_most,
    "sources": pipelines_sources.run,
    "tables": pipelines_tables.run,
}


def run(scale: float, console: Console, chosen: Sequence[str] = ()) -> Findings:
    """All parts, or those that are chosen."""
    unknown = [part for part in chosen if part not in PARTS]
    if unknown:
        raise SystemExit(f"pipelines has no part {unknown[0]!r}; it has {', '.join(PARTS)}")
    found = [PARTS[part](scale, console) for part in chosen or PARTS]
    return Findings(
        "; ".join(each.run for each in found),
        [figure for each in found for figure in each.figures],
        {question: times for each in found for question, times in each.seconds.items()},
        [figure for each in found for figure in each.details],
    )
