"""Results: frozen values that show themselves."""

import re
from dataclasses import FrozenInstanceError, fields, is_dataclass
from datetime import UTC, datetime

import pytest

import keylake as kl
from keylake import Commit, CommitInfo, History
from keylake._display.html_table import ShownTable
from keylake._table.handle import Namespace

ROW = {
    "snapshot_id": 17,
    "parent_id": None,
    "committed_at": datetime(2026, 1, 1, 12, 30, tzinfo=UTC),
    "verb": "update",
    "rows": 1234,
    "min_version": -5,
    "max_version": -5,
    "columns": ["clicks", "page <b>"],
    "stream": "web",
    "writer": None,
    "write_id": "w",
    "idempotency_key": None,
    "files": 2,
}
FOREIGN = {"snapshot_id": 18, "committed_at": datetime(2026, 1, 2, tzinfo=UTC), "columns": None}


def test_a_commit() -> None:
    commit = Commit(snapshot_id=17, rows=0, versions=None, seconds=1.25)
    assert str(commit) == "commit 17: 0 rows, no versions, 1.2 s"
    again = Commit(snapshot_id=17, rows=0, versions=None, seconds=1.25, repeated=True, offsets={"clicks-0": 100})
    assert str(again) == f"{commit}, made before with the same offsets: nothing was written"
    assert len({commit, again}) == 2
    with pytest.raises(FrozenInstanceError):
        commit.rows = 1  # type: ignore[misc]


def test_a_commit_of_the_history() -> None:
    commit = CommitInfo.from_row(ROW)
    assert (commit.versions, commit.columns, commit.rows, commit.files) == ((-5, -5), ("clicks", "page <b>"), 1234, 2)
    foreign = CommitInfo.from_row(FOREIGN)
    assert (foreign.verb, foreign.versions, foreign.columns, foreign.rows) == (None, None, (), None)


def test_a_history() -> None:
    history = History("a.b", map(CommitInfo.from_row, (FOREIGN, ROW)))
    assert len(history) == 2
    assert history[1] == CommitInfo.from_row(ROW)
    assert list(history[1:]) == [history[1]]
    assert isinstance(history[:1], History)
    assert history == History("a.b", list(history))
    assert history != [*history]
    assert len({history, History("a.b", list(history))}) == 1
    assert str(history).splitlines() == [
        "a.b: 2 commits",
        "snapshot  committed at         verb    rows   versions  columns           stream  writer",
        "18        2026-01-02 00:00:00",
        "17        2026-01-01 12:30:00  update  1,234  -5        clicks, page <b>  web",
    ]
    assert "<td>clicks, page &lt;b&gt;</td>" in history._repr_html_()


def test_an_empty_history() -> None:
    assert str(History("a.b", [])).splitlines()[0] == "a.b: 0 commits"


def results() -> set[type]:
    """The classes of this package that public verbs return, alone or in a tuple."""
    owners = (kl.KeyedTable, *Namespace.__subclasses__(), kl.Lake, kl.Triggers, kl.Trigger)
    verbs = [kl.explain_join, *(verb for owner in owners for verb in vars_of(owner))]
    words = {
        word for verb in verbs for word in re.findall(r"\w+", str(getattr(verb, "__annotations__", {}).get("return")))
    }
    found = {getattr(kl, word) for word in words & set(kl.__all__) if is_dataclass(getattr(kl, word))}
    tables = {each for each in found if issubclass(each, ShownTable)}  # which say themselves what they show
    return found - {kl.TableSpec, kl.TableColumns} - tables


def vars_of(owner: type) -> list[object]:
    return [
        verb
        for parent in owner.__mro__
        for name, verb in vars(parent).items()
        if name == "__call__" or not name.startswith("_")
    ]


@pytest.mark.parametrize("result", sorted(results(), key=lambda each: each.__name__), ids=lambda each: each.__name__)
def test_a_result_is_frozen_and_shows_itself_in_a_notebook(result: type) -> None:
    made = object.__new__(result)
    for each in fields(result):
        object.__setattr__(made, each.name, ("<a>", 1))
    with pytest.raises(FrozenInstanceError):
        setattr(made, fields(result)[0].name, 1)
    shown = made._repr_html_()
    assert result.__name__ in shown
    assert all(f"<td>{each.name}</td><td>&lt;a&gt;, 1</td>" in shown for each in fields(result))


def test_what_verbs_return_is_found() -> None:
    assert {kl.Commit, kl.Published, kl.Picked, kl.Undone, kl.JoinExplanation, kl.HistoryBranch} <= results()
