"""Rows that fail a check of their write: refused, or held back and shown, mended, released and discarded."""

import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.functions import col, lit

import keylake as kl
import keylake.local
from integration.quarantine.held_table import FEW, NOON, POSITIVE, clicks, failed, rows, table_of
from integration.refusals import refused, refused_in_sql


def test_a_row_that_fails_a_check_fails_its_write(lake: kl.Lake) -> None:
    table = table_of(lake)
    table.upsert(rows(1))
    with refused(lake, table.name, kl.BadRows, "row with key id=1", "clicks >= 0", "on_failure='quarantine'"):
        table.upsert(rows(5, -1), require=[POSITIVE])
    with refused(lake, table.name, kl.BadRows, "clicks >= 0"):
        table.upsert(rows(None), require=[POSITIVE])
    frame = lake.spark.range(10_000).select(
        "id", lit(NOON).cast("timestamp_ntz").alias("at"), (col("id") - 9_999).alias("clicks")
    )
    with refused(lake, table.name, kl.BadRows, "does not satisfy the condition clicks >= 0"):
        table.update(frame, require=[POSITIVE])
    assert table.upsert(rows(7, None), require=[FEW]).held == 0
    assert clicks(table.read()) == {0: 7, 1: None}
    assert not table.quarantine()


def test_rows_are_held_back_in_the_commit_of_the_others(lake: kl.Lake) -> None:
    table = table_of(lake)
    commit = table.upsert(rows(5, -3, 200, -4), require=[POSITIVE, FEW], on_failure="quarantine")
    assert (commit.rows, commit.held) == (1, 3)
    assert str(commit).startswith(f"commit {commit.snapshot_id}: 1 rows, 3 held back in quarantine, ")
    assert clicks(table.read()) == {0: 5}
    assert table.history()[0].held == 3
    assert failed(table) == {1: "clicks >= 0", 2: "`clicks` IS NULL OR (`clicks` <= 100)", 3: "clicks >= 0"}
    held = table.quarantine()
    assert (held.rows, len(held.conditions)) == (3, 2)
    assert str(held) == "3 rows, held back by clicks >= 0, `clicks` IS NULL OR (`clicks` <= 100)"
    assert clicks(table.branch("quarantine").read()) == {1: -3, 2: 200, 3: -4}
    assert [each.verb for each in table.branch("quarantine").history()] == ["upsert", "create_quarantine"]
    metadata = lake.spark.sql(f"SELECT count(*) FROM {lake.catalog}.{table.name}.metadata_log_entries").first()
    assert metadata is not None
    assert metadata[0] == 2, "one change of the table brings both"


def test_all_rows_are_released_by_their_files(lake: kl.Lake) -> None:
    table = table_of(lake)
    table.upsert(rows(5, -3, -4), require=[POSITIVE], on_failure="quarantine")
    table.upsert(rows(9, -9, minute=1), require=[POSITIVE], on_failure="quarantine")
    table.update([{"id": 2, "at": NOON + timedelta(minutes=5), "clicks": 8}])
    files = {row.path for row in table.branch("quarantine").files().select("path").collect()}
    done = table.quarantine.release()
    assert (done.rows, done.rows_left, done.files_as_they_are) == (3, 0, len(files))
    assert clicks(table.read()) == {0: 9, 1: -9, 2: 8}, "a newer value stays"
    assert files <= {row.path for row in table.files().select("path").collect()}
    assert not table.quarantine()
    assert table.quarantine.rows().count() == 0
    assert [each.verb for each in table.history()][:2] == ["release", "release"]
    assert "quarantine" not in [row.name for row in table.branches().collect()]
    with refused(lake, table.name, kl.NothingToDo, "has no rows in quarantine"):
        table.quarantine.release()
    table.undo(done.snapshot_id)
    assert clicks(table.read())[1] == -3


def test_some_rows_are_released_or_discarded(lake: kl.Lake) -> None:
    table = table_of(lake)
    table.upsert(rows(5, -3, 200, -4), require=[POSITIVE, FEW], on_failure="quarantine")
    table.upsert(rows(1, 1, 1, 1, 300, -5, minute=1), require=[FEW], on_failure="quarantine")
    assert table.quarantine.release(failed=FEW).rows == 2
    assert clicks(table.read()) == {0: 1, 1: 1, 2: 1, 3: 1, 4: 300, 5: -5}
    assert failed(table) == {1: "clicks >= 0", 3: "clicks >= 0"}
    assert table.quarantine.discard(where=kl.col("id") == 1).rows_left == 1
    assert table.quarantine.release(where="id BETWEEN 3 AND 9", failed="clicks >= 0").rows_left == 0
    assert clicks(table.read())[3] == 1
    assert table.explain_row(id=3).exists
    assert not table.quarantine()


def test_rows_are_mended(lake: kl.Lake) -> None:
    table = table_of(lake)
    table.upsert(rows(5, -3, -4), require=[POSITIVE], on_failure="quarantine")
    draft = table.branch("quarantine")
    draft.update([{"id": 1, "at": NOON, "clicks": 3}])
    assert failed(table) == {1: None, 2: "clicks >= 0"}
    table.quarantine.release(where="clicks >= 0")
    assert clicks(table.read()) == {0: 5, 1: 3}
    assert table.get(id=1).city == "Oslo"  # type: ignore[union-attr]
    assert failed(table) == {2: "clicks >= 0"}
    with refused(lake, table.name, kl.Unsupported, "ows of the quarantine", "discard"):
        draft.delete([{"id": 2}], version=NOON)
    with refused(lake, table.name, kl.Unsupported, "ows of the quarantine", "discard"):
        draft.overwrite(rows(1))
    with refused_in_sql(lake, table.name, "UNSUPPORTED", "rows of the quarantine", "discard"):
        lake.spark.sql(f"DELETE FROM {lake.catalog}.{table.name}.branch_quarantine WHERE id = 2").collect()
    with refused(lake, table.name, kl.Unsupported, "failed a check and are held back"):
        draft.publish()
    with refused(lake, table.name, kl.Unsupported, "failed a check and are held back"):
        table.branches.cherry_pick("quarantine")


def test_a_repeated_write_holds_nothing_a_second_time(lake: kl.Lake) -> None:
    table = table_of(lake)
    words: dict[str, object] = {"require": [POSITIVE], "on_failure": "quarantine"}
    first = table.upsert(rows(5, -3), idempotency_key="load 1", **words)  # type: ignore[arg-type]
    again = table.upsert(rows(5, -3), idempotency_key="load 1", **words)  # type: ignore[arg-type]
    assert (again.snapshot_id, again.repeated) == (first.snapshot_id, True)
    offsets = {"source": (0, 2)}
    table.upsert(rows(6, -6, minute=1), offsets=offsets, **words)  # type: ignore[arg-type]
    assert table.upsert(rows(6, -6, minute=1), offsets=offsets, **words).repeated  # type: ignore[arg-type]
    assert table.quarantine().rows == 2
    assert table.quarantine.release().rows == 2
    assert table.commits.offsets() == {"source": 2}
    assert clicks(table.read()) == {0: 6, 1: -6}


def test_changes_that_delete_pass(lake: kl.Lake) -> None:
    table = table_of(lake)
    table.upsert(rows(1, 2, 3))
    changes = [row | {"op": op} for row, op in zip(rows(-1, -2, 7, minute=1), "DUI", strict=True)]
    assert table.apply_changes(changes, op="op", require=[POSITIVE], on_failure="quarantine").held == 1
    assert clicks(table.read()) == {1: 2, 2: 7}
    assert clicks(table.quarantine.rows()) == {1: -2}


def test_a_condition_concerns_rows_that_carry_its_columns(lake: kl.Lake) -> None:
    table = table_of(lake)
    given = [{"id": 1, "at": NOON, "city": "Oslo"}, {"id": 2, "at": NOON, "clicks": -1}]
    names = [list(row)[-1:] for row in given]
    rows_of_columns = [{"city": None, "clicks": None} | row | {"c": of} for row, of in zip(given, names, strict=True)]
    assert table.update(rows_of_columns, columns_from="c", require=[POSITIVE], on_failure="quarantine").held == 1
    assert clicks(table.quarantine.rows()) == {2: -1}
    words: dict[str, Any] = {"require": [POSITIVE, kl.condition("city <> 'Bonn'")], "on_failure": "quarantine"}
    assert table.update([{"id": 5, "at": NOON, "city": "Oslo"}, {"id": 6, "at": NOON, "city": "Bonn"}], **words).held
    assert failed(table) == {2: "clicks >= 0", 6: "city <> 'Bonn'"}
    assert table.update([{"id": 5, "at": NOON, "city": "Bonn"}], require=[POSITIVE]).held == 0


@pytest.mark.slow
def test_statements_and_streams_hold_rows_back(lake: kl.Lake, tmp_path: Path) -> None:
    table = table_of(lake)
    name = f"{lake.catalog}.{table.name}"
    words = "WITH ('require' = '[\"clicks >= 0\", \"id <> 4\"]', 'on_failure' = 'quarantine')"
    time = "TIMESTAMP_NTZ '2026-11-01 12:00:00'"
    lake.spark.sql(f"INSERT INTO {name} {words} (id, at, clicks) VALUES (1, {time}, 5), (4, {time}, 5)").collect()
    lake.spark.sql(f"INSERT INTO {name} {words} (id, at, clicks) SELECT id + 5, at, -clicks FROM {name}").collect()
    assert failed(table) == {4: "id <> 4", 6: "clicks >= 0"}
    given = tmp_path / "given"
    frame = lake.spark.createDataFrame([(7, NOON, 3), (8, NOON, -3)], "id BIGINT, at TIMESTAMP_NTZ, clicks BIGINT")
    frame.write.parquet(str(given))
    stream = lake.spark.readStream.schema(frame.schema).parquet(str(given))
    table.stream(
        stream, checkpoint=tmp_path / "c", available_now=True, require=[POSITIVE], on_failure="quarantine"
    ).wait()
    assert clicks(table.read()) == {1: 5, 7: 3}
    assert failed(table)[8] == "clicks >= 0"
    (row,) = lake.spark.sql(f"CALL {lake.catalog}.system.release(table => '{table.name}')").collect()
    assert (row.rows, row.rows_left) == (3, 0)
    assert clicks(table.read()) == {1: 5, 4: 5, 6: -5, 7: 3, 8: -3}


def test_a_statement_keeps_its_options_where_it_reads_its_own_table(lake: kl.Lake) -> None:
    """Spark resolves a name once in a statement: it took the table of the query, without options, for the target."""
    table = table_of(lake, ordering=None, versions="explicit")
    table.upsert(rows(1, 2), version=5)
    name = f"{lake.catalog}.{table.name}"
    lake.spark.sql(f"INSERT INTO {name} WITH ('version_value' = '7') (id, clicks) SELECT id, 9 FROM {name}").collect()
    assert clicks(table.read()) == {0: 9, 1: 9}
    assert table.history()[0].versions == (7, 7)
    plain = f"{lake.catalog}.held.plain"
    lake.spark.sql(f"CREATE TABLE {plain} (id BIGINT) USING iceberg").collect()
    for _ in range(2):
        lake.spark.sql(
            f"INSERT INTO {plain} WITH ('snapshot-property.note' = 'mine') SELECT 1 UNION ALL SELECT id FROM {plain}"
        ).collect()
    summaries = lake.spark.sql(f"SELECT summary FROM {plain}.snapshots").collect()
    assert [row.summary["note"] for row in summaries] == ["mine"] * 2
    assert lake.spark.sql(f"SELECT count(*) FROM {plain}").collect()[0][0] == 3


def test_many_rows_are_held_back_by_tasks(lake: kl.Lake) -> None:
    table = table_of(lake, buckets=4)
    frame = lake.spark.range(40_000).select(
        "id",
        lit(NOON).cast("timestamp_ntz").alias("at"),
        (col("id") % 10).alias("clicks"),
        lit("x").alias("city"),
    )
    commit = table.upsert(frame, require=[kl.condition("clicks > 2")], on_failure="quarantine")
    assert (commit.rows, commit.held) == (28_000, 12_000)
    assert table.quarantine.rows().where("_failed IS NOT NULL").count() == 12_000
    assert table.quarantine.release(where="id < 20000").rows == 6_000
    assert table.read().count() == 34_000
    assert table.quarantine.rows().where("id < 20000").count() == 0


@pytest.mark.slow
def test_a_release_and_writes_at_the_same_time(lake: kl.Lake) -> None:
    """A release that is planned while others hold rows back is planned anew: each row comes to main once."""
    table = table_of(lake)
    errors: list[BaseException] = []

    def write(writer: int) -> None:
        try:
            for number in range(6):
                row = {"id": 100 * writer + number, "at": NOON, "clicks": -1, "city": "x"}
                table.upsert([row], require=[POSITIVE], on_failure="quarantine")
        except BaseException as error:  # shown by the test
            errors.append(error)
            raise

    threads = [threading.Thread(target=write, args=(writer,)) for writer in (1, 2)]
    for thread in threads:
        thread.start()
    released = 0
    while any(thread.is_alive() for thread in threads):
        try:
            released += table.quarantine.release().rows
        except kl.NothingToDo:
            continue
    for thread in threads:
        thread.join()
    assert not errors
    left = table.quarantine.rows().count()
    assert released + left == 12
    assert table.read().count() == released


@pytest.mark.slow
def test_the_quarantine_outlives_cleaning_and_new_columns(lake: kl.Lake) -> None:
    table = table_of(lake)
    table.upsert(rows(5, -3), require=[POSITIVE], on_failure="quarantine")
    table.alter(add={"visits": kl.Int64}, rename={"city": "town"})
    table.upsert(
        [{"id": 7, "at": NOON, "clicks": -7, "town": "Bonn", "visits": 1}], require=[POSITIVE], on_failure="quarantine"
    )
    assert table.layout.clean(kl.RetentionPolicy(days=0)).snapshots_expired >= 3
    assert failed(table) == {1: "clicks >= 0", 7: "clicks >= 0"}
    assert len(table.branch("quarantine").history()) == 1
    found = {row.id: (row.town, row.visits) for row in table.quarantine.rows().collect()}
    assert found == {1: ("Oslo", None), 7: ("Bonn", 1)}
    assert table.quarantine.release(where="visits IS NULL").rows == 1
    assert table.check().damage == ()
    assert table.quarantine.release().rows == 1
    assert sorted(clicks(table.read()).values()) == [-7, -3, 5]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"require": POSITIVE}, "require= takes a list of checks"),
        ({"require": [kl.unique("city")]}, "looks at many rows"),
        ({"on_failure": "quarantine"}, "Say which"),
        ({"require": [POSITIVE], "on_failure": "hold"}, "on_failure='hold' is none"),
    ],
)
def test_words_of_a_check_that_do_not_go_together(lake: kl.Lake, words: dict[str, object], sentence: str) -> None:
    table = table_of(lake)
    with refused(lake, table.name, kl.DefinitionError, sentence):
        table.upsert(rows(1), **words)  # type: ignore[arg-type]


def test_conditions_of_writes_and_releases_are_checked(lake: kl.Lake) -> None:
    table = table_of(lake)
    with refused(lake, table.name, kl.DefinitionError, "clicks >", "cannot be read"):
        table.upsert(rows(1), require=[kl.condition("clicks >")], on_failure="quarantine")
    with refused(lake, table.name, kl.DefinitionError, "array"):
        table.upsert(rows(1), require=[kl.condition("array(clicks)")], on_failure="quarantine")
    with refused(lake, table.name, kl.SchemaMismatch, "clickz", "Did you mean"):
        table.upsert(rows(1), require=[kl.condition("clickz > 0")], on_failure="quarantine")
    table.upsert(rows(-1), require=[POSITIVE], on_failure="quarantine")
    for text, error, sentence in (
        ("clickz > 0", kl.SchemaMismatch, "clickz"),
        ("clicks >", kl.DefinitionError, "cannot be read"),
        ("rand() > 0.5", kl.DefinitionError, "not the same each time"),
        ("id IN (SELECT 1)", kl.DefinitionError, "more than one row"),
    ):
        with refused(lake, table.name, error, sentence):
            table.quarantine.release(where=text)
    with refused(lake, table.name, kl.NothingToDo, "no row in quarantine that the condition selects"):
        table.quarantine.discard(where="id = 77")
    with refused(lake, table.name, kl.DefinitionError, "goes with writes to main"):
        table.branch("tmp_x").upsert(rows(-1), require=[POSITIVE], on_failure="quarantine")
    with refused(lake, table.name, kl.Unsupported, "adds to main", "business_time"):
        table.upsert(rows(-1), require=[POSITIVE], on_failure="quarantine", business_time="2026-11-01")
    with refused(lake, table.name, kl.DefinitionError, "retract=True"):
        table.update([{"id": 1, "at": NOON, "clicks": 1}], retract=True, require=[POSITIVE])
    name = f"{lake.catalog}.{table.name}"
    words = "WITH ('require' = 'clicks >= 0', 'on_failure' = 'quarantine')"
    with refused_in_sql(lake, table.name, "UNSUPPORTED", "adds to main", "replaces rows"):
        lake.spark.sql(f"INSERT OVERWRITE {name} {words} SELECT * FROM {name}").collect()
    with refused_in_sql(lake, table.name, "UNSUPPORTED", "adds to main", "branch 'tmp_x'"):
        lake.spark.sql(f"INSERT INTO {name}.branch_tmp_x {words} SELECT * FROM {name}").collect()
    with refused_in_sql(lake, table.name, "DEFINITION", "on_failure", "'hold'"):
        lake.spark.sql(
            f"INSERT INTO {name} WITH ('require' = 'id > 1', 'on_failure' = 'hold') SELECT * FROM {name}"
        ).collect()
    with refused(lake, table.name, kl.DefinitionError, "keylake itself gives the name"):
        table.branches.create("quarantine")


def test_a_branch_of_somebody_else_is_left_alone(lake: kl.Lake) -> None:
    table = table_of(lake)
    table.upsert(rows(1))
    lake.spark.sql(f"ALTER TABLE {lake.catalog}.{table.name} CREATE BRANCH quarantine").collect()
    with refused(lake, table.name, kl.DefinitionError, "that somebody else has made"):
        table.upsert(rows(2, -1, minute=1), require=[POSITIVE], on_failure="quarantine")
    with refused(lake, table.name, kl.DefinitionError, "that somebody else has made"):
        table.quarantine()


def test_a_local_reader_sees_main_alone(lake: kl.Lake, warehouse: Path) -> None:
    table = table_of(lake)
    table.upsert(rows(5, -3), require=[POSITIVE], on_failure="quarantine")
    with keylake.local.open(warehouse) as local:
        here = local.table(table.name)
        assert {row["id"] for row in here.read().to_arrow().to_pylist()} == {0}
        table.quarantine.release()
        assert {row["id"] for row in here.read().to_arrow().to_pylist()} == {0, 1}
