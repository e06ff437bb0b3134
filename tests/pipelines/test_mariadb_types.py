"""Every type of MariaDB by round trip, from a snapshot and from the log; images of rows with some columns; refusals."""

import json
import time
from contextlib import closing

import pytest

from keylake.errors import DefinitionError, SourceFailed
from keylake_pipelines.mysql.source import MySqlSource
from keylake_pipelines.source.source import Step
from pipelines.mariadb.applied import Applied
from pipelines.mariadb.captured import source_of, taken
from pipelines.mariadb.mysql_server import MySql
from pipelines.mariadb.server import MariaDb
from pipelines.mariadb.types import MYSQL_TYPES, TYPES

pytestmark = pytest.mark.slow


def rows_in(steps: list[Step], op: str) -> dict[int, dict[str, object]]:
    rows = [row for step in steps if step.rows is not None for row in step.rows.to_pylist() if row["op"] == op]
    values = [json.loads(row["row"]) for row in rows]
    return {row["id"]: row for row in values}


def test_every_type_comes_through_snapshot_and_log(logged: MariaDb) -> None:
    types = MYSQL_TYPES if isinstance(logged, MySql) else TYPES
    columns = ", ".join(f"c{i} {each.definition}" for i, each in enumerate(types))
    logged.run(
        "CREATE DATABASE types",
        "SET GLOBAL sql_mode = 'ALLOW_INVALID_DATES'",
        f"CREATE TABLE types.t (id INT PRIMARY KEY, {columns},"
        " doubled INT AS (id * 2) VIRTUAL, `stored` INT AS (id * 3) STORED)",
    )
    longest = max(len(each.values) for each in types)

    def insert(first: int) -> None:
        with closing(logged.connect("types")) as connection, connection.cursor() as cursor:
            cursor.execute("SET time_zone = '+01:00', sql_mode = ''")
            for number in range(longest + 1):
                values = [each.values[number][0] if number < len(each.values) else "NULL" for each in types]
                names = ", ".join(f"c{i}" for i in range(len(types)))
                cursor.execute(f"INSERT INTO t (id, {names}) VALUES ({first + number}, {', '.join(values)})")

    insert(0)
    source = source_of(logged, "types")
    source.begin({})
    (schema,) = source.schemas()
    found = {column.name: column.type for column in schema.columns}
    assert {f"c{i}": found[f"c{i}"] for i in range(len(types))} == {f"c{i}": each.type for i, each in enumerate(types)}
    positions: dict[str, int] = {}
    steps = taken(source, Applied(source.schemas()), positions)
    insert(100)
    later = taken(source, Applied(source.schemas()), positions)
    assert not [change for step in [*steps, *later] for change in step.changes], "the log has the types of the catalog"
    source.close()
    for first, rows in ((0, rows_in(steps, "r")), (100, rows_in(later, "c"))):
        for number in range(longest + 1):
            row = rows[first + number]
            assert (row["doubled"], row["stored"]) == ((first + number) * 2, (first + number) * 3)
            for i, each in enumerate(types):
                expected = each.values[number][1] if number < len(each.values) else None
                assert row[f"c{i}"] == expected, (each.definition, first)


@pytest.mark.parametrize("image", ["MINIMAL", "NOBLOB"])
def test_columns_that_the_log_leaves_out_are_absent(logged: MariaDb, image: str) -> None:
    database = f"image_{image.lower()}"
    logged.run(
        f"CREATE DATABASE {database}",
        f"CREATE TABLE {database}.t (id INT PRIMARY KEY, a INT, b TEXT, c INT AS (a + 1) VIRTUAL)",
        f"INSERT INTO {database}.t (id, a, b) VALUES (1, 1, 'one'), (2, 2, 'two'), (3, 3, 'three')",
    )
    source = source_of(logged, database)
    source.begin({})
    applied, positions = Applied(source.schemas()), dict[str, int]()
    taken(source, applied, positions)
    with closing(logged.connect(database)) as connection, connection.cursor() as cursor:
        cursor.execute(f"SET SESSION binlog_row_image = '{image}'")
        cursor.execute("UPDATE t SET a = 10 WHERE id = 1")
        cursor.execute("UPDATE t SET b = NULL WHERE id = 2")
        cursor.execute("UPDATE t SET id = 30 WHERE id = 3")
        cursor.execute("DELETE FROM t WHERE id = 2")
        cursor.execute("INSERT INTO t (id, b) VALUES (4, 'four')")
    steps = taken(source, applied, positions)
    source.close()
    assert "b" not in rows_in(steps, "u")[1]
    assert applied.rows(f"{database}.t") == [
        {"id": 1, "a": 10, "b": "one", "c": 11},
        {"id": 30, "a": 3, "b": "three", "c": 4},
        {"id": 4, "a": None, "b": "four", "c": None},
    ]


def test_a_snapshot_goes_on_where_it_was(logged: MariaDb) -> None:
    logged.run(
        "CREATE DATABASE going",
        "USE going",
        "CREATE TABLE going.numbers (id INT PRIMARY KEY, a INT)",
        "CREATE TABLE going.names (name VARCHAR(40) PRIMARY KEY, a INT)",
        "INSERT INTO going.numbers WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900)"
        " SELECT i, i FROM n",
        "INSERT INTO going.names SELECT LEFT(SHA2(id, 256), 40), a FROM going.numbers",
    )
    positions: dict[str, int] = {}
    source = source_of(logged, "going", chunk_rows=100, connections=1)
    source.begin(positions)
    applied = Applied(source.schemas())
    seen = given = 0
    while steps := source.poll(100, 1):
        for step in steps:
            applied.take(step)
            positions.update(step.ends)
            seen += step.count or 0
        if seen >= given + 200:
            given = seen
            source.begin(positions)
    source.close()
    assert len(applied.rows("going.numbers")) == len(applied.rows("going.names")) == 900
    assert seen < 2100, "chunks that were given are not read again"


def test_a_server_that_restarts_and_cuts_connections_loses_nothing(logged: MariaDb) -> None:
    logged.run("CREATE DATABASE cut", "CREATE TABLE cut.t (id INT PRIMARY KEY)", "INSERT INTO cut.t VALUES (1)")
    source = source_of(logged, "cut")
    source.begin({})
    applied, positions = Applied(source.schemas()), dict[str, int]()
    taken(source, applied, positions)
    logged.run("INSERT INTO cut.t VALUES (2)")
    logged.cut_connections()
    taken(source, applied, positions)
    logged.restart()
    logged.run("INSERT INTO cut.t VALUES (3)")
    taken(source, applied, positions)
    lag = source.lag()
    source.close()
    assert [row["id"] for row in applied.rows("cut.t")] == [1, 2, 3]
    assert (lag.behind, lag.unit) == (0, "bytes")


def test_refusals_name_the_next_step(logged: MariaDb) -> None:
    logged.run(
        "CREATE DATABASE refused",
        "CREATE TABLE refused.t (id INT PRIMARY KEY)",
        "CREATE USER weak IDENTIFIED BY 'weak'",
    )
    wrong = source_of(logged, "refused", password="my wrong secret")
    with pytest.raises(DefinitionError, match="refuses the user 'reader' or the password") as refused:
        wrong.begin({})
    assert "my wrong secret" not in str(refused.value)
    with pytest.raises(DefinitionError, match="GRANT SELECT, REPLICATION SLAVE, REPLICATION CLIENT"):
        source_of(logged, "refused", user="weak", password="weak").begin({})
    with pytest.raises(SourceFailed, match="does not answer"):
        source_of(logged, "refused", port=1).begin({})
    logged.run("CREATE TABLE refused.keyless (a INT)")
    keyless = source_of(logged, "refused")
    keyless.begin({})
    refused_tables = {str(schema.table): schema.refused for schema in keyless.schemas() if schema.refused}
    assert list(refused_tables) == ["refused.keyless"], "which leaves the others alone"
    assert refused_tables["refused.keyless"].startswith("Table refused.keyless has no primary key")
    keyless.close()
    named = source_of(logged, "refused", keys={"refused.keyless": ["a"]})
    named.begin({})
    assert {schema.key for schema in named.schemas()} == {("id",), ("a",)}
    named.close()
    both = (("binlog_format", "'MIXED'", "'ROW'"), ("binlog_row_metadata", "'MINIMAL'", "'FULL'"))
    logged.run(*(f"SET GLOBAL {name} = {value}" for name, value, _ in both))
    told = " .*".join(f"{name} of mysql:127.0.0.1:{logged.port} is .* SET GLOBAL {name}" for name, _, _ in both)
    with pytest.raises(DefinitionError, match=told):  # at once
        source_of(logged, "refused", keys={"refused.keyless": ["a"]}).begin({})
    logged.run(*(f"SET GLOBAL {name} = {good}" for name, _, good in both))


def begun_and_polled(source: MySqlSource, positions: dict[str, int]) -> None:
    source.begin(positions)
    source.poll(1, 0)


def test_a_log_that_was_purged_or_reset_is_refused(logged: MariaDb) -> None:
    logged.run("CREATE DATABASE purged", "CREATE TABLE purged.t (id INT PRIMARY KEY)")
    source = source_of(logged, "purged")
    source.begin({})
    positions: dict[str, int] = {}
    taken(source, Applied(source.schemas()), positions)
    source.close()
    with closing(logged.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("FLUSH LOGS")
        cursor.execute("INSERT INTO purged.t VALUES (1)")
        newest, _ = logged.log_end()
        cursor.execute(f"PURGE BINARY LOGS TO '{newest}'")
    with pytest.raises(SourceFailed, match=f"has purged .* up to {newest} are lost. Let keylake resnapshot"):
        source.begin(positions)
    source.begin({})
    positions = {}
    taken(source, Applied(source.schemas()), positions)
    source.close()
    time.sleep(1.1)  # files of the log are told apart by the second in which they began
    logged.run(logged.RESET_LOG, "INSERT INTO purged.t VALUES (2)")
    with pytest.raises(SourceFailed, match=r"is not the one that was read.*RESET MASTER TO"):
        begun_and_polled(source, positions)
    number = next(value >> 32 for name, value in positions.items() if name == f"mysql:127.0.0.1:{logged.port}")
    logged.run(f"{logged.RESET_LOG} TO {number}", "INSERT INTO purged.t VALUES (3)")
    with pytest.raises(SourceFailed, match=r"began at another time|it ends at"):
        begun_and_polled(source, positions)
    source.close()
