"""Tables of 200, 1,000 and 3,000 columns: what a value costs in each, beside plain Iceberg.

Each table has as many rows, so that the widest has fifteen times the values of the narrowest. A plain Iceberg table in
the same buckets takes the same rows, in turns with the keyed one.

1. Time            of writes, reads and what is done to a table, as who waits sees it, for each value.
2. Processor time  of the server's process meanwhile, which is steadier where others work on the machine.
3. Bytes           of the data files, for each value.

Each finished round is noted in `.build/bench-wide.jsonl`: a run that was ended goes on behind it.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import Console

import keylake as kl
from benchmarks.engine import Connected
from benchmarks.figures import Figure, Findings, Target, figure
from benchmarks.machine import PLAIN, machine, processor_seconds
from benchmarks.questions import consume, fingerprint
from benchmarks.stopwatch import Times, seconds
from benchmarks.systems.keyed import Keyed
from benchmarks.systems.plain import Plain
from benchmarks.workload import KEY, TIME, Batch, Workload
from benchmarks.workloads.wide import of_columns

COLUMNS = (200, 1_000, 3_000)
KEYS = 10_000
ROUNDS = 3
SMALL = "small"  # the part that takes a few minutes
SMALL_COLUMNS, SMALL_KEYS = (200, 1_000), 5_000
NOTES = Path(__file__).parents[2] / ".build" / "bench-wide.jsonl"

LOAD, UPSERT, PARTIAL = "load", "upsert of 10%", "update of 3 columns of 10%"
ALL, FEW = "read of all columns", "read of 5 columns"
GET, COMPACTION, EXPLAIN, OPENING = "get", "compaction", "explain_row", "opening of the table"
STEPS = (LOAD, UPSERT, PARTIAL, ALL, FEW, GET, EXPLAIN, COMPACTION, OPENING)
OF_FEW = {PARTIAL, FEW}  # of as many values whatever the table has
OF_PLAIN = {LOAD: 1.15, UPSERT: 1.1, ALL: 1.0, FEW: 1.0}  # what 22 columns may take beside a plain table
LINEAR = Target(1.3)
BYTES = "bytes"


Round = Mapping[str, Sequence[float]]  # time and processor time by system and step


def run(scale: float, console: Console, chosen: Sequence[str] = ()) -> Findings:
    """All numbers of columns in each round; the scale is of the keys."""
    columns = SMALL_COLUMNS if SMALL in chosen else COLUMNS
    keys = max(round((SMALL_KEYS if SMALL in chosen else KEYS) * scale), 100)
    with machine() as place:
        lake = place.session()
        words = f"{keys:,} keys x {', '.join(f'{each:,}' for each in columns)} columns, 8 buckets; {place.describe()}"
        console.print(words, highlight=False)
        staged = {}
        for each in columns:
            workload = of_columns(keys, each)
            staged[each] = (workload, workload.stage(lake.spark, place.folder / "staged" / str(each)))
        notes = _Notes(words)
        warm = min(columns)
        for number in range(2):  # what runs per value is warm after many of them, whatever the columns
            _round(lake, *staged[warm], number=number, name=f"bench.warm_{number}")
        for number in range(ROUNDS):
            for each in columns:
                if not notes.has(number, each):
                    taken = _round(lake, *staged[each], number=number, name=f"bench.wide_{each}_{number}")
                    notes.take(number, each, taken)
                    told = ", ".join(f"{step} {taken[f'{Keyed.name}, {step}'][0]:.2f}" for step in STEPS)
                    console.print(f"round {number + 1}, {each:,} columns, seconds: {told}", highlight=False)
        found = Findings(words, list(_figures({each: notes.rounds(each) for each in columns}, keys)))
        NOTES.unlink()
        return found


class _Notes:
    """The rounds that are done, also by a run that was ended."""

    def __init__(self, words: str) -> None:
        self._words = words
        self._done: dict[tuple[int, int], Round] = {}
        NOTES.parent.mkdir(exist_ok=True)
        for line in NOTES.read_text().splitlines() if NOTES.exists() else ():
            note = json.loads(line)
            if note["run"] == words:
                self._done[note["round"], note["columns"]] = note["costs"]

    def has(self, number: int, columns: int) -> bool:
        return (number, columns) in self._done

    def take(self, number: int, columns: int, costs: Round) -> None:
        self._done[number, columns] = costs
        note = {"run": self._words, "round": number, "columns": columns, "costs": costs}
        with NOTES.open("a") as file:
            file.write(json.dumps(note) + "\n")

    def rounds(self, columns: int) -> list[Round]:
        return [self._done[number, columns] for number in range(ROUNDS)]


def _round(lake: kl.Lake, workload: Workload, batches: Sequence[Batch], *, number: int, name: str) -> Round:
    keyed = Keyed(lake, name, workload)
    plain = Plain(Connected(lake.spark), f"{PLAIN}.{name}", workload, _parquet(keyed))
    base, upsert, later = batches
    costs: dict[str, list[float]] = {}

    def measured(system: str, step: str, task: Callable[[], object]) -> None:
        before = processor_seconds(lake.spark)
        time = seconds(task)
        costs[f"{system}, {step}"] = [time, processor_seconds(lake.spark) - before]

    def both(step: str, of_keyed: Callable[[], object], of_plain: Callable[[], object]) -> None:
        sides = [(Keyed.name, of_keyed), (Plain.name, of_plain)]
        for system, task in sides if number % 2 else reversed(sides):
            measured(system, step, task)

    def read(step: str, columns: Sequence[str]) -> None:
        both(step, lambda: consume(keyed, columns), lambda: consume(plain, columns))

    both(LOAD, lambda: keyed.write(base), lambda: plain.write(base))
    values = workload.keys * len(workload.values)
    for each in (keyed, plain):
        costs[f"{each.name}, {BYTES}"] = [_size(each) / values]
    both(UPSERT, lambda: keyed.write(upsert), lambda: plain.write(upsert))
    few = later.frame(lake.spark).select(KEY, TIME, *workload.few[:3])
    measured(Keyed.name, PARTIAL, lambda: keyed.keyed.update(few))
    read(ALL, workload.columns)
    read(FEW, workload.narrow)
    before = fingerprint(keyed, workload.narrow)
    key = workload.some_key(number)
    measured(Keyed.name, GET, lambda: keyed.keyed.get(**{KEY: key}))
    measured(Keyed.name, EXPLAIN, lambda: keyed.keyed.explain_row(**{KEY: key}))
    measured(Keyed.name, COMPACTION, lambda: keyed.keyed.compact("full"))
    measured(Keyed.name, OPENING, lambda: lake.table(name))
    assert fingerprint(keyed, workload.narrow) == before, "compaction changes no answer"
    assert before[0] == workload.keys
    keyed.engine.fetch(f"DROP TABLE {keyed.table} PURGE")
    plain.engine.fetch(f"DROP TABLE {plain.table} PURGE")
    return costs


def _parquet(keyed: Keyed) -> dict[str, str]:
    """How its files are written."""
    listed = keyed.engine.fetch(f"SHOW TBLPROPERTIES {keyed.table}")
    return {str(name): str(value) for name, value in listed if str(name).startswith("write.parquet.")}


def _size(written: Keyed | Plain) -> int:
    """Bytes of its only commit, as that says it: Iceberg's table of files has a column for each fact of each column."""
    found = written.engine.fetch(f"SELECT summary['total-files-size'] FROM {written.table}.snapshots")
    return int(str(found[0][0]))


def _figures(rounds: Mapping[int, Sequence[Round]], keys: int) -> Iterator[Figure]:
    """Of each value, in the widest and in the narrowest table; beside a plain table; and in seconds."""
    times: dict[int, dict[str, Times]] = defaultdict(dict)
    processor: dict[int, dict[str, Times]] = defaultdict(dict)
    for columns, taken in rounds.items():
        for name in taken[0]:
            times[columns][name] = Times(tuple(each[name][0] for each in taken))
            processor[columns][name] = Times(tuple(each[name][-1] for each in taken))
    narrow, wide = min(rounds), max(rounds)
    beside = f"{wide:,} / {narrow:,} columns"
    for step in (BYTES, *STEPS):
        name = f"{Keyed.name}, {step}"
        as_many = 1 if step in {BYTES, *OF_FEW} else wide / narrow
        for what, of in (("bytes", times),) if step == BYTES else (("processor time", processor), ("time", times)):
            each = Times(tuple(cost / as_many for cost in of[wide][name].rounds)).over(of[narrow][name])
            said = "bytes of a value" if step == BYTES else f"{step}, {what} of a value"
            yield figure(f"{said}, {beside}", each, None if what == "time" else LINEAR)
    for columns in rounds:
        for step, limit in {BYTES: 1.1, **OF_PLAIN}.items():
            other = "plain append" if step in {BYTES, LOAD, UPSERT} else "plain scan"
            names = f"{Keyed.name}, {step}", f"{Plain.name}, {step}"
            kinds = (("", times),) if step == BYTES else ((", processor time", processor), (", time", times))
            for what, of in kinds:
                ratio = of[columns][names[0]].over(of[columns][names[1]])
                target = None if what == ", time" else Target(limit)
                yield figure(f"{columns:,} columns, {step}{what}: {Keyed.name} / {other}", ratio, target)
        for step in STEPS:
            yield figure(
                f"{columns:,} columns x {keys:,} rows, seconds: {step}", times[columns][f"{Keyed.name}, {step}"]
            )
