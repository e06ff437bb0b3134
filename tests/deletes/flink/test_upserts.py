"""Tables that Flink's upsert sink has written, read through our catalog while the job runs and after it."""

import random
from pathlib import Path

import pytest

import keylake as kl
from deletes.flink.upsert_job import upsert_job
from deletes.flink.upserted import (
    EQUALITY,
    LAYOUTS,
    POSITIONS,
    Layout,
    Upserted,
    check,
    create,
    delete_files,
    some_changes,
)
from integration.random_runs import one_of, seeds

pytestmark = pytest.mark.slow


@one_of("format_version", [2, 3])
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("seed", seeds(0, 1))
def test_a_table_that_flink_writes_is_read_while_the_job_runs(
    lake: kl.Lake, tmp_path: Path, layout: Layout, format_version: int, seed: int
) -> None:
    draw = random.Random(seed)
    table = create(lake, layout, format_version)
    model = Upserted(layout.key)
    with upsert_job(lake, table, tmp_path) as job:
        for number in range(12):
            changes = some_changes(draw, number=draw.randrange(1, 80), keys=60)
            job.commit(changes)
            model.apply(changes)
            if number % 4 == 0:
                check(lake, table, model)
    check(lake, table, model)
    files = delete_files(lake, table)
    assert files[EQUALITY] > 0
    assert files[POSITIONS] > 0
