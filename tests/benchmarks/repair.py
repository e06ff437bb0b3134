"""Rollback, undo, cherry-pick, archive and publish beside a plain append; MERGE for the same; change feeds.

A table of a base and 199 updates of 0.1% of its keys each, spread over all of them, and nothing compacted.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame
from rich.console import Console

import keylake as kl
from benchmarks.engine import Connected
from benchmarks.figures import Figure, Findings, Target, figure
from benchmarks.machine import PLAIN, Machine, machine
from benchmarks.stopwatch import Pace, Times, race, seconds

KEYS, COMMITS, CHANGED = 5_000_000, 200, 0.001
UNDONE = slice(150, 170)
FEED = 10  # commits: 1% of the keys
STRIDE = 997  # has no factor in common with the number of keys
WARM_UP, ROUNDS = Pace(2, 2, 0), Pace(5, 5, 0)
FEED_WARM_UP, FEED_ROUNDS = Pace(2, 2, 0), Pace(3, 3, 0)


class Row(kl.Table, name="bench.repaired", buckets=8, versions="explicit"):
    """Some columns of each kind; no commit of this table is ever compacted."""

    id: kl.Int64 = kl.key()
    a: kl.Int64 | None = kl.column()
    b: kl.Int64 | None = kl.column()
    c: kl.Float64 | None = kl.column()
    d: kl.Float64 | None = kl.column()
    e: str | None = kl.column()


class Fed(Row, name="bench.fed", buckets=8, versions="explicit"):
    """The same rows, compacted before the commits of the change feed, as maintenance leaves them."""


COLUMNS = "id, a, b, c, d, e"


def run(scale: float, console: Console) -> Findings:
    """Everything, on one table."""
    keys = max(round(KEYS * scale / 1000), 10) * 1000
    with machine() as place:
        words = f"{keys:,} keys, {COMMITS} commits of {CHANGED:.1%} after the first; {place.describe()}"
        console.print(words, highlight=False)
        bench = Bench.written(place, keys, console)
        figures = [*bench.operations(console), *bench.correction(console), *bench.feed(console)]
        return Findings(words, figures)


@dataclass
class Bench:
    """The table, its commits, and a plain table that knows the same files."""

    place: Machine
    keys: int
    lake: kl.Lake
    table: kl.KeyedTable[Row]
    commits: list[kl.Commit]
    side: kl.KeyedTable[Row]
    names: Iterator[int]

    @classmethod
    def written(cls, place: Machine, keys: int, console: Console) -> "Bench":
        lake = place.session()
        table = lake.create(Row)
        console.print("writing the table")
        changed = round(keys * CHANGED)
        commits = [
            table.upsert(rows(lake, keys, changed if number else keys, number), version="version")
            for number in range(COMMITS)
        ]
        side = table.branch("tmp_side")
        for number in range(COMMITS, COMMITS + 20):
            side.upsert(rows(lake, keys, changed, number), version="version")
        engine = Connected(lake.spark)
        log = "SELECT file FROM lake.bench.repaired.metadata_log_entries ORDER BY timestamp DESC LIMIT 1"
        metadata = str(engine.fetch(log)[0][0])
        engine.fetch(f"CALL {PLAIN}.system.register_table(table => 'bench.repaired', metadata_file => '{metadata}')")
        return cls(place, keys, lake, table, commits, side, iter(range(10**6)))

    # -------------------------------------------------------------------------------------------- metadata only

    def operations(self, console: Console) -> list[Figure]:
        """Each operation and a plain append of one file, in turns; and all of them without the data files."""
        one = self.lake.spark.createDataFrame(self.lake.spark.table(f"{PLAIN}.bench.repaired").limit(1).toArrow())
        drafts = [self._draft() for _ in range(WARM_UP.most + ROUNDS.most + 1)]
        branches = [self._fresh() for _ in range(3 * len(drafts))]
        day = datetime(2026, 1, 1, tzinfo=UTC)

        def archived() -> None:
            made = self.table.archive(day + timedelta(days=next(self.names)), every=timedelta(0))
            assert len(made) == 1

        tasks: dict[str, Callable[[], object]] = {
            "rollback": lambda: branches.pop().rollback(to=self.commits[UNDONE.start]),
            "undo of 20 commits": lambda: branches.pop().undo(after=self.commits[UNDONE.start], until=self._until()),
            "cherry-pick of 20 commits": lambda: branches.pop().cherry_pick(self.side),
            "archive": archived,
            "publish beside other commits": lambda: drafts.pop().publish(),
        }
        with_append = {
            "append": lambda _: one.writeTo(f"{PLAIN}.bench.repaired").append(),
            **{name: lambda _, task=task: task() for name, task in tasks.items()},
        }
        times = race(with_append, warm_up=WARM_UP, rounds=ROUNDS)
        self.undo = times["undo of 20 commits"]
        opened = self._opened(tasks)
        for name, each in times.items():
            console.print(f"  {name} {each} s", highlight=False)
        return [
            figure(
                "data files that any of them opens", opened, Target(0), "they are done while the files are not there"
            ),
            *(
                figure(f"{name} / a plain append of one file", times[name].over(times["append"]), Target(3))
                for name in tasks
            ),
        ]

    def _until(self) -> kl.Commit:
        return self.commits[UNDONE.stop]

    def _fresh(self) -> kl.KeyedTable[Row]:
        return self.table.branch(f"tmp_{next(self.names)}")

    def _draft(self) -> kl.KeyedTable[Row]:
        """A branch with a commit of its own."""
        draft = self._fresh()
        draft.update([{"id": 7, "a": 7}], version=2 * COMMITS)
        return draft

    def _opened(self, tasks: dict[str, Callable[[], object]]) -> int:
        """How many of the tasks fail while no data file is where it was."""
        data = self.place.folder / "lake" / "bench" / "repaired" / "data"
        hidden = Path(f"{data}_hidden")
        data.rename(hidden)
        failed = 0
        try:
            for task in tasks.values():
                try:
                    task()
                except kl.KeylakeError:
                    failed += 1
        finally:
            hidden.rename(data)
        return failed

    # --------------------------------------------------------------------------------------------- the same by MERGE

    def correction(self, console: Console) -> list[Figure]:
        """What the undo does, done to a plain table of the merged rows: the rows before are merged in."""
        before, until = self.commits[UNDONE.start], self._until()
        wanted = self.table.appended(after=before, until=until, columns=["id"]).select("id")
        rows_before = self.table.read(at=before).join(wanted, "id")
        rows_before.writeTo(f"{PLAIN}.bench.correction").create()
        found: list[Figure] = []
        for name, properties in (
            ("copy on write", "'write.merge.mode' = 'copy-on-write'"),
            ("deletion vectors", "'write.merge.mode' = 'merge-on-read', 'format-version' = '3'"),
        ):
            table = self._merged(properties)
            taken = Times((seconds(partial(self._merge, table, "correction")),))
            console.print(f"  MERGE of the same, {name} {taken} s", highlight=False)
            ratio = taken.median / self.undo.median
            found.append(figure(f"MERGE, {name} / undo of 20 commits", ratio, Target(50, at_least=True)))
        return found

    def _merged(self, properties: str) -> str:
        """A plain table of the merged rows."""
        table = f"{PLAIN}.bench.corrected"
        self.lake.spark.sql(f"DROP TABLE IF EXISTS {table} PURGE").collect()
        self.lake.spark.sql(
            f"CREATE TABLE {table} USING iceberg PARTITIONED BY (bucket(8, id)) TBLPROPERTIES ({properties}) "
            f"AS SELECT {COLUMNS} FROM lake.bench.repaired"
        ).collect()
        return table

    def _merge(self, table: str, source: str) -> None:
        self.lake.spark.sql(
            f"MERGE INTO {table} t USING {PLAIN}.bench.{source} s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        ).collect()

    # --------------------------------------------------------------------------------------------------- change feed

    def feed(self, console: Console) -> list[Figure]:
        """The feed over 1% of the keys, against joins of two full reads and the change log of a plain table."""
        fed = self.lake.create(Fed)
        commits = [
            fed.upsert(rows(self.lake, self.keys, self.keys, 0), version="version"),
            *(
                fed.upsert(rows(self.lake, self.keys, round(self.keys * CHANGED), number), version="version")
                for number in range(1, FEED + 1)
            ),
        ]
        before, until = commits[0], commits[-1]
        plain = f"{PLAIN}.bench.changed"
        self.lake.spark.sql(
            f"CREATE TABLE {plain} USING iceberg PARTITIONED BY (bucket(8, id)) "
            f"AS SELECT {COLUMNS} FROM lake.bench.fed VERSION AS OF {before.snapshot_id}"
        ).collect()
        written = fed.appended(after=before, until=until).select(*COLUMNS.split(", "))
        written.writeTo(f"{PLAIN}.bench.change").create()
        first = self._head(plain)
        self._merge(plain, "change")
        last = self._head(plain)
        self.lake.spark.sql(
            f"CALL {PLAIN}.system.create_changelog_view(table => 'bench.changed', changelog_view => 'changelog', "
            f"identifier_columns => array('id'), options => map('start-snapshot-id', '{first}', "
            f"'end-snapshot-id', '{last}'))"
        ).collect()
        tasks = {
            "change feed": fed.changes(after=before, until=until),
            "change feed of 200 runs": self.table.changes(after=self.commits[-1 - FEED], until=self.commits[-1]),
            "full outer join of our own reads": self._joined(
                *(f"lake.bench.fed VERSION AS OF {commit.snapshot_id}" for commit in (before, until))
            ),
            "full outer join of plain tables": self._joined(
                *(f"{plain} VERSION AS OF {snapshot}" for snapshot in (first, last))
            ),
            "create_changelog_view": self.lake.spark.table("changelog"),
        }
        counts = {name: frame.count() for name, frame in tasks.items()}
        changed = counts["change feed"]
        assert counts["full outer join of our own reads"] == counts["full outer join of plain tables"] == changed > 0, (
            counts
        )
        times = race(
            {name: partial(_consume, frame) for name, frame in tasks.items()},
            warm_up=FEED_WARM_UP,
            rounds=FEED_ROUNDS,
        )
        for name, each in times.items():
            console.print(f"  {name} {each} s, {counts[name]} rows", highlight=False)
        wanted = Target(5, at_least=True)
        return [
            figure(
                f"{name} / change feed over 1% of the keys",
                times[name].over(times["change feed"]),
                None if "200 runs" in name else wanted,
            )
            for name in tasks
            if name != "change feed"
        ]

    def _head(self, table: str) -> int:
        row = self.lake.spark.sql(f"SELECT snapshot_id FROM {table}.snapshots ORDER BY committed_at DESC").first()
        assert row is not None
        return int(row[0])

    def _joined(self, before: str, after: str) -> DataFrame:
        values = COLUMNS.split(", ")[1:]
        differs = " OR ".join(f"NOT (b.{name} <=> a.{name})" for name in values)
        images = ", ".join(f"struct({', '.join(f'{side}.{name}' for name in values)}) AS {side}" for side in "ba")
        return self.lake.spark.sql(
            f"SELECT coalesce(b.id, a.id) AS id, {images} FROM {before} b FULL OUTER JOIN {after} a ON b.id = a.id "
            f"WHERE b.id IS NULL OR a.id IS NULL OR {differs}"
        )


def rows(lake: kl.Lake, keys: int, count: int, commit: int) -> DataFrame:
    """So many rows, of keys that lie everywhere, with the commit as their version."""
    number = f"pmod(id * {STRIDE} + {commit} * 7919, {keys})"
    return lake.spark.range(count).selectExpr(
        f"{number} AS id",
        f"xxhash64({number}, {commit}) AS a",
        f"{number} * 3 + {commit} AS b",
        f"rand({commit}) AS c",
        f"CAST({number} AS DOUBLE) / 7 AS d",
        f"concat('text ', {number} % 1000, ' of ', {commit}) AS e",
        f"CAST({commit} AS BIGINT) AS version",
    )


def _consume(frame: DataFrame, _: int) -> None:
    frame.write.format("noop").mode("overwrite").save()
