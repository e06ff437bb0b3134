"""Words of verbs of a wrong type, names that are not there: one sentence each, and nothing is written."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pandas as pd
import pytest

import keylake as kl
from integration.refusals import refused
from integration.twin import fresh_name
from keylake import Int64, column, key, ordering

AT = datetime(2026, 1, 1, tzinfo=UTC)
ROWS = [{"id": 1, "at": AT, "a": 1}]


class Seen(kl.Table, name=fresh_name("wrong_words"), buckets=2):
    id: Int64 = key()
    at: datetime = ordering()
    a: Int64 | None = column()


@pytest.fixture(scope="module")
def table(lake: kl.Lake) -> kl.KeyedTable[Any]:
    made = lake.create(Seen)
    made.upsert(ROWS)
    return made


WRONG: dict[str, tuple[Callable[[Any], object], type[kl.KeylakeError], tuple[str, ...]]] = {
    "an unknown label": (lambda t: t.update(ROWS, steam="x"), kl.DefinitionError, ("'steam'", "Did you mean 'stream'")),
    "stream=5": (lambda t: t.update(ROWS, stream=5), kl.DefinitionError, ("stream is 5", "the name of")),
    "idempotency_key=5": (lambda t: t.update(ROWS, idempotency_key=5), kl.DefinitionError, ("idempotency_key is 5",)),
    "offsets=5": (lambda t: t.update(ROWS, offsets=5), kl.DefinitionError, ("offsets is 5", "{'clicks-0': (0, 100)}")),
    "one offset": (lambda t: t.update(ROWS, offsets={"a": 5}), kl.DefinitionError, ("offsets is {'a': 5}",)),
    "watermark as text": (
        lambda t: t.update(ROWS, watermark="2026-01-01"), kl.DefinitionError, ("watermark is '2026-01-01'", "datetime"),
    ),
    "kl.watermark of text": (
        lambda t: t.read(at=kl.watermark("2026-01-01")),  # type: ignore[arg-type]
        kl.DefinitionError, ("The time of a watermark is '2026-01-01'", "datetime"),
    ),
    "business_time=5": (lambda t: t.update(ROWS, business_time=5), kl.DefinitionError, ("business_time is 5",)),
    "as_of=5": (lambda t: t.read(as_of=5), kl.DefinitionError, ("business_time is 5",)),
    "columns=5": (lambda t: t.read(columns=5), kl.DefinitionError, ("columns is 5", "a list of names")),
    "columns of a join": (lambda t: t[5], kl.DefinitionError, ("columns is 5",)),
    "buckets as text": (lambda t: t.change_buckets("8"), kl.DefinitionError, ("buckets is '8'", "a whole number")),
    "buckets=True": (lambda t: t.change_buckets(True), kl.DefinitionError, ("buckets is True",)),
    "an unknown policy": (lambda t: t.compact("all"), kl.DefinitionError, ("policy is 'all'", "'full', 'settle'")),
    "a policy of retention": (lambda t: t.set_retention_policy("7 days"), kl.DefinitionError, ("policy is '7 days'",)),
    "a series": (lambda t: t.update(pd.Series([1])), kl.BadRows, ("Series", "a pandas frame")),
    "a number for rows": (lambda t: t.update(5), kl.BadRows, ("int", "a pandas frame")),
    "toPandas drops the zone": (
        lambda t: t.upsert(pd.DataFrame({"id": [1], "at": [pd.Timestamp("2026-01-01")], "a": [1]})),
        kl.BadRows, ("toPandas() drops the zone", "toArrow()", "tz_localize"),
    ),
    "a condition of a read": (lambda t: t.read(where=1), kl.DefinitionError, ("where is 1", "SQL")),
    "a condition that is none": (lambda t: t.read(where="a"), kl.DefinitionError, ("is not a boolean",)),
    "a function that is not there": (lambda t: t.read(where="zz(a) = 1"), kl.DefinitionError, ("zz",)),
    "a condition of an overwrite": (lambda t: t.overwrite(ROWS, where=5), kl.DefinitionError, ("where is 5",)),
    "columns_from=5": (lambda t: t.update(ROWS, columns_from=5), kl.DefinitionError, ("columns_from is 5",)),
    "op=5": (lambda t: t.apply_changes(ROWS, op=5), kl.DefinitionError, ("op is 5",)),
    "versions of numbers": (lambda t: t.update(ROWS, version={"a": 5}), kl.VersionMissing, ("is no version",)),
    "a branch to pick from": (lambda t: t.cherry_pick(5), kl.DefinitionError, ("source is 5",)),
    "files by a number": (lambda t: t.drop_files(5), kl.DefinitionError, ("where is 5",)),
    "files to nowhere": (lambda t: t.move_files("true", to=None), kl.DefinitionError, ("to is None",)),
    "rollback to nothing": (lambda t: t.rollback(to=None), kl.DefinitionError, ("to=None is no commit",)),
    "a commit of 70 bits": (lambda t: t.changes(after=2**70), kl.DefinitionError, ("is no commit",)),
    "half a commit": (lambda t: t.history(at_most=1.5), kl.DefinitionError, ("at_most is 1.5",)),
    "fewer than no commits": (lambda t: t.history(at_most=-1), kl.DefinitionError, ("at_most is -1",)),
    "consumer=5": (lambda t: t.changes(consumer=5), kl.DefinitionError, ("consumer is 5",)),
    "a list of consumers": (lambda t: t.drop_consumer([]), kl.DefinitionError, ("consumer is []",)),
    "batches of nothing": (
        lambda t: t.stream_changes(max_commits_per_batch=0), kl.DefinitionError, ("max_commits_per_batch is 0",),
    ),
    "every as a number": (lambda t: t.archive("2026-01-01", every=5), kl.DefinitionError, ("every is 5", "timedelta")),
    "a target of a number": (lambda t: t.publish_kv(5), kl.DefinitionError, ("target is 5",)),
    "a prefix of a number": (lambda t: t["a"].prefixed(5), kl.DefinitionError, ("prefix is 5",)),
    "three buckets for two": (lambda t: t.change_buckets(3), kl.DefinitionError, ("take 4, so that",)),
    "five buckets for two": (lambda t: t.change_buckets(5), kl.DefinitionError, ("take 4 or 6, so that",)),
    "get(1)": (lambda t: t.get(1), kl.SchemaMismatch, ("by the names of its columns: get(id=...)",)),
    "get() of nothing": (lambda t: t.get(), kl.SchemaMismatch, ("'id'", "get() has none")),
    "a time as text": (
        lambda t: t.read(at="2026-01-01T00:00:00Z"), kl.TableNotFound, ("no tag or branch '2026-01-01T", "a datetime"),
    ),
    "no tag": (lambda t: t.read(at="yesterday"), kl.TableNotFound, ("no tag or branch 'yesterday'",)),
    "no snapshot": (lambda t: t.read(at=17), kl.SnapshotExpired, ("has no snapshot 17", "Take one of history()")),
    "a time before all": (lambda t: t.read(at=datetime(2000, 1, 1, tzinfo=UTC)), kl.SnapshotExpired, ("2000-01-01",)),
    "a time to come": (
        lambda t: t.read(at=datetime.now(UTC) + timedelta(days=1)), kl.DefinitionError, ("lies in the future",),
    ),
    "a branch with a slash": (lambda t: t.branch("tmp_a/b"), kl.DefinitionError, ("'tmp_a/b'", "letters, digits")),
    "a branch with a blank": (lambda t: t.branch("tmp_a b"), kl.DefinitionError, ("'tmp_a b'", "letters, digits")),
    "a branch of a number": (lambda t: t.branch(5), kl.DefinitionError, ("The name of a branch is 5",)),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_word_of_a_verb(lake: kl.Lake, table: kl.KeyedTable[Any], what: str) -> None:
    do, error, words = WRONG[what]
    with refused(lake, table.name, error, *words):
        do(table)


def test_rows_of_arrow_keep_their_zone(table: kl.KeyedTable[Any]) -> None:
    assert table.upsert(table.read().toArrow()).rows == 1


@pytest.mark.parametrize("definition", ["s.x", Seen(id=1, at=AT), 5, dict])
def test_what_is_no_definition(lake: kl.Lake, definition: Any) -> None:
    with pytest.raises(kl.DefinitionError, match=r"is no definition of a table\. Use a class of keylake\.Table"):
        lake.create(definition)
    if not isinstance(definition, str):
        with pytest.raises(kl.DefinitionError, match="is no definition of a table"):
            lake.table(definition)


def test_the_name_of_the_catalog_may_stand_before_that_of_a_table(lake: kl.Lake, table: kl.KeyedTable[Any]) -> None:
    assert lake.table(f"{lake.catalog}.{table.name}").name == table.name
    with pytest.raises(kl.TableNotFound, match="nothing_here"):
        lake.table(f"{lake.catalog}.nothing_here.at_all")
    name = fresh_name("wrong_words")
    lake.create(kl.TableSpec.from_json(table.spec.to_json().replace(table.name, name)))
    assert lake.drop(f"{lake.catalog}.{name}").name == name


WRONG_OF_A_LAKE: dict[str, tuple[Callable[[Any, Any], object], str]] = {
    "a trigger of no table": (lambda lake, t: lake.triggers.every(5, 5, "SELECT 1", name="x"), "table is 5"),
    "the name of a trigger": (
        lambda lake, t: lake.triggers.every(5, t, "SELECT 1", name=[]),
        r"name of a trigger is \[\]",
    ),
    "the stream of a trigger": (
        lambda lake, t: lake.triggers.every(5, t, "SELECT 1", name="x", stream=5),
        "stream is 5",
    ),
    "a receiver of no table": (lambda lake, t: lake.triggers.on_commit(5, print, name="x"), "table is 5"),
    "after what": (lambda lake, t: lake.triggers.on_commit(t, print, name="x", after="x"), "after='x' is no commit"),
    "a trigger that goes": (lambda lake, t: lake.triggers.remove([]), r"name of a trigger is \[\]"),
    "the pace of triggers": (lambda lake, t: lake.triggers.start(seconds="x"), "seconds is 'x'"),
    "entries of triggers": (lambda lake, t: lake.triggers.log(at_most="x"), "at_most is 'x'"),
    "entries of maintenance": (lambda lake, t: lake.maintenance.log(at_most=-1), "at_most is -1"),
    "a wait for maintenance": (lambda lake, t: lake.maintenance.wait(seconds="x"), "seconds is 'x'"),
    "validate=": (lambda _lake, t: kl.join([{"id": 1}], [t], on="id", validate="x"), "validate is 'x'"),
    "samples of two types": (lambda _lake, t: kl.join([{"id": 1}, {"id": "x"}], [t], on="id"), "of different types"),
    "as_of=5": (lambda _lake, t: kl.join([{"id": 1}], [t], on="id", as_of=5), "as_of is 5"),
}


@pytest.mark.parametrize("what", WRONG_OF_A_LAKE)
def test_a_wrong_word_of_a_lake(lake: kl.Lake, table: kl.KeyedTable[Any], what: str) -> None:
    do, words = WRONG_OF_A_LAKE[what]
    with pytest.raises(kl.KeylakeError, match=words):
        do(lake, table)


def test_no_rows_are_a_commit_of_none(table: kl.KeyedTable[Any]) -> None:
    assert table.upsert([]).rows == 0
