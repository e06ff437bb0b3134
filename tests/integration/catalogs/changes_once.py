"""Changes whose answers are lost: each is made once, its table can be read and written to, and nothing else is said."""

import json
from collections.abc import Callable
from typing import Protocol

import pyarrow as pa
import pytest

import keylake as kl
from integration.sessions import clone_of
from integration.twin import fresh_name
from keylake_pipelines.multi_table.write import TableBatch, write_tables

SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), ("s", pa.int64())])


class Losing(Protocol):
    """What stands before a catalog: `lose` says what happens to the next change, and is None after that."""

    lose: str | None


def created(lake: kl.Lake, name: str) -> kl.KeyedTable:
    reducers = {"s": kl.Sum()}
    spec = kl.TableSpec.from_arrow(SCHEMA, name=name, key="k", buckets=2, versions="explicit", reducers=reducers)
    table = lake.create(spec)
    for key in (1, 1, 2):
        table.update([{"k": key, "s": 0}], version=1)
    return table


def total(table: kl.KeyedTable) -> int:
    return sum(row.s for row in table.read().collect())


def written(table: kl.KeyedTable) -> kl.KeyedTable:
    branch = table.branch("tmp_written")
    branch.update([{"k": 3, "s": 10}], version=2)
    return branch


def rename(table: kl.KeyedTable, lake: kl.Lake) -> None:
    lake.spark.sql(f"ALTER TABLE {lake.catalog}.{table.name} RENAME TO {table.name}_renamed").collect()
    assert total(lake.table(f"{table.name}_renamed")) == 0
    lake.spark.sql(f"ALTER TABLE {lake.catalog}.{table.name}_renamed RENAME TO {table.name}").collect()


def drop(table: kl.KeyedTable, lake: kl.Lake) -> None:
    lake.drop(table.name)
    with pytest.raises(kl.TableNotFound):
        lake.table(table.name)
    created(lake, table.name)


def own(table: kl.KeyedTable, lake: kl.Lake) -> None:
    lake.spark.sql(f"ALTER TABLE {lake.catalog}.{table.name} SET TBLPROPERTIES ('team' = 'us')").collect()


def of_a_query(table: kl.KeyedTable, lake: kl.Lake) -> None:
    """Made beside the table, from its rows."""
    copy = fresh_name("lost")
    query = f"SELECT k, 5L AS s FROM {lake.catalog}.{table.name}"
    properties = "TBLPROPERTIES ('key' = 'k', 'reduce.s' = 'Sum')"
    lake.spark.sql(f"CREATE TABLE {lake.catalog}.{copy} USING keylake {properties} AS {query}").collect()
    assert total(lake.table(copy)) == 10


def tried(table: kl.KeyedTable) -> None:
    table.experiment("tried", add={"z": int}).update([{"k": 1, "z": 1}], version=2)


def newest(table: kl.KeyedTable) -> str:
    """The files of the newest commit, as `files` tells them."""
    return f"commit_order = {max(row.commit_order for row in table.files().collect())}"


def with_ten(table: kl.KeyedTable) -> None:
    table.update([{"k": 3, "s": 10}], version=2)


def with_a_side(table: kl.KeyedTable) -> None:
    written(table)
    with_ten(table)


def without_ten(table: kl.KeyedTable) -> None:
    with_ten(table)
    table.files.drop(newest(table))


def restored(table: kl.KeyedTable, _lake: kl.Lake) -> None:
    """The commit before the newest had the files."""
    at = table.history()[1]
    keys = {row.commit_order for row in table.files(at=at).collect()}
    table.files.restore(f"commit_order = {max(keys)}", at=at)


def read_to(table: kl.KeyedTable) -> None:
    table.changes(consumer="store").collect()


def acknowledged(table: kl.KeyedTable, _lake: kl.Lake) -> None:
    table.feed.acknowledge("store", until=table.history()[0])
    assert [each.name for each in table.feed.consumers()] == ["store"]


def forgotten(table: kl.KeyedTable, _lake: kl.Lake) -> None:
    table.feed.drop_consumer("store")
    assert table.feed.consumers() == ()


def kept(table: kl.KeyedTable, _lake: kl.Lake) -> None:
    table.layout.set_retention_policy(kl.RetentionPolicy(days=3))
    assert table.layout.retention_policy().days == 3


def with_more_buckets(table: kl.KeyedTable) -> None:
    table.layout.change_buckets(4)


def of_payloads(table: kl.KeyedTable, lake: kl.Lake) -> None:
    """The payload has a field that the table has no column for."""
    payloads = [(1, 2, json.dumps({"s": 10, "n": 7}))]
    rows = lake.spark.createDataFrame(payloads, "k BIGINT, at BIGINT, payload STRING")
    assert table.update_json(rows, version="at", idempotency_key="payloads").added == ("n",)


def copied(table: kl.KeyedTable, lake: kl.Lake) -> None:
    copy = f"{table.name}_plain"
    table.serving.publish_iceberg(copy)
    assert lake.spark.table(f"{lake.catalog}.{copy}").count() == 2


def of_a_plain_table(table: kl.KeyedTable, lake: kl.Lake) -> None:
    """The plain table, which `plain` has made, becomes keyed in one commit."""
    of = f"{table.name}_plain"
    assert lake.register(of, key=["k"], versions="commit").keys_written == 2
    assert total(lake.table(of)) == 0


def followed(table: kl.KeyedTable, lake: kl.Lake) -> None:
    """The plain table, which `plain` has made, as a keyed table that goes on with it."""
    of, into = f"{table.name}_plain", f"{table.name}_keyed"
    assert lake.adopt(of, into=into).rows == 2
    assert lake.adopt(of, into=into).commits == 0
    assert total(lake.table(into)) == 0


def cleaned(table: kl.KeyedTable, _lake: kl.Lake) -> None:
    table.layout.clean(kl.RetentionPolicy(days=0, snapshots=1))
    assert table.layout.clean(kl.RetentionPolicy(days=0, snapshots=1)).snapshots_expired == 0


def plain(table: kl.KeyedTable) -> None:
    table.serving.publish_iceberg(f"{table.name}_plain")


def foreign(table: kl.KeyedTable, lake: kl.Lake) -> None:
    """Another engine appends a row to the table."""
    stock = {f"spark.sql.catalog.{lake.catalog}": "org.apache.iceberg.spark.SparkCatalog"}
    with clone_of(lake, stock) as session:
        session.sql(f"INSERT INTO {lake.catalog}.{table.name} (k, s) VALUES (3, 10)").collect()


def adopted(table: kl.KeyedTable, _lake: kl.Lake) -> None:
    """The commit that the verb gives is the one that the table has."""
    given = table.commits.adopt(table.history()[0], rule="upsert", version=2)
    newest = table.history()[0]
    assert (given.snapshot_id, given.verb, given.rows) == (newest.snapshot_id, "adopt", 1)


Verb = Callable[[kl.KeyedTable, kl.Lake], object]
# What a verb does, what it adds to the sum, and in how many commits.
VERBS: dict[str, tuple[Verb, int, int]] = {
    "a key": (lambda table, lake: table.update([{"k": 1, "s": 10}], version=2, idempotency_key="job"), 10, 1),
    "offsets": (lambda table, lake: table.update([{"k": 1, "s": 10}], version=2, offsets={"a": (0, 9)}), 10, 1),
    "undo": (lambda table, lake: table.undo(after=table.history(compactions=True)[-1]), 0, 1),
    "compact": (lambda table, lake: table.compact("full"), 0, 0),
    "columns": (lambda table, lake: table.alter(add={"n": int}), 0, 0),
    "buckets": (lambda table, lake: table.change_buckets(4), 0, 0),
    "experiment": (lambda table, lake: table.experiment("e", add={"z": int}), 0, 0),
    "a promotion": (lambda table, lake: table.experiment("tried").promote(), 0, 1),
    "the end of an experiment": (lambda table, lake: table.drop_experiment("tried"), 0, 0),
    "overwrite": (lambda table, lake: table.overwrite([{"k": 1, "s": 10}], version=2), 10, 1),
    "rollback": (lambda table, lake: table.rollback(to=table.history(compactions=True)[-1]), 0, -2),
    "a branch": (lambda table, lake: table.branch("tmp_b").update([{"k": 1, "s": 10}], version=2), 0, 0),
    "an archived state": (lambda table, lake: table.archive("2020-01-01"), 0, 0),
    "merged": (lambda table, lake: table.refresh_merged(), 0, 0),
    "create": (lambda table, lake: created(lake, fresh_name("lost")), 0, 0),
    "of a query": (of_a_query, 0, 0),
    "property": (own, 0, 0),
    "rename": (rename, 0, 0),
    "drop": (drop, 0, 0),
    "files dropped": (lambda table, lake: table.files.drop(newest(table)), 0, 1),
    "files moved": (lambda table, lake: table.files.move(newest(table), to="tmp_written"), 0, 1),
    "files restored": (restored, 10, 1),
    "a consumer": (acknowledged, 0, 0),
    "the end of a consumer": (forgotten, 0, 0),
    "a policy": (kept, 0, 0),
    "rebucketing": (lambda table, lake: table.layout.rebucket(), 0, 0),
    "the end of a branch": (lambda table, lake: table.branches.drop("tmp_written"), 0, 0),
    "payloads": (of_payloads, 10, 1),
    "a plain copy": (copied, 0, 0),
    "registration": (of_a_plain_table, 0, 0),
    "adoption": (followed, 0, 0),
    "a foreign commit": (adopted, 10, 1),
    "cleaning": (cleaned, 0, -2),
}
# What a verb needs, done before answers are lost.
BEFORE: dict[str, Callable[[kl.KeyedTable], object]] = {
    "a promotion": tried,
    "the end of an experiment": tried,
    "files dropped": with_ten,
    "files moved": with_a_side,
    "files restored": without_ten,
    "a consumer": read_to,
    "the end of a consumer": read_to,
    "rebucketing": with_more_buckets,
    "the end of a branch": written,
    "registration": plain,
    "adoption": plain,
}
# What others do beforehand.
OTHERS: dict[str, Verb] = {"a foreign commit": foreign}


def check(lake: kl.Lake, proxy: Losing, fault: str, verb: str) -> None:
    act, adds, commits = VERBS[verb]
    table = created(lake, fresh_name("lost"))
    if verb in BEFORE:
        BEFORE[verb](table)
    if verb in OTHERS:
        OTHERS[verb](table, lake)
    before = len(table.history(compactions=True))
    proxy.lose = fault
    act(table, lake)
    assert proxy.lose is None, "no request was lost"
    assert total(table) == adds
    assert len([each for each in table.history(compactions=True) if each.verb != "compact"]) == before + commits
    table.update([{"k": 9, "s": 1}], version=3)
    assert total(table) == adds + 1


def check_publishing(lake: kl.Lake, proxy: Losing, fault: str) -> None:
    for publish in (lambda table, branch: branch.publish(), lambda table, branch: table.cherry_pick(branch)):
        table = created(lake, fresh_name("lost"))
        branch = written(table)
        proxy.lose = fault
        publish(table, branch)
        assert proxy.lose is None
        assert total(table) == 10
        table.update([{"k": 9, "s": 1}], version=3)
        assert total(table) == 11


def check_many(lake: kl.Lake, proxy: Losing, fault: str) -> None:
    """One of the commits of a write to three tables gets lost; the write is sent twice, as pipelines do."""
    tables = [created(lake, fresh_name("lost")) for _ in range(3)]
    rows = [(table.name, "u", 2, json.dumps({"k": 1, "s": 10})) for table in tables]
    batches = [TableBatch(table.name, {"log": (0, 9)}) for table in tables]
    frame = lake.spark.createDataFrame(rows, "table STRING, op STRING, version BIGINT, row STRING")
    proxy.lose = fault
    outcomes = write_tables(lake, frame, batches)
    assert proxy.lose is None
    assert [each.error for each in outcomes] == [None] * 3
    again = write_tables(lake, frame, batches)
    for table, first, second in zip(tables, outcomes, again, strict=True):
        assert first.commit is not None
        assert second.commit is not None
        assert first.commit.snapshot_id == second.commit.snapshot_id
        assert total(table) == 10
        assert table.offsets() == {"log": 9}
