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
    "get() of nothing": (lambda t: t.get(), kl.SchemaMismatch, ("'id'", "get() has none")),
    "a time as text": (
        lambda t: t.read(at="2026-01-01T00:00:00Z"), kl.TableNotFound, ("no tag or branch '2026-01-01T", "a datetime"),
    ),
    "no tag": (lambda t: t.read(at="yesterday"), kl.TableNotFound, ("no tag or branch 'yesterday'",)),
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
