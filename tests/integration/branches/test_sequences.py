"""Random sequences of writes, branches, publishing, picks, undo, compactions and rebucketing, against the model."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random

import pytest

import keylake as kl
from integration.histories import COMPOUND, Operation, Shape, operations
from integration.random_runs import seeds
from integration.twin import Twin, by_key, comparable, fresh_name
from model.model import Key, KeyedTable, Written

STEPS = 5
MOST_BUCKETS = 8
SHAPES = [
    Shape("explicit", buckets=2),
    Shape("ordering", buckets=1),
    Shape("explicit", COMPOUND, buckets=2, partition_by=("day",)),
]


@dataclass(frozen=True)
class Made:
    """One commit: its rows, the keys that it replaced altogether, and where the table has it."""

    rows: list[Written]
    replaces: Callable[[Key], bool]
    snapshot_id: int


@dataclass
class Lane:
    """A branch as the list of the commits that count on it, and what was undone on it."""

    twin: Twin
    commits: list[Made] = field(default_factory=list)
    picked: int = 0  # commits of the lane that main has

    def write(self, operation: Operation) -> None:
        scratch = replace(self.twin.model, written={}, replaced=[])
        self.twin.model = scratch
        operation.apply(self.twin)
        rows = sorted(
            (entry[1], n, entry[2]) for n, entries in enumerate(scratch.written.values()) for entry in entries
        )
        self.commits.append(Made([row for _, _, row in rows], scratch.replaced[-1], self.twin.commits[-1].snapshot_id))

    def model(self) -> KeyedTable:
        model = replace(self.twin.model, written={}, replaced=[])
        for made in self.commits:
            model.append(made.rows, made.replaces)
        return model

    def check(self) -> None:
        key = self.twin.model.key
        expected = {
            tuple(map(comparable, of_key)): {name: comparable(value) for name, value in row.items()}
            for of_key, row in self.model().read().items()
        }
        assert by_key(self.twin.table.read().toArrow(), key) == expected


@dataclass
class Sequence:
    """A table with a main lane and a branch, and a source of random steps."""

    random: Random
    main: Lane
    draft: Lane
    writes: list[Operation]

    def write(self) -> str:
        lane = self.random.choice([self.main, self.draft, self.draft])
        lane.write(self.writes.pop())
        return f"write {lane.twin.commits[-1].snapshot_id}"

    def compact(self) -> str:
        lane = self.random.choice([self.main, self.draft])
        word = self.random.choice(["full", "settle"])
        lane.twin.table.compact(word)  # type: ignore[arg-type]
        return word

    def publish(self) -> str:
        new = self.draft.commits[self.draft.picked :]
        if new:
            self.draft.twin.table.publish()
            self.main.commits += new
            self.draft.picked = len(self.draft.commits)
        return f"publish {len(new)}"

    def cherry_pick(self) -> str:
        new = self.draft.commits[self.draft.picked :]
        if not new:
            return "nothing to pick"
        until = self.random.choice(new)
        done = self.main.twin.table.cherry_pick(self.draft.twin.table, until=until.snapshot_id)
        taken = new[: new.index(until) + 1]
        assert done.commits == len(taken)
        self.main.commits += taken
        self.draft.picked += len(taken)
        return f"pick {len(taken)}"

    def rebucket(self) -> str:
        """Twice as many buckets; the files that are there are divided on one lane, or on none."""
        table = self.main.twin.table
        if table.spec.buckets < MOST_BUCKETS:
            table.change_buckets(2 * table.spec.buckets)
        lane = self.random.choice([self.main, self.draft, None])
        if lane is not None:
            lane.twin.table.rebucket()
        return f"{table.spec.buckets} buckets"

    def undo(self) -> str:
        """The last write of a lane, made there, that the other has not taken in: what is taken back was only here."""
        lane = self.random.choice([self.main, self.draft])
        ours = {commit.snapshot_id for commit in lane.twin.commits}
        last = lane.commits[-1]
        if last.snapshot_id not in ours or len(lane.commits) <= max(lane.picked, 1):
            return "nothing to undo"
        head = lane.twin.table.history(compactions=True)
        at = next(number for number, entry in enumerate(head) if entry.snapshot_id == last.snapshot_id)
        lane.twin.table.undo(after=head[at].parent_id, until=last.snapshot_id)
        lane.commits.pop()
        return f"undo {last.snapshot_id} of {'main' if lane is self.main else 'the draft'}"


@pytest.mark.parametrize("seed", seeds(few=4, many=32))
def test_a_random_sequence(lake: kl.Lake, seed: int) -> None:
    random = Random(seed)
    shape = random.choice(SHAPES)
    writes = operations(shape, seed, count=STEPS + 2, rows=random.choice([4, 20]))
    main = Lane(shape.create(lake, fresh_name("sequences")))
    main.write(writes.pop())
    branch = main.twin.table.branch("tmp_draft")
    draft = Lane(replace(main.twin, table=branch, commits=[]), list(main.commits), picked=1)
    sequence = Sequence(random, main, draft, writes)
    steps = {sequence.write: 5, sequence.compact: 2, sequence.publish: 2, sequence.cherry_pick: 2, sequence.undo: 2}
    steps[sequence.rebucket] = 1
    done: list[str] = []
    for _ in range(STEPS):
        (step,) = random.choices(list(steps), list(steps.values()))
        done.append(step())
    try:
        main.check()
        draft.check()
    except AssertionError as error:
        raise AssertionError(f"seed {seed}: {done}") from error
