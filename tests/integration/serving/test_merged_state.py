"""DuckDB, pyiceberg and polars over the merged state of a keyed table: the rows of its newest commit, at every step."""

import dataclasses
import datetime
import os
import shutil
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from pyiceberg.table import StaticTable

import keylake as kl
from integration.histories import Shape, operations
from integration.random_runs import FIRST, of_every_shape
from integration.twin import by_key, fresh_name
from keylake import Float64

pytestmark = pytest.mark.usefixtures("planned_by_pyiceberg")


def state_of(lake: kl.Lake, name: str) -> str:
    (row,) = lake.spark.sql(f"CALL lake.system.merged_state(table => '{name}')").collect()
    return str(row.metadata_location)


def by_each(duck: duckdb.DuckDBPyConnection, metadata: str) -> dict[str, pa.Table]:
    """All rows and columns of the state as each engine gives them."""
    plain = StaticTable.from_metadata(metadata)
    return {
        "DuckDB": duck.execute(f"SELECT * FROM iceberg_scan('{metadata}')").to_arrow_table(),
        "pyiceberg": plain.scan().to_arrow(),
        "polars": pl.scan_iceberg(plain).collect().to_arrow(),
    }


@pytest.mark.slow
@of_every_shape
def test_states_of_random_histories(lake: kl.Lake, duck: duckdb.DuckDBPyConnection, shape: Shape) -> None:
    twin = shape.create(lake, fresh_name("states"))
    columns = [n for n in twin.model.columns if not isinstance(twin.table.spec.column(n).reducer, kl.ArraySum)]
    for number, operation in enumerate(operations(shape, FIRST + 5, count=6, rows=25)):
        print(operation)
        operation.apply(twin)
        if number in (1, 4):
            twin.table.compact("settle")
        if number == 3:
            twin.table.compact("full")
        for engine, rows in by_each(duck, state_of(lake, twin.table.name)).items():
            shown = rows.select([*twin.model.key, *columns])
            assert by_key(shown, twin.model.key) == twin.expected(columns), (engine, number)


class Clicks(kl.Table, name="states.of_clicks", buckets=2):
    id: int = kl.key()
    clicks: int | None = None
    city: str | None = None


def rows_of(metadata: str) -> list[tuple[object, ...]]:
    rows = StaticTable.from_metadata(metadata).scan().to_arrow().to_pylist()
    return sorted(tuple(row.values()) for row in rows)


def renamed(table: type[kl.Table], name: str) -> kl.TableSpec:
    return dataclasses.replace(table.table_spec(), name=name)


def test_a_state_is_of_the_newest_commit_and_stays(lake: kl.Lake) -> None:
    table = lake.create(renamed(Clicks, fresh_name("states")))
    nothing = table.serving.merged_state()
    assert (nothing.snapshot_id, nothing.of_snapshot_id, rows_of(nothing.metadata_location)) == (None, None, [])
    table.upsert([{"id": n, "clicks": n, "city": "Oslo"} for n in range(4)])
    first = table.serving.merged_state()
    assert first == table.serving.merged_state()
    newest = table.update([{"id": 1, "clicks": 9}])
    table.delete([{"id": 2}])
    second = table.serving.merged_state()
    assert second.of_snapshot_id != newest.snapshot_id == table.history(2)[1].snapshot_id
    assert rows_of(second.metadata_location) == [(0, 0, "Oslo"), (1, 9, "Oslo"), (3, 3, "Oslo")]
    assert rows_of(first.metadata_location) == [(n, n, "Oslo") for n in range(4)]


def test_columns_of_a_state_are_those_of_the_table(lake: kl.Lake) -> None:
    table = lake.create(renamed(Clicks, fresh_name("states")))
    table.upsert([{"id": 1, "clicks": 1, "city": "Oslo"}])
    table.serving.merged_state()
    for change in ("ADD COLUMN country STRING", "RENAME COLUMN city TO town", "DROP COLUMN clicks"):
        lake.spark.sql(f"ALTER TABLE lake.{table.name} {change}")
    state = StaticTable.from_metadata(table.serving.merged_state().metadata_location)
    assert state.scan().to_arrow().to_pylist() == [{"id": 1, "town": "Oslo", "country": None}]


def test_a_state_is_made_again_where_somebody_has_cleaned_it_away(lake: kl.Lake) -> None:
    table = lake.create(renamed(Clicks, fresh_name("states")))
    table.upsert([{"id": n, "clicks": n, "city": "Oslo"} for n in range(9)])
    table.update([{"id": 1, "clicks": 9}])
    state = table.serving.merged_state()
    shutil.rmtree(Path(state.metadata_location.removeprefix("file:")).parents[1])
    again = table.serving.merged_state()
    assert again.metadata_location != state.metadata_location
    assert len(rows_of(again.metadata_location)) == 9
    assert table.read().toArrow().num_rows == 9


def test_cleaning_leaves_a_state_whole_or_takes_all_of_it(lake: kl.Lake, warehouse: Path) -> None:
    table = lake.create(renamed(Clicks, fresh_name("states")))
    table.upsert([{"id": n, "clicks": n, "city": "Oslo"} for n in range(9)])
    table.update([{"id": 1, "clicks": 9}])
    state = table.serving.merged_state()
    folder = warehouse.joinpath(*table.name.split("."))
    files = [file for file in folder.joinpath("merged-state").rglob("*") if file.is_file()]
    newest = Path(state.metadata_location.removeprefix("file:"))
    orphan = folder / "data" / "00000-0-00000000-0000-4000-8000-000000000000-00001.parquet"
    orphan.write_bytes(b"of a write that has died")
    for file in {*files, orphan} - {newest}:
        os.utime(file, (0, 0))
    policy = kl.RetentionPolicy(days=0, orphan_days=1)
    assert (cleaned := table.clean(policy)).orphans_left_because is None
    assert cleaned.orphans_deleted == 1
    assert len(rows_of(state.metadata_location)) == 9
    os.utime(newest, (0, 0))
    assert table.clean(policy).orphans_left_because is None
    assert not list(folder.joinpath("merged-state").rglob("*.parquet"))
    assert len(rows_of(table.serving.merged_state().metadata_location)) == 9


def test_cleaning_leaves_another_table_among_states(lake: kl.Lake, warehouse: Path) -> None:
    table = lake.create(renamed(Clicks, fresh_name("states")))
    other = lake.create(renamed(Clicks, fresh_name("states")))
    other.upsert([{"id": 1, "clicks": 1, "city": "Oslo"}])
    state = Path(other.serving.merged_state().metadata_location.removeprefix("file:")).parents[1]
    inside = warehouse.joinpath(*table.name.split("."), "merged-state", state.name)
    shutil.copytree(state, inside)
    for file in inside.rglob("*.*"):
        os.utime(file, (0, 0))
    cleaned = table.clean(kl.RetentionPolicy(days=0, orphan_days=1))
    assert cleaned.orphans_left_because is not None
    assert state.name in cleaned.orphans_left_because
    assert list(inside.rglob("*.metadata.json"))
    shutil.rmtree(inside)


def test_a_purge_takes_states_along(lake: kl.Lake, warehouse: Path) -> None:
    table = lake.create(renamed(Clicks, fresh_name("states")))
    table.upsert([{"id": n, "clicks": n, "city": "Oslo"} for n in range(9)])
    table.serving.merged_state()
    folder = warehouse.joinpath(*table.name.split("."), "merged-state")
    assert list(folder.rglob("*.metadata.json"))
    lake.spark.sql(f"DROP TABLE lake.{table.name} PURGE")
    assert not list(folder.rglob("*.*"))


def test_a_branch_has_a_state_of_its_own(lake: kl.Lake) -> None:
    table = lake.create(renamed(Clicks, fresh_name("states")))
    table.upsert([{"id": n, "clicks": n, "city": "Oslo"} for n in range(9)])
    main = table.serving.merged_state()
    branch = table.branch("tmp_states")
    written = branch.update([{"id": 1, "clicks": 9}])
    state = branch.serving.merged_state()
    assert state.of_snapshot_id == written.snapshot_id
    assert rows_of(state.metadata_location)[1] == (1, 9, "Oslo")
    assert table.serving.merged_state() == main
    assert branch.serving.merged_state() == state
    lake.spark.sql(f"CALL lake.system.drop_branch(table => '{table.name}', branch => 'tmp_states')")
    with pytest.raises(kl.TableNotFound, match="has no branch 'tmp_states'"):
        branch.serving.merged_state()


@pytest.mark.slow
def test_a_tag_has_the_columns_of_its_time(lake: kl.Lake) -> None:
    table = lake.create(renamed(Clicks, fresh_name("states")))
    table.upsert([{"id": 1, "clicks": 1, "city": "Oslo"}])
    table.update([{"id": 1, "clicks": 2}])
    lake.spark.sql(f"ALTER TABLE lake.{table.name} CREATE TAG spring")
    lake.spark.sql(f"ALTER TABLE lake.{table.name} RENAME COLUMN city TO town")
    table.upsert([{"id": 2, "clicks": 3, "town": "Moss"}])
    call = f"CALL lake.system.merged_state(table => '{table.name}', branch => 'spring')"
    (row,) = lake.spark.sql(call).collect()
    state = StaticTable.from_metadata(row.metadata_location)
    assert state.scan().to_arrow().to_pylist() == [{"id": 1, "clicks": 2, "city": "Oslo"}]


@pytest.mark.slow
def test_an_archived_state_takes_late_writes(lake: kl.Lake) -> None:
    table = lake.create(renamed(Clicks, fresh_name("states")))
    table.upsert([{"id": 1, "clicks": 1, "city": "Oslo"}, {"id": 2, "clicks": 2, "city": "Oslo"}])
    table.states.archive("2026-11-01")
    table.update([{"id": 1, "clicks": 5}])
    as_of = datetime.date(2026, 11, 1)
    before = table.serving.merged_state(as_of=as_of)
    assert rows_of(before.metadata_location) == [(1, 1, "Oslo"), (2, 2, "Oslo")]
    table.update([{"id": 2, "city": "Moss"}], business_time="2026-10-31T12:00:00Z")
    state = table.serving.merged_state(as_of="2026-11-01")
    assert rows_of(state.metadata_location) == [(1, 1, "Oslo"), (2, 2, "Moss")]
    assert sorted(tuple(row) for row in table.read(as_of=as_of).collect()) == rows_of(state.metadata_location)
    assert rows_of(table.serving.merged_state().metadata_location) == [(1, 5, "Oslo"), (2, 2, "Moss")]
    with pytest.raises(kl.TableNotFound, match="no archived state of 2026-11-02"):
        table.serving.merged_state(as_of="2026-11-02")


def test_an_experiment_has_no_state(lake: kl.Lake) -> None:
    table = lake.create(renamed(Clicks, fresh_name("states")))
    table.upsert([{"id": 1, "clicks": 1, "city": "Oslo"}])
    trial = table.experiment("trial", add={"score": Float64})
    with pytest.raises(kl.Unsupported, match="An experiment has no merged state"):
        trial.serving.merged_state()


def test_a_state_writes_composed_rows_alone(lake: kl.Lake) -> None:
    table = lake.create(renamed(Clicks, fresh_name("states")))
    table.upsert([{"id": n, "clicks": n, "city": "Oslo"} for n in range(1000)])
    table.update([{"id": n, "clicks": -n} for n in range(500, 507)])
    state = StaticTable.from_metadata(table.serving.merged_state().metadata_location)
    inside = "/merged-state/"
    made = [task.file for task in state.scan().plan_files() if inside in task.file.file_path]
    assert sum(file.record_count for file in made) == 7
    stored = {row.path for row in lake.spark.sql(f"SELECT path FROM lake.{table.name}.keyed_files").collect()}
    assert {task.file.file_path for task in state.scan().plan_files() if inside not in task.file.file_path} < stored
