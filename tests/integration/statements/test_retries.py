"""Statements that are run again where commits of others come between their read and their own commit."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import DataFrame
from pyspark.sql.functions import expr

import keylake as kl
from integration.refusals import refused_in_sql
from integration.statements.meeting import meet, meet_each_time, register_gate, register_turnstile
from integration.twin import fresh_name

slow = pytest.mark.slow
LEVELS = ("serializable", pytest.param("snapshot", marks=slow))


@pytest.fixture(scope="module")
def gate(lake: kl.Lake) -> str:
    return register_gate(lake)


def create(lake: kl.Lake, level: str = "serializable", retries: int | None = None) -> str:
    name = f"{lake.catalog}.{fresh_name('retries')}"
    kinds = ", ".join(f"'write.{kind}.isolation-level' = '{level}'" for kind in ("update", "delete", "merge"))
    said = "" if retries is None else f", 'statement.retry.num-retries' = '{retries}'"
    run(
        lake,
        f"CREATE TABLE {name} (k BIGINT, a BIGINT, b BIGINT, PRIMARY KEY (k)) USING keylake "
        f"CLUSTERED BY (k) INTO 2 BUCKETS TBLPROPERTIES ({kinds}{said})",
    )
    run(lake, f"INSERT INTO {name} SELECT id, id, 0 FROM range(4)")
    return name


def run(lake: kl.Lake, statement: str) -> None:
    lake.spark.sql(statement).collect()


def rows(lake: kl.Lake, name: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in lake.spark.sql(f"SELECT k, a FROM {name} ORDER BY k").collect()]


def verbs(lake: kl.Lake, name: str) -> list[str]:
    return [commit.verb for commit in lake.table(name).history()]


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
def test_an_update_is_run_again_upon_the_newest_rows(lake: kl.Lake, gate: str, tmp_path: Path, level: str) -> None:
    name = create(lake, level)
    meet(
        tmp_path,
        lambda: run(lake, f"UPDATE {name} SET a = a * 10 WHERE k < 3 AND {gate.format(tmp_path)}"),
        lambda: run(lake, f"UPDATE {name} SET a = a + 1 WHERE k = 1"),
    )
    assert rows(lake, name) == [(0, 0), (1, 20), (2, 20), (3, 3)]
    assert verbs(lake, name) == ["update", "update", "update"], "what lost is no commit"


DOUBLED = [(0, 0), (1, 18), (2, 2), (3, 3)]
MERGE = """
    MERGE INTO {t} t USING (SELECT id AS k FROM range(2) WHERE {gate}) s ON t.k = s.k
    WHEN MATCHED THEN UPDATE SET a = t.a * 2 WHEN NOT MATCHED THEN INSERT (k, a) VALUES (s.k, 0)
"""
EVOLVING = """
    MERGE WITH SCHEMA EVOLUTION INTO {t} t USING (SELECT id AS k, 7 AS c FROM range(1, 2) WHERE {gate}) s ON t.k = s.k
    WHEN MATCHED THEN UPDATE SET a = t.a * 2, c = s.c
"""
STATEMENTS = {
    "delete": ("DELETE FROM {t} WHERE a < 5 AND {gate}", [(1, 9)]),
    "with": ("WITH w AS (SELECT 1 AS k) UPDATE {t} SET a = a * 2 WHERE k IN (SELECT k FROM w) AND {gate}", DOUBLED),
    "merge": (MERGE, DOUBLED),
    "merge that adds a column": (EVOLVING, DOUBLED),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", [each if each == "merge" else pytest.param(each, marks=slow) for each in STATEMENTS])
def test_each_kind_of_statement(lake: kl.Lake, gate: str, tmp_path: Path, kind: str) -> None:
    statement, expected = STATEMENTS[kind]
    name = create(lake)
    meet(
        tmp_path,
        lambda: run(lake, statement.format(t=name, gate=gate.format(tmp_path))),
        lambda: run(lake, f"INSERT INTO {name} (k, a) VALUES (1, 9)"),
    )
    assert rows(lake, name) == expected


@slow
def test_a_merge_of_a_frame(lake: kl.Lake, gate: str, tmp_path: Path) -> None:
    name = create(lake)
    source = lake.spark.sql(f"SELECT id AS k FROM range(2) WHERE {gate.format(tmp_path)}").alias("s")
    merge = source.mergeInto(name, expr(f"{name}.k = s.k")).whenMatched().update({"a": expr(f"{name}.a * 2")})
    meet(tmp_path, merge.merge, lambda: run(lake, f"INSERT INTO {name} (k, a) VALUES (1, 9)"))
    assert rows(lake, name) == DOUBLED


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
def test_statements_at_once_give_the_result_of_some_order(lake: kl.Lake, level: str) -> None:
    """Increments of all rows: none is lost, whichever comes first."""
    name = create(lake, level, retries=50)
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda _: run(lake, f"UPDATE {name} SET a = a + 1"), range(6)))
    assert rows(lake, name) == [(k, k + 6) for k in range(4)]
    assert verbs(lake, name) == ["update"] * 7


@pytest.mark.slow
@pytest.mark.parametrize("retries", [pytest.param(0, marks=slow), 2])
def test_it_ends(lake: kl.Lake, tmp_path: Path, retries: int) -> None:
    """Others always come first: after so many runs the error says so."""
    name = create(lake, retries=retries)
    turnstile = register_turnstile(lake).format(tmp_path)
    runs = "once" if retries == 0 else "3 times"
    with pytest.raises(
        Exception, match=rf"CONFLICT.* it was run {runs} \(statement\.retry\.num-retries is {retries}\)"
    ):
        meet_each_time(
            tmp_path,
            lambda: run(lake, f"UPDATE {name} SET a = -1 WHERE {turnstile}"),
            lambda: run(lake, f"INSERT INTO {name} (k, b) VALUES (1, 9)"),
        )
    assert rows(lake, name) == [(k, k) for k in range(4)]


def test_a_statement_with_random_values_is_run_once(lake: kl.Lake, gate: str, tmp_path: Path) -> None:
    name = create(lake)
    with pytest.raises(Exception, match=r"KEYLAKE_COMMIT_CONFLICT.*run once .*not deterministic"):
        meet(
            tmp_path,
            lambda: run(lake, f"UPDATE {name} SET a = CAST(rand() * 5 AS BIGINT) WHERE {gate.format(tmp_path)}"),
            lambda: run(lake, f"INSERT INTO {name} (k, a) VALUES (1, 9)"),
        )
    assert rows(lake, name) == [(0, 0), (1, 9), (2, 2), (3, 3)]


@slow
def test_a_merge_of_the_batch_of_a_stream_is_run_once(lake: kl.Lake, gate: str, tmp_path: Path) -> None:
    name = create(lake)
    files, own = tmp_path / "files", gate.format(tmp_path)
    files.mkdir()
    (files / "a.json").write_text(json.dumps({"k": 1}) + "\n")

    def write(batch: DataFrame, _number: int) -> None:
        batch.createOrReplaceTempView("batch")
        batch.sparkSession.sql(
            f"MERGE INTO {name} t USING (SELECT k FROM batch WHERE {own}) s ON t.k = s.k "
            "WHEN MATCHED THEN UPDATE SET a = t.a * 2"
        ).collect()

    def stream() -> None:
        frame = lake.spark.readStream.schema("k LONG").json(str(files))
        query = frame.writeStream.foreachBatch(write).option("checkpointLocation", str(tmp_path / "checkpoint"))
        query.trigger(availableNow=True).start().awaitTermination(120)

    with pytest.raises(Exception, match=r"KEYLAKE_COMMIT_CONFLICT.*run once .*rows of a stream"):
        meet(tmp_path, stream, lambda: run(lake, f"INSERT INTO {name} (k, a) VALUES (1, 9)"))
    assert rows(lake, name) == [(0, 0), (1, 9), (2, 2), (3, 3)]


@pytest.mark.parametrize("wrong", ["-1", "many", "101", "1.5"])
def test_a_number_that_is_none_is_refused(lake: kl.Lake, wrong: str) -> None:
    name = create(lake)
    with refused_in_sql(lake, name.removeprefix(f"{lake.catalog}."), "DEFINITION", f"'{wrong}'", "from 0 to 100"):
        run(lake, f"ALTER TABLE {name} SET TBLPROPERTIES ('statement.retry.num-retries' = '{wrong}')")
