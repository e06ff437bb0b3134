"""Changes whose answers are lost: each is made once, its table can be read and written to, and nothing else is said."""

from collections.abc import Callable
from typing import Protocol

import pyarrow as pa
import pytest

import keylake as kl
from integration.twin import fresh_name

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
}
# What a verb needs, done before answers are lost.
BEFORE: dict[str, Callable[[kl.KeyedTable], None]] = {"a promotion": tried, "the end of an experiment": tried}


def check(lake: kl.Lake, proxy: Losing, fault: str, verb: str) -> None:
    act, adds, commits = VERBS[verb]
    table = created(lake, fresh_name("lost"))
    if verb in BEFORE:
        BEFORE[verb](table)
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
