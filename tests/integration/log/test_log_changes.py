"""Entries of a log with the merged rows before and after them."""

from pathlib import Path
from random import Random

import pytest

import keylake as kl
import keylake.local
from integration.log.logged_table import Both, made, shown
from integration.random_runs import seeds

Shown = dict[int, tuple[object, object]]


def told(entry: keylake.local.LogEntry) -> dict[int, tuple[str, object, object]]:
    """The changes by an entry: per key what happened, and the values before and after it."""

    def values(image: dict[str, object] | None) -> object:
        return None if image is None else tuple(image.values())

    rows = entry.changes.to_pylist()
    return {row["id"]: (row["_change"], values(row["_before"]), values(row["_after"])) for row in rows}


def between(before: Shown, after: Shown) -> dict[int, tuple[str, object, object]]:
    found: dict[int, tuple[str, object, object]] = {}
    for key in before.keys() | after.keys():
        old, new = before.get(key), after.get(key)
        if old != new:
            found[key] = ("insert" if old is None else "delete" if new is None else "update", old, new)
    return found


def test_an_entry_has_the_rows_before_and_after_it(both: Both) -> None:
    both.table.upsert([{"id": 1, "a": 1, "b": "one"}, {"id": 2, "a": 2, "b": "two"}])
    both.here.log.update([{"id": 1, "a": 10}, {"id": 3, "a": 3}])
    both.here.log.delete([{"id": 1}, {"id": 9}])
    both.here.log.update({"id": 2, "a": 2})
    expected = [
        {1: ("update", (1, "one"), (10, "one")), 3: ("insert", None, (3, None))},
        {1: ("delete", (10, "one"), None)},
        {},
    ]
    assert list(map(told, both.here.log.entries(changes=True))) == expected
    (first, *_) = both.here.log.entries(changes=True)
    assert first.changes.column_names == ["id", "_change", "_columns", "_before", "_after"]
    assert first.changes.column("_columns").to_pylist() == [["a"], []]
    both.table.log.move()
    both.table.compact("full")
    both.here.log.update({"id": 2, "a": 5})
    expected.append({2: ("update", (2, "two"), (5, "two"))})
    for after in range(-1, 3):
        assert list(map(told, both.here.log.entries(after, changes=True))) == expected[after + 1 :]
    assert next(iter(both.here.log.entries())).changes is None
    with pytest.raises(kl.DefinitionError, match="changes is 'yes'"):
        next(both.here.log.entries(changes="yes"))  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", seeds(0, 5))
def test_changes_by_random_entries(
    lake: kl.Lake, local: keylake.local.LocalLake, warehouse: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Late ones, which change nothing where they lose, and beside commits, moves and compactions."""
    draw = Random(seed)
    monkeypatch.setattr("keylake.local.log._MOST_KEPT_ROWS", 8)
    both = made(lake, local, versions="explicit")
    log = both.here.log
    with keylake.local.open(warehouse) as other:
        following = other.table(both.table.name).log.follow(-1, seconds=0, changes=True)
        expected = []
        for _ in range(30):
            version, before = draw.randrange(20), shown(both.here, fresh=True)
            rows = [{"id": key, "a": draw.randrange(5)} for key in draw.sample(range(8), draw.randint(1, 3))]
            match draw.choice(["update", "update", "upsert", "delete", "commit", "move", "compact"]):
                case "update":
                    log.update(rows, version=version)
                case "upsert":
                    log.upsert([{**row, "b": str(row["a"])} for row in rows], version=version)
                case "delete":
                    log.delete([{"id": row["id"]} for row in rows], version=version)
                case "commit":
                    both.table.update([{"id": 100 + int(str(rows[0]["id"])), "a": 1}], version=version)
                    continue
                case "move":
                    both.table.log.move()
                    continue
                case _:
                    both.table.compact("full")
                    continue
            expected.append(between(before, shown(both.here, fresh=True)))
            if draw.random() < 0.5:
                assert list(map(told, log.entries(len(expected) - 2, changes=True))) == expected[-1:]
        start = draw.randrange(len(expected))
        assert list(map(told, log.entries(start - 1, changes=True))) == expected[start:]
        assert list(map(told, following)) == expected


@pytest.mark.slow
def test_entries_whose_rows_before_have_expired(both: Both) -> None:
    both.table.upsert([{"id": 1, "a": 1, "b": "one"}])
    both.here.log.update({"id": 1, "a": 2})
    both.table.log.move()
    both.here.log.update({"id": 1, "a": 3})
    both.table.layout.clean(kl.RetentionPolicy(days=0, orphan_days=0))
    with pytest.raises(kl.SnapshotExpired, match=r"before entry 0 of its log.*Follow the log from a later entry"):
        list(both.here.log.entries(changes=True))
    assert list(map(told, both.here.log.entries(0, changes=True))) == [{1: ("update", (2, "one"), (3, "one"))}]


@pytest.mark.slow
def test_changes_across_a_change_of_columns(both: Both) -> None:
    both.table.upsert([{"id": 1, "a": 1, "b": "one"}])
    following = both.here.log.follow(seconds=5, changes=True)
    both.here.log.update({"id": 1, "a": 2})
    assert told(next(following)) == {1: ("update", (1, "one"), (2, "one"))}
    both.table.alter(rename={"b": "c"}, add={"d": int})
    with_d = both.here
    while "d" not in with_d.spec.column_names:
        pass
    with_d.log.update({"id": 1, "d": 7})
    assert told(next(following)) == {1: ("update", (2, "one", None), (2, "one", 7))}
