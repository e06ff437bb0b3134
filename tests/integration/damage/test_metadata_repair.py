"""A metadata file that is damaged or gone: put back from a copy, from memory, or as the file before it."""

import json
import shutil
import uuid
from pathlib import Path

import pytest

import keylake as kl
import keylake.local
from integration.damage.damaged_tables import SCHEMA, newest_file, rows_of, unseen
from integration.twin import fresh_name
from keylake.checks import RepairStep


@pytest.fixture
def table(lake: kl.Lake) -> kl.KeyedTable:
    table = lake.create(kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("mended"), key="id", buckets=2))
    table.upsert([{"id": 1, "a": 1}])
    return table


def damage(file: Path, content: bytes | None) -> None:
    for crc in file.parent.glob(".*.crc"):
        crc.unlink()  # Hadoop's, which no store has
    if content is None:
        file.unlink()
    else:
        file.write_bytes(content)


def step_of(lake: kl.Lake, table: kl.KeyedTable, *, copy: Path | None = None) -> RepairStep:
    [step] = lake.repair_plan(table.name, copy=copy).steps
    return step


def is_whole(lake: kl.Lake, table: kl.KeyedTable, warehouse: Path, ids: list[int]) -> None:
    """Here, on the server, and for writers that come."""
    assert [id_ for id_, _ in rows_of(table)] == ids
    with keylake.local.open(warehouse) as here:
        assert sorted(row["id"] for row in here.table(table.name).read().to_arrow().to_pylist()) == ids
    assert lake.check(table.name, "pages").is_ok
    table.upsert([{"id": 99, "a": 99}])
    assert [id_ for id_, _ in rows_of(table)] == [*ids, 99]


@pytest.mark.parametrize("content", [b"", b'{"format-version"', None], ids=["empty", "cut off", "gone"])
def test_the_file_before_it(lake: kl.Lake, table: kl.KeyedTable, warehouse: Path, content: bytes | None) -> None:
    before, [commit] = newest_file(warehouse, table, "*.metadata.json"), table.history()
    unseen(warehouse, table, 2)
    file = newest_file(warehouse, table, "*.metadata.json")
    damage(file, content)
    with pytest.raises(kl.StoreFailed, match=r"put the file back from a backup, or see repair_plan"):
        table.get(id=1)
    [found] = lake.check(table.name).damage
    assert "repair_plan() says with what" in (found.next_step or "")
    step = step_of(lake, table)
    assert (step.way, Path(step.path).name) == ("restore_metadata", file.name)
    assert f"with commit {commit.snapshot_id} as the newest of main" in step.why
    for given in ("", ", metadata => 'other.metadata.json'"):
        with pytest.raises(Exception, match=rf"can be written again as \S+{before.name} alone.*nothing was changed"):
            lake.spark.sql(f"CALL lake.system.restore_metadata(table => '{table.name}'{given})").collect()
    [statement] = step.statements
    [restored] = lake.spark.sql(statement).collect()
    assert (Path(restored.path).name, Path(restored.source).name) == (file.name, before.name)
    is_whole(lake, table, warehouse, [1])


def test_what_is_in_memory(lake: kl.Lake, table: kl.KeyedTable, warehouse: Path) -> None:
    """The server has written the commit itself, and goes on to answer from memory; others do not."""
    file = newest_file(warehouse, table, "*.metadata.json")
    damage(file, b"{")
    with keylake.local.open(warehouse) as here, pytest.raises(kl.StoreFailed, match="is damaged"):
        here.table(table.name)
    step = step_of(lake, table)
    assert (step.way, step.why) == (
        "restore_metadata",
        "the server has what it says in memory, and writes it again; nothing is lost",
    )
    [statement] = step.statements
    [restored] = lake.spark.sql(statement).collect()
    assert (Path(restored.path).name, restored.source) == (file.name, None)
    is_whole(lake, table, warehouse, [1])
    with pytest.raises(Exception, match="can be read; nothing was changed; rollback goes back"):
        lake.spark.sql(statement).collect()


@pytest.mark.parametrize("folder", ["", "metadata"])
def test_a_copy(lake: kl.Lake, table: kl.KeyedTable, warehouse: Path, tmp_path: Path, folder: str) -> None:
    unseen(warehouse, table, 2)
    file = newest_file(warehouse, table, "*.metadata.json")
    (tmp_path / folder).mkdir(exist_ok=True)
    shutil.copy(file, tmp_path / folder)
    damage(file, b"{")
    step = step_of(lake, table, copy=tmp_path)
    assert (step.way, step.why) == ("put_back", "a copy can be read")
    [repaired] = lake.sql(*step.statements).collect()
    assert (Path(repaired.path).name, repaired.repaired) == (file.name, True)
    is_whole(lake, table, warehouse, [1, 2])


def test_files_that_are_not_before_it(lake: kl.Lake, table: kl.KeyedTable, warehouse: Path) -> None:
    """Two files of one number, of which one was of no commit, and files of a table that had the folder before."""
    first = newest_file(warehouse, table, "*.metadata.json")
    unseen(warehouse, table, 2)
    second = newest_file(warehouse, table, "*.metadata.json")
    unseen(warehouse, table, 3)
    file = newest_file(warehouse, table, "*.metadata.json")
    number = second.name.split("-")[0]
    shutil.copy(second, second.with_name(f"{number}-{uuid.uuid4()}.metadata.json"))
    good = file.read_bytes()
    damage(file, good[:-20])
    assert first.name in step_of(lake, table).statements[0]
    other = json.loads(first.read_text()) | {"table-uuid": str(uuid.uuid4())}
    for earlier in first.parent.glob("*.metadata.json"):
        if earlier != file:
            earlier.write_text(json.dumps(other))
    step = step_of(lake, table)
    damage(file, good)
    assert (step.way, list(step.statements)) == ("backup", [])
    assert step.why == "no earlier metadata file of the table can be read"
