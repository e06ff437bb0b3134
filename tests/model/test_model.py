"""The model's own tests: its verbs, and the laws of the merge on random histories."""

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.model import KeyedTable, Stamps, Written, as_version
from model.reducers import Place, rule_of

COLUMNS = ("a", "b", "c")
LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1

few_versions = st.one_of(st.integers(-3, 3), st.sampled_from([LONG_MIN, LONG_MAX]))
values = st.one_of(st.none(), st.integers(0, 3))
keys = st.integers(1, 3).map(lambda number: (number,))


def rows(versions: st.SearchStrategy[int] = few_versions) -> st.SearchStrategy[Written]:
    tombstones = st.builds(Written, keys, versions, st.just(True))
    columns = st.dictionaries(st.sampled_from(COLUMNS), st.tuples(versions, values))
    return st.one_of(tombstones, st.builds(Written, keys, versions, st.just(False), columns))


commits = st.lists(st.lists(rows(), max_size=6), max_size=6)


@st.composite
def distinct(draw: st.DrawFn) -> list[Written]:
    """Rows of which no two share a version, not even of a column: no answer hangs on a tie."""
    drawn = draw(st.lists(rows(st.just(0)), max_size=16))
    fresh = iter(draw(st.permutations(range(-100, 100))))
    return [
        Written(
            row.key, next(fresh), row.deleted, {name: (next(fresh), value) for name, (_, value) in row.columns.items()}
        )
        for row in drawn
    ]


def table(of: Iterable[Sequence[Written]]) -> KeyedTable:
    made = KeyedTable(("k",), COLUMNS, reducers={"c": rule_of({"type": "LatestNotNull"})})
    for commit in of:
        made.append(commit)
    return made


def answers(of: KeyedTable) -> dict[object, object]:
    return {key: (of.merge_info(key), of.read().get(key)) for key in of.written_keys()}


# ----------------------------------------------------------------------------------------------------------------- laws


@pytest.mark.slow
@given(distinct(), st.randoms(use_true_random=False))
def test_order_does_not_matter_to_the_model(written: list[Written], random: Random) -> None:
    shuffled = list(written)
    random.shuffle(shuffled)
    assert answers(table([row] for row in written)) == answers(table([row] for row in shuffled))


@pytest.mark.slow
@given(commits, st.integers(1, 7))
def test_cutting_into_other_commits_does_not_matter(written: list[list[Written]], size: int) -> None:
    flat = [row for commit in written for row in commit]
    assert answers(table(written)) == answers(table(flat[i : i + size] for i in range(0, len(flat), size)))


@given(commits)
def test_repeating_a_commit_at_once_changes_nothing(written: list[list[Written]]) -> None:
    assert answers(table(written)) == answers(table(commit for commit in written for _ in range(2)))


@pytest.mark.slow
@given(distinct(), st.data())
def test_repeating_anything_later_changes_nothing(written: list[Written], data: st.DataObject) -> None:
    again = data.draw(st.lists(st.sampled_from(written))) if written else []
    assert answers(table([written])) == answers(table([written, again]))


@given(commits, st.sets(st.sampled_from(COLUMNS)))
def test_columns_of_the_model_are_independent(written: list[list[Written]], wanted: set[str]) -> None:
    whole, some = table(written).read(), table(written).read(sorted(wanted))
    assert some == {key: {name: row[name] for name in sorted(wanted)} for key, row in whole.items()}


@given(commits)
def test_reading_an_earlier_commit_is_reading_a_shorter_history(written: list[list[Written]]) -> None:
    made = table(written)
    for number in range(len(written) + 1):
        assert made.read(at=number) == table(written[:number]).read()


@pytest.mark.slow
@given(commits)
@settings(max_examples=300)
def test_agrees_with_its_twin(written: list[list[Written]]) -> None:
    """The same law, folded row by row into key -> column -> (place, value), as one would at first write it."""
    deleted: dict[object, Place] = {}
    alive: dict[object, Place] = {}
    cells: dict[tuple[object, str], tuple[Place, object]] = {}
    for commit, of_commit in enumerate(written):
        for number, row in enumerate(of_commit):
            place = (row.version, commit, number)
            if row.deleted:
                deleted[row.key] = max(place, deleted.get(row.key, place))
                continue
            for name, (version, value) in row.columns.items():
                own = (version, commit, number)
                alive[row.key] = max(own, alive.get(row.key, own))
                if (name != "c" or value is not None) and (
                    (row.key, name) not in cells or own > cells[row.key, name][0]
                ):
                    cells[row.key, name] = (own, value)
            alive[row.key] = max(place, alive.get(row.key, place))
    never = (LONG_MIN, -1, -1)
    expected = {
        key: {
            name: cells[key, name][1]
            if (key, name) in cells and cells[key, name][0] > deleted.get(key, never)
            else None
            for name in COLUMNS
        }
        for key, place in alive.items()
        if place > deleted.get(key, never)
    }
    assert table(written).read() == expected


# ---------------------------------------------------------------------------------------------------------------- verbs


def test_upsert_carries_every_column() -> None:
    with pytest.raises(AssertionError, match="every column"):
        KeyedTable(("k",), ("a", "b")).upsert([{"k": 1, "a": 2}], version=1)


def test_update_writes_what_each_row_names() -> None:
    made = KeyedTable(("k",), ("a", "b"))
    made.upsert([{"k": 1, "a": 1, "b": 1}, {"k": 2, "a": 1, "b": 1}], version=1)
    made.update([{"k": 1, "a": 2, "b": 2, "n": ["a"]}, {"k": 2, "a": 2, "b": None, "n": ["b"]}], 2, columns_from="n")
    assert made.read() == {(1,): {"a": 2, "b": 1}, (2,): {"a": 1, "b": None}}


def test_versions_come_from_a_column_or_from_one_for_each_column() -> None:
    made = KeyedTable(("k",), ("a", "b"))
    made.update([{"k": 1, "a": 1, "at": 7}], version="at")
    made.update([{"k": 1, "a": 2, "b": 2, "v": 6, "w": 9}], version={"a": "v", "b": "w"})
    assert made.read() == {(1,): {"a": 1, "b": 2}}
    assert made.merge_info((1,)) == Stamps(9, 9, None, {"a": 7, "b": 9})


def test_the_ordering_column_is_the_version() -> None:
    made = KeyedTable(("k",), ("t", "a"), versions="ordering", ordering="t")
    made.upsert([{"k": 1, "t": date(1970, 1, 3), "a": 1}])
    made.update([{"k": 1, "a": 2}], version=1)
    made.delete([{"k": 1, "t": date(1969, 12, 31)}])
    assert made.read() == {(1,): {"t": date(1970, 1, 3), "a": 1}}
    assert made.merge_info((1,)) == Stamps(2, 2, -1, {"t": 2, "a": 2})


def test_changes_are_writes_and_tombstones() -> None:
    made = KeyedTable(("k",), ("a",), versions="commit")
    made.apply_changes([{"k": 1, "a": 1, "op": "I"}, {"k": 2, "a": 2, "op": "c"}], op="op")
    made.apply_changes([{"k": 1, "a": None, "op": "D"}, {"k": 2, "a": 3, "op": "u"}], op="op")
    assert made.read() == {(2,): {"a": 3}}
    assert made.read(at=1) == {(1,): {"a": 1}, (2,): {"a": 2}}


def test_overwrite_forgets_what_it_replaces() -> None:
    made = KeyedTable(("p", "k"), ("a",))
    made.upsert([{"p": 1, "k": 1, "a": 1}, {"p": 2, "k": 1, "a": 1}], version=9)
    made.delete([{"p": 1, "k": 2}], version=9)
    made.overwrite([{"p": 1, "k": 3, "a": 3}], version=1, replaces=lambda key: key[0] == 1)
    made.update([{"p": 1, "k": 2, "a": 2}, {"p": 2, "k": 1, "a": 2}], version=-5)
    assert made.read() == {(1, 2): {"a": 2}, (1, 3): {"a": 3}, (2, 1): {"a": 1}}
    made.overwrite([], version=1)
    assert made.read() == {}
    assert made.written_keys() == []


def test_versions_of_times() -> None:
    assert as_version(datetime(1969, 12, 31, 23, 59, 59, 999_999)) == -1
    assert as_version(datetime(1970, 1, 1, 0, 0, 0, 1, tzinfo=UTC)) == 1
    assert as_version(date(1969, 12, 31)) == -1
