"""Tables look after themselves: a server of its own, with what users get, and commits that follow each other."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pyarrow.parquet as pq
import pytest

import keylake as kl
from integration.histories import Shape, operations
from integration.twin import Twin, fresh_name

SHAPE = Shape("explicit", buckets=2)
MOST_FILES = 6
POLICY = kl.CompactionPolicy(max_files=MOST_FILES, tier_runs=4, superseded_share=0.9, recent_seconds=0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("looked_after")


@pytest.fixture(scope="module")
def lake(folder: Path) -> Iterator[kl.Lake]:
    with kl.connect(warehouse=folder, memory="1g") as lake:
        yield lake


def files_of_largest_bucket(twin: Twin) -> int:
    return max(bucket.files for bucket in twin.table.compaction_plan())


@pytest.mark.slow
def test_files_stay_few_while_a_stream_writes(lake: kl.Lake) -> None:
    twin = SHAPE.create(lake, fresh_name("maintained"))
    twin.table.set_compaction_policy(POLICY)
    history = operations(SHAPE, seed=300, count=25, rows=30)
    for number, operation in enumerate(history):
        operation.apply(twin)
        if number % 8 == 7:
            twin.check()
    lake.maintenance.wait(seconds=120)
    twin.check()
    twin.check_stamps()
    twin.check(commits=5)
    assert files_of_largest_bucket(twin) <= MOST_FILES
    entries = [entry for entry in lake.maintenance.log() if entry.table.endswith(twin.table.name)]
    assert {entry.state for entry in entries} == {"merged"}
    assert sum(entry.files_written for entry in entries) < sum(entry.files_merged for entry in entries)
    assert "merge" in lake.maintenance._repr_html_()
    assert repr(lake.maintenance) == "maintenance is on"


@pytest.mark.slow
def test_old_files_are_divided_when_there_are_more_buckets(lake: kl.Lake) -> None:
    twin = SHAPE.create(lake, fresh_name("maintained"))
    for operation in operations(SHAPE, seed=310, count=2, rows=30):
        operation.apply(twin)
    lake.maintenance.wait(seconds=120)
    twin.table.change_buckets(4 * SHAPE.buckets)
    lake.maintenance.wait(seconds=120)
    twin.check()
    assert len(twin.table.compaction_plan()) > SHAPE.buckets
    assert len(twin.table.rebucket()) == 0, "nothing is left to do"


@pytest.mark.slow
def test_damage_is_told_and_leaves_the_table_as_it_is(lake: kl.Lake, folder: Path) -> None:
    twin = SHAPE.create(lake, fresh_name("maintained"))
    twin.table.set_compaction_policy(POLICY)
    with lake.maintenance.paused():
        for version in range(MOST_FILES + 2):
            twin.update([{"id": number, "a": version} for number in range(40)], version=version)
        # Of the oldest files, which are merged first: the newest may stay.
        files = folder.joinpath(*twin.table.name.split("."), "data").rglob("*.parquet")
        file = min(files, key=lambda each: each.stat().st_mtime_ns)
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
        whole = file.read_bytes()
        chunk = pq.read_metadata(file).row_group(0).column(0)
        damaged = bytearray(whole)
        damaged[(chunk.dictionary_page_offset or chunk.data_page_offset) + chunk.total_compressed_size - 1] ^= 4
        file.write_bytes(damaged)
    twin.update([{"id": number, "a": 0} for number in range(40)], version=MOST_FILES + 2)  # a commit is looked at
    lake.maintenance.wait(seconds=120)
    told = " ".join(twin.table.health().to_do)
    assert f"{file.name} is damaged (column id of row group 0 does not fit its checksum); nothing was changed" in told
    assert file.exists()
    file.write_bytes(whole)
    twin.check()


@pytest.mark.slow
def test_recent_commits_stay_as_they_were_written(lake: kl.Lake) -> None:
    """Who types slowly finds each commit where it was, with its stream and what lost; a call merges all the same."""
    twin = SHAPE.create(lake, fresh_name("maintained"))
    table = twin.table
    for operation in operations(SHAPE, seed=320, count=8, rows=12):
        operation.apply(twin)
        lake.maintenance.wait(seconds=120)
    commits = [each.snapshot_id for each in reversed(twin.commits)]
    assert [each.snapshot_id for each in table.history(compactions=True)] == commits
    assert not table.compact("maintenance")
    assert not any("compacted" in sentence for sentence in table.health().to_do)
    for row in table.read().collect():
        written = [cell for cell in table.explain_row(id=row["id"]).columns if cell.version is not None]
        assert all(cell.snapshot_id in commits for cell in written)
    table.undo(twin.commits[2])
    twin.model = twin.model.without(2, 3)
    twin.check()
    assert table.compact(), "it does not wait"
    assert table.history(compactions=True)[0].verb == "compact"
    assert table.history()[0].verb == "undo"
    twin.check()
    table.set_compaction_policy(kl.CompactionPolicy(recent_seconds=0))
    for operation in operations(SHAPE, seed=321, count=8, rows=12):
        operation.apply(twin)
    lake.maintenance.wait(seconds=120)
    assert "compact" in {each.verb for each in table.history(compactions=True)[:8]}
    twin.check()


@pytest.mark.slow
def test_it_waits_while_it_is_paused_and_survives_a_restart(lake: kl.Lake, folder: Path) -> None:
    twin = SHAPE.create(lake, fresh_name("maintained"))
    twin.table.set_compaction_policy(POLICY)
    random = Random(5)
    with lake.maintenance.paused():
        assert lake.maintenance.is_paused
        for version in range(MOST_FILES + 2):
            twin.update([{"id": random.randint(0, 500), "a": version} for _ in range(40)], version=version)
        lake.maintenance.wait(seconds=60)
        assert files_of_largest_bucket(twin) == MOST_FILES + 2
    lake.maintenance.wait(seconds=120)
    assert files_of_largest_bucket(twin) <= MOST_FILES
    twin.check()
    lake.maintenance.pause()
    for version in range(10, 10 + MOST_FILES + 2):
        twin.update([{"id": random.randint(0, 500), "b": f"{version}"} for _ in range(40)], version=version)
    lake.close()
    with kl.connect(warehouse=folder, memory="1g") as again:
        table = again.table(twin.table.name)
        again.maintenance.wait(seconds=120)
        assert max(bucket.files for bucket in table.compaction_plan()) <= MOST_FILES
        Twin(again, table, twin.model, twin.schema, twin.commits).check()
