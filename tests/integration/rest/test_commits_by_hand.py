"""Commits to keyed tables that a client of the REST catalog sends late, twice or changed: no row is lost or wrong."""

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import keylake as kl
from integration.rest.held_commits import HeldCommit, Relay
from integration.twin import fresh_name

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("a", pa.string()), ("b", pa.string())])
NEWEST = {"X-Keylake-Freshness": "0"}


def created(lake: kl.Lake, schema: pa.Schema = SCHEMA, **words: object) -> kl.KeyedTable:
    spec = kl.TableSpec.from_arrow(schema, name=fresh_name("by_hand"), key="id", buckets=1, **words)  # type: ignore[arg-type]
    table = lake.create(spec)
    table.upsert(pa.table({"id": [1], "a": [1], "b": ["B"]}, schema) if words else [{"id": 1, "a": "A", "b": "B"}])
    return table


def rows_of(table: kl.KeyedTable) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in table.read().collect())


@pytest.mark.slow
def test_a_commit_that_is_sent_twice(lake: kl.Lake, relay: Relay) -> None:
    table = created(lake)
    commit = relay.commit(f"UPDATE {{}}.{table.name} SET a = 'new'")
    assert [commit.send().status, commit.send().status] == [200, 200]
    assert rows_of(table) == [(1, "new", "B")]
    assert len(table.history()) == 2


def test_a_change_of_an_older_state_without_requirements(lake: kl.Lake, relay: Relay) -> None:
    table = created(lake)
    commit = relay.commit(f"UPDATE {{}}.{table.name} SET a = 'stale'").changed()
    table.update([{"id": 1, "b": "fresh"}])
    assert commit.send().error[0] == "CommitFailedException"
    commit.endpoint.ask("GET", commit.path, headers=NEWEST)  # moves the state on
    assert commit.send().error[0] == "CommitFailedException"
    commit.body["requirements"] = []
    commit.snapshot["sequence-number"] += 9
    commit.snapshot["first-row-id"] = 1000
    kind, sentence = commit.send().error
    assert kind == "CommitFailedException"
    assert "was made of snapshot" in sentence
    assert rows_of(table) == [(1, "A", "fresh")]


def test_names_that_are_other_columns_meanwhile(lake: kl.Lake, relay: Relay) -> None:
    table = created(lake)
    commit = relay.commit(f"INSERT INTO {{}}.{table.name} VALUES (2, 'of a', 'of b')")
    for change in ("a TO c", "b TO a", "c TO b"):
        lake.spark.sql(f"ALTER TABLE lake.{table.name} RENAME COLUMN {change}")
    kind, sentence = commit.send().error
    assert kind == "CommitFailedException"
    assert "have changed since it was loaded" in sentence
    assert rows_of(lake.table(table.name)) == [(1, "A", "B")]


def test_a_delete_that_calls_itself_an_append(lake: kl.Lake, relay: Relay) -> None:
    schema = pa.schema([SCHEMA.field("id"), ("a", pa.int64()), ("b", pa.string())])
    table = created(lake, schema, reducers={"a": kl.Sum()})
    commit = relay.commit(f"UPDATE {{}}.{table.name} SET b = 'x'").changed()
    commit.snapshot["summary"]["operation"] = "append"
    assert "combines column 'a' of several writes" in commit.send().error[1]
    assert rows_of(table) == [(1, 1, "B")]


def _says_it_is_of_keylake(commit: HeldCommit) -> None:
    commit.snapshot["summary"]["keylake.applies-equality-deletes"] = "1"


def _does_not_show_it(commit: HeldCommit) -> None:
    commit.body["updates"] = [each for each in commit.body["updates"] if each["action"] == "add-snapshot"]


def _has_files_of_the_machine(commit: HeldCommit) -> None:
    commit.snapshot["manifest-list"] = "file:/etc/passwd"


def _leaves_the_folder(commit: HeldCommit) -> None:
    folder = commit.snapshot["manifest-list"].rpartition("/")[0]
    commit.snapshot["manifest-list"] = f"{folder}/../../../metadata/snap.avro"


def _has_no_such_list(commit: HeldCommit) -> None:
    commit.snapshot["manifest-list"] += ".gone"


CHANGES: dict[str, tuple[Callable[[HeldCommit], None], int, str]] = {
    "summary": (_says_it_is_of_keylake, 403, "with the property 'keylake.applies-equality-deletes' in its summary"),
    "not shown": (_does_not_show_it, 403, "and the commit adds none to main"),
    "of the machine": (_has_files_of_the_machine, 403, "alone, and not file:/etc/passwd"),
    "above": (_leaves_the_folder, 403, "takes files of other engines from its folder"),
    "no list": (_has_no_such_list, 400, "cannot be read: .*; nothing was written"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_commits_that_no_engine_makes(lake: kl.Lake, relay: Relay, change: str) -> None:
    table = created(lake)
    commit = relay.commit(f"INSERT INTO {{}}.{table.name} VALUES (2, 'x', 'y')")
    other = commit.changed()
    apply, status, sentence = CHANGES[change]
    apply(other)
    reply = other.send()
    assert reply.status == status
    with pytest.raises(AssertionError, match=sentence):
        raise AssertionError(reply.error[1])
    assert rows_of(table) == [(1, "A", "B")]
    assert commit.send().status == 200
    assert len(rows_of(table)) == 2


def test_data_files_that_are_not_there(lake: kl.Lake, relay: Relay, warehouse: Path) -> None:
    table = created(lake)
    commit = relay.commit(f"INSERT INTO {{}}.{table.name} VALUES (2, 'x', 'y')")
    (file,) = warehouse.joinpath(*table.name.split("."), "merged-state").rglob("data/*.parquet")
    file.rename(file.with_suffix(".away"))
    kind, sentence = commit.send().error
    assert (kind, sentence.endswith("nothing was written")) == ("BadRequestException", True), sentence
    assert file.name in sentence
    assert rows_of(table) == [(1, "A", "B")]
    file.with_suffix(".away").rename(file)
    assert json.loads(commit.send().text)["metadata"]
    assert len(rows_of(table)) == 2
