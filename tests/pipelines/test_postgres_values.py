"""Each type of PostgreSQL, from its tables and from its log; tables of each kind; what a source refuses, and how."""

import json
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

import keylake as kl
from keylake_pipelines.postgres import source
from keylake_pipelines.postgres.source import PostgresSource
from keylake_pipelines.source.source import Step
from keylake_pipelines.source.tables import TableDropped, TableRefused, TableRenamed, TableTruncated
from pipelines import postgres_server
from pipelines.applied_steps import AppliedSteps
from pipelines.postgres_server import PASSWORD, Postgres, polled, source_of, stored

pytestmark = pytest.mark.slow

# A type, a literal of it, the type of the column, and the value in JSON.
VALUES: tuple[tuple[str, str, str, Any], ...] = (
    ("smallint", "-32768", "int", -32768),
    ("integer", "2147483647", "int", 2147483647),
    ("bigint", "-9223372036854775808", "long", -(2**63)),
    ("oid", "4294967295", "long", 4294967295),
    ("numeric(38, 10)", "-1234567890123456789012345678.0123456789", "decimal(38, 10)",
     "-1234567890123456789012345678.0123456789"),
    ("numeric(3, -2)", "12345", "decimal(5, 0)", "12300"),
    ("numeric", "Infinity", "string", "Infinity"),
    ("numeric(60, 2)", "1e50", "string", "1" + "0" * 50 + ".00"),
    ("real", "0.1", "float", 0.1),
    ("double precision", "1e-300", "double", 1e-300),
    ("double precision", "'-Infinity'", "double", "-Infinity"),
    ("real", "'NaN'", "float", "NaN"),
    ("boolean", "true", "boolean", True),
    ("text", "E'a\\tb\\\\\\nü\"'", "string", 'a\tb\\\nü"'),
    ("varchar(5)", "'äöü'", "string", "äöü"),
    ("char(3)", "'a'", "string", "a  "),
    ("bytea", "'\\x00ff'", "binary", "AP8="),
    ("date", "'0001-01-01'", "date", "0001-01-01"),
    ("time", "'24:00:00'", "string", "24:00:00"),
    ("time(3)", "'12:30:00.125'", "string", "12:30:00.125"),
    ("timetz", "'12:30:00+05:30'", "string", "12:30:00+05:30"),
    ("timestamp", "'1900-01-01 00:00:00.000001'", "timestamp", "1900-01-01T00:00:00.000001"),
    ("timestamptz", "'2020-06-01 12:00:00+02'", "timestamptz", "2020-06-01T10:00:00Z"),
    ("interval", "'1 year 2 mons -3 days 04:05:06.7'", "string", "P1Y2M-3DT4H5M6.7S"),
    ("uuid", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "uuid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    ("json", "'{\"a\":  1}'", "string", '{"a":  1}'),
    ("jsonb", "'{\"a\":  1.50}'", "string", '{"a": 1.50}'),
    ("xml", "'<a/>'", "string", "<a/>"),
    ("mood", "'so so'", "string", "so so"),
    ("price", "9.99", "decimal(10, 2)", "9.99"),
    ("tags", "'{a,b}'", "list<string>", ["a", "b"]),
    ("integer[]", "'{1,NULL,3}'", "list<int>", [1, None, 3]),
    ("integer[]", "'{}'", "list<int>", []),
    ("text[][]", "'{{a,\"b,\\\"{\"},{NULL,\"NULL\"}}'", "list<list<string>>", [["a", 'b,"{'], [None, "NULL"]]),
    ("numeric(5, 1)[]", "'{1.5}'", "list<decimal(5, 1)>", ["1.5"]),
    ("timestamptz[]", "'{2020-01-01 00:00:00+00}'", "list<timestamptz>", ["2020-01-01T00:00:00Z"]),
    ("mood[]", "'{\"so so\"}'", "list<string>", ["so so"]),
    ("inet", "'192.168.0.1/24'", "string", "192.168.0.1/24"),
    ("cidr", "'10.0.0.0/8'", "string", "10.0.0.0/8"),
    ("macaddr", "'08:00:2b:01:02:03'", "string", "08:00:2b:01:02:03"),
    ("bit(3)", "B'101'", "string", "101"),
    ("bit varying", "B'1'", "string", "1"),
    ("hstore", "'a=>1, \"b\\\"\"=>NULL'", "map<string, string>", {"a": "1", 'b"': None}),
    ("int4range", "'[1,5)'", "string", "[1,5)"),
    ("int4multirange", "'{[1,2),[5,6)}'", "string", "{[1,2),[5,6)}"),
    ("point", "'(1,2)'", "string", "(1,2)"),
    ("money", "12.5", "string", "$12.50"),
    ("pair", "'(1,a)'", "string", "(1,a)"),
    ("tsvector", "'a:1'", "string", "'a':1"),
    ("pg_lsn", "'1/2'", "string", "1/2"),
)  # fmt: skip
UNFIT = {
    "date": "infinity",
    "timestamptz": "0044-03-15 12:00:00+00 BC",
    "numeric(5, 1)": "NaN",
    "int[]": "{{1},{2}}",
}


@pytest.fixture(autouse=True)
def frequent_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_SECONDS_BETWEEN_LOOKS", 0.2)


@pytest.fixture
def connection(postgres: Postgres, postgres_database: str) -> Iterator[psycopg.Connection[Any]]:
    with closing(postgres.connect(postgres_database)) as connection:
        yield connection


def steps_until_quiet(source: PostgresSource) -> list[Step]:
    found: list[Step] = []
    while steps := source.poll(10_000, 0.5):
        found += steps
    return found


def rows_of(steps: list[Step]) -> list[dict[str, Any]]:
    return [row for step in steps if step.rows is not None for row in step.rows.to_pylist()]


def test_every_type(postgres: Postgres, postgres_database: str, connection: psycopg.Connection[Any]) -> None:
    connection.execute("CREATE EXTENSION hstore")
    connection.execute("CREATE TYPE mood AS ENUM ('so so')")
    connection.execute("CREATE DOMAIN price AS numeric(10, 2)")
    connection.execute("CREATE DOMAIN tags AS text[]")
    connection.execute("CREATE TYPE pair AS (a int, b text)")
    columns = ", ".join(f"c{at} {each[0]}" for at, each in enumerate(VALUES))
    literals = ", ".join(each[1] if each[1][-1] == "'" else f"'{each[1]}'" for each in VALUES)
    literals = literals.replace("'true'", "true").replace("'12.5'", "12.5::numeric").replace("'9.99'", "9.99")
    connection.execute(f"CREATE TABLE t (id int PRIMARY KEY, {columns})")
    connection.execute(f"INSERT INTO t VALUES (1, {literals})")
    source = source_of(postgres, postgres_database)
    source.begin({})
    (schema,) = source.schemas()
    assert [str(each.type) for each in schema.columns[1:]] == [each[2] for each in VALUES]
    (first,) = rows_of(steps_until_quiet(source))
    assert first["op"] == "r"
    expected = {f"c{at}": each[3] for at, each in enumerate(VALUES)}
    assert json.loads(first["row"]) == {"id": 1, **expected}
    connection.execute(f"INSERT INTO t VALUES (2, {literals})")
    connection.execute("INSERT INTO t (id) VALUES (3)")
    second, third = rows_of(steps_until_quiet(source))
    assert json.loads(second["row"]) == {"id": 2, **expected}
    assert json.loads(third["row"]) == {"id": 3, **dict.fromkeys(expected)}
    source.close()


def test_values_that_fit_no_type_are_told_or_read_as_text(
    postgres: Postgres, postgres_database: str, connection: psycopg.Connection[Any]
) -> None:
    columns = ", ".join(f"c{at} {type_}" for at, type_ in enumerate(UNFIT))
    connection.execute(f"CREATE TABLE t (id int PRIMARY KEY, {columns})")
    literals = ", ".join(f"'{text}'" for text in UNFIT.values())
    connection.execute(f"INSERT INTO t VALUES (1, {literals})")
    source = source_of(postgres, postgres_database)
    source.begin({})
    (row,) = rows_of(steps_until_quiet(source))
    assert row["error"].startswith('Column "c0" of')
    assert "infinity lies outside of the years 1 to 9999" in row["error"]
    assert "as_text=" in row["error"]
    assert json.loads(row["row"]) == {"id": "1", **{f"c{at}": text for at, text in enumerate(UNFIT.values())}}
    source.close()
    source = source_of(postgres, postgres_database, as_text=[f"public.t.c{at}" for at in range(len(UNFIT))])
    source.begin({})
    (row,) = rows_of(steps_until_quiet(source))
    assert json.loads(row["row"]) == {"id": 1, **{f"c{at}": text for at, text in enumerate(UNFIT.values())}}
    source.close()


def test_tables_of_each_kind(postgres: Postgres, postgres_database: str, connection: psycopg.Connection[Any]) -> None:
    """Partitions, whole old rows, keys that are indexes, and tables that come, go, are emptied and renamed."""
    connection.execute("CREATE TABLE parted (id int, day date, v text, PRIMARY KEY (id, day)) PARTITION BY RANGE (day)")
    for month in (1, 2):
        bounds = f"FROM ('2020-0{month}-01') TO ('2020-0{month + 1}-01')"
        connection.execute(f"CREATE TABLE parted_{month} PARTITION OF parted FOR VALUES {bounds}")
    connection.execute("INSERT INTO parted VALUES (1, '2020-01-05', 'a'), (2, '2020-02-05', 'b')")
    connection.execute("CREATE TABLE whole (a int NOT NULL, b text)")
    connection.execute("ALTER TABLE whole REPLICA IDENTITY FULL")
    connection.execute("INSERT INTO whole SELECT i, 'x' FROM generate_series(1, 9) i")
    connection.execute(
        "CREATE TABLE indexed (id int PRIMARY KEY, code text NOT NULL, s int GENERATED ALWAYS AS (id) STORED)"
    )
    connection.execute("CREATE UNIQUE INDEX codes ON indexed (code)")
    connection.execute("ALTER TABLE indexed REPLICA IDENTITY USING INDEX codes")
    connection.execute("INSERT INTO indexed VALUES (1, 'one'), (2, 'two')")
    source = source_of(postgres, postgres_database, keys={"public.whole": ("a",)})
    source.begin({})
    assert {each.table.parts[2]: each.key for each in source.schemas()} == {
        "parted": ("id", "day"),
        "whole": ("a",),
        "indexed": ("code",),
    }
    applied = AppliedSteps()
    applied.begin(source.schemas())
    polled(source, applied)
    connection.execute("UPDATE parted SET day = '2020-02-07' WHERE id = 1")  # from a partition to another
    connection.execute("UPDATE whole SET a = a + 100 WHERE a > 5")
    connection.execute("DELETE FROM whole WHERE a = 3")
    connection.execute("DELETE FROM indexed WHERE id = 1")
    connection.execute("UPDATE indexed SET code = 'zwei'")
    connection.execute("CREATE TABLE late (id int PRIMARY KEY)")
    connection.execute("INSERT INTO late VALUES (1)")
    polled(source, applied, least=2)
    connection.execute("INSERT INTO late VALUES (2)")
    found = steps_until_quiet(source)
    connection.execute("TRUNCATE late")
    connection.execute("INSERT INTO late VALUES (3)")
    connection.execute("ALTER TABLE indexed RENAME TO renamed")
    found += steps_until_quiet(source)
    for step in found:
        applied.apply(step)
    assert {type(change) for step in found for change in step.changes} == {TableTruncated, TableRenamed}
    name = f"{postgres_database}.public."
    for table, key in (("parted", 2), ("whole", 1), ("late", 1)):
        rows = {
            tuple(map(_shown, key)): {column: _shown(value) for column, value in row.items()}
            for key, row in stored(connection, table, key).items()
        }
        assert applied.tables[name + table].rows() == rows
    assert applied.tables[name + "renamed"].rows() == {("zwei",): {"id": 2, "code": "zwei"}}
    connection.execute("DROP TABLE late")
    changes = [change for step in steps_until_quiet(source) for change in step.changes]
    assert [type(change) for change in changes] == [TableDropped]
    source.close()


def _shown(value: Any) -> Any:
    return value if isinstance(value, int | str | None) else str(value)


def test_large_values_that_did_not_change_are_absent(
    postgres: Postgres, postgres_database: str, connection: psycopg.Connection[Any]
) -> None:
    connection.execute("CREATE TABLE t (id int PRIMARY KEY, n int, big text)")
    connection.execute("ALTER TABLE t ALTER COLUMN big SET STORAGE EXTERNAL")
    connection.execute("INSERT INTO t VALUES (1, 1, repeat('x', 5000))")
    source = source_of(postgres, postgres_database)
    source.begin({})
    steps_until_quiet(source)
    connection.execute("UPDATE t SET n = 2")
    connection.execute("UPDATE t SET id = 2")
    update, gone, moved = rows_of(steps_until_quiet(source))
    assert json.loads(update["row"]) == {"id": 1, "n": 2}
    assert (gone["op"], json.loads(gone["row"])) == ("d", {"id": 1})
    assert (moved["op"], json.loads(moved["row"])) == ("c", {"id": 2, "n": 2, "big": "x" * 5000})
    assert gone["version"] == moved["version"] > update["version"]
    source.close()


def test_lag_and_what_the_server_keeps(
    postgres: Postgres, postgres_database: str, connection: psycopg.Connection[Any]
) -> None:
    connection.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
    source = source_of(postgres, postgres_database)
    source.begin({})
    steps_until_quiet(source)
    for each in range(3):
        connection.execute("INSERT INTO t VALUES (%s, repeat('x', 1000))", (each,))
    (step,) = source.poll(1, 1)
    until = time.monotonic() + 60
    while (lag := source.lag()).oldest is None and time.monotonic() < until:
        time.sleep(0.05)  # the next transaction is on its way
    assert lag.unit == "bytes"
    assert lag.behind is not None
    assert lag.behind > 1000
    (row,) = rows_of([step])
    assert lag.newest == row["at"]
    assert lag.oldest is not None
    assert lag.oldest > row["at"]
    steps = steps_until_quiet(source)
    assert len(rows_of(steps)) == 2
    positions = steps[-1].ends
    source.written(positions)
    source.close()
    kept = "SELECT confirmed_flush_lsn - '0/0'::pg_lsn FROM pg_replication_slots WHERE slot_name = %s"
    told, slot = (positions["log"] // 1024,), (f"slot_{postgres_database}",)
    while (found := connection.execute(kept, slot).fetchone()) != told and time.monotonic() < until:
        time.sleep(0.05)  # what was sent before the connection ended is read by the server in its time
    assert found == told
    source.begin({"log": positions["log"]})
    assert [row["op"] for row in rows_of(steps_until_quiet(source))] == ["r"] * 3
    source.close()


# --------------------------------------------------------------------------------------------------- what is refused


def refused(source: PostgresSource, positions: dict[str, int] | None = None) -> str:
    with pytest.raises(kl.KeylakeError) as error:
        source.begin(positions or {})
    source.close()
    assert PASSWORD not in str(error.value)
    assert "wrong one" not in str(error.value)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_server_that_refuses(postgres: Postgres, postgres_database: str, connection: psycopg.Connection[Any]) -> None:
    def at(address: str) -> PostgresSource:
        return PostgresSource(address, lambda table: True)

    assert "password authentication failed" in (said := refused(at(postgres.address(password="wrong one"))))
    assert said.endswith("Check the user and the password.")
    assert "Check the name of the database." in refused(at(postgres.address("nowhere")))
    assert "Check that the server runs" in refused(at("postgresql://me:wrong%20one@127.0.0.1:1/db"))
    connection.execute("CREATE TABLE t (id int PRIMARY KEY)")
    connection.execute(f"CREATE ROLE poor_{postgres_database} LOGIN PASSWORD '{PASSWORD}'")
    poor = postgres.address(postgres_database, f"poor_{postgres_database}")
    said = refused(PostgresSource(poor, lambda table: True, slot="poor", publication="poor"))
    assert "has no publication poor, and does not let this user make it: permission denied" in said
    assert 'CREATE on the database, run CREATE PUBLICATION "poor" FOR TABLE "public"."t" WITH (' in said
    rights = f"ALTER ROLE poor_{postgres_database} REPLICATION; GRANT SELECT ON public.t TO poor_{postgres_database}."
    assert said.endswith(rights), "all at once"
    connection.execute("CREATE PUBLICATION poor FOR ALL TABLES WITH (publish_via_partition_root)")
    said = refused(PostgresSource(poor, lambda table: True, slot="poor", publication="poor"))
    assert said.endswith(f"Have a superuser run {rights}")
    connection.execute(f"ALTER ROLE poor_{postgres_database} REPLICATION")
    source = PostgresSource(poor, lambda table: True, slot="poor", publication="poor")
    assert "may not read the table" in why_not(source)
    connection.execute("ALTER TABLE t ADD COLUMN secret int")
    connection.execute(f"GRANT SELECT (id) ON t TO poor_{postgres_database}")
    assert "may not read the table" in why_not(source)
    connection.execute(f"GRANT SELECT ON t TO poor_{postgres_database}")
    assert why_not(source) == ""
    connection.execute("ALTER TABLE t ENABLE ROW LEVEL SECURITY")
    assert f"Have a superuser run ALTER ROLE poor_{postgres_database} BYPASSRLS" in why_not(source)
    postgres.drop_slot("poor")


def test_a_right_that_is_taken_away(
    postgres: Postgres, postgres_database: str, connection: psycopg.Connection[Any]
) -> None:
    """Values that the log lacks cannot be read any more: the table is refused, and the others go on."""
    poor = f"poor_{postgres_database}"
    connection.execute("CREATE TABLE t (id int PRIMARY KEY, large text)")
    connection.execute("CREATE TABLE u (id int PRIMARY KEY)")
    connection.execute("ALTER TABLE t ALTER large SET STORAGE EXTERNAL")
    connection.execute("INSERT INTO t VALUES (1, repeat('x', 9000))")
    connection.execute("CREATE PUBLICATION poor FOR ALL TABLES WITH (publish_via_partition_root)")
    connection.execute(f"CREATE ROLE {poor} LOGIN REPLICATION PASSWORD '{PASSWORD}'")
    connection.execute(f"GRANT SELECT ON t, u TO {poor}")
    source = PostgresSource(
        postgres.address(postgres_database, poor), lambda table: True, slot=poor, publication="poor"
    )
    source.begin({})
    assert len(rows_of(steps_until_quiet(source))) == 1
    connection.execute(f"REVOKE SELECT ON t FROM {poor}")
    connection.execute("UPDATE t SET id = 2")
    connection.execute("INSERT INTO u VALUES (7)")
    steps = steps_until_quiet(source)
    source.close()
    assert [row["table"] for row in rows_of(steps)] == [f"{postgres_database}.public.u"]
    [change] = [change for step in steps for change in step.changes]
    assert isinstance(change, TableRefused)
    assert "may not read the table" in change.reason


def test_tables_that_cannot_be_followed(
    postgres: Postgres, postgres_database: str, connection: psycopg.Connection[Any]
) -> None:
    connection.execute("CREATE TABLE t (id int)")
    assert "has no key whose rows the log names" in why_not(source_of(postgres, postgres_database))
    assert "REPLICA IDENTITY FULL" in why_not(source_of(postgres, postgres_database, keys={"public.t": ("id",)}))
    connection.execute("ALTER TABLE t ADD PRIMARY KEY (id)")
    connection.execute("ALTER TABLE t REPLICA IDENTITY NOTHING")
    assert "REPLICA IDENTITY DEFAULT" in why_not(source_of(postgres, postgres_database))
    connection.execute('ALTER TABLE t REPLICA IDENTITY DEFAULT, ADD "ID" int')
    assert "'id' and 'ID', which differ only in case" in why_not(source_of(postgres, postgres_database))


def why_not(source: PostgresSource) -> str:
    """Why the one table of a source cannot be read, which leaves others alone."""
    source.begin({})
    [schema] = source.schemas()
    source.close()
    return schema.refused


def test_what_is_lost_is_told(postgres: Postgres, postgres_database: str, connection: psycopg.Connection[Any]) -> None:
    connection.execute("CREATE TABLE t (id int PRIMARY KEY)")
    source = source_of(postgres, postgres_database)
    source.begin({})
    connection.execute("INSERT INTO t VALUES (1)")
    positions = {name: end for step in steps_until_quiet(source) for name, end in step.ends.items()}
    source.written({"log": positions["log"]})
    source.close()
    said = refused(source, {"log": positions["log"] - 1024})
    assert "has let go of the log" in said
    postgres.drop_slot(f"slot_{postgres_database}")
    said = refused(source, {"log": positions["log"]})
    assert "any more, so changes after" in said
    assert "Let keylake resnapshot" in said


def test_a_server_that_does_not_log_rows() -> None:
    with postgres_server.running(wal_level="replica") as server:
        said = refused(PostgresSource(server.address(), lambda table: True))
        with server.connect() as connection:
            connection.execute("CREATE ROLE reader LOGIN PASSWORD 'r'")
        both = refused(PostgresSource(server.address(user="reader", password="r"), lambda table: True))
    assert said.endswith("Run ALTER SYSTEM SET wal_level = logical, and start the server again.")
    assert both.endswith("start the server again. And have a superuser run ALTER ROLE reader REPLICATION.")
