"""Change feeds in a form in which they can be compared, and what the naive model says of them."""

from typing import Any

import pyarrow as pa

from integration.twin import Twin, comparable
from model.model import Key

Found = dict[Key, Any]


def changes_by_key(twin: Twin, changes: pa.Table) -> Found:
    """The changes by key, each as its kind, its columns, and both images."""
    found: Found = {}
    for row in changes.to_pylist():
        key = tuple(comparable(row[name]) for name in twin.model.key)
        assert key not in found
        images = [
            image and {name: comparable(image[name]) for name in image} for image in (row["_before"], row["_after"])
        ]
        found[key] = (row["_change"], sorted(row["_columns"]), *images)
    return found


def expected_changes(twin: Twin, after: int, until: int, columns: list[str] | None = None) -> Found:
    """The changes of the commits after one and up to another, by their numbers."""
    before, then = (twin.expected(columns, commits=commits) if commits else {} for commits in (after, until))
    return differences(before, then)


def differences(before: Found, then: Found) -> Found:
    changes: Found = {}
    for key in before.keys() | then.keys():
        old, new = before.get(key), then.get(key)
        if old is None or new is None:
            changes[key] = ("insert" if old is None else "delete", [], old, new)
        elif old != new:
            changes[key] = ("update", sorted(name for name in old if old[name] != new[name]), old, new)
    return changes
