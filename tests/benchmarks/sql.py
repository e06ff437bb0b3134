"""UPDATE, DELETE and MERGE in SQL, in four systems that hold the same table.

1. Stage      the base and the sources of MERGE, by a Spark that ends before anything is measured.
2. Write      the base into every system, each in a process of its own; none of them stops before the end.
3. Measure    statement by statement, round by round, all systems in turns: the statement, the bytes that it wrote, and
              reads of all columns right afterwards. Then the table is set back to its base by metadata alone.
4. Check      the rows after every statement are equal in all systems.

Delta refuses Spark's sink that throws rows away. So there are two reads: into that sink where a system feeds it, and
one that hashes every value, in all systems.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar, Protocol

from rich.console import Console

import keylake as kl
from benchmarks import machine
from benchmarks.arena import Staging
from benchmarks.engine import Connected
from benchmarks.figures import Figure, Findings, Target, figure
from benchmarks.questions import consume, fingerprint
from benchmarks.spark_server import CATALOG, CORES, HEAP
from benchmarks.stopwatch import Times, seconds
from benchmarks.system import Reader, Staged, System
from benchmarks.systems.delta_merge import DeltaMerge, DeltaTable
from benchmarks.systems.iceberg_merge import IcebergMerge, IcebergMergeCopying, MergedInto
from benchmarks.systems.keyed import Keyed, Keylake
from benchmarks.workload import BUCKETS, KEY, Workload
from benchmarks.workloads.whole_rows import FULL_SIZE, SEED, whole_rows

WARM_UP, ROUNDS = 2, 7  # rounds, of which so many are not counted
ONE_PERCENT = "pmod(xxhash64({key}, {round}), 100) = 0"
CHANGED = "long_8"
SINK, HASHED = "a read of all columns", "a read that hashes all columns"
STORED = {".parquet", ".puffin", ".bin"}  # rows, and deletion vectors of Iceberg and of Delta
DESCRIBING = {"metadata", "_delta_log"}


class Table(Reader, Protocol):
    """A table with its base, which can be set back to it."""

    table: str
    engine: Connected


@dataclass(frozen=True)
class Contestant:
    """A system with its table, and how to set that back."""

    name: str
    table: Table
    folder: Path
    reset: Callable[[], object]
    feeds_sinks: bool

    def stored(self) -> dict[Path, int]:
        """The sizes of all files that hold rows or deletions, also of those that no snapshot needs."""
        return {
            path: path.stat().st_size
            for path in self.folder.rglob("*")
            if path.suffix in STORED and not DESCRIBING & set(path.parts)
        }


@dataclass(frozen=True)
class Statement:
    """A statement of SQL, given the name of a table and the number of the round."""

    name: str
    text: Callable[[str, int], str]


@dataclass(frozen=True)
class Outcome:
    """One statement of one system."""

    seconds: float
    written: int
    reads: Mapping[str, float]
    rows: tuple[object, ...]


def run(scale: float, console: Console, trial: bool) -> Findings:
    """Everything, told as it goes. A trial is one round of each statement, to see that all of it works."""
    rounds, warm_up = (1, 0) if trial else (ROUNDS, WARM_UP)
    workload = replace(whole_rows(round(FULL_SIZE * scale)), commits=rounds)
    with TemporaryDirectory(prefix="keylake-bench-") as name, ExitStack() as opened:
        folder = Path(name)
        with closing(Staging(folder / "staging")) as staging:
            staged = Staged(workload, workload.stage(staging.engine.spark, folder / "staged"))
        contestants = list(_contestants(folder, staged, opened))
        words = (
            f"{workload.keys:,} keys x {len(workload.columns)} columns, {BUCKETS} buckets, seed {SEED}, "
            f"{machine.processor()}, local[{CORES}] and heap {HEAP} for each system, "
            f"{warm_up} of {rounds} rounds to warm up"
        )
        console.print(words, highlight=False)
        figures: list[Figure] = []
        details: list[Figure] = []
        times: dict[str, dict[str, Times]] = {}
        for statement in _statements(workload):
            console.print(statement.name)
            outcomes = _measured(statement, contestants, staged, warm_up)
            by_read = {read: _times_of_read(outcomes, read) for read in (SINK, HASHED)}
            times[statement.name] = {each: Times(tuple(one.seconds for one in outcomes[each])) for each in outcomes}
            times |= {f"{statement.name}, {read} afterwards": by_read[read] for read in by_read}
            written = {each: Times(tuple(float(one.written) for one in outcomes[each])) for each in outcomes}
            for each in outcomes:
                console.print(
                    f"  {each:24} {times[statement.name][each]} s, {written[each].median / 1e6:.2f} MB", highlight=False
                )
            details += [figure(f"{statement.name}, {each}, MB", written[each].median / 1e6) for each in written]
            figures += _compared(statement, times[statement.name], written, by_read)
    return Findings(words, figures, times, details)


def _statements(workload: Workload) -> Sequence[Statement]:
    def where(number: int) -> str:
        return ONE_PERCENT.format(key=KEY, round=number)

    columns = [column for column in workload.columns if column != KEY]
    merge = (
        f"MERGE INTO {{table}} t USING source s ON t.{KEY} = s.{KEY} "
        f"WHEN MATCHED THEN UPDATE SET {', '.join(f't.{column} = s.{column}' for column in columns)} "
        "WHEN NOT MATCHED THEN INSERT *"
    )
    return (
        Statement(
            "UPDATE of one column of 1%",
            lambda table, number: f"UPDATE {table} SET {CHANGED} = {CHANGED} + 1 WHERE {where(number)}",
        ),
        Statement("DELETE of 1%", lambda table, number: f"DELETE FROM {table} WHERE {where(number)}"),
        Statement("MERGE of 10%", lambda table, _: merge.format(table=table)),
    )


def _measured(
    statement: Statement, contestants: Sequence[Contestant], staged: Staged, warm_up: int
) -> dict[str, list[Outcome]]:
    """The outcomes of the rounds after the warm-up; every round begins with another system."""
    outcomes: dict[str, list[Outcome]] = {each.name: [] for each in contestants}
    for number in range(staged.workload.commits):
        first = number % len(contestants)
        found = {
            each: _outcome(statement, each, staged, number) for each in (*contestants[first:], *contestants[:first])
        }
        rows = {each.name: outcome.rows for each, outcome in found.items()}
        assert len(set(rows.values())) == 1, f"the answers differ after {statement.name}: {rows}"
        if number >= warm_up:
            for each, outcome in found.items():
                outcomes[each.name].append(outcome)
    return outcomes


def _outcome(statement: Statement, contestant: Contestant, staged: Staged, number: int) -> Outcome:
    table, batch = contestant.table, staged.batches[1 + number]
    # A tenth of the keys is known, but for one row of fifty, whose key is new.
    source = batch.frame(table.engine.spark).selectExpr(
        f"IF(pmod(xxhash64({KEY}), 50) = 0, {KEY} + {staged.workload.keys}, {KEY}) AS {KEY}",
        *(column for column in staged.workload.columns if column != KEY),
    )
    source.createOrReplaceTempView("source")
    before = contestant.stored()
    taken = seconds(lambda: table.engine.fetch(statement.text(table.table, number)))
    written = sum(size for path, size in contestant.stored().items() if path not in before)
    reads = {}
    columns = staged.workload.columns
    if contestant.feeds_sinks:
        reads[SINK] = seconds(lambda: consume(table, columns))
    rows: list[tuple[object, ...]] = []
    reads[HASHED] = seconds(lambda: rows.append(fingerprint(table, columns)))
    contestant.reset()
    return Outcome(taken, written, reads, rows[0])


def _times_of_read(outcomes: Mapping[str, Sequence[Outcome]], read: str) -> dict[str, Times]:
    return {
        name: Times(tuple(one.reads[read] for one in all_rounds))
        for name, all_rounds in outcomes.items()
        if all(read in one.reads for one in all_rounds)
    }


def _compared(
    statement: Statement,
    times: Mapping[str, Times],
    written: Mapping[str, Times],
    by_read: Mapping[str, Mapping[str, Times]],
) -> Iterator[Figure]:
    """Each figure of keylake beside the best of the others."""
    bytes_target = Target(1 / 5) if statement.name.startswith("UPDATE") else None
    yield _beside_best(f"{statement.name}: time", times, Target(1 / 3))
    yield _beside_best(f"{statement.name}: bytes written", written, bytes_target)
    for read, of_systems in by_read.items():
        yield _beside_best(f"{statement.name}: {read} right afterwards", of_systems, Target(1.15))


def _beside_best(name: str, values: Mapping[str, Times], target: Target | None) -> Figure:
    best = min((each for each in values if each != Keyed.name), key=lambda each: values[each].median)
    return figure(
        f"{name}, keylake / best of the others", values[Keyed.name].over(values[best]), target, f"the best is {best}"
    )


# --------------------------------------------------------------------------------------------------------- contestants


class ByCommit(Keyed):
    """A keyed table whose versions are commit times: nothing has to be said of them in SQL."""

    def __init__(self, lake: kl.Lake, workload: Workload) -> None:
        self.workload = workload
        self.engine = Connected(lake.spark)
        name = f"bench.{workload.name}"
        self.table = f"{lake.catalog}.{name}"
        self.keyed = lake.create(kl.TableSpec.from_arrow(workload.schema, name=name, key=KEY, buckets=BUCKETS))


class IcebergVectors(IcebergMerge):
    name = "Iceberg deletion vectors"


class IcebergCopies(IcebergMergeCopying):
    name = "Iceberg copy-on-write"


class Delta(DeltaMerge):
    name = "Delta deletion vectors"
    # By default it reads the log of even the smallest table in 50 tasks, several times for a statement.
    settings: ClassVar[Mapping[str, str]] = {**DeltaMerge.settings, "spark.databricks.delta.snapshotPartitions": "2"}


def _contestants(folder: Path, staged: Staged, opened: ExitStack) -> Iterator[Contestant]:
    lake = opened.enter_context(closing(Keylake(folder / "keylake")))
    keyed = ByCommit(lake.lake, staged.workload)
    base = keyed.keyed.upsert(staged.batches[0].frame(keyed.engine.spark).select(*staged.workload.columns))
    yield Contestant(Keyed.name, keyed, lake.folder, lambda: keyed.keyed.rollback(to=base), feeds_sinks=True)
    staged = replace(staged, keyed=keyed.files())
    kinds: tuple[type[IcebergMerge], ...] = (IcebergCopies, IcebergVectors)
    for kind in kinds:
        iceberg = opened.enter_context(closing(kind(folder / kind.mode)))
        yield _iceberg(iceberg, staged)
    delta = opened.enter_context(closing(Delta(folder / "delta")))
    written = DeltaTable(delta, staged)
    written.write(staged.batches[0])
    version = max(int(str(row[0])) for row in written.engine.fetch(f"DESCRIBE HISTORY {written.table}"))
    restore = f"RESTORE TABLE {written.table} TO VERSION AS OF {version}"
    yield _contestant(delta, written, lambda: delta.run(restore))


def _iceberg(system: IcebergMerge, staged: Staged) -> Contestant:
    written = MergedInto(system, staged)
    written.write(staged.batches[0])
    snapshot = written.engine.fetch(f"SELECT max_by(snapshot_id, committed_at) FROM {written.table}.snapshots")[0][0]
    name = written.table.removeprefix(f"{CATALOG}.")
    rollback = f"CALL {CATALOG}.system.rollback_to_snapshot('{name}', {snapshot})"
    return _contestant(system, written, lambda: system.run(rollback))


def _contestant(system: System, table: Table, reset: Callable[[], object]) -> Contestant:
    return Contestant(system.name, table, system.folder, reset, system.feeds_sinks)
