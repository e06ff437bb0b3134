"""The rows of a round that wait, the tables that are due, and the positions at which partitions go on."""

import pyarrow as pa
import pytest

from keylake_pipelines.runner.stages import batch as batches
from keylake_pipelines.runner.stages.batch import Batch


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(batches.time, "monotonic", lambda: now[0])
    return now


def rows(partition: str, *offsets: int) -> pa.Table:
    return pa.table({"partition": [partition] * len(offsets), "offset": pa.array(offsets, pa.int64())})


def test_a_partition_goes_on_at_its_first_row_that_waits() -> None:
    batch = Batch({"p": 3, "q": 5})
    batch.add("lake.a", "shop.a", rows("p", 3, 4))
    batch.add("lake.b", "shop.b", rows("p", 5))
    batch.add("lake.b", "shop.b", rows("r", 0))
    for partition, end in {"p": 6, "q": 9, "r": 1}.items():
        batch.reach(partition, end)
    assert batch.positions() == {"p": 3, "q": 9, "r": 0}
    assert set(batch.take(["lake.a"])) == {"lake.a"}
    assert batch.positions() == {"p": 5, "q": 9, "r": 0}
    assert set(batch.take(batch.tables)) == {"lake.b"}
    assert batch.positions() == batch.ends == {"p": 6, "q": 9, "r": 1}


def test_ends_never_go_back_and_the_positions_before_stay_as_they_were() -> None:
    kept = {"p": 3}
    batch = Batch(kept)
    batch.reach("p", 8)
    batch.reach("p", 6)
    assert (batch.positions(), kept) == ({"p": 8}, {"p": 3})


def test_a_table_is_due_with_many_rows_or_with_an_old_one(seconds: list[float]) -> None:
    batch = Batch({})
    batch.add("lake.old", "shop.old", rows("p", 0))
    seconds[0] += 60
    batch.add("lake.few", "shop.few", rows("p", 1, 2))
    batch.add("lake.many", "shop.many", rows("p", 3, 4, 5))
    assert batch.rows == 6
    assert batch.due(freshness=60, few=3) == ("lake.old", "lake.many")
    assert batch.due(freshness=61, few=4) == ()
    batch.add("lake.few", "shop.other", rows("q", 7))
    assert batch.due(freshness=61, few=3) == ("lake.few", "lake.many")


def test_rows_of_a_table_that_nothing_waits_for_are_none() -> None:
    batch = Batch({"p": 1})
    batch.add("lake.a", "shop.a", rows("p", 1))
    assert batch.take(["lake.b"]) == {}
    assert (batch.rows, batch.tables) == (1, ("lake.a",))
