"""Figures of the machine at hand: `python tests/benchmarks [NAME] [--scale=0.1] [--page]`.

    first       a keyed table beside plain Iceberg: writing, reading, and the weight of versions
    reads       merged reads beside other systems and two limits; --workload, --question and --system choose a part
    first-reads the first read of a snapshot beside later ones and a scan of its files
    compaction  what compaction keeps, writes and costs, day by day; leaves a picture, too
    settling    what it costs to settle a table instead of merging it, and what reads make of it
    joins       four feature tables joined to samples; publishing to a key-value store; writes of skewed keys
    lookups     rows by their keys beside SQL of a merged plain table, their files, and rows by other values
    growth      small requests beside the files, commits and buckets that a table has
    loads       a first load and ten upserts beside appends to a plain table
    fresh       from the return of a write to another process that is told of it and has read the row
    late        what late rows cost: with the rule for them, without it, and without such rows
    small-writes  upserts of 1, 100 and 2,000 rows beside appends to a plain table
    wide        tables of 200, 1,000 and 3,000 columns, beside each other and beside plain tables
    repair      rollback, undo, cherry-pick, archive and publish beside an append; change feeds beside joins
    sql         UPDATE, DELETE and MERGE beside Iceberg's and Delta's, and reads right afterwards
    equality-deletes  plain tables with equality deletes: heaps, times and bytes, beside stock Iceberg
    reducers    tables that aggregate as they merge, beside Spark's aggregation of the events
    aggregates  the same tables beside those that MERGE keeps in Delta
    local       look-ups and small writes from Python without Spark, beside pyiceberg, DuckDB, delta-rs and LanceDB
    any-engine  merged states for engines that do not merge: making them, and DuckDB's reads of them
    install     what an install weighs, and how long it takes to the first merged read
    pipelines   a stream of changes beside other sinks, small batches, columns that are added, a simulated day with a
                controller, many tables in one job, rows of databases and topics, freshness; --part chooses; `make
                flink mariadb postgres kafka` goes first
    soak        writers, readers and a compactor at once, for ten minutes

Each prints a table and leaves results/NAME.json. Without a name, all of them run. `--page` runs nothing: it writes
sdk/docs/figures.md from the results. No figure is ever asserted here; only wrong answers end a run.
"""

import argparse
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from rich.console import Console

sys.path[0] = str(Path(__file__).parents[1])  # the rooms of the tests are imported by their names, as pytest does it

from benchmarks import (  # noqa: E402
    aggregates,
    any_engine,
    backfill,
    compaction,
    equality_deletes,
    figures,
    first,
    first_reads,
    fresh,
    growth,
    install,
    late,
    loads,
    local,
    lookups,
    pipelines,
    reads,
    reducers,
    repair,
    settling,
    small_writes,
    soak,
    sql,
    wide,
)
from benchmarks.arena import Choice  # noqa: E402

PAGE = Path(__file__).parents[2] / "sdk" / "docs" / "figures.md"
BENCHES = (
    "first",
    "reads",
    "first-reads",
    "compaction",
    "settling",
    "joins",
    "loads",
    "lookups",
    "growth",
    "fresh",
    "late",
    "small-writes",
    "wide",
    "repair",
    "sql",
    "equality-deletes",
    "reducers",
    "aggregates",
    "local",
    "any-engine",
    "install",
    "pipelines",
    "soak",
)


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))  # and all servers with it
    parser = argparse.ArgumentParser("benchmarks", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"one of {', '.join(BENCHES)}; all of them unless said"
    )
    parser.add_argument("--scale", type=float, default=1.0, help="the size; 0.1 makes a quick one")
    for part in ("workload", "question", "system"):
        parser.add_argument(
            f"--{part}",
            type=lambda words: words.split(","),
            default=[],
            help=f"of reads: only this {part}; several with commas",
        )
    parser.add_argument(
        "--part",
        type=lambda words: words.split(","),
        default=[],
        help="of joins: only this one of joins, publish and writes; of equality-deletes: only small-heap; "
        "of wide: only small; of lookups: only files, or only values; "
        "of pipelines: only some of its parts, such as sources",
    )
    parser.add_argument("--with-hudi", action="store_true", help="of reads: Hudi too, which fetches a Spark of its own")
    parser.add_argument(
        "--trial", action="store_true", help="of reads and sql: one round of each, to see that it works"
    )
    parser.add_argument("--page", action="store_true", help="write the page of figures")
    asked = parser.parse_args()
    unknown = [name for name in asked.names if name not in BENCHES]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; there is {', '.join(BENCHES)}")
    if asked.with_hudi and asked.workload:
        asked.workload.append("hudi")
    choice = Choice(asked.workload, asked.question, asked.system, asked.with_hudi, asked.trial)
    console = Console(width=None if sys.stdout.isatty() else 160)
    if asked.page:
        PAGE.write_text(figures.page())
        return
    runs: dict[str, Callable[[float, Console], figures.Findings]] = {
        "first": first.run,
        "reads": partial(reads.run, choice=choice),
        "first-reads": first_reads.run,
        "compaction": compaction.run,
        "settling": settling.run,
        "joins": partial(backfill.run, chosen=asked.part),
        "loads": loads.run,
        "lookups": partial(lookups.run, chosen=asked.part),
        "growth": growth.run,
        "fresh": fresh.run,
        "late": late.run,
        "small-writes": small_writes.run,
        "wide": partial(wide.run, chosen=asked.part),
        "repair": repair.run,
        "sql": partial(sql.run, trial=asked.trial),
        "equality-deletes": partial(equality_deletes.run, chosen=asked.part),
        "reducers": reducers.run,
        "aggregates": aggregates.run,
        "local": local.run,
        "any-engine": any_engine.run,
        "install": install.run,
        "pipelines": partial(pipelines.run, chosen=asked.part),
        "soak": soak.run,
    }
    for name in asked.names or BENCHES:
        found = runs[name](asked.scale, console)
        figures.show(found, console)
        console.print(f"[dim]{figures.write(name, found, asked.part)}[/]", highlight=False)


if __name__ == "__main__":
    main()
