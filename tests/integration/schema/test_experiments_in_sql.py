"""Statements and streams that write to experiments."""

import json
from pathlib import Path

import pytest

import keylake as kl
from integration.refusals import refused_in_sql
from integration.schema.evolving import Evolving
from integration.statements.meeting import meet, register_gate


@pytest.fixture
def made(lake: kl.Lake) -> Evolving:
    made = Evolving(lake, "id BIGINT, clicks BIGINT, PRIMARY KEY (id)", rest="CLUSTERED BY (id) INTO 1 BUCKETS")
    made.run(
        "INSERT INTO {t} VALUES (1, 1), (2, 2)",
        f"CALL {lake.catalog}.system.create_experiment("
        f"table => '{made.name}', experiment => 'b', add => 's BIGINT, n INT')",
    )
    return made


def test_merge_writes_the_columns_of_the_experiment(lake: kl.Lake, made: Evolving) -> None:
    merge = "MERGE INTO {t}.experiment_b t USING (SELECT id, id * 10 AS s FROM range(1, 4)) c ON t.id = c.id "
    made.run(
        merge + "WHEN MATCHED AND clicks = 1 THEN UPDATE SET s = c.s + clicks WHEN MATCHED THEN UPDATE SET n = clicks "
        "WHEN NOT MATCHED THEN INSERT (id, s) VALUES (c.id, c.s)"
    )
    wanted = [(1, 1, 11, None), (2, 2, None, 2), (3, None, 30, None)]
    assert made.rows("SELECT * FROM {t}.experiment_b") == wanted
    assert made.rows() == [(1, 1), (2, 2)]
    with refused_in_sql(lake, made.name, "UNSUPPORTED", "not supported", "'b'"):
        made.run(merge + "WHEN MATCHED THEN DELETE")
    with refused_in_sql(lake, made.name, "SCHEMA_MISMATCH", "'clicks'"):
        made.run(merge + "WHEN MATCHED THEN UPDATE SET clicks = 5")
    made.same_after_compaction("SELECT * FROM {t}", "SELECT * FROM {t}.experiment_b")


def test_a_stream_writes_to_an_experiment(lake: kl.Lake, made: Evolving, tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    (files / "a.json").write_text(json.dumps({"id": 1, "s": 7}) + "\n" + json.dumps({"id": 5, "s": 8}) + "\n")
    frame = lake.spark.readStream.schema("id LONG, s LONG").json(str(files))
    query = frame.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
    assert query.toTable(f"{made.sql}.experiment_b").awaitTermination(120)
    assert made.rows("SELECT id, clicks, s FROM {t}.experiment_b") == [(1, 1, 7), (2, 2, None), (5, None, 8)]
    assert made.rows() == [(1, 1), (2, 2)]


@pytest.mark.slow
@pytest.mark.parametrize("retries", [4, 0])
def test_an_update_of_an_experiment_sees_commits_of_main(
    lake: kl.Lake, made: Evolving, tmp_path: Path, retries: int
) -> None:
    """Its values are made of values of main, so a commit of main conflicts as one of its own branch does."""
    made.run(f"ALTER TABLE {{t}} SET TBLPROPERTIES ('statement.retry.num-retries' = '{retries}')")
    gate = register_gate(lake).format(tmp_path)

    def update() -> None:
        meet(
            tmp_path,
            lambda: made.run(f"UPDATE {{t}}.experiment_b SET s = clicks * 10 WHERE id = 1 AND {gate}"),
            lambda: made.run("UPDATE {t} SET clicks = 5 WHERE id = 1"),
        )

    if retries:
        update()
        assert made.rows("SELECT id, clicks, s FROM {t}.experiment_b") == [(1, 5, 50), (2, 2, None)]
    else:
        with pytest.raises(Exception, match=r"KEYLAKE_COMMIT_CONFLICT.*branch 'main'"):
            update()
        assert made.rows("SELECT id, clicks, s FROM {t}.experiment_b") == [(1, 5, None), (2, 2, None)]


def test_other_keys_of_main_do_not_conflict(lake: kl.Lake, made: Evolving, tmp_path: Path) -> None:
    made.run("ALTER TABLE {t} SET TBLPROPERTIES ('statement.retry.num-retries' = '0')")
    gate = register_gate(lake).format(tmp_path)
    meet(
        tmp_path,
        lambda: made.run(f"UPDATE {{t}}.experiment_b SET s = clicks * 10 WHERE id = 1 AND {gate}"),
        lambda: made.run("INSERT INTO {t} VALUES (9, 9)"),
    )
    assert made.rows("SELECT id, s FROM {t}.experiment_b") == [(1, 10), (2, None), (9, None)]
