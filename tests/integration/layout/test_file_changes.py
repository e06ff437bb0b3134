"""Whole files that are dropped, moved and restored, chosen by what metadata says of them; no data file is touched."""

from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

import keylake as kl
import keylake.table
from integration.histories import operations
from integration.layout.partial_merge import some_of_each_bucket
from integration.random_runs import of_every
from integration.reading.metadata_rows import SHAPES, WHOLE, of_commits, rows, rows_of, three_commits
from integration.refusals import refused, refused_in_sql
from integration.time.appended import appended, by_key, expected_appended
from integration.twin import Twin, fresh_name
from model.model import KeyedTable


def dropped(model: KeyedTable, *commits: int) -> KeyedTable:
    """The model without what some commits wrote; what they replaced stays gone."""
    kept = {key: [each for each in written if each[0] not in commits] for key, written in model.written.items()}
    return replace(model, written={key: written for key, written in kept.items() if written})


def written_again(twin: Twin, whole: KeyedTable, commit: int, done: kl.FilesChanged) -> None:
    """In the model, what a commit wrote comes as the newest one, with its versions, unless those count commits."""
    entries = [entry for written in whole.written.values() for entry in written if entry[0] == commit]
    again = [row for _, _, row in sorted(entries, key=lambda entry: entry[1])]
    if whole.versions == "commit":
        now = len(twin.model.replaced) + 1
        again = [
            replace(row, version=now, columns={name: (now, value) for name, (_, value) in row.columns.items()})
            for row in again
        ]
    twin.model.append(again)
    assert done.snapshot_id is not None
    twin.commits.append(kl.Commit(done.snapshot_id, done.rows, None, 0))


def head(twin: Twin) -> int:
    return twin.table.history(at_most=1, compactions=True)[0].snapshot_id


def check_feed(twin: Twin, before: KeyedTable, after: int) -> None:
    """The changes since a snapshot are those from one model to the other."""
    old = replace(twin, model=before).expected()
    new = twin.expected()
    found = by_key(twin, twin.table.changes(after=after))
    assert found.keys() == {key for key in old.keys() | new.keys() if old.get(key) != new.get(key)}
    assert {key: row[2:] for key, row in found.items()} == {key: (old.get(key), new.get(key)) for key in found}


@pytest.mark.slow
@pytest.mark.parametrize(("number", "name"), [(1, "explicit, compound key"), (2, "commit")])
def test_a_random_commit_is_dropped_and_restored(lake: kl.Lake, number: int, name: str) -> None:
    random = Random(number)
    shape = replace(SHAPES[name], buckets=2)
    twin = shape.create(lake, fresh_name("metadata"))
    steps = operations(shape, 900 + number, count=7, rows=random.choice([5, 30]))
    for step in steps[:5]:
        step.apply(twin)
    if number % 2:
        twin.table.compact("settle")
    overwrites = [n for n, step in enumerate(steps[:5], start=1) if step.verb == "overwrite"]
    commit = random.randint(max([1, *overwrites]), 5)
    whole, before = deepcopy(twin.model), head(twin)
    planned = twin.table.drop_files_plan(of_commits(twin, commit))
    assert head(twin) == before
    done = twin.table.drop_files(of_commits(twin, commit))
    assert replace(done, snapshot_id=None) == planned
    assert (done.snapshot_id, twin.table.history(compactions=True)[0].verb) == (head(twin), "drop_files")
    twin.model = dropped(twin.model, commit)
    twin.check()
    check_feed(twin, whole, before)
    if whole.versions != "commit":
        twin.check_stamps()
    between, before = deepcopy(twin.model), head(twin)
    restored = twin.table.restore_files(of_commits(twin, commit), at=twin.commits[4])
    assert (restored.files, restored.rows) == (done.files, done.rows)
    written_again(twin, whole, commit, restored)
    twin.check()
    check_feed(twin, between, before)
    assert appended(twin, 5, 6) == expected_appended(twin, 5, 6)
    for step in steps[5:]:
        step.apply(twin)
        twin.check()
    for after, until in ((0, 8), (5, 7)):
        assert appended(twin, after, until) == expected_appended(twin, after, until), (after, until)
    twin.table.compact("full")
    twin.check()


@pytest.mark.slow
@of_every("table_format", {"2": 2, "3": 3}, today=1)
def test_superseded_rows_come_back_when_what_superseded_them_goes(lake: kl.Lake, table_format: int) -> None:
    twin = WHOLE.create(lake, fresh_name("metadata"))
    lake.spark.sql(f"ALTER TABLE {twin.sql_name} SET TBLPROPERTIES ('format-version' = '{table_format}')")
    for number, keys in enumerate([range(300), range(20), range(20, 40), range(0, 300, 2)]):
        twin.upsert(rows(keys, number), version=number)
    twin.table.compact("settle")
    on_disk = set(files_on_disk(twin))
    done = twin.table.drop_files(of_commits(twin, 2))
    assert (done.files, done.rows, done.buckets, done.columns) == (1, 20, 1, ("a", "b", "c", "d", "e"))
    assert set(files_on_disk(twin)) == on_disk, "metadata only"
    twin.model = dropped(twin.model, 2)
    twin.check()
    assert {run["settling"] for run in rows_of(twin.table.runs())} == {"not_yet"}
    twin.table.compact("settle")
    twin.check()
    twin.upsert(rows(range(5), 9), version=9)
    twin.table.compact("settle")
    assert [merge.reason for merge in twin.table.compact(some_of_each_bucket(twin.table))] == ["superseded"]
    twin.check()


def files_on_disk(twin: Twin) -> list[Path]:
    path = rows_of(twin.table.files())[0]["path"]
    return [each for each in Path(path).parents[1].rglob("*.parquet") if "settle" not in each.name]


@pytest.mark.slow
def test_files_without_rows_that_others_superseded_keep_these_there(lake: kl.Lake) -> None:
    twin = WHOLE.create(lake, fresh_name("metadata"))
    for number, keys in enumerate([range(300), range(20), range(20, 40), range(0, 300, 2)]):
        twin.upsert(rows(keys, number), version=number)
    twin.table.compact("settle")
    assert len(twin.table.compact(some_of_each_bucket(twin.table))) > 0
    runs = rows_of(twin.table.runs())
    assert len(runs) > 1, "a part was merged"
    with refused(lake, twin.table.name, kl.Unsupported, "was merged without rows that file"):
        twin.table.drop_files(of_commits(twin, 4))
    twin.upsert(rows(range(10), 9), version=9)
    twin.table.drop_files(of_commits(twin, 5))
    twin.model = dropped(twin.model, 5)
    twin.check()
    assert twin.table.drop_files("true").files == len(runs)
    assert twin.table.read().count() == 0


@pytest.mark.slow
def test_files_move_to_another_branch(lake: kl.Lake) -> None:
    twin = three_commits(lake)
    draft = twin.table.branch("tmp_draft")
    other = Twin(lake, draft, deepcopy(twin.model), twin.schema, [*twin.commits])
    twin.upsert(rows(range(60), 4), version=2)
    twin.delete([{"id": key} for key in range(5)], version=9)
    whole, before = deepcopy(twin.model), head(twin)
    where = of_commits(twin, 2, 4)
    assert twin.table.move_files_plan(where, to="tmp_draft").rows == 160
    done = twin.table.move_files(where, to="tmp_draft")
    assert (done.files, done.rows, done.snapshot_id) == (4, 160, head(twin))
    twin.model = dropped(twin.model, 2, 4)
    twin.check()
    check_feed(twin, whole, before)
    written_again(other, whole, 4, replace(done, snapshot_id=head(other)))
    other.check()
    assert (draft.history()[0].verb, draft.history()[0].rows) == ("move_files", 60), "it had the other commit already"
    assert appended(other, 3, 4) == expected_appended(other, 3, 4)
    assert draft.files().count() == 8
    back = draft.move_files(of_commits(twin, 2), to="main")
    written_again(twin, whole, 2, replace(back, snapshot_id=head(twin)))
    other.model = dropped(other.model, 2)
    twin.check()
    other.check()
    twin.table.undo(after=twin.commits[-2])
    twin.model = whole
    twin.check()


def test_changes_of_files_are_taken_back_and_kept(lake: kl.Lake) -> None:
    twin = three_commits(lake)
    twin.upsert(rows(range(40, 70), 4), version=4)
    whole = twin.model
    first = twin.table.drop_files("size(columns) = 1")
    second = twin.table.drop_files(of_commits(twin, 2))
    assert first.columns == ("c",)
    twin.table.undo(after=first.snapshot_id, until=second.snapshot_id)
    twin.model = dropped(whole, 3)
    twin.check()
    assert appended(twin, 1, 2) == expected_appended(twin, 1, 2), "a drop that was taken back takes nothing away"
    twin.table.undo(after=twin.commits[-1])
    twin.model = whole
    twin.check()


@pytest.mark.slow
def test_an_undo_of_older_writes_leaves_what_was_dropped_since(lake: kl.Lake) -> None:
    twin = three_commits(lake)
    twin.upsert(rows(range(40, 70), 4), version=4)
    twin.table.drop_files(of_commits(twin, 1, 4))
    twin.model = dropped(twin.model, 1, 4)
    twin.check()
    last = head(twin)
    twin.table.undo(after=twin.commits[1], until=twin.commits[2])
    twin.model = dropped(twin.model, 3)
    twin.check()
    twin.table.restore_files("true", at=twin.commits[0])
    undone = twin.table.undo(after=last)
    assert undone.commits == 2
    twin.model = dropped(three_commits(lake).model, 1)
    twin.check()


@pytest.mark.slow
def test_what_a_dropped_file_was_merged_of_cannot_be_told_apart(lake: kl.Lake) -> None:
    twin = three_commits(lake)
    name = twin.table.name
    twin.table.compact("full")
    whole, before = deepcopy(twin.model), head(twin)
    done = twin.table.drop_files("bucket = 0")
    gone = {key[0] for key in twin.expected()} - {key[0] for key in twin.read()}
    assert 0 < len(gone) < 150
    assert done.rows == len(gone)
    twin.model = replace(whole, written={k: v for k, v in whole.written.items() if k[0] not in gone})
    twin.check()
    check_feed(twin, whole, before)
    assert by_key(twin, twin.table.changes(after=twin.commits[0])).keys() > set()
    with refused_in_sql(lake, name, "UNSUPPORTED", "several writes had been merged"):
        twin.table.appended(after=twin.commits[0]).count()
    with refused(lake, name, kl.Unsupported, "several writes had been merged"):
        twin.table.undo(after=twin.commits[1], until=twin.commits[2])
    assert twin.table.appended(after=before).count() == 0
    twin.table.undo(after=before)
    twin.model = whole
    twin.check()


def test_restored_files_outlive_the_commits_that_dropped_them(lake: kl.Lake) -> None:
    twin = three_commits(lake)
    twin.table.drop_files("bucket = 0")
    twin.table.restore_files("bucket = 0", at=twin.commits[-1])
    last = twin.commits[-1]
    assert twin.table.clean(kl.RetentionPolicy(days=0)).snapshots_expired == 4
    twin.check()
    with refused(lake, twin.table.name, kl.SnapshotExpired, "has expired"):
        twin.table.restore_files("true", at=last)


@pytest.mark.slow
def test_calls_in_sql(lake: kl.Lake) -> None:
    twin = three_commits(lake)
    table, snapshot = f"table => '{twin.table.name}'", twin.commits[-1].snapshot_id
    where = of_commits(twin, 3)

    def called(procedure: str, more: str = "") -> dict[str, Any]:
        call = f"CALL {lake.catalog}.system.{procedure}({table}, where => '{where}'{more})"
        (row,) = rows_of(lake.spark.sql(call))
        return row

    assert called("drop_files_plan") | {"bytes": 0} == {
        "snapshot_id": None,
        "files": 2,
        "rows": 20,
        "bytes": 0,
        "buckets": 2,
        "columns": ["c"],
    }
    twin.table.branch("tmp_other")
    twin.table.branch("tmp_other").drop_files("size(columns) = 1")
    assert called("move_files", ", to => 'tmp_other'")["files"] == 2
    assert called("restore_files", f", at => {snapshot}, branch => 'main'")["files"] == 2
    twin.check()
    with refused_in_sql(lake, twin.table.name, "NOT_FOUND", "no file of", "matches"):
        called("drop_files", ", branch => 'tmp_other'")


@pytest.mark.slow
def test_what_is_refused_changes_nothing(lake: kl.Lake) -> None:
    twin = three_commits(lake)
    table, name = twin.table, twin.table.name
    with refused(lake, name, kl.TableNotFound, "no file of", "matches bucket = 77; nothing was changed"):
        table.drop_files("bucket = 77")
    with refused(lake, name, kl.TableNotFound, "very file of", "is there; nothing was changed"):
        table.restore_files("true", at=twin.commits[0])
    with refused(lake, name, kl.DefinitionError, "on branch 'main' already"):
        table.move_files("true", to="main")
    with refused(lake, name, kl.TableNotFound, "no branch 'nope'"):
        table.move_files("true", to="nope")
    lake.spark.sql(f"ALTER TABLE {twin.sql_name} CREATE TAG monthly")
    with refused(lake, name, kl.TableNotFound, "'monthly'", "is a tag"):
        table.move_files("true", to="monthly")
    with refused(lake, name, kl.SchemaMismatch, "`clicks`", "nothing was changed"):
        table.drop_files("clicks = 1")
    for where in ("bucket =", "bucket = 0; DROP TABLE x", "", "bucket", "1 / 0 = bucket"):
        with refused(lake, name, kl.DefinitionError, "no condition on the columns of keyed_files"):
            table.drop_files(where)
    with refused(lake, name, kl.SnapshotExpired, "ommit 17"):
        table.restore_files("true", at=17)
    with refused(lake, name, kl.DefinitionError, "at=None"):
        table.restore_files("true", at=None)  # type: ignore[arg-type]
    twin.check()


@pytest.mark.slow
def test_earlier_names_are_functions_of_the_class(lake: kl.Lake) -> None:
    twin = three_commits(lake)
    table, where = twin.table, "commit_order = 2"
    found = table.files.drop_plan(where)
    assert kl.KeyedTable.drop_files_plan(table, where) == table.drop_files_plan(where) == found
    assert kl.KeyedTable.undo_feed(table).count() == table.feed.undo().count()
    assert list(map(kl.KeyedTable.history_branches, [table])) == [table.states()]
    kl.KeyedTable.acknowledge(table, "store", until=twin.commits[0])
    assert [consumer.name for consumer in kl.KeyedTable.consumers(table)] == ["store"]
    assert kl.KeyedTable.drop_files.__name__ == "drop_files"
    assert str(kl.KeyedTable.drop_files.__doc__).startswith("The earlier name of `table.files.drop()`.\n\nTake files")


def test_a_namespace_keeps_no_attributes(lake: kl.Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    table = three_commits(lake).table
    with pytest.raises(AttributeError, match=r"takes no attribute 'drop'.* keylake\.table\.Files\.drop"):
        monkeypatch.setattr(table.files, "drop", lambda where: where)
    monkeypatch.setattr(keylake.table.Files, "drop", lambda self, where: where)
    assert (table.files.drop("a"), table.drop_files("b")) == ("a", "b")
