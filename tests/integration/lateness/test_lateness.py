"""Rows that come later than a table allows: where they lie, who reads them, and when they are merged."""

import shutil
import uuid
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import keylake as kl
import keylake.local
from integration.refusals import refused, refused_in_sql
from integration.sessions import clone_of
from integration.twin import fresh_name

NOON = datetime(2026, 11, 1, 12, tzinfo=timezone.utc)
APART = kl.CompactionPolicy(
    tier_runs=2, superseded_share=0.01, least_freed_share=0.0, recent_seconds=0, late_share=1000.0
)
SOON = kl.CompactionPolicy(late_share=0.0)


def table_of(lake: kl.Lake, lateness: str | timedelta | None = "1 hour", **definition: Any) -> kl.KeyedTable:
    types = {"id": pa.int64(), "at": pa.timestamp("us", "UTC"), "n": pa.int64(), "city": pa.string()}
    schema = pa.schema([pa.field(name, type_, nullable=name != "id") for name, type_ in types.items()])
    words = {"key": "id", "ordering": "at", "buckets": 1} | definition
    table = lake.create(kl.TableSpec.from_arrow(schema, name=fresh_name("late"), **words))
    table.layout.set_lateness(lateness)
    return table


def rows(numbers: Mapping[int, int], minutes: int = 0) -> list[dict[str, object]]:
    at = NOON + timedelta(minutes=minutes)
    return [{"id": key, "at": at, "n": n, "city": "Oslo"} for key, n in numbers.items()]


def read(table: kl.KeyedTable, **words: Any) -> dict[int, int | None]:
    return {row.id: row.n for row in table.read(["id", "n"], **words).collect()}


def names(lake: kl.Lake, table: kl.KeyedTable) -> list[str]:
    """The names of the files, without what is another one each time."""
    paths = [row.file_path for row in lake.spark.sql(f"SELECT file_path FROM {table.name}.files").collect()]
    return sorted(path.rpartition("/")[2].split("-", 2)[2].rpartition("-")[0][:-37] for path in paths)


LIMIT = int((NOON - timedelta(hours=1)).timestamp()) * 1_000_000


def test_a_write_is_split_at_the_limit(lake: kl.Lake, warehouse: Path) -> None:
    table = table_of(lake)
    assert str(table.layout.lateness()).startswith("no row is late yet")
    first = table.upsert(rows({1: 1, 2: 2}), watermark=NOON)
    assert first.late == 0
    said = table.layout.lateness()
    assert (said.allowed, said.watermark, said.late_before) == (timedelta(hours=1), NOON, NOON - timedelta(hours=1))
    second = table.upsert([*rows({3: 3}, -60), *rows({4: 4}, -61)])  # of which one has come in time, just
    assert (second.rows, second.late) == (2, 1)
    assert "2 rows, 1 late" in str(second)
    assert names(lake, table) == ["", f"late_{LIMIT}", f"timely_{LIMIT}"]
    assert read(table) == {1: 1, 2: 2, 3: 3, 4: 4}
    assert read(table, freshness="on_time") == {1: 1, 2: 2, 3: 3}
    assert read(table, freshness="on_time", at=first) == {1: 1, 2: 2}
    with keylake.local.open(warehouse) as opened:
        local = opened.table(table.name)
        third = local.upsert([*rows({5: 5}), *rows({6: 6}, -90)], stream="app")
        assert (third.rows, third.late) == (2, 1)
        on_time = local.read(columns=["id", "n"], freshness="on_time").to_arrow().to_pylist()
        assert {row["id"]: row["n"] for row in on_time} == {1: 1, 2: 2, 3: 3, 5: 5} == read(table, freshness="on_time")
        assert local.history() == table.history()
    hours = table.history().lateness()
    of_app = [each for each in hours if each.stream == "app"]  # an hour may end between the writes
    assert [(each.rows, each.late, each.share) for each in of_app] == [(2, 1, 0.5)]
    assert (sum(each.rows for each in hours), sum(each.late for each in hours)) == (6, 2)
    assert hours.plot().axes
    assert table.layout.lateness().rows == 2


def test_reads_of_rows_on_time_open_no_late_file(lake: kl.Lake) -> None:
    table = table_of(lake)
    table.upsert(rows({1: 1, 2: 2}), watermark=NOON)
    table.upsert(rows({2: 0, 3: 3}, -90))
    (late,) = (
        row.file_path
        for row in lake.spark.sql(f"SELECT file_path FROM {table.name}.files").collect()
        if "-late_" in row.file_path
    )
    file = Path(late.removeprefix("file:"))
    away = file.rename(file.with_suffix(".away"))
    assert read(table, freshness="on_time") == {1: 1, 2: 2}
    assert table.read(freshness="on_time").count() == 2
    with pytest.raises(kl.StoreFailed):
        read(table)
    away.rename(file)


def test_names_of_late_files_tell_that_keylake_wrote_them(lake: kl.Lake, warehouse: Path) -> None:
    """Where the commits of keylake have expired, files tell by their names; those of failed writes are removed."""
    table = table_of(lake)
    table.upsert(rows({1: 1, 2: 2}), watermark=NOON)
    table.upsert([*rows({3: 3}), *rows({4: 4}, -90)])
    (late,) = warehouse.joinpath(*table.name.split("."), "data").rglob("*-late_*.parquet")
    failed = shutil.copy(late, late.with_name(f"{late.name[:-50]}{uuid.uuid4()}-00001.parquet"))
    cleaned = table.layout.clean(kl.RetentionPolicy(orphan_days=0))
    assert (cleaned.orphans_deleted, failed.exists(), late.exists()) == (1, False, True)
    stock = "org.apache.iceberg.spark.SparkCatalog"
    with clone_of(lake, {f"spark.sql.catalog.{lake.catalog}": stock}) as session:
        session.sql(f"CALL {lake.catalog}.system.rewrite_manifests(table => '{table.name}')").collect()
        session.sql(
            f"CALL {lake.catalog}.system.expire_snapshots(table => '{table.name}', retain_last => 1, "
            "older_than => TIMESTAMP '2999-01-01 00:00:00')"
        ).collect()
    assert read(table) == {1: 1, 2: 2, 3: 3, 4: 4}
    with keylake.local.open(warehouse) as opened:
        assert opened.table(table.name).read().to_arrow().num_rows == 4
    assert table.check().is_ok


@pytest.mark.slow
def test_merges_of_timely_rows_pass_late_ones_over(lake: kl.Lake, warehouse: Path) -> None:
    table = table_of(lake)
    table.upsert(rows({1: 1, 2: 2}, -90), watermark=NOON)  # in time: nothing was known before
    table.upsert(rows({1: 10, 3: 30}, -90))  # of the same version as the first, and later
    for number in range(3):
        table.upsert(rows({2: number, 4: number}, number))
    done = table.compact(APART)
    assert [merge.files_merged for merge in done] == [4]
    assert names(lake, table) == [f"late_{LIMIT}", "timely_x_1-compact"]
    expected = {1: 10, 2: 2, 3: 30, 4: 2}
    assert read(table) == expected
    assert read(table, freshness="on_time") == {1: 1, 2: 2, 4: 2}
    with keylake.local.open(warehouse) as opened:
        local = opened.table(table.name)
        assert {row.id: row.n for row in local.read().rows()} == expected
        assert local.get(id=1) is not None
        assert local.get(id=1)["n"] == 10
    for number in (9, 10, 11):
        table.upsert(rows({1: number, 5: 5}, -90))
    done = table.compact(kl.CompactionPolicy(**{**APART.__dict__, "max_files": 3}))
    assert names(lake, table) == [f"late_{LIMIT}_2-compact", "timely_x_1-compact"], done
    assert read(table) == expected | {1: 11, 5: 5}
    done = table.compact(SOON)
    assert done[0].reason == "late"
    assert "the limit is 0%" in done[0].because
    assert table.layout.lateness().files == 0
    assert read(table, freshness="on_time") == read(table) == expected | {1: 11, 5: 5}
    table.compact("full")
    assert names(lake, table) == ["compact"]


@pytest.mark.slow
def test_late_rows_become_a_run_like_others(lake: kl.Lake, warehouse: Path) -> None:
    table = table_of(lake)
    table.upsert(rows(dict.fromkeys(range(20_000), 0), -90), watermark=NOON)
    table.upsert(rows({1: 1}))
    table.compact("settle")  # so that the large run is settled
    table.upsert(rows({1: 0, 2: 2, 30_000: 3}, -90))
    table.upsert(rows({4: 4}))
    done = table.compact(SOON)
    assert (done[0].reason, done[0].files_merged) == ("late", 1)
    assert "mixed-compact" in names(lake, table)
    expected = dict.fromkeys(range(20_000), 0) | {1: 1, 2: 2, 4: 4, 30_000: 3}
    with keylake.local.open(warehouse) as opened:
        assert {row.id: row.n for row in opened.table(table.name).read().rows()} == expected
    assert table.layout.lateness().files == 0
    assert read(table) == read(table, freshness="on_time") == expected
    table.upsert(rows({5: 5}))
    table.compact(APART)
    assert read(table) == expected | {5: 5}
    table.compact("settle")
    assert read(table) == expected | {5: 5}
    table.compact("full")
    assert names(lake, table) == ["compact"]
    assert read(table) == expected | {5: 5}


@pytest.mark.parametrize("deleted", [False, True], ids=["value", "tombstone"])
def test_a_tie_with_a_row_that_was_late(lake: kl.Lake, warehouse: Path, deleted: bool) -> None:
    """The late row is of the later commit, also where it is in a run like others, of the number of the newest file."""
    table = table_of(lake)
    table.upsert(rows({1: 1}, -90), watermark=NOON)
    if deleted:
        table.delete([{"id": 1}], version=NOON - timedelta(minutes=90))
    else:
        table.upsert(rows({1: 10}, -90))
    for number in range(2):
        table.upsert(rows({2: number}, number))
    table.compact(APART)
    table.compact(SOON)
    assert names(lake, table) == ["mixed-compact", "timely_x_1-compact"]
    expected = {2: 1} if deleted else {1: 10, 2: 1}
    assert read(table) == expected
    with keylake.local.open(warehouse) as opened:
        local = opened.table(table.name)
        assert {row.id: row.n for row in local.read().rows()} == expected
        assert (local.get(id=1) is None) == deleted


def test_merged_rows_are_not_added_beside_late_rows_of_after_them(lake: kl.Lake) -> None:
    """They would count as older than those, though what is added counts as the newest commit."""
    table = table_of(lake)
    table.upsert(rows({1: 1}, -90), watermark=NOON)
    table.upsert(rows({8: 8}, -90))
    for number in range(2):
        table.upsert(rows({4: number}, number))
    table.compact(APART)
    merged = table.history(1, compactions=True)[0]
    table.files.drop("path LIKE '%compact%'")
    table.upsert(rows({1: 10}, -90))
    before = read(table)
    with pytest.raises(kl.Unsupported, match=r"would count as older than those; merge all with compact\('full'\)"):
        table.files.restore("path LIKE '%compact%'", at=merged)
    assert read(table) == before == {1: 10, 8: 8}
    table.compact("full")
    table.files.restore("path LIKE '%compact%'", at=merged)
    assert read(table) == {1: 1, 8: 8, 4: 1}


def test_rows_of_a_release_are_on_time(lake: kl.Lake) -> None:
    """A release counts as a write at that moment, also of rows that were mended in the quarantine."""
    table = table_of(lake)
    table.upsert(rows({1: 1}, -100), watermark=NOON)
    table.upsert(rows({5: -5}, -95), require=[kl.condition("n >= 0")], on_failure="quarantine")
    assert table.branch("quarantine").upsert(rows({5: 5}, -95)).late == 0
    table.quarantine.release()
    assert read(table) == read(table, freshness="on_time") == {1: 1, 5: 5}


def test_rows_that_were_late_do_not_lend_their_columns(lake: kl.Lake) -> None:
    """Their file has the number of the newest one, which here has other keys, and no columns."""
    table = table_of(lake)
    table.update([{"id": 12, "at": NOON, "city": "Rome"}], watermark=NOON)
    table.update([{"id": 1, "at": NOON - timedelta(minutes=90), "n": 1}])
    table.delete([{"id": 2, "at": NOON - timedelta(minutes=90)}])
    table.delete([{"id": 12, "at": NOON - timedelta(minutes=10)}])
    alone = {**APART.__dict__, "late_share": 0.0, "superseded_share": 1.0, "least_freed_share": 1.0, "max_files": 100}
    done = table.compact(kl.CompactionPolicy(**alone))
    assert [merge.reason for merge in done] == ["late"]
    stamps = f"SELECT _merge_info.columns.n FROM {table.name} WHERE id = 12"
    assert lake.spark.sql(stamps).collect()[0].n is None
    table.compact("full")
    assert lake.spark.sql(stamps).collect()[0].n is None
    assert read(table) == {1: 1, 12: None}


def test_timely_rows_that_may_be_older_are_not_merged_apart(lake: kl.Lake) -> None:
    table = table_of(lake)
    table.upsert(rows({1: 1}), watermark=NOON, stream="fast")
    table.upsert(rows({1: 2, 2: 2}, -90), stream="fast")
    table.upsert(rows({3: 3}), watermark=NOON - timedelta(hours=5), stream="slow")  # which lowers the limit
    table.upsert(rows({2: 20, 3: 0}, -90), stream="slow")  # so that this is in time, and later than the late row
    assert read(table) == {1: 1, 2: 20, 3: 3}
    assert read(table, freshness="on_time") == {1: 1, 2: 20, 3: 3}
    done = table.compact(APART)
    assert [merge.reason for merge in done] == ["late"]
    assert "may have older rows" in done[0].because
    assert read(table) == {1: 1, 2: 20, 3: 3}


def test_tombstones_stay_while_late_rows_are_apart(lake: kl.Lake) -> None:
    table = table_of(lake)
    table.upsert(rows({1: 1, 2: 2}, -90), watermark=NOON)
    table.upsert(rows({1: 10}, -120))  # late, and older than the tombstone
    table.delete([{"id": 1, "at": NOON - timedelta(minutes=100)}])
    table.delete([{"id": 2, "at": NOON}])
    forgets = kl.CompactionPolicy(**{**APART.__dict__, "tombstone_seconds": 0})
    table.compact(forgets)
    assert f"late_{LIMIT}" in names(lake, table)[0]
    assert read(table) == {1: 1}
    table.compact(kl.CompactionPolicy(**{**forgets.__dict__, "late_share": 0.0}))
    assert read(table) == {1: 1}


def test_an_undo_takes_late_rows_back(lake: kl.Lake) -> None:
    table = table_of(lake)
    table.upsert(rows({1: 1, 2: 2}, -90), watermark=NOON)
    late = table.upsert(rows({1: 10, 3: 30}, -90))
    timely = table.upsert(rows({2: 20, 4: 4}))
    table.compact(APART)
    table.undo(after=late, until=timely)
    assert read(table) == {1: 10, 2: 2, 3: 30}
    table.undo(after=late.parent_id, until=late)
    assert read(table) == {1: 1, 2: 2}


def test_late_rows_in_feeds_and_branches(lake: kl.Lake) -> None:
    table = table_of(lake)
    first = table.upsert(rows({1: 1, 2: 2}), watermark=NOON)
    draft = table.branch("tmp_draft")
    draft.update([{"id": 3, "at": NOON - timedelta(hours=2), "n": 3}])
    assert read(draft) == {1: 1, 2: 2, 3: 3}
    assert read(draft, freshness="on_time") == {1: 1, 2: 2}
    draft.publish()
    assert read(table, freshness="on_time") == {1: 1, 2: 2}
    table.upsert(rows({1: 0, 4: 4}, -90))
    changed = {(row.id, row._change) for row in table.changes(after=first).collect()}
    assert changed == {(3, "insert"), (4, "insert")}
    assert {row.id for row in table.appended(after=first).collect()} == {1, 3, 4}


def test_statements_set_it_and_read_by_it(lake: kl.Lake) -> None:
    name = fresh_name("late")
    of_sql = f"{lake.catalog}.{name}"
    lake.spark.sql(
        f"CREATE TABLE {of_sql} (id INT, at TIMESTAMP, n INT, PRIMARY KEY (id)) USING keylake "
        "TBLPROPERTIES ('ordering' = 'at', 'keylake.lateness' = '30 Minutes')"
    )
    lake.spark.sql(
        f"INSERT INTO {of_sql} WITH ('watermark' = '2026-11-01T12:00:00Z') "
        "VALUES (1, TIMESTAMP'2026-11-01 12:00:00Z', 1)"
    )
    lake.spark.sql(f"INSERT INTO {of_sql} VALUES (2, TIMESTAMP'2026-11-01 11:29:59Z', 2)")
    counts = f"SELECT (SELECT count(*) FROM {of_sql}), (SELECT count(*) FROM {of_sql} WITH ('freshness' = 'on_time'))"
    assert tuple(lake.spark.sql(counts).collect()[0]) == (2, 1)
    plan = lake.spark.sql(f"EXPLAIN SELECT * FROM {of_sql} WITH ('freshness' = 'on_time')").collect()[0][0]
    assert "without late rows" in plan
    (said,) = lake.spark.sql(f"CALL {lake.catalog}.system.lateness(table => '{name}')").collect()
    assert (said.lateness, said.files, said.rows) == ("30 Minutes", 1, 1)
    lake.spark.sql(f"ALTER TABLE {of_sql} UNSET TBLPROPERTIES ('keylake.lateness')")
    assert lake.table(name).upsert([{"id": 3, "at": NOON - timedelta(days=9), "n": 1}]).late == 0
    with refused_in_sql(lake, name, "DEFINITION", "'soon'", "'1 hour'"):
        lake.spark.sql(f"ALTER TABLE {of_sql} SET TBLPROPERTIES ('keylake.lateness' = 'soon')")
    with refused_in_sql(lake, name, "DEFINITION", "'stale'", "'on_time'"):
        lake.spark.sql(f"SELECT * FROM {of_sql} WITH ('freshness' = 'stale')").collect()
    with refused_in_sql(lake, name, "UNSUPPORTED", "a range of commits"):
        lake.spark.sql(f"SELECT * FROM {of_sql} WITH ('freshness' = 'on_time', 'after' = '0')").collect()


@pytest.mark.parametrize(
    ("words", "said"),
    {
        "no ordering column": ({"ordering": None}, "has no ordering column"),
        "a number": ({"ordering": "n"}, "'n' is long"),
        "an accumulator": ({"reducers": {"n": kl.Sum()}}, "column 'n' is one"),
    }.values(),
)
def test_tables_that_know_no_late_rows(lake: kl.Lake, words: dict[str, Any], said: str) -> None:
    table = table_of(lake, None, **words)
    with refused(lake, table.name, kl.DefinitionError, "lateness '1 hour'", said):
        table.layout.set_lateness("1 hour")


def test_rows_of_one_key_are_one_where_the_newest_says_all(lake: kl.Lake, warehouse: Path) -> None:
    table = table_of(lake)
    table.upsert(rows({1: 1}), watermark=NOON)
    twice = [*rows({2: 1, 3: 1}, -90), *rows({2: 2}, -80), *rows({2: 3, 4: 4})]
    with keylake.local.open(warehouse) as opened:
        for commit in (table.upsert(twice), opened.table(table.name).upsert(twice)):
            assert (commit.rows, commit.late) == (3, 1)  # keys 2 and 4 in time, and 3 late
    changes = [
        {"id": 5, "at": NOON - timedelta(minutes=90), "n": 5, "city": None, "carried": ["n"]},
        {"id": 5, "at": NOON, "n": None, "city": "Rome", "carried": ["city"]},
    ]
    commit = table.update(changes, columns_from="carried")
    assert (commit.rows, commit.late) == (2, 1)
    assert read(table) == {1: 1, 2: 3, 3: 1, 4: 4, 5: 5}
    assert read(table, freshness="on_time") == {1: 1, 2: 3, 4: 4, 5: None}


@pytest.mark.parametrize(
    "watermark", [datetime(1, 1, 1, tzinfo=timezone.utc), datetime(9999, 1, 1, tzinfo=timezone.utc)]
)
def test_watermarks_at_the_ends_of_time(lake: kl.Lake, warehouse: Path, watermark: datetime) -> None:
    table = table_of(lake, "36525 days")
    table.upsert(rows({1: 1}), watermark=watermark)
    with keylake.local.open(warehouse) as opened:
        late = {table.upsert(rows({2: 2})).late, opened.table(table.name).upsert(rows({3: 3})).late}
    assert late == {0 if watermark.year == 1 else 1}
    said = table.layout.set_lateness("1 hour")
    assert said.late_before == (None if watermark.year == 1 else watermark - timedelta(hours=1))
    table.compact("full")
    assert read(table) == {1: 1, 2: 2, 3: 3}


def test_words_that_are_no_lateness(lake: kl.Lake) -> None:
    table = table_of(lake, None)
    for wrong in ("soon", "-1 hour", "40000 days", timedelta(seconds=-1), timedelta(microseconds=1), 3600):
        with refused(lake, table.name, kl.DefinitionError, "lateness"):
            table.layout.set_lateness(wrong)  # type: ignore[arg-type]
    for words in ({"freshness": "late"}, {"freshness": "on_time", "experiments": ["one"]}):
        with pytest.raises(kl.DefinitionError, match="freshness"):
            table.read(**words)  # type: ignore[arg-type]
    assert str(table.layout.lateness()).startswith("no row is late: ")
