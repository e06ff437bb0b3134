"""Commits to several tables at once through the REST catalog: readers see all of one or nothing."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Event, Thread
from typing import Any

import duckdb_extension_avro
import duckdb_extension_httpfs
import duckdb_extension_iceberg
import pyarrow as pa
import pytest

import keylake as kl
from integration.duck import duck_with
from integration.rest.endpoint import Endpoint, Reply
from integration.rest.held_commits import HeldCommit, Relay, relayed
from integration.spark_processes import connect_server, kill
from integration.twin import fresh_name

SPACE = "transactions"
COMMIT = "/v1/lake/transactions/commit"
SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("a", pa.string())])
NO_RIVAL = {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 7}
MERGES = {"X-Keylake-Client": "merges"}


@pytest.fixture(scope="module")
def relay(lake: kl.Lake, endpoint: Endpoint) -> Iterator[Relay]:
    lake.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS lake.{SPACE}")
    with relayed(endpoint, lake.spark) as relay:
        yield relay


def plain_table(lake: kl.Lake) -> str:
    """The name of a new plain table."""
    name = fresh_name(SPACE)
    lake.spark.sql(f"CREATE TABLE lake.{name} (id BIGINT, a STRING)")
    return name


def keyed_table(lake: kl.Lake) -> kl.KeyedTable:
    table = lake.create(kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("together"), key="id", buckets=1))
    table.upsert([{"id": 1, "a": "A"}, {"id": 2, "a": "B"}])
    return table


def part(name: str, updates: list[Any], requirements: list[Any] | None = None) -> dict[str, Any]:
    """What a transaction says of a table."""
    *space, last = name.split(".")
    identifier = {"namespace": space, "name": last}
    return {"identifier": identifier, "requirements": requirements or [], "updates": updates}


def of_commit(commit: HeldCommit) -> dict[str, Any]:
    """The same of a table to which an engine has made a commit, which was held."""
    *_, space, _, name = commit.path.split("/")
    return part(f"{space}.{name}", commit.body["updates"], commit.body["requirements"])


def number(name: str, count: int) -> dict[str, Any]:
    return part(name, [{"action": "set-properties", "updates": {"count": str(count)}}])


def sent(endpoint: Endpoint, *parts: dict[str, Any], headers: dict[str, str] | None = None) -> Reply:
    return endpoint.ask("POST", COMMIT, {"table-changes": list(parts)}, headers)


def rows_of(lake: kl.Lake, name: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in lake.spark.table(f"lake.{name}").collect())


def test_two_plain_tables_change_together(lake: kl.Lake, endpoint: Endpoint, relay: Relay) -> None:
    one, two = plain_table(lake), plain_table(lake)
    commits = [relay.commit(f"INSERT INTO {{}}.{name} VALUES (1, '{name}')") for name in (one, two)]
    for _ in range(2):  # the second time as if the answer was lost
        reply = sent(endpoint, *map(of_commit, commits))
        assert (reply.status, reply.text) == (204, "")
    for name in (one, two):
        assert rows_of(lake, name) == [(1, name)]
        assert lake.spark.table(f"lake.{name}.snapshots").count() == 1


def test_a_requirement_that_fails_changes_no_table(lake: kl.Lake, endpoint: Endpoint, relay: Relay) -> None:
    one, two, keyed = plain_table(lake), plain_table(lake), keyed_table(lake)
    first = relay.commit(f"INSERT INTO {{}}.{one} VALUES (1, 'x')")
    rows = relay.commit(f"INSERT INTO {{}}.{keyed.name} VALUES (3, 'x')")
    wrong = number(two, 1) | {"requirements": [NO_RIVAL]}
    reply = sent(endpoint, of_commit(first), of_commit(rows), wrong)
    assert (reply.status, reply.error[0]) == (409, "CommitFailedException")
    assert "Requirement failed" in reply.error[1]
    assert rows_of(lake, one) == []
    assert len(rows_of(lake, keyed.name)) == 2
    assert "count" not in stored(endpoint, two)["properties"]
    assert references(endpoint, keyed.name) == {"main"}
    for commit in (first, rows):
        assert commit.send().status == 200, "its files are there"
    assert rows_of(lake, one) == [(1, "x")]
    assert len(rows_of(lake, keyed.name)) == 3


def stored(endpoint: Endpoint, name: str) -> Any:
    """The metadata of a table as it is stored."""
    return endpoint.ask("GET", f"/v1/lake/namespaces/{name.replace('.', '/tables/')}", headers=MERGES).json["metadata"]


def references(endpoint: Endpoint, name: str) -> set[str]:
    return set(stored(endpoint, name)["refs"])


@pytest.mark.slow
def test_rows_of_keyed_tables_and_a_plain_one(lake: kl.Lake, endpoint: Endpoint, relay: Relay) -> None:
    """A client that does not merge adds rows to a keyed table, changes those of another, and adds to a plain one."""
    added, changed, plain = keyed_table(lake), keyed_table(lake), plain_table(lake)
    commits = [
        relay.commit(f"INSERT INTO {{}}.{added.name} VALUES (3, 'C')"),
        relay.commit(f"UPDATE {{}}.{changed.name} SET a = 'new' WHERE id = 1"),
        relay.commit(f"INSERT INTO {{}}.{plain} VALUES (1, 'x')"),
    ]
    for _ in range(2):
        assert sent(endpoint, *map(of_commit, commits)).status == 204
    assert rows_of(lake, added.name) == [(1, "A"), (2, "B"), (3, "C")]
    assert rows_of(lake, changed.name) == [(1, "new"), (2, "B")]
    assert rows_of(lake, plain) == [(1, "x")]
    for table in (added, changed):
        assert len(table.history()) == 2
        assert references(endpoint, table.name) == {"main"}
        table.update([{"id": 1, "a": "later"}])
        table.compact("full")
        assert rows_of(lake, table.name)[0] == (1, "later")


def test_a_change_of_rows_that_others_have_changed(lake: kl.Lake, endpoint: Endpoint, relay: Relay) -> None:
    keyed, plain = keyed_table(lake), plain_table(lake)
    commits = [
        relay.commit(f"UPDATE {{}}.{keyed.name} SET a = 'stale' WHERE id = 1"),
        relay.commit(f"INSERT INTO {{}}.{plain} VALUES (1, 'x')"),
    ]
    keyed.update([{"id": 1, "a": "fresh"}])
    reply = sent(endpoint, *map(of_commit, commits))
    assert (reply.status, reply.error[0]) == (409, "CommitFailedException")
    assert rows_of(lake, keyed.name) == [(1, "fresh"), (2, "B")]
    assert rows_of(lake, plain) == []
    assert references(endpoint, keyed.name) == {"main"}


def test_keyed_tables_of_a_client_that_merges(lake: kl.Lake, endpoint: Endpoint) -> None:
    tables = [keyed_table(lake), keyed_table(lake)]
    parts = [number(table.name, 1) for table in tables]
    assert sent(endpoint, *parts).error[0] == "ForbiddenException"
    assert sent(endpoint, *parts, headers=MERGES).status == 204
    for table in tables:
        assert stored(endpoint, table.name)["properties"]["count"] == "1"
        assert len(rows_of(lake, table.name)) == 2


def test_what_a_transaction_refuses(lake: kl.Lake, endpoint: Endpoint) -> None:
    one = plain_table(lake)
    assert "changes table" in sent(endpoint, number(one, 1), number(one, 2)).error[1]
    missing = sent(endpoint, number(one, 1), number(f"{SPACE}.gone", 1))
    assert missing.error == ("NoSuchTableException", f"Table does not exist: {SPACE}.gone")
    spec = part(one, [{"action": "set-properties", "updates": {"keylake.spec": "{}"}}])
    assert sent(endpoint, spec).status == 403
    assert endpoint.ask("POST", COMMIT, {}).status == 400
    assert stored(endpoint, one)["properties"].keys().isdisjoint({"count", "keylake.spec"})


def test_a_transaction_of_duckdb(lake: kl.Lake, endpoint: Endpoint) -> None:
    lake.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS lake.{SPACE}")
    one, keyed = plain_table(lake), keyed_table(lake)
    made = fresh_name(SPACE)
    with duck_with(duckdb_extension_avro, duckdb_extension_httpfs, duckdb_extension_iceberg) as duck:
        duck.execute(f"ATTACH 'lake' AS other (TYPE iceberg, ENDPOINT '{endpoint.uri}', TOKEN '{endpoint.token}')")
        duck.execute("BEGIN")
        duck.execute(f"CREATE TABLE other.{made} (id BIGINT)")
        duck.execute(f"INSERT INTO other.{one} VALUES (1, 'x')")
        duck.execute(f"INSERT INTO other.{keyed.name} VALUES (3, 'x')")
        assert rows_of(lake, one) == []
        duck.execute("COMMIT")
    assert rows_of(lake, made) == []
    assert rows_of(lake, one) == [(1, "x")]
    assert len(rows_of(lake, keyed.name)) == 3


def counts(catalog: Path, names: list[str]) -> list[int]:
    """The numbers of tables by one look at the rows of the catalog, as any reader may see them."""
    with closing(sqlite3.connect(catalog, timeout=30)) as database:
        found = dict(database.execute("SELECT table_name, metadata_location FROM iceberg_tables").fetchall())
    files = [Path(found[name.rpartition(".")[2]].removeprefix("file:")) for name in names]
    return [int(json.loads(file.read_text())["properties"].get("count", 0)) for file in files]


def test_readers_see_all_of_a_transaction(lake: kl.Lake, endpoint: Endpoint, warehouse: Path) -> None:
    lake.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS lake.{SPACE}")
    names = [plain_table(lake) for _ in range(3)]
    done, statuses = Event(), set()

    def write() -> None:
        for count in range(1, 31):
            while (status := sent(endpoint, *(number(name, count) for name in names)).status) == 409:
                pass  # the other one was first again and again, and a client tries once more
            statuses.add(status)
        done.set()

    writers = [Thread(target=write) for _ in range(2)]
    for each in writers:
        each.start()
    while not done.is_set():
        assert len(set(counts(warehouse / "catalog.db", names))) == 1
    for each in writers:
        each.join()
    assert statuses == {204}
    assert set(counts(warehouse / "catalog.db", names)) == {30}


@pytest.mark.slow
def test_a_server_that_dies_in_a_transaction(tmp_path: Path) -> None:
    """All tables have the same number, whenever a server is killed."""
    names = [f"{SPACE}.{name}" for name in "abc"]
    seen = 0
    for life in range(4):
        with connect_server(tmp_path / "lake", {"spark.keylake.catalog.port": "0"}) as server:
            endpoint = Endpoint(server.catalog_port, server.url.partition(";token=")[2])
            if life == 0:
                with kl.connect(server.url) as lake:
                    lake.spark.sql(f"CREATE NAMESPACE lake.{SPACE}")
                    for name in names:
                        lake.spark.sql(f"CREATE TABLE lake.{name} (id BIGINT)")
            begun = Event()

            def write(endpoint: Endpoint = endpoint, begun: Event = begun) -> None:
                count = 1
                while sent(endpoint, *(number(name, count) for name in names)).status == 204:
                    begun.set()
                    count += 1

            def until_the_end(write: Any = write) -> None:
                try:
                    write()
                except (OSError, ValueError):
                    return

            writer = Thread(target=until_the_end)
            writer.start()
            assert begun.wait(60)
            kill(server)
            writer.join()
        (seen,) = set(counts(tmp_path / "lake" / "catalog.db", names))
        assert seen > 0
