"""The log of a table: how it begins, is moved and ends, what it takes, and where it fails."""

import shutil
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import keylake as kl
import keylake.local
from integration.commands import invoked
from integration.log.logged_table import SCHEMA, Both, made, shown
from integration.refusals import refused
from integration.twin import fresh_name
from keylake._log.definition import folder_of
from keylake._log.segments import Segments


def test_a_write_to_the_log_is_seen_by_fresh_reads_and_by_all_once_it_is_moved(both: Both) -> None:
    both.table.upsert([{"id": 1, "a": 1, "b": "one"}, {"id": 2, "a": 2, "b": "two"}])
    logged = both.here.log.update({"id": 1, "a": 10})
    assert (logged.number, logged.rows) == (0, 1)
    both.here.log.upsert([{"id": 3, "a": 3, "b": "three"}])
    both.here.log.delete({"id": 2})
    before, after = {1: (1, "one"), 2: (2, "two")}, {1: (10, "one"), 3: (3, "three")}
    assert shown(both.here) == shown(both.table) == before
    assert shown(both.here, fresh=True) == after
    assert both.here.get(id=2) is not None
    assert both.here.get(id=2, fresh=True) is None
    assert both.here.get_many([{"id": 3}, {"id": 9}, {"id": 3}], fresh=True)[1] is None
    assert str(both.here.log.state()).endswith("entries 0 to 2, of which 3 are not in files yet")
    moved = both.table.log.move()
    assert (moved.entries, moved.rows, moved.commits) == (3, 3, 1)
    assert shown(both.here) == shown(both.table) == shown(both.here, fresh=True) == after
    assert both.table.log.move().entries == 0
    commit = both.table.history()[0]
    assert commit.rows == 3
    assert commit.verb == "apply_changes"


def test_a_server_moves_the_log_before_a_fresh_read(both: Both) -> None:
    both.here.log.upsert({"id": 1, "a": 1, "b": "one"})
    row = both.table.get(id=1, fresh=True)
    assert row is not None
    assert row["a"] == 1
    both.here.log.update({"id": 1, "a": 2})
    assert shown(both.table, fresh=True) == {1: (2, "one")}
    both.here.log.delete({"id": 1})
    assert both.table.get_many([{"id": 1}], fresh=True) == [None]


def test_a_fresh_read_of_a_table_without_a_log_is_a_read(lake: kl.Lake, local: keylake.local.LocalLake) -> None:
    table = lake.create(kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("log"), key="id"))
    table.upsert([{"id": 1, "a": 1, "b": "one"}])
    assert shown(table, fresh=True) == shown(local.table(table.name), fresh=True) == {1: (1, "one")}


def test_find_sees_the_log(both: Both) -> None:
    both.table.layout.add_index(kl.Bloom("b"))
    both.table.upsert([{"id": 1, "a": 1, "b": "one"}])
    both.here.log.update([{"id": 1, "b": "other"}, {"id": 2, "b": "one"}])
    assert [row["id"] for row in both.here.find(b="one")] == [1]
    assert [row["id"] for row in both.here.find(b="one", fresh=True)] == [2]
    assert [row["id"] for row in both.table.find(b="one")] == [1]
    assert [row["id"] for row in both.table.find(b="one", fresh=True)] == [2]


# ------------------------------------------------------------------------------------------------------- words


def test_writes_that_do_not_fit_are_refused_as_by_the_table(both: Both) -> None:
    log, before = both.here.log, both.here.log.state()
    wrong: list[tuple[type[kl.KeylakeError], Callable[[], object]]] = [
        (kl.SchemaMismatch, lambda: log.upsert({"id": 1, "a": 1})),
        (kl.SchemaMismatch, lambda: log.update({"id": 1, "c": 1})),
        (kl.SchemaMismatch, lambda: log.delete({"id": 1, "a": 1})),
        (kl.BadRows, lambda: log.update({"id": None, "a": 1})),
        (kl.BadRows, lambda: log.update({"id": 1, "a": "text"})),
        (kl.VersionMissing, lambda: log.update({"id": 1, "a": 1}, version=7)),
        (kl.Unsupported, lambda: log.update([{"id": n, "a": 1} for n in range(10_001)])),
        (kl.DefinitionError, lambda: log.update({"id": 1, "a": 1}, stream=7)),  # type: ignore[arg-type]
        (kl.DefinitionError, lambda: log.update({"id": 1, "a": 1}, stream="\ud83d")),
    ]
    for error, write in wrong:
        with pytest.raises(error):
            write()
    assert log.state() == before


@pytest.mark.parametrize(
    "words", [{"folder": "logs"}, {"folder": "/a\0b"}, {"keep": timedelta.max}, {"keep": timedelta(-1)}, {"keep": 60}]
)
def test_logs_that_cannot_be(words: dict[str, Any]) -> None:
    with pytest.raises(kl.DefinitionError, match=next(iter(words))):
        kl.FileLog(**words)


def test_a_table_in_an_object_store_needs_a_folder() -> None:
    with pytest.raises(
        kl.Unsupported, match=r"lies at s3://lake/t, and a log in files needs a disk.*folder=.*KafkaLog"
    ):
        folder_of(kl.FileLog(), "s3://lake/t", "uuid")
    assert folder_of(kl.FileLog("/logs"), "s3://lake/t", "uuid") == Path("/logs/uuid")


def test_columns_of_accumulators_and_what_else_the_log_does_not_take(
    lake: kl.Lake, local: keylake.local.LocalLake
) -> None:
    both = made(lake, local, reducers={"a": kl.Sum()})
    both.table.upsert([{"id": 1, "a": 5, "b": "one"}])
    with pytest.raises(kl.Unsupported, match="Sum"):
        both.here.log.update({"id": 1, "a": 1})
    both.here.log.update({"id": 1, "b": "two"})
    assert shown(both.here, fresh=True) == {1: (5, "two")}
    both.here.log.delete({"id": 1})
    both.here.log.update({"id": 1, "b": "three"})
    assert shown(both.here, fresh=True) == {1: (None, "three")}
    both.table.log.move()
    assert shown(both.here) == {1: (None, "three")}


def test_a_fresh_read_is_of_main_as_it_is_now(both: Both) -> None:
    both.table.upsert([{"id": 1, "a": 1, "b": "one"}])
    for words in ({"at": 7}, {"as_of": "2026-11-01"}, {"branch": "tmp_x"}):
        with pytest.raises(kl.DefinitionError, match=f"fresh=True reads main as it is now. Leave {next(iter(words))}="):
            both.here.read(fresh=True, **words)  # type: ignore[arg-type]
    with pytest.raises(kl.DefinitionError, match="Leave max_age="):
        both.here.get(id=1, fresh=True, max_age=timedelta(seconds=1))
    with pytest.raises(kl.DefinitionError, match="Leave at="):
        both.table.read(fresh=True, at=both.table.history()[0])
    with pytest.raises(kl.DefinitionError, match="fresh=True reads main"):
        both.table.branch("tmp_log").read(fresh=True)
    with pytest.raises(kl.DefinitionError, match="fresh is 'yes'"):
        both.here.read(fresh="yes")  # type: ignore[arg-type]


def test_a_table_without_a_log_says_how_to_get_one(lake: kl.Lake, local: keylake.local.LocalLake) -> None:
    table = lake.create(kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("log"), key="id"))
    here = local.table(table.name)
    verbs: list[Callable[[], object]] = [
        here.log.state, table.log.state, table.log.move, here.log.drop, table.log.drop,
        lambda: here.log.update({"id": 1, "a": 1}), lambda: list(here.log.entries()), lambda: list(here.log.follow()),
        lambda: table.log.skip(until=1),
    ]  # fmt: skip
    for verb in verbs:
        with refused(lake, table.name, kl.NothingToDo, "has no log", "table.log.begin(kl.FileLog())"):
            verb()


@pytest.mark.parametrize("by_server", [True, False])
def test_a_table_has_one_log_at_a_time(
    lake: kl.Lake, local: keylake.local.LocalLake, by_server: bool, tmp_path: Path
) -> None:
    both = made(lake, local, kl.FileLog(str(tmp_path)))
    log = both.table.log if by_server else both.here.log
    assert both.folder.parent == tmp_path
    with pytest.raises(kl.DefinitionError, match="has a log already"):
        log.begin()
    both.here.log.update({"id": 1, "a": 1})
    with pytest.raises(kl.DefinitionError, match="entries that are not in files of the table: 1"):
        log.drop()
    both.here.log.update({"id": 1, "a": 2})  # it goes on
    both.table.log.move()
    folder = both.folder
    log.drop()
    assert not folder.exists()
    with pytest.raises(kl.NothingToDo):
        both.here.log.state()
    with pytest.raises(kl.NothingToDo):
        both.here.log.update({"id": 1, "a": 3})
    log.begin()
    both.here.log.update({"id": 1, "a": 4})
    assert shown(both.here, fresh=True) == shown(both.table, fresh=True) == {1: (4, None)}


def test_a_table_is_made_with_a_log(lake: kl.Lake, local: keylake.local.LocalLake, tmp_path: Path) -> None:
    for maker in (lake, local):
        spec = kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("log"), key="id")
        for _ in range(2):  # what is there is left as it is
            table = maker.create(spec, if_exists="match", log=kl.FileLog(str(tmp_path)))
            local.table(spec.name).log.update({"id": 1, "a": 1})
        assert table.log.state().waiting == 2
        with pytest.raises(kl.DefinitionError, match="log is True"):
            maker.create(spec, if_exists="match", log=True)  # type: ignore[call-overload]


def test_a_log_that_is_given_up(both: Both) -> None:
    both.here.log.update({"id": 1, "a": 1})
    both.table.log.drop(lost=True)
    assert shown(both.table, fresh=True) == {}


@pytest.mark.parametrize("by_server", [True, False])
def test_of_two_who_begin_or_end_at_once_one_is_refused(
    lake: kl.Lake, warehouse: Path, by_server: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one has looked at the table before the first one has changed it."""
    table = lake.create(kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("log"), key="id"))
    with keylake.local.open(warehouse) as one, keylake.local.open(warehouse) as other:
        first, second = one.table(table.name).log, other.table(table.name).log

        def meanwhile(act: Callable[[], object]) -> Callable[[], range]:
            def create(folder: Path) -> Segments:
                monkeypatch.undo()
                act()
                return Segments.create(folder)

            return create  # type: ignore[return-value]

        begun = (table.log if by_server else first).begin
        monkeypatch.setattr(
            "keylake._log.stored_log.Segments.create", meanwhile(lambda: begun(kl.FileLog(str(tmp_path / "one"))))
        )
        with pytest.raises((kl.CommitConflict, kl.DefinitionError)):
            second.begin(kl.FileLog(str(tmp_path / "other")))
        assert not list(tmp_path.glob("other/*"))
        one.table(table.name).log.update({"id": 1, "a": 1})
        assert shown(other.table(table.name), fresh=True) == {1: (1, None)}


def test_who_appends_while_a_log_ends_is_told(both: Both) -> None:
    both.here.log.update({"id": 1, "a": 1})
    both.table.log.move()
    both.table.log.drop()
    with pytest.raises(kl.KeylakeError, match=r"was ended|is gone|has no log"):
        both.here.log.update({"id": 2, "a": 2})


def test_a_folder_that_is_gone_is_told_and_there_is_a_way_on(both: Both, warehouse: Path) -> None:
    both.here.log.update({"id": 1, "a": 1})
    both.table.log.move()
    shutil.rmtree(both.folder)
    with keylake.local.open(warehouse) as other:
        there = other.table(both.table.name)
        verbs: list[Callable[[], object]] = [
            both.table.log.move, both.table.log.state, lambda: both.table.get(id=1, fresh=True), there.log.state,
            lambda: there.log.update({"id": 2, "a": 2}), lambda: there.read(fresh=True), both.here.log.state,
            lambda: both.here.log.update({"id": 2, "a": 2}),
        ]  # fmt: skip
        for verb in verbs:
            with pytest.raises(kl.StoreFailed, match=r"The log in .* is gone"):
                verb()
    assert shown(both.here) == {1: (1, None)}
    both.table.log.drop(lost=True)
    both.table.log.begin()
    both.here.log.update({"id": 2, "a": 2})
    assert shown(both.table, fresh=True) == {1: (1, None), 2: (2, None)}


def test_what_is_left_of_a_log_is_removed(both: Both) -> None:
    """Of one whose process has died between its folder and the table's property."""
    folder = both.folder
    both.table.log.drop()
    Segments.create(folder)
    for log in (both.table.log, both.here.log):
        with pytest.raises(kl.DefinitionError, match=r"is there already.*drop\(lost=True\)"):
            log.begin()
    both.table.log.drop(lost=True)
    both.table.log.begin()
    both.here.log.update({"id": 1, "a": 1})
    assert shown(both.here, fresh=True) == {1: (1, None)}


def test_an_older_copy_of_the_folder_is_told(both: Both) -> None:
    both.here.log.update({"id": 1, "a": 1})
    copy = both.folder.with_name("copy")
    shutil.copytree(both.folder, copy)
    for number in range(2, 5):
        both.here.log.update({"id": number, "a": number})
    both.table.log.move()
    shutil.rmtree(both.folder)
    copy.rename(copy.with_name("log"))
    time.sleep(1.1)  # metadata of the last second may be used
    with pytest.raises(kl.StoreFailed, match="the folder is an older copy"):
        both.here.log.update({"id": 99, "a": 99})
    both.table.log.drop(lost=True)
    both.table.log.begin()
    both.here.log.update({"id": 99, "a": 99})
    assert shown(both.table, fresh=True)[99] == (99, None)


def test_a_damaged_entry_is_told_and_skipped(both: Both) -> None:
    for number in range(3):
        both.here.log.update({"id": number, "a": number})
    (segment,) = both.folder.glob("*.log")
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 1
    segment.write_bytes(data)
    with pytest.raises(kl.StoreFailed, match=r"Entry 1 of the log .* is damaged.*table\.log\.skip\(until=2\)"):
        both.table.log.move()
    with pytest.raises(kl.StoreFailed, match=r"Entry 1 of the log"):
        both.here.read(fresh=True)
    assert shown(both.table) == {0: (0, None)}, "what is before it was moved"
    both.table.log.skip(until=2)
    with pytest.raises(kl.NothingToDo):
        both.table.log.skip(until=2)
    with pytest.raises(kl.DefinitionError, match="its next entry is 3"):
        both.table.log.skip(until=4)
    both.here.log.update({"id": 3, "a": 3})
    after = {key: (key, None) for key in (0, 2, 3)}
    assert shown(both.here, fresh=True) == after
    assert both.table.log.move().entries == 2
    assert shown(both.here, fresh=True) == after


def test_the_command_moves(lake: kl.Lake, both: Both) -> None:
    both.here.log.update({"id": 1, "a": 1})
    assert "1 entry moved: 1 row in 1 commit" in invoked(lake, "move", both.table.name).output
    assert "no entry to move" in invoked(lake, "move", both.table.name).output
    assert '"entries": 0' in invoked(lake, "move", both.table.name, "--json").output
