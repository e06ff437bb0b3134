"""What compaction costs and spares, on real tables that are written day by day.

1. Keep      60 daily updates of 2%, 10% and 50% of the keys, once with the default policy, once merging everything each
             day, once merging nothing, and once in a plain table that Iceberg's `rewrite_data_files` tends: the bytes
             and files that 30 days of snapshots stand on at the end, how often a byte is written, how many runs a read
             merges.
2. Rewrite   base and ten upserts, merged by keylake, beside Iceberg's own sort rewrite of the same files.

The last day of each history is compared: all give the same rows.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from rich.console import Console

import keylake as kl
from benchmarks.engine import Connected
from benchmarks.figures import RESULTS, Figure, Findings, Target, figure
from benchmarks.machine import PLAIN, Machine, machine
from benchmarks.stopwatch import Times, seconds
from benchmarks.systems.keyed import Keyed, OnBranch
from benchmarks.systems.same_files import SameFiles
from benchmarks.workload import KEY
from benchmarks.workloads.whole_rows import SEED, whole_rows

DAYS, KEPT_DAYS = 60, 30
SHARES = (0.02, 0.10, 0.50)
KEYS, VALUES, BUCKETS = 200_000, 8, 4
REWRITES = 3


class Day(kl.Table, name="bench.day", buckets=BUCKETS):
    """A row of features of one key."""

    id: kl.Int64 = kl.key()
    day: kl.Int64 = kl.ordering()
    name: str | None = kl.column()
    v0: kl.Float64 | None = kl.column()
    v1: kl.Float64 | None = kl.column()
    v2: kl.Float64 | None = kl.column()
    v3: kl.Float64 | None = kl.column()
    v4: kl.Float64 | None = kl.column()
    v5: kl.Float64 | None = kl.column()
    v6: kl.Float64 | None = kl.column()


# The default, but for where tiers begin: a bucket has less than a megabyte here, and would all be in the lowest tier.
DEFAULT = kl.CompactionPolicy(small_bytes=16 << 10)
REWRITING = "Iceberg's rewrite_data_files"
POLICIES: dict[str, Callable[[kl.KeyedTable], object] | None] = {
    "default policy": lambda table: table.compact(DEFAULT),
    "everything each day": lambda table: table.compact("full"),
    "nothing": lambda table: None,
    REWRITING: None,
}


class Diary(ABC):
    """A table that gets rows each day, and is tended afterwards."""

    def __init__(self, lake: kl.Lake, sql_name: str) -> None:
        self.lake = lake
        self.sql_name = sql_name

    @abstractmethod
    def write(self, rows: str) -> None:
        """Take the rows of a day, a query."""

    @abstractmethod
    def tend(self) -> None:
        """What is done after each day."""

    @abstractmethod
    def depth(self) -> float:
        """Runs that a read of a bucket merges now, on average."""

    @abstractmethod
    def newest(self) -> str:
        """The merged rows, as a query."""

    def live(self) -> dict[str, int]:
        """The files of today, with their bytes."""
        rows = self.lake.spark.sql(f"SELECT file_path, file_size_in_bytes FROM {self.sql_name}.files").collect()
        return {str(path): int(size) for path, size in rows}


class KeyedDiary(Diary):
    """A keyed table."""

    def __init__(self, lake: kl.Lake, name: str, policy: Callable[[kl.KeyedTable], object]) -> None:
        super().__init__(lake, f"{lake.catalog}.{name}")
        self.table = lake.create(_named(name))
        self._policy = policy

    def write(self, rows: str) -> None:
        self.table.upsert(self.lake.spark.sql(rows))

    def tend(self) -> None:
        self._policy(self.table)

    def depth(self) -> float:
        plan = self.table.compaction_plan()
        return sum(bucket.depth for bucket in plan) / len(plan)

    def newest(self) -> str:
        return f"SELECT * FROM {self.sql_name}"


class PlainDiary(Diary):
    """A plain table in the same buckets, whose small files Iceberg puts together; who reads it keeps the newest."""

    def __init__(self, lake: kl.Lake, name: str) -> None:
        super().__init__(lake, f"{PLAIN}.{name}")
        self._name = name
        columns = ", ".join(f"v{n} DOUBLE" for n in range(VALUES - 1))
        self._run(
            f"CREATE TABLE {self.sql_name} (id BIGINT, day BIGINT, name STRING, {columns}) "
            f"USING iceberg PARTITIONED BY (bucket({BUCKETS}, id))"
        )

    def _run(self, statement: str) -> None:
        self.lake.spark.sql(statement).collect()

    def write(self, rows: str) -> None:
        self._run(f"INSERT INTO {self.sql_name} {rows}")

    def tend(self) -> None:
        self._run(f"CALL {PLAIN}.system.rewrite_data_files(table => '{self._name}')")

    def depth(self) -> float:
        return len(self.live()) / BUCKETS  # any file of a bucket may have any of its keys

    def newest(self) -> str:
        names = ", ".join(["day", "name", *(f"v{n}" for n in range(VALUES - 1))])
        newest = f"SELECT id, max_by(struct({names}), day) AS newest FROM {self.sql_name} GROUP BY id"
        return f"SELECT id, newest.* FROM ({newest})"


@dataclass
class Kept:
    """What one policy keeps of one history."""

    files: dict[str, int] = field(default_factory=dict)  # that the kept snapshots stand on, with their bytes
    appended: int = 0
    written: int = 0
    depths: list[float] = field(default_factory=list)  # runs that a read of a bucket merges, at the end of each day
    stored: list[int] = field(default_factory=list)  # bytes that all kept snapshots stand on, at the end of each day

    @property
    def bytes(self) -> int:
        return sum(self.files.values())


def run(scale: float, console: Console) -> Findings:
    """Everything, told as it goes."""
    keys = max(round(KEYS * scale), 1000)
    with machine() as place:
        words = (
            f"{keys:,} keys x {VALUES + 2} columns, {DAYS} days, {BUCKETS} buckets, snapshots of {KEPT_DAYS} days, "
            f"tiers from {DEFAULT.small_bytes >> 10} KiB on; "
            f"seed {SEED}, {place.describe()}"
        )
        console.print(words, highlight=False)
        figures: list[Figure] = []
        details: list[Figure] = []
        kept: dict[str, dict[str, Kept]] = {}
        for share in SHARES:
            of_share = {name: _history(place, keys, share, name, console) for name in POLICIES}
            checks = {check for check, _ in of_share.values()}
            assert len(checks) == 1, f"the answers differ: {checks}"
            kept[f"{share:.0%}"] = {name: found for name, (_, found) in of_share.items()}
            figures += _of_storage(share, kept[f"{share:.0%}"])
            details += _of_work(share, kept[f"{share:.0%}"])
        figures += _of_rewriting(place, scale, console)
        _draw(kept)
    return Findings(words, figures, details=details)


# ------------------------------------------------------------------------------------------------------------- keeping


def _history(place: Machine, keys: int, share: float, policy: str, console: Console) -> tuple[object, Kept]:
    name = f"bench.day_{round(100 * share)}_{list(POLICIES).index(policy)}"
    tending = POLICIES[policy]
    lake = place.session()
    diary = PlainDiary(lake, name) if tending is None else KeyedDiary(lake, name, tending)
    kept = Kept()
    with console.status(f"{share:.0%} a day, {policy}") as status:
        for day in range(DAYS + 1):
            status.update(f"{share:.0%} a day, {policy}: day {day} of {DAYS}")
            before = diary.live()
            diary.write(_rows(keys, share if day else 1.0, day))
            appended = diary.live()
            diary.tend()
            after = diary.live()
            kept.appended += _bytes(appended, before)
            kept.written += _bytes(appended, before) + _bytes(after, appended)
            kept.files |= appended | after
            if day == DAYS - KEPT_DAYS:  # older snapshots expire: what the oldest kept one stands on is left
                kept.files = dict(after)
            kept.stored.append(kept.bytes)
            kept.depths.append(diary.depth())
    told = f"{kept.bytes / 1e6:.0f} MB in {len(kept.files)} files, {len(after)} of them live"
    console.print(f"  {share:.0%} a day, {policy}: {told}", highlight=False)
    total = f"SELECT count(*), sum(crc32(concat_ws('/', id, day, name, v0, v6))) FROM ({diary.newest()})"
    return tuple(lake.spark.sql(total).collect()[0]), kept


def _named(name: str) -> kl.TableSpec:
    return kl.TableSpec.from_json(Day.table_spec().to_json().replace('"bench.day"', f'"{name}"'))


def _rows(keys: int, share: float, day: int) -> str:
    """Some of the keys, drawn by a hash of key and day; values that compress as badly as real ones."""
    drawn = f"pmod(xxhash64(id, {day}, {SEED}), 10000) < {round(share * 10_000)}"
    values = ", ".join(f"rand({SEED + 100 * day + n}) AS v{n}" for n in range(VALUES - 1))
    return f"SELECT id, {day}L AS day, concat('name ', id % 977) AS name, {values} FROM range({keys}) WHERE {drawn}"


def _bytes(after: dict[str, int], before: dict[str, int]) -> int:
    return sum(size for path, size in after.items() if path not in before)


def _of_storage(share: float, kept: dict[str, Kept]) -> list[Figure]:
    mine, full = kept["default policy"], kept["everything each day"]
    target = Target(0.4) if share < SHARES[-1] else Target(1.0)
    title = f"{share:.0%} a day: default policy / merging everything each day"
    return [
        figure(f"{title}, bytes kept", mine.bytes / full.bytes, target),
        figure(f"{title}, files kept", len(mine.files) / len(full.files)),
    ]


def _of_work(share: float, kept: dict[str, Kept]) -> list[Figure]:
    return [
        each
        for name, found in kept.items()
        for each in (
            figure(f"{share:.0%} a day, {name}: bytes written / bytes appended", found.written / found.appended),
            figure(f"{share:.0%} a day, {name}: runs a read merges, mean", sum(found.depths) / len(found.depths)),
            figure(f"{share:.0%} a day, {name}: runs a read merges, at most", max(found.depths)),
        )
    ]


def _draw(kept: dict[str, dict[str, Kept]]) -> Path:
    """A picture: bytes kept, and runs that a read merges, day by day."""
    from matplotlib.figure import Figure as Picture

    picture = Picture(figsize=(4 * len(kept), 6), layout="constrained")
    rows = picture.subplots(2, len(kept), squeeze=False, sharex=True)
    for place, (share, by_policy) in enumerate(kept.items()):
        for name, found in by_policy.items():
            rows[0][place].plot([stored / 1e6 for stored in found.stored], label=name)
            rows[1][place].plot(found.depths, label=name)
        rows[0][place].set_title(f"{share} of the keys a day")
        rows[1][place].set_xlabel("day")
    rows[0][0].set_ylabel("MB that kept snapshots stand on")
    rows[1][0].set_ylabel("runs a read merges")
    rows[0][0].legend()
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "compaction.png"
    picture.savefig(path, dpi=120)
    return path


# ----------------------------------------------------------------------------------------------------------- rewriting


def _of_rewriting(place: Machine, scale: float, console: Console) -> list[Figure]:
    """The same files, merged by keylake, and sorted by Iceberg: both read all bytes, in turns."""
    workload = whole_rows(max(round(1_000_000 * scale), 1000))
    lake = place.session()
    keyed = Keyed(lake, "bench.rewritten", workload)
    console.print("writing what is to be rewritten")
    for batch in workload.stage(lake.spark, place.folder / "staged" / "rewritten"):
        keyed.write(batch)
    stock = Connected(lake.spark)
    mine, theirs = [], []
    for number in range(REWRITES):
        branch = OnBranch(keyed, f"r{number}").keyed
        plain = SameFiles(stock, f"{PLAIN}.bench.sorted_{number}", workload, keyed.files().metadata_file)
        sort = (
            f"CALL {PLAIN}.system.rewrite_data_files(table => 'bench.sorted_{number}', strategy => 'sort', "
            f"sort_order => '{KEY}', options => map('rewrite-all', 'true', 'max-concurrent-file-group-rewrites', '2'))"
        )
        tasks = [(mine, partial(branch.compact, "full")), (theirs, partial(plain.engine.fetch, sort))]
        for taken, task in tasks if number % 2 else reversed(tasks):
            taken.append(seconds(task))
    ratio = Times(tuple(theirs)).over(Times(tuple(mine)))
    console.print(f"  keylake {Times(tuple(mine))} s, Iceberg's sort {Times(tuple(theirs))} s", highlight=False)
    how = "Iceberg sorts and keeps every row, keylake keeps the newest of each key"
    return [figure("sort rewrite of the same files / full compaction", ratio, Target(1.5, at_least=True), how)]
