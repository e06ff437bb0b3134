"""The metadata of a keyed table as tables beside it: what they say is what lies on disk."""

from dataclasses import replace

import pyarrow.parquet as pq
import pytest

import keylake as kl
from integration.histories import operations
from integration.random_runs import of_every
from integration.raw import catalog_of
from integration.reading.metadata_rows import EXPLICIT, SHAPES, WHOLE, beside, rows, rows_of, three_commits
from integration.refusals import refused_in_sql
from integration.twin import fresh_name


@of_every("name", {name: name for name in ("ordering, text key", "partitions and groups")}, today=1)
def test_files_are_as_they_lie_on_disk(lake: kl.Lake, name: str) -> None:
    shape = replace(SHAPES[name], buckets=2)
    twin = shape.create(lake, fresh_name("metadata"))
    for number, step in enumerate(operations(shape, 31, count=3, rows=20)):
        step.apply(twin)
        if number == 1:
            twin.table.compact("full")
    inspected = catalog_of(lake).load_table(twin.table.name).inspect.data_files().to_pylist()
    on_disk = {file["file_path"]: file for file in inspected}
    found = {file["path"]: file for file in rows_of(twin.table.files())}
    assert found.keys() == on_disk.keys()
    for path, file in found.items():
        assert (file["rows"], file["bytes"]) == (on_disk[path]["record_count"], on_disk[path]["file_size_in_bytes"])
        stored = pq.read_table(path).to_pylist()
        for number, column in enumerate(twin.model.key):
            values = [row[column] for row in stored]
            assert [file["lower"][column], file["upper"][column]] == [min(values), max(values)], number
        leaves = {leaf for row in stored for leaf, lag in row["_merge_info"]["columns"].items() if lag is not None}
        carried = {column for column, leaf in SHAPES[name].leaves.items() if leaf in leaves}
        assert set(file["columns"]) == carried
        assert file["has_tombstones"] == any(row["_merge_info"].get("deleted") is not None for row in stored)
        assert ("partition" in file) == (name == "partitions and groups")
        if "partition" in file:
            assert {row["day"] for row in stored} == {file["partition"]["day"]}
    assert {file["bucket"] for file in found.values()} == {0, 1}


def test_runs_and_sections_sum_the_files_up(lake: kl.Lake) -> None:
    twin = three_commits(lake)
    twin.upsert(rows(range(1000, 1010), 4), version=4)
    files, runs, sections = (rows_of(frame()) for frame in (twin.table.files, twin.table.runs, twin.table.sections))
    assert (len(files), len(runs)) == (8, 8)
    assert {(run["bucket"], run["commit_order"]) for run in runs} == {(b, c) for b in (0, 1) for c in (1, 2, 3, 4)}
    for parts in (runs, sections):
        assert sum(part["files"] for part in parts) == len(files)
        assert sum(part["bytes"] for part in parts) == sum(file["bytes"] for file in files)
    assert [(each["section"], each["runs"], each["reading"]) for each in sections] == [
        (0, 3, "merged"),
        (1, 1, "passed_through"),
    ] * 2
    assert {(run["min_version"], run["max_version"], tuple(run["columns"])) for run in runs} == {
        (3, 3, ("c",)),
        *((version, version, ("a", "b", "c", "d", "e")) for version in (1, 2, 4)),
    }
    assert [run["committed_at"] for run in runs] == [run["committed_at"] for run in runs if run["committed_at"]]
    assert {run["settling"] for run in runs} == {"not_yet"}
    twin.table.compact("full")
    merged = rows_of(twin.table.runs())
    assert [(run["files"], run["commit_order"], run["max_version"]) for run in merged] == [(1, 4, 4)] * 2


def test_what_is_settled_says_so(lake: kl.Lake) -> None:
    twin = three_commits(lake, WHOLE)
    twin.upsert(rows(range(40, 60), 4), version=4)
    twin.table.compact("settle")
    assert {section["reading"] for section in rows_of(twin.table.sections())} == {"settled"}
    assert {run["settling"] for run in rows_of(twin.table.runs())} == {"done"}
    files = rows_of(twin.table.files())
    assert sum(file["live_rows"] for file in files) == 150
    assert sum(file["rows"] for file in files) == 240


def test_commits_branches_and_moments(lake: kl.Lake) -> None:
    twin = three_commits(lake)
    table = twin.table
    lake.spark.sql(f"ALTER TABLE {twin.sql_name} CREATE TAG monthly RETAIN 30 DAYS")
    draft = table.branch("tmp_draft")
    draft.upsert(rows([7], 7), version=7)
    commits = rows_of(beside(twin, "commits"))
    assert [commit["snapshot_id"] for commit in commits] == [
        commit.snapshot_id for commit in table.history(compactions=True)
    ]
    assert [commit["commit_order"] for commit in commits] == [3, 2, 1]
    found = {row["name"]: row for row in rows_of(table.branches())}
    assert {name: (row["type"], row["commits"]) for name, row in found.items()} == {
        "main": ("branch", 0),
        "monthly": ("tag", None),
        "tmp_draft": ("branch", 1),
    }
    assert found["monthly"]["max_ref_age_ms"] == 30 * 24 * 3600 * 1000
    assert found["monthly"]["snapshot_id"] == found["main"]["snapshot_id"] == twin.commits[-1].snapshot_id
    at_first = twin.commits[0]
    assert [table.files().count(), draft.files().count(), table.files(at=at_first).count()] == [6, 7, 2]
    assert draft.runs().count() == 7
    assert draft.stream_changes(after=at_first).isStreaming, "the feed lies beside branches, too"
    options = {"'branch' = 'tmp_draft'": 7, f"'snapshot-id' = '{at_first.snapshot_id}'": 2}
    for option, count in options.items():
        assert lake.spark.sql(f"SELECT * FROM {twin.sql_name}.keyed_files WITH ({option})").count() == count
    assert beside(twin, "branch_tmp_draft.commits").count() == 4
    with refused_in_sql(lake, table.name, "NOT_FOUND", "no branch 'nope'"):
        lake.spark.sql(f"SELECT * FROM {twin.sql_name}.keyed_files WITH ('branch' = 'nope')").count()
    with refused_in_sql(lake, table.name, "SNAPSHOT_EXPIRED", "commit 17"):
        lake.spark.sql(f"SELECT * FROM {twin.sql_name}.keyed_files WITH ('snapshot-id' = '17')").count()


def test_names_that_are_taken_or_mean_nothing(lake: kl.Lake) -> None:
    empty = EXPLICIT.create(lake, "metadata.runs")
    assert [getattr(empty.table, name)().count() for name in ("files", "runs", "sections", "branches")] == [0] * 4
    assert lake.spark.sql("SELECT * FROM lake.metadata.runs.runs").count() == 0
    assert "file_path" in beside(empty, "files").columns, "Iceberg's own"
    lake.spark.sql("CREATE TABLE lake.metadata.plain (id BIGINT) USING iceberg")
    for name in ("plain.keyed_files", "runs.no_part", "keyed_files"):
        with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
            lake.spark.sql(f"SELECT * FROM lake.metadata.{name}").collect()
