"""Rows that commits appended, from the table and from the model."""

from collections.abc import Mapping

from pyspark.sql import DataFrame

import keylake as kl
from integration.changed_rows import Found, changes_by_key
from integration.histories import Shape
from integration.twin import Twin, comparable, fresh_name
from model.model import Key

EXPLICIT = Shape("explicit", buckets=4)


def comparable_key(key: Key) -> Key:
    return tuple(map(comparable, key))


def at(twin: Twin, commits: int) -> int | None:
    return twin.commits[commits - 1].snapshot_id if commits else None


def appended(twin: Twin, after: int, until: int) -> Found:
    rows = twin.table.appended(after=at(twin, after), until=at(twin, until)).toArrow().to_pylist()
    found: Found = {}
    for row in rows:
        key = tuple(comparable(row.pop(name)) for name in twin.model.key)
        assert key not in found
        is_deleted = row.pop("_deleted")
        found[key] = None if is_deleted else {name: comparable(value) for name, value in row.items()}
        assert not is_deleted or set(row.values()) == {None}
    return found


def expected_appended(twin: Twin, after: int, until: int) -> Found:
    return {
        comparable_key(key): row and {name: comparable(value) for name, value in row.items()}
        for key, row in twin.model.appended(after, until).items()
    }


def by_key(twin: Twin, frame: DataFrame) -> Found:
    return changes_by_key(twin, frame.toArrow())


def rows(first: int, after: int, value: int) -> list[Mapping[str, object]]:
    return [{"id": key, "a": value, "b": "same", "c": None, "d": None, "e": None} for key in range(first, after)]


def three_commits(lake: kl.Lake) -> Twin:
    twin = EXPLICIT.create(lake, fresh_name("changes"))
    twin.upsert(rows(0, 100, 1), version=1)
    twin.upsert(rows(500, 600, 1), version=2)
    twin.update([{"id": 7, "a": 2}], version=3)
    return twin
