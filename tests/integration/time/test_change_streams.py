"""The change feed as a stream: bounded batches, a restart, and every change in the sink exactly once."""

from pathlib import Path

import pytest

import keylake as kl
from integration.histories import Shape
from integration.refusals import refused
from integration.time.appended import three_commits
from integration.twin import Twin, fresh_name


class Sink:
    """A folder of Parquet, fed by a query that runs until nothing is left and can be started again."""

    def __init__(self, twin: Twin, folder: Path) -> None:
        self._twin = twin
        self._folder = folder

    def run(self, **options: object) -> int:
        """Take what is there; how many batches that took."""
        feed = self._twin.table.stream_changes(**options).writeStream.format("parquet")  # type: ignore[arg-type]
        places = {"checkpointLocation": str(self._folder / "checkpoint"), "path": str(self._folder / "sink")}
        query = feed.options(**places).trigger(availableNow=True).start()
        query.awaitTermination()
        return len(query.recentProgress)

    def rows(self) -> list[tuple[object, ...]]:
        found = self._twin.lake.spark.read.parquet(str(self._folder / "sink"))
        return sorted(map(tuple, found.select("_commit", "id", "_change", "_after.a").collect()), key=repr)


def told(twin: Twin, *ranges: tuple[int, int]) -> list[tuple[object, ...]]:
    """What batch reads of these ranges give, each from after one commit to another."""
    rows: list[tuple[object, ...]] = []
    for after, until in ranges:
        begin = twin.commits[after - 1] if after else None
        read = twin.table.changes(after=begin, until=twin.commits[until - 1])
        rows += map(tuple, read.select("_commit", "id", "_change", "_after.a").collect())
    return sorted(rows, key=repr)


@pytest.mark.slow
def test_a_query_goes_on_where_it_ended(lake: kl.Lake, tmp_path: Path) -> None:
    twin = three_commits(lake)
    sink = Sink(twin, tmp_path)
    assert sink.run(max_commits_per_batch=1) >= 3
    assert sink.rows() == told(twin, (0, 1), (1, 2), (2, 3))
    twin.table.compact("full")
    sink.run(max_commits_per_batch=1)
    assert sink.rows() == told(twin, (0, 1), (1, 2), (2, 3)), "a compaction changes nothing"
    twin.delete([{"id": 3}, {"id": 7}], version=4)
    twin.update([{"id": 3, "a": 5}], version=5)
    twin.table.compact("settle")
    sink.run()
    assert sink.rows() == told(twin, (0, 1), (1, 2), (2, 3), (3, 5)), "the net changes of both commits"
    sink.run()
    assert sink.rows() == told(twin, (0, 1), (1, 2), (2, 3), (3, 5))


@pytest.mark.slow
def test_a_query_may_begin_anywhere(lake: kl.Lake, tmp_path: Path) -> None:
    twin = three_commits(lake)
    sink = Sink(twin, tmp_path)
    sink.run(after=twin.commits[0], every_commit=True)
    assert sink.rows() == told(twin, (1, 2), (2, 3))


def test_a_table_without_commits_has_a_feed(lake: kl.Lake, tmp_path: Path) -> None:
    twin = Shape("explicit").create(lake, fresh_name("changes"))
    sink = Sink(twin, tmp_path)
    sink.run()
    twin.update([{"id": 1, "a": 1}], version=1)
    sink.run()
    assert sink.rows() == told(twin, (0, 1))


def test_what_a_stream_cannot_begin_with(lake: kl.Lake, tmp_path: Path) -> None:
    twin = three_commits(lake)
    with refused(lake, twin.table.name, kl.SnapshotExpired, "Commit 17"):
        twin.table.stream_changes(after=17)
    with pytest.raises(Exception, match="from 1 to"):
        Sink(twin, tmp_path).run(max_commits_per_batch=0)
