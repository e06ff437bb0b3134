"""What settling costs and spares: base and ten upserts, settled, beside a full compaction of the same files."""

from functools import partial

import pyarrow.compute as pc
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table
from rich.console import Console

from benchmarks.engine import Connected
from benchmarks.figures import Figure, Findings, Target, figure
from benchmarks.machine import PLAIN, Machine, machine
from benchmarks.questions import consume, count, fingerprint
from benchmarks.stopwatch import Pace, Times, race, seconds
from benchmarks.systems.keyed import Keyed, OnBranch
from benchmarks.systems.same_files import SameFiles
from benchmarks.workload import Workload
from benchmarks.workloads.whole_rows import whole_rows

TIMES = 3
WARM_UP, ROUNDS = Pace(3, 3, 0), Pace(7, 7, 0)


def run(scale: float, console: Console) -> Findings:
    """Branches of one table are settled and compacted in turns; then both, and the files as they were, are read."""
    workload = whole_rows(max(round(1_000_000 * scale), 1000))
    with machine() as place:
        words = f"{workload.keys:,} keys, {workload.commits} upserts of 10%; seed {workload.seed}, {place.describe()}"
        console.print(words, highlight=False)
        return Findings(words, _figures(place, workload, console))


def _figures(place: Machine, workload: Workload, console: Console) -> list[Figure]:
    lake = place.session()
    keyed = Keyed(lake, "bench.settled", workload)
    console.print("writing what is to be settled")
    for batch in workload.stage(lake.spark, place.folder / "staged" / "settled"):
        keyed.write(batch)
    stock = Connected(lake.spark)
    files = SameFiles(stock, f"{PLAIN}.bench.unmerged", workload, keyed.files().metadata_file)
    unread = [OnBranch(keyed, f"unread_{number}") for number in range(TIMES + 1)]
    unread_times = Times(tuple([seconds(partial(_done, branch, "settle")) for branch in unread][1:]))
    truth = fingerprint(keyed, workload.columns)
    taken: dict[str, list[float]] = {"settle": [], "full": []}
    written: dict[str, list[int]] = {"settle": [], "full": []}
    branches: dict[str, OnBranch] = {}
    for number in range(TIMES):
        for word in ("settle", "full") if number % 2 else ("full", "settle"):
            branch = branches[word] = OnBranch(keyed, f"{word}_{number}")
            taken[word].append(seconds(lambda branch=branch, word=word: written[word].append(_done(branch, word))))
    settled, full = branches["settle"], branches["full"]
    assert fingerprint(settled, workload.columns) == fingerprint(full, workload.columns) == truth
    plain = _in_pyiceberg(place, keyed.keyed.name, settled.branch, workload.keys)
    readers = {"settled": settled, "unmerged": keyed, "compacted": full, "files": files}
    every = {name: partial(_consume, reader, workload.columns, "") for name, reader in readers.items()}
    times = race(every, warm_up=WARM_UP, rounds=ROUNDS)
    few = {name: partial(_consume, reader, workload.narrow, "") for name, reader in readers.items()}
    of_few = race(few, warm_up=WARM_UP, rounds=ROUNDS)
    filtered = {"settled": settled, "compacted": full}
    by_value = {
        name: partial(_consume, reader, workload.columns, workload.filter_on) for name, reader in filtered.items()
    }
    of_filter = race(by_value, warm_up=WARM_UP, rounds=ROUNDS)
    settling, merging = (Times(tuple(taken[word])) for word in ("settle", "full"))
    keyed.engine.fetch(f"ALTER TABLE {keyed.table} SET TBLPROPERTIES ('format-version' = '3')")
    branches_of_3 = [OnBranch(keyed, f"vectors_{number}") for number in range(TIMES)]
    vectors = Times(tuple(seconds(partial(_done, branch, "settle")) for branch in branches_of_3))
    console.print(f"  settling {settling} s, full compaction {merging} s", highlight=False)
    opened = int("BatchScan" in str(stock.fetch(f"EXPLAIN SELECT count(*) FROM {settled.table}")[0][0]))
    assert count(settled) == workload.keys
    return [
        figure("settling / full compaction, time", settling.over(merging), Target(0.25)),
        figure("settling after a read / before any read, time", settling.over(unread_times)),
        figure("settling in format 3 / full compaction, time", vectors.over(merging)),
        figure(
            "settling / full compaction, bytes written", sum(written["settle"]) / sum(written["full"]), Target(0.05)
        ),
        figure("settled, all columns / scan of the same files", times["settled"].over(times["files"]), Target(1.05)),
        figure("settled, all columns / before settling", times["settled"].over(times["unmerged"])),
        figure("settled, all columns / compacted", times["settled"].over(times["compacted"])),
        figure("settled, 1% by a value / compacted", of_filter["settled"].over(of_filter["compacted"]), Target(1.3)),
        figure("settled, few columns / scan of the same files", of_few["settled"].over(of_few["files"])),
        figure("settled, few columns / before settling", of_few["settled"].over(of_few["unmerged"])),
        figure("settled, count(*): scans", opened, Target(0)),
        figure("settled, pyiceberg: rows / keys", plain, Target(1.0, at_least=True), "the sum of keys is right, too"),
    ]


def _done(branch: OnBranch, word: str) -> int:
    report = branch.keyed.compact(word)  # type: ignore[arg-type]
    assert {each.state for each in report} == {"committed"}
    return report.bytes_written


def _consume(reader: Keyed | SameFiles, columns: tuple[str, ...], where: str, _: int) -> None:
    consume(reader, columns, where)


def _in_pyiceberg(place: Machine, name: str, branch: str, keys: int) -> float:
    """How many rows an engine finds that knows nothing of keyed tables, over how many keys there are."""
    warehouse = place.folder / "lake"
    catalog = SqlCatalog("lake", uri=f"sqlite:///{warehouse}/catalog.db", warehouse=str(warehouse))
    table: Table = catalog.load_table(name)
    rows = table.scan(snapshot_id=table.metadata.refs[branch].snapshot_id, selected_fields=("key",)).to_arrow()
    assert pc.sum(rows["key"]).as_py() == keys * (keys - 1) // 2
    return float(rows.num_rows) / keys
