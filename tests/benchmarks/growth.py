"""What a table costs as it grows: small requests beside the files, the commits and the buckets that it has.

Three series of tables, each written without a server, with a few rows in a file; the server is asked before and after
its next commit, so that it knows the state before:

    files    ten commits, and buckets for the rest: a commit has a tenth of the files
    commits  of one row each, in eight buckets: a commit has one file
    buckets  two commits

Each round writes one row, and then asks what a client asks of a table that others write. Of each request are measured:

1. Time   as who waits sees it.
2. Bytes  and calls of reads of the server's process, as Linux counts them; those of its sockets are among them.

The slope of a cost is the power of the size that it goes with, between the smallest and the largest table: 0 does not
grow, 1 grows as fast as the table.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from rich.console import Console

import keylake as kl
import keylake.local
from benchmarks.figures import Figure, Findings, Target, figure
from benchmarks.machine import machine
from benchmarks.stopwatch import Times, seconds

FILES = (1000, 10_000, 100_000)
COMMITS = (100, 1000, 10_000)
BUCKETS = (10, 100, 1000)
COMMITS_OF_FILES, BUCKETS_OF_COMMITS, COMMITS_OF_BUCKETS = 10, 8, 2
ROWS_OF_FILE = 3
WARM_UP, ROUNDS = 2, 5
MOST_SLOPE = 0.25
SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("a", pa.int64())])
PROCESS = "SELECT java_method('java.lang.ProcessHandle', 'current')"
KEPT_BY_ALL = {
    "write.metadata.previous-versions-max": "2",
    "write.metadata.delete-after-commit.enabled": "true",
}


@dataclass
class Spent:
    """Costs of a request, round by round."""

    time: list[float] = field(default_factory=list)
    bytes: list[float] = field(default_factory=list)
    calls: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Grown:
    """A table of a series."""

    series: str
    size: int
    commits: int
    buckets: int
    rows: int  # of a commit

    @property
    def name(self) -> str:
        return f"bench.{self.series}_{self.size}"


def grown(scale: float) -> Iterator[Grown]:
    """The tables; the scale is of all of them, and leaves the largest out where it is below 1."""
    largest = None if scale >= 1 else -1
    for files in FILES[:largest]:
        buckets = files // COMMITS_OF_FILES
        yield Grown("files", files, COMMITS_OF_FILES, buckets, buckets * ROWS_OF_FILE)
    for commits in COMMITS[:largest]:
        yield Grown("commits", commits, commits, BUCKETS_OF_COMMITS, 1)
    for buckets in BUCKETS[:largest]:
        yield Grown("buckets", buckets, COMMITS_OF_BUCKETS, buckets, buckets * ROWS_OF_FILE)


def run(scale: float, console: Console) -> Findings:
    """Each table is written, asked and dropped, since metadata of all would take room."""
    with machine() as place:
        lake = place.session()
        words = f"requests of one row or one key, {ROUNDS} rounds; {place.describe()}"
        console.print(words, highlight=False)
        spent: dict[str, dict[int, Mapping[str, Spent]]] = {}
        for each in grown(scale):
            write = seconds(lambda each=each: _write(lake, place.folder / "lake", each))  # type: ignore[misc]
            spent.setdefault(each.series, {})[each.size] = _asked(lake, each)
            console.print(f"{each.size:,} {each.series}: written in {write:.0f} s", highlight=False)
        return Findings(words, [*_slopes(spent)], details=[*_costs(spent)])


def _write(lake: kl.Lake, folder: Path, table: Grown) -> None:
    lake.create(kl.TableSpec.from_arrow(SCHEMA, name=table.name, key="id", buckets=table.buckets))
    said = ", ".join(f"'{name}'='{value}'" for name, value in KEPT_BY_ALL.items())
    lake.spark.sql(f"ALTER TABLE {lake.catalog}.{table.name} SET TBLPROPERTIES ({said})")
    with keylake.local.open(folder) as opened:
        local = opened.table(table.name)
        for commit in range(table.commits):
            local.upsert(_rows(table, commit))


def _rows(table: Grown, commit: int) -> list[dict[str, object]]:
    """Rows of one commit: each key comes once."""
    return [{"id": commit * table.rows + n, "a": n} for n in range(table.rows)]


def _asked(lake: kl.Lake, of: Grown) -> Mapping[str, Spent]:
    process = Path(f"/proc/{lake.spark.sql(PROCESS).collect()[0][0]}/io")
    table = lake.table(of.name)
    spent: dict[str, Spent] = {}
    for number in range(WARM_UP + ROUNDS):
        if number == WARM_UP:
            spent = {}
        for name, request in _requests(lake, table, of, number).items():
            cost = spent.setdefault(name, Spent())
            before = _read(process)
            cost.time.append(seconds(request))
            after = _read(process)
            cost.bytes.append(after["rchar"] - before["rchar"])
            cost.calls.append(after["syscr"] - before["syscr"])
    lake.drop(of.name)
    return spent


def _requests(lake: kl.Lake, table: kl.KeyedTable, of: Grown, number: int) -> Mapping[str, Callable[[], object]]:
    """What is asked in a round, in this order."""
    keys = of.commits * of.rows
    last = table.history(1)[0]
    plan = f"EXPLAIN SELECT * FROM {lake.catalog}.{of.name}"
    return {
        "commit of one row": lambda: table.upsert([{"id": keys + number, "a": 0}]),
        "get": lambda: table.get(id=number * 7919 % keys),
        "plan of one key": lambda: lake.spark.sql(f"{plan} WHERE id = {keys + number}").collect(),
        "plan of all": lambda: lake.spark.sql(plan).collect(),
        "feed of the newest commit": lambda: table.changes(after=last).collect(),
        "history of ten": lambda: table.history(10),
        "history": table.history,
        "compaction plan": table.layout.compaction_plan,
        "opening": lambda: lake.table(of.name),
    }


def _read(process: Path) -> dict[str, int]:
    """What a process has read since it began, as Linux counts it."""
    lines = process.read_text().splitlines()
    return {name: int(number) for name, _, number in (line.partition(": ") for line in lines)}


def _slopes(spent: Mapping[str, Mapping[int, Mapping[str, Spent]]]) -> Iterator[Figure]:
    for series, by_size in spent.items():
        small, large = min(by_size), max(by_size)
        for name in by_size[small]:
            few, many = by_size[small][name], by_size[large][name]
            for what, mine, theirs in (("time", many.time, few.time), ("bytes read", many.bytes, few.bytes)):
                slope = _slope(mine, theirs, large / small)
                yield figure(f"{name}, {what}: slope in {series}", slope, Target(MOST_SLOPE))


def _slope(many: Sequence[float], few: Sequence[float], times: float) -> float:
    ratio = max(Times(tuple(many)).median, 1e-9) / max(Times(tuple(few)).median, 1e-9)
    return math.log(ratio) / math.log(times)


def _costs(spent: Mapping[str, Mapping[int, Mapping[str, Spent]]]) -> Iterator[Figure]:
    for series, by_size in spent.items():
        for size, by_name in by_size.items():
            for name, cost in by_name.items():
                of = f"{size:,} {series}, {name}"
                yield figure(f"{of}: milliseconds", Times(tuple(1000 * each for each in cost.time)))
                yield figure(f"{of}: bytes read", Times(tuple(cost.bytes)))
                yield figure(f"{of}: calls of reads", Times(tuple(cost.calls)))
