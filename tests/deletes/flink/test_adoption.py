"""A table that Flink's upsert sink writes is taken over into a keyed table, commit by commit, while the job runs."""

import random
from pathlib import Path

import pytest

import keylake as kl
from deletes.flink.upsert_job import upsert_job
from deletes.flink.upserted import LAYOUTS, Upserted, create, some_changes
from integration.random_runs import FIRST, one_of
from integration.twin import fresh_name

pytestmark = pytest.mark.slow


@one_of("case", [("regions", 2), ("unpartitioned", 3)], ["regions", "unpartitioned"])
def test_a_keyed_table_follows_a_running_job(lake: kl.Lake, tmp_path: Path, case: tuple[str, int]) -> None:
    layout, format_version = case
    draw = random.Random(FIRST)
    key = LAYOUTS[layout].key
    table = create(lake, LAYOUTS[layout], format_version)
    into = fresh_name("features")
    model = Upserted(key)
    with upsert_job(lake, table, tmp_path) as job:
        for number in range(9):
            changes = some_changes(draw, number=draw.randrange(1, 60), keys=50)
            job.commit(changes)
            model.apply(changes)
            if number % 3 == 2:
                done = lake.adopt(table, into=into, buckets=2 if number == 2 else None)
                assert done.is_new == (number == 2)
                assert done.commits >= (1 if done.is_new else 3)  # of which some may have no rows
                read = lake.table(into).read().collect()
                assert {tuple(row[name] for name in key): row.asDict() for row in read} == model.rows
