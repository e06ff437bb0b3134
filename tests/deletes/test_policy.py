"""Maintenance applies equality deletes of plain tables whose property asks for it, also where others commit."""

import time
from collections.abc import Iterator

import pytest

import keylake as kl
from deletes.foreign_table import File, ForeignTable, foreign_table, foreign_writer

pytestmark = pytest.mark.slow

POLICY = '{"max_files": 2, "max_share": 10, "max_hours": null}'


@pytest.fixture(scope="module")
def lake_with_maintenance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kl.Lake]:
    """A server that looks after its tables, and often at plain ones."""
    settings = {"spark.keylake.maintenance.minutes-between-looks": "0.01"}
    with kl.connect(warehouse=tmp_path_factory.mktemp("policy"), memory="1g", settings=settings) as lake:
        yield lake


def entries(table: ForeignTable) -> list[kl.MaintenanceEntry]:
    """What was done to a table, newest first."""
    return [entry for entry in table.lake.maintenance.log() if entry.table == table.sql]


def wait_for(table: ForeignTable, number: int) -> kl.MaintenanceEntry:
    """The newest entry, when there are so many."""
    until = time.monotonic() + 60
    while len(entries(table)) < number and time.monotonic() < until:
        time.sleep(0.1)
    assert len(entries(table)) == number
    return entries(table)[0]


def test_deletes_are_applied_while_another_engine_commits(lake_with_maintenance: kl.Lake) -> None:
    lake = lake_with_maintenance
    with (
        foreign_writer(lake) as writer,
        foreign_table(lake, writer, "id BIGINT, part INT", ["part"], version=3) as asking,
        foreign_table(lake, writer, "id BIGINT", version=2) as other,
    ):
        for table in (asking, other):
            table.commit(File([{"id": key, "part": 0} for key in range(20)]))
            for key in range(3):
                table.commit(File([{"id": key, "part": 0}], ["id"]))
        with lake.maintenance.paused():
            assert lake.apply_equality_deletes(asking.name, dry_run=True).due_because is None
            asking.alter(f"SET TBLPROPERTIES ('keylake.equality-deletes' = '{POLICY}')")
            planned = lake.apply_equality_deletes(asking.name, dry_run=True)
            assert planned.due_because == "3 files of equality deletes, and max_files is 2"
        entry = wait_for(asking, 1)
        assert (entry.state, entry.merges, entry.files_merged) == ("applied", 1, 3)
        assert entry.because == planned.due_because
        asking.check(["id"])
        for first in (3, 6):
            # No statement of this server is about the table meanwhile.
            for key in range(first, first + 3):
                asking.commit(File([{"id": key, "part": 0}], ["id"]))
            assert wait_for(asking, 1 + first // 3).state == "applied"
        asking.check(["id"])
        asking.alter("UNSET TBLPROPERTIES ('keylake.equality-deletes')")
        for key in range(10, 14):
            asking.commit(File([{"id": key, "part": 0}], ["id"]))
        time.sleep(1)
        assert len(entries(asking)) == 3
        assert not entries(other)
        other.check(["id"])
