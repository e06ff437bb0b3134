"""A workload as it is written: batch by batch into a keyed table and into a plain one, in turns."""

from dataclasses import dataclass
from functools import partial

from benchmarks.engine import Connected
from benchmarks.machine import PLAIN, Machine
from benchmarks.stopwatch import Times, seconds
from benchmarks.system import Reader
from benchmarks.systems.keyed import Keyed
from benchmarks.systems.max_by import MaxBy, MaxByStruct
from benchmarks.systems.plain import IN_BUCKETS, Plain
from benchmarks.systems.row_number import RowNumber
from benchmarks.systems.same_files import SameFiles
from benchmarks.workload import Workload


@dataclass(frozen=True)
class History:
    """Both tables, everybody who reads them, and how long the writes took."""

    name: str
    workload: Workload
    keyed: Keyed
    plain: Plain
    same_files: SameFiles
    peers: tuple[Reader, ...]
    base: Times
    base_append: Times
    upserts: Times
    appends: Times

    @property
    def readers(self) -> tuple[Reader, ...]:
        return (self.keyed, self.same_files, self.plain, *self.peers)


def write(machine: Machine, name: str, workload: Workload) -> History:
    """Stage the batches, then write them."""
    batches = workload.stage(machine.session().spark, machine.folder / "staged" / name)
    keyed = Keyed(machine.session(), f"bench.{name}", workload)
    stock = Connected(machine.session().spark)
    plain = Plain(stock, f"{PLAIN}.bench.{name}", workload, keyed.files().properties)
    taken: dict[str, list[float]] = {keyed.name: [], plain.name: []}
    for number, batch in enumerate(batches):
        writers = (keyed, plain) if number % 2 else (plain, keyed)
        for writer in writers:
            taken[writer.name].append(seconds(partial(writer.write, batch)))
    tuned = Connected(machine.session(IN_BUCKETS).spark)
    return History(
        name,
        workload,
        keyed,
        plain,
        SameFiles(stock, f"{PLAIN}.bench.files_of_{name}", workload, keyed.files().metadata_file),
        (RowNumber(tuned, plain), MaxBy(tuned, plain), MaxByStruct(tuned, plain)),
        Times(tuple(taken[keyed.name][:1])),
        Times(tuple(taken[plain.name][:1])),
        Times(tuple(taken[keyed.name][1:])),
        Times(tuple(taken[plain.name][1:])),
    )
