"""What a cleaning deletes: files that nobody needs, and nothing else, wherever tables lie and whatever clocks say."""

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from pyiceberg.table.update import SetLocationUpdate

import keylake as kl
from integration.histories import Shape
from integration.raw import catalog_of
from integration.twin import Twin, fresh_name

SHAPE = Shape("explicit", buckets=1)
NOW = kl.RetentionPolicy(orphan_days=0)
DAY = 86_400


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cleaned")


@pytest.fixture(scope="module")
def lake(folder: Path) -> Iterator[kl.Lake]:
    """Tables here lie in strange places, which other tests shall not meet."""
    with kl.connect(warehouse=folder, memory="1g", settings={"spark.keylake.maintenance.enabled": "false"}) as lake:
        yield lake


def written(lake: kl.Lake, name: str | None = None) -> Twin:
    twin = SHAPE.create(lake, name or fresh_name("cleaned"))
    for version in (1, 2):
        twin.update([{"id": key, "a": key * version} for key in range(9)], version=version)
    return twin


def place(twin: Twin) -> Path:
    return Path(catalog_of(twin.lake).load_table(twin.table.name).location().removeprefix("file:"))


def made_elsewhere(lake: kl.Lake, name: str, location: Path) -> Twin:
    """A keyed table that another client of the catalog made, at a place that keylake would refuse."""
    model = SHAPE.create(lake, fresh_name("models"))
    like = catalog_of(lake).load_table(model.table.name)
    into = catalog_of(lake)
    into.create_namespace_if_not_exists(name.rpartition(".")[0])
    into.create_table(
        name,
        like.schema(),
        location=f"file:{location}",
        partition_spec=like.spec(),
        sort_order=like.sort_order(),
        properties=like.properties | {"format-version": "2"},
    )
    return Twin(lake, lake.table(name), model.model, model.schema)


def data_files(folder: Path) -> list[Path]:
    return sorted((folder / "data").rglob("*.parquet"))


def orphan(twin: Twin, *, days_old: float = 5) -> Path:
    """A file as a writer leaves it that was killed: named like its others, and known to nobody."""
    known = data_files(place(twin))[0]
    left = known.with_name(f"00000-1-{uuid4()}-00001.parquet")
    shutil.copyfile(known, left)
    aged(left, days_old)
    return left


def aged(path: Path, days: float) -> None:
    os.utime(path, (time.time() - days * DAY,) * 2)


def all_aged(folder: Path, days: float = 5) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            aged(path, days)


# --------------------------------------------------------------------------------------------------- whose files


@pytest.mark.slow
def test_only_files_that_a_table_can_have_written_are_deleted(lake: kl.Lake) -> None:
    twin = written(lake)
    home = place(twin)
    known = data_files(home)[0]
    orphans = [
        known.with_name(f"00003-7-compact-{uuid4()}-00002.parquet"),
        known.with_name(f"00003-7-settle-{uuid4()}-00002.puffin"),
        known.with_name(f"00003-7-undo-{uuid4()}-00002-deletes.parquet"),
        home / "metadata" / f"{uuid4()}-m0.avro",
        home / "metadata" / f"snap-17-1-{uuid4()}.avro",
        home / "metadata" / f"00001-{uuid4()}.metadata.json",  # of a writer that was killed at its first byte
    ]
    others = [
        known.with_name("notes.parquet"),
        known.with_name(f"00000-0-{uuid4()}.parquet"),  # pyiceberg names files like that
        home / "data" / "manifest.json",
        home / "metadata" / "version-hint.text",
        home / "metadata" / "kept.avro",
        home / f"00000-1-{uuid4()}-00001.parquet",
        home / "online" / f"00000-1-{uuid4()}-00001.parquet",
        home / "metadata" / "deeper" / f"{uuid4()}-m0.avro",
    ]
    for path in (*orphans, *others):
        path.parent.mkdir(exist_ok=True)
        path.touch()
        aged(path, 5)
    cleaned = twin.table.clean()
    assert cleaned.orphans_deleted == len(orphans)
    assert cleaned.orphans_left_because is None
    assert not [path for path in orphans if path.exists()]
    assert not [path for path in others if not path.exists()]
    twin.check()
    twin.check(commits=1)


@pytest.mark.slow
def test_a_table_inside_the_folder_of_another_loses_nothing(lake: kl.Lake) -> None:
    outer = written(lake)
    inner = made_elsewhere(lake, f"{outer.table.name}.inner", place(outer) / "inner")
    inner.update([{"id": 1, "a": 1}], version=1)
    left = [orphan(outer), orphan(inner)]
    all_aged(place(outer))
    for twin in (outer, inner):
        cleaned = twin.table.clean(kl.RetentionPolicy(days=0, orphan_days=0))
        assert cleaned.orphans_deleted == 0
        assert "another table" in (cleaned.orphans_left_because or "")
        assert str(cleaned).endswith(cleaned.orphans_left_because or "-")
        twin.check()
    assert all(path.exists() for path in left)


@pytest.mark.slow
def test_maintenance_says_which_table_it_cannot_clean(tmp_path: Path) -> None:
    settings = {"spark.keylake.maintenance.hours-between-cleanings": "0"}
    with kl.connect(warehouse=tmp_path, memory="1g", settings=settings) as lake:
        outer = SHAPE.create(lake, fresh_name("cleaned"))
        inner = made_elsewhere(lake, f"{outer.table.name}.inner", place(outer) / "inner")
        for version in (1, 2):
            inner.update([{"id": 1, "a": version}], version=version)
            lake.maintenance.wait(seconds=120)
        said = [entry for entry in lake.maintenance.log() if entry.state == "not cleaned"]
        assert {entry.table.split(".", 1)[1] for entry in said} == {inner.table.name}
        assert "another table" in (said[0].because or "")
        assert inner.table.name in str(lake.maintenance._repr_html_())


def test_two_tables_in_one_folder_lose_nothing(lake: kl.Lake) -> None:
    first = written(lake)
    second = made_elsewhere(lake, f"twins.{first.table.name.replace('.', '_')}", place(first))
    second.update([{"id": 1, "a": 1}], version=1)
    all_aged(place(first))
    for twin in (first, second):
        assert "same folder" in (twin.table.clean(NOW).orphans_left_because or "")
    first.check()
    second.check()


def test_a_link_into_another_table_is_not_followed(lake: kl.Lake) -> None:
    twin, other = written(lake), written(lake)
    (place(twin) / "data" / "linked").symlink_to(place(other) / "data")
    all_aged(place(other))
    assert twin.table.clean(NOW).orphans_deleted == 0
    other.check()


def test_a_folder_under_another_name_has_the_same_files(lake: kl.Lake, folder: Path, tmp_path: Path) -> None:
    twin = written(lake)
    left = orphan(twin)
    (tmp_path / "alias").symlink_to(folder)
    alias = tmp_path / "alias" / place(twin).relative_to(folder)
    with catalog_of(lake).load_table(twin.table.name).transaction() as change:
        change._apply((SetLocationUpdate(location=f"file://{alias}"),))
    all_aged(place(twin))
    assert twin.table.clean(NOW).orphans_left_because is None
    twin.check()
    assert not left.exists()


def test_a_table_whose_files_others_may_use_keeps_all(lake: kl.Lake) -> None:
    twin = written(lake)
    left = orphan(twin)
    lake.spark.sql(f"ALTER TABLE {twin.sql_name} SET TBLPROPERTIES ('gc.enabled' = 'false')").collect()
    cleaned = twin.table.clean(kl.RetentionPolicy(days=0, orphan_days=0))
    assert (cleaned.snapshots_expired, cleaned.orphans_deleted) == (0, 0)
    assert "gc.enabled" in (cleaned.orphans_left_because or "")
    assert left.exists()


# ------------------------------------------------------------------------------------------------- what is bounded


@pytest.mark.slow
def test_many_small_commits_leave_what_the_policy_says_and_all_facts(lake: kl.Lake) -> None:
    twin = SHAPE.create(lake, fresh_name("cleaned"))
    lake.spark.sql(
        f"ALTER TABLE {twin.sql_name} SET TBLPROPERTIES ('write.metadata.previous-versions-max' = '3')"
    ).collect()
    twin.table.set_retention_policy(kl.RetentionPolicy(max_snapshots=4))
    commits = [
        twin.table.update([{"id": 1, "a": n}], version=n, idempotency_key=f"b{n}", offsets={"topic": (n - 1, n)})
        for n in range(1, 11)
    ]
    past = twin.table.health().past
    assert past is not None
    assert (past.snapshots, past.expirable, past.metadata_files, past.old_metadata_files) == (10, 6, 4, 0)
    assert twin.table.clean().snapshots_expired == 6
    assert len(list((place(twin) / "metadata").glob("*.metadata.json"))) == 4
    repeated = twin.table.update([{"id": 1, "a": 99}], version=99, idempotency_key="b2")
    again = twin.table.update([{"id": 1, "a": 99}], version=99, offsets={"topic": (1, 2)})
    assert (repeated.snapshot_id, again.repeated, len(twin.table.history())) == (commits[1].snapshot_id, True, 4)
    assert twin.table.offsets() == {"topic": 10}


@pytest.mark.nightly
def test_four_hundred_batches_leave_little_metadata(lake: kl.Lake) -> None:
    """With cleanings as maintenance makes them: 934 metadata files with 636 MB were left before there were limits."""
    twin = SHAPE.create(lake, fresh_name("cleaned"))
    twin.table.set_retention_policy(kl.RetentionPolicy(max_snapshots=100))
    for n in range(400):
        rows = [{"id": key, "a": n} for key in range(20)]
        twin.table.update(rows, version=n, idempotency_key=f"b{n}", offsets={"topic": (n, n + 1)})
        if n % 100 == 99:
            twin.table.clean()
    files = place(twin) / "metadata"
    left = sorted(files.glob("*.metadata.json"))
    assert len(left) <= 52
    assert left[-1].stat().st_size < 250_000, "a commit writes 100 snapshots, 400 keys and their offsets"
    assert sum(each.stat().st_size for each in files.iterdir()) < 20_000_000
    assert twin.table.offsets() == {"topic": 400}
    repeated = twin.table.update([{"id": 1, "a": 99}], version=999, idempotency_key="b0")
    again = twin.table.update([{"id": 1, "a": 99}], version=999, offsets={"topic": (7, 8)})
    assert (repeated.repeated, again.repeated) == (True, True)


def test_old_metadata_files_of_a_table_go_and_no_others(lake: kl.Lake) -> None:
    """As tables have them from before there was a limit."""
    twin = SHAPE.create(lake, fresh_name("cleaned"))
    limit = "'write.metadata.delete-after-commit.enabled', 'write.metadata.previous-versions-max'"
    lake.spark.sql(f"ALTER TABLE {twin.sql_name} UNSET TBLPROPERTIES ({limit})").collect()
    lake.spark.sql(
        f"ALTER TABLE {twin.sql_name} SET TBLPROPERTIES ('write.metadata.previous-versions-max' = '2')"
    ).collect()
    for version in range(1, 7):
        twin.update([{"id": 1, "a": version}], version=version)
    files = place(twin) / "metadata"
    foreign = files / f"00001-{uuid4()}.metadata.json"
    shutil.copyfile(sorted(files.glob("*.metadata.json"))[1], foreign)
    assert len(list(files.glob("*.metadata.json"))) == 10
    assert twin.table.clean().metadata_files_deleted == 7
    assert min(files.glob("*.metadata.json")) == foreign, "no metadata of the table names it"
    assert len(list(files.glob("*.metadata.json"))) == 4
    twin.check()


# ---------------------------------------------------------------------------------------------------------- ages


def test_the_age_of_a_file_is_told_by_the_clock_of_the_store(lake: kl.Lake) -> None:
    twin = written(lake)
    old, young, ahead = orphan(twin, days_old=3.01), orphan(twin, days_old=2.99), orphan(twin, days_old=-400)
    assert twin.table.clean().orphans_deleted == 1
    assert [path.exists() for path in (old, young, ahead)] == [False, True, True]
    assert twin.table.clean(NOW).orphans_deleted == 1
    assert ahead.exists(), "of a time that has not come"
    assert not list(place(twin).glob("_keylake*")), "what tells the time is gone"
