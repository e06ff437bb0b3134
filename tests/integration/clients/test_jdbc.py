"""Hive's JDBC driver, which Spark carries, through Spark's own Thrift server."""

import subprocess
from pathlib import Path

import pytest

import keylake as kl
from integration.clients.thrift_server import ThriftServer
from integration.spark_processes import SPARK_HOME

CLIENT = Path(__file__).with_name("JdbcClient.java")

pytestmark = pytest.mark.slow


def test_a_program_in_java(thrift_server: ThriftServer, thrift_lake: kl.Lake) -> None:
    """It owns a keyed table, reads it with prepared parameters, and is told its mistakes in one sentence."""
    url = f"jdbc:hive2://127.0.0.1:{thrift_server.thrift_port}/default"
    ran = subprocess.run(
        ["java", "-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8", "-cp", f"{SPARK_HOME}/jars/*", CLIENT, url],
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    merged, updated, found, not_found, *errors, after_errors = ran.stdout.splitlines()
    zoe = '1, 2026-11-01, Zoë "the" O\'Neill, 5; '
    assert merged == zoe + "2, 2026-11-01, two, 7; 3, 2026-11-02, three, 9; "
    assert updated == zoe + "2, 2026-11-01, two, 107; 3, 2026-11-02, three, 9; "
    assert (found, not_found) == (zoe, "")
    assert after_errors == updated
    expected = [
        ("42P01", "TABLE_OR_VIEW_NOT_FOUND", "`web`.`nothing` cannot be found"),
        ("0A000", "KEYLAKE_UNSUPPORTED", "the statement sets 'id', which is a column of the key"),
        ("22000", "KEYLAKE_BAD_ROWS", "key column 'day' is null in the row with key id=4, day=null"),
        ("22018", "CAST_INVALID_INPUT", "The value 'many' of the type \"STRING\" cannot be cast"),
        ("42000", "KEYLAKE_DEFINITION", "key column 'score' is of type double"),
        ("23K01", "MERGE_CARDINALITY_VIOLATION", "matched a single row from the target table with multiple rows"),
    ]
    assert len(errors) == len(expected)
    for error, (state, condition, sentence) in zip(errors, expected, strict=True):
        assert error.startswith(f"{state} Error running query: [{condition}] ")
        assert sentence in error
        assert "\\n\tat " not in error  # a stack trace
        assert ("\\n" in error) == (not condition.startswith("KEYLAKE"))  # Spark's own errors may have several lines
    table = thrift_lake.table("web.`user.profile`")
    assert [commit.verb for commit in reversed(table.history())] == ["update"] * 4
    assert table.spec.key == ("id", "day")
