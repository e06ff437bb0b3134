"""Random histories with late rows: all reads have them, those on time have none, whatever was compacted."""

import contextlib
import copy
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

import keylake as kl
import keylake.local
from integration.histories import EPOCH, Operation, Shape, operations, shapes
from integration.random_runs import seeds
from integration.twin import Twin, by_key, fresh_name, rows_of
from model.model import Row

STREAMS = (None, "web", "app")


class Marked:
    """A table whose writes say a watermark at times, and go through Spark or not."""

    def __init__(self, table: kl.KeyedTable, local: keylake.local.LocalTable, draw: Random) -> None:
        self._table = table
        self._local = local
        self._draw = draw
        self.watermarks: dict[str | None, int] = {}

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self._table, name)
        if name not in ("upsert", "update", "delete", "apply_changes", "overwrite"):
            return verb

        def write(rows: object, **words: Any) -> kl.Commit:
            if name != "overwrite" and self._draw.random() < 0.5:
                stream = self._draw.choice(STREAMS)
                micros = self._draw.randint(-9, 2)
                words |= {"watermark": EPOCH + timedelta(microseconds=micros)}
                words |= {} if stream is None else {"stream": stream}
                self.watermarks[stream] = max(micros, self.watermarks.get(stream, micros))
            is_small = isinstance(words.get("version"), int | str | None) and "columns_from" not in words
            if is_small and name in ("upsert", "update", "delete") and self._draw.random() < 0.5:
                with contextlib.suppress(kl.Unsupported):
                    commit: kl.Commit = getattr(self._local, name)(rows, **words)
                    return commit
            written: kl.Commit = verb(rows, **words)
            return written

        return write


class Timely:
    """A model of the rows that came in time, or that were merged with these since."""

    def __init__(self, twin: Twin) -> None:
        self._twin = twin
        self.model = copy.deepcopy(twin.model)

    def write(self, operation: Operation, limit: int | None) -> int:
        """Write the timely rows of an operation, and say how many keys have late ones only."""
        is_split = limit is not None and operation.verb != "overwrite" and not isinstance(operation.version, dict)
        timely = [row for row in operation.rows if not is_split or self._version(row, operation) >= (limit or 0)]
        operation.write(self.model, timely)
        return len({self.model._key(row) for row in operation.rows} - {self.model._key(row) for row in timely})

    def _version(self, row: Row, operation: Operation) -> int:
        version = self._twin.model._row_version(row, operation.version)
        assert version is not None
        return version

    def merge(self) -> None:
        self.model = copy.deepcopy(self._twin.model)


def policy(draw: Random) -> kl.CompactionPolicy | str:
    """A policy that merges nearly all it is shown, but seldom late rows with others."""
    return draw.choice(
        [
            "full",
            "settle",
            *[
                kl.CompactionPolicy(
                    tier_runs=2,
                    tier_ratio=2,
                    superseded_share=0.01,
                    least_freed_share=0.0,
                    recent_seconds=0,
                    late_share=share,
                )
                for share in (1000.0, 1000.0, 0.5)
            ],
        ]
    )


ORDERED = {name: shape for name, shape in shapes() if name.startswith("ordering")}


@pytest.mark.parametrize("seed", seeds(2, 60))
def test_late_rows_are_read_or_left_out(lake: kl.Lake, warehouse: Path, seed: int) -> None:
    draw = Random(seed)
    shape: Shape = draw.choice(list(ORDERED.values()))
    twin = shape.create(lake, fresh_name("late"), buckets=1)
    twin.table.layout.set_lateness(timedelta(0))
    with keylake.local.open(warehouse) as opened:
        local = opened.table(twin.table.name)
        marked = Marked(twin.table, local, draw)
        twin.table = marked  # type: ignore[assignment]
        timely = Timely(twin)
        for operation in operations(shape, seed, 16, 6, forms=("arrow", "rows")):
            limit = min(marked.watermarks.values(), default=None)
            print(operation, limit)
            operation.apply(twin)
            late = timely.write(operation, limit)
            assert twin.commits[-1].late >= late  # and more, where a key has timely rows as well
            if operation.verb == "overwrite":
                timely.merge()
            if draw.random() < 0.4:
                done = twin.table.compact(policy(draw))
                print(done)
                if any(merge.reason == "late" for merge in done):
                    timely.merge()
            twin.check()
            twin.check_stamps()
            expected = rows_of(timely.model)
            assert by_key(twin.table.read(freshness="on_time").toArrow(), twin.model.key) == expected
            assert by_key(local.read(freshness="on_time").to_arrow(), twin.model.key) == expected
            assert by_key(local.read().to_arrow(), twin.model.key) == twin.expected()
        twin.check_stamps()
        twin.check(commits=5)
        assert sum(each.late for each in twin.table.history().lateness()) == sum(each.late for each in twin.commits)
        after, until = sorted(draw.sample(range(len(twin.commits)), 2))
        twin.table.undo(after=twin.commits[after], until=twin.commits[until])
        twin.model = twin.model.without(after + 1, until + 1)
        twin.check()
        twin.table.compact("full")
        twin.check()
        twin.check_stamps()
        assert twin.table.layout.lateness().files == 0
        assert by_key(twin.table.read(freshness="on_time").toArrow(), twin.model.key) == twin.expected()
