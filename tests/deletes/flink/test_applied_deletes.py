"""Equality deletes that Flink's upsert sink has written become positions, while the job goes on."""

import random
import threading
from pathlib import Path

import pytest

import keylake as kl
from deletes.flink.upsert_job import upsert_job
from deletes.flink.upserted import EQUALITY, LAYOUTS, Layout, Upserted, check, create, delete_files, some_changes
from integration.random_runs import one_of, seeds

pytestmark = pytest.mark.slow


@one_of("format_version", [2, 3])
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("seed", seeds(0, 1))
def test_deletes_become_positions_between_commits_of_a_job(
    lake: kl.Lake, tmp_path: Path, layout: Layout, format_version: int, seed: int
) -> None:
    draw = random.Random(seed)
    table = create(lake, layout, format_version)
    model = Upserted(layout.key)
    with upsert_job(lake, table, tmp_path) as job:
        for _ in range(3):
            for _ in range(4):
                changes = some_changes(draw, number=draw.randrange(1, 80), keys=60)
                job.commit(changes)
                model.apply(changes)
            before = delete_files(lake, table)[EQUALITY]
            planned = lake.apply_equality_deletes(table, dry_run=True)
            assert (planned.delete_files_removed, planned.rows) == (before, None)
            assert delete_files(lake, table)[EQUALITY] == before
            done = lake.apply_equality_deletes(table, portions_per_commit=2)
            assert (done.delete_files_removed, done.data_files) == (before, planned.data_files)
            assert done.rows
            assert EQUALITY not in delete_files(lake, table)
            check(lake, table, model)
    again = lake.apply_equality_deletes(table)
    assert (again.portions, again.rows, again.commits) == (0, 0, 0)


@one_of("format_version", [2, 3])
def test_a_job_goes_on_while_its_deletes_become_positions(lake: kl.Lake, tmp_path: Path, format_version: int) -> None:
    """What the job deletes meanwhile applies by its own numbers, and is left to a later call."""
    draw = random.Random(format_version)
    table = create(lake, LAYOUTS["buckets"], format_version)
    model = Upserted(("id",))
    with upsert_job(lake, table, tmp_path) as job:

        def write(commits: int) -> None:
            for _ in range(commits):
                changes = some_changes(draw, number=200, keys=400)
                job.commit(changes)
                model.apply(changes)

        write(3)
        writer = threading.Thread(target=write, args=[20])
        writer.start()
        rows = 0
        while writer.is_alive():
            rows += lake.apply_equality_deletes(table, portions_per_commit=1).rows or 0
        writer.join()
        check(lake, table, model)
        rows += lake.apply_equality_deletes(table).rows or 0
    assert rows > 0
    assert EQUALITY not in delete_files(lake, table)
    check(lake, table, model)
