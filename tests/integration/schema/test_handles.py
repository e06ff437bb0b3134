"""Handles from before a change of the columns: each verb learns the columns when it needs them."""

from collections.abc import Callable
from datetime import date

import pytest

import keylake as kl
from integration.refusals import refused
from integration.schema.evolving import Evolving
from integration.twin import fresh_name
from keylake.types import Int64

CHANGES = (
    "ALTER TABLE {t} ADD COLUMN n BIGINT",
    "ALTER TABLE {t} RENAME COLUMN b TO z",
    "ALTER TABLE {t} DROP COLUMN c",
    "ALTER TABLE {t} RENAME COLUMN k TO kk",
    "ALTER TABLE {t} ADD COLUMN home.city STRING",
)
NOW = ["kk", "a", "z", "home", "n"]
DAY = date(2026, 11, 1)


def before() -> str:
    return "k BIGINT, a BIGINT, b BIGINT, c BIGINT, home STRUCT<zip: INT>, PRIMARY KEY (k)"


def row(**values: object) -> dict[str, object]:
    return dict.fromkeys(NOW) | values


@pytest.fixture(scope="module")
def changed(lake: kl.Lake) -> tuple[Callable[[], kl.KeyedTable], Evolving, list[int]]:
    """What makes handles from before the change, the table, and two commits."""
    table = Evolving(lake, before())
    table.run("INSERT INTO {t} VALUES (1, 1, 1, 1, named_struct('zip', 1))")
    table.run("INSERT INTO {t} VALUES (1, 2, 2, 2, named_struct('zip', 2))")
    commits = [commit.snapshot_id for commit in table.table.history()[::-1]]
    own = table.table
    own.archive(DAY)
    own.branch("tmp_draft").update([{"k": 1, "a": 3}])
    own.experiment("x", add={"score": Int64})
    handle = own._handle
    table.run(*CHANGES)

    def older() -> kl.KeyedTable:
        return kl.KeyedTable(handle, own._model)

    return older, table, commits


READS: dict[str, Callable[[kl.KeyedTable, int, int], object]] = {
    "read": lambda t, one, two: t.read().columns,
    "read of columns": lambda t, one, two: t.read(columns=NOW).columns,
    "appended": lambda t, one, two: t.appended(after=one, until=two).columns[:-1],
    "appended of columns": lambda t, one, two: t.appended(after=one, until=two, columns=NOW).columns[:-1],
    "appended of a state": lambda t, one, two: t.appended(as_of=DAY).columns[:-1],
    "changes": lambda t, one, two: ["kk", *t.changes(after=one).schema["_after"].dataType.names],  # type: ignore[attr-defined]
    "undo_feed": lambda t, one, two: [each for each in t.undo_feed(after=one, until=two).columns if each != "_op"],
    "read_stream": lambda t, one, two: t.read_stream().columns,
    "read_stream of columns": lambda t, one, two: t.read_stream(["a", "z", "home", "n"]).columns,
    "get": lambda t, one, two: list(type(t.get(kk=1)).model_fields),
    "explain_row": lambda t, one, two: ["kk", *(cell.column for cell in t.explain_row(kk=1).columns)],
    "a branch": lambda t, one, two: list(type(t.branch("tmp_draft").get(kk=1)).model_fields),
    "appended of a branch": lambda t, one, two: t.branch("tmp_draft").appended(after=two).columns[:-1],
    "join": lambda t, one, two: kl.join([{"kk": 1}], [t], on=["kk"]).columns,
    "join of columns": lambda t, one, two: kl.join([{"kk": 1}], [t["a", "z", "home", "n"]], on=["kk"]).columns,
}


@pytest.mark.parametrize("verb", READS)
def test_reads(changed: tuple[Callable[[], kl.KeyedTable], Evolving, list[int]], verb: str) -> None:
    older, _, (one, two) = changed
    assert READS[verb](older(), one, two) == NOW


@pytest.mark.slow
def test_values_inside_and_keys(changed: tuple[Callable[[], kl.KeyedTable], Evolving, list[int]]) -> None:
    older, table, _ = changed
    found = older().get(kk=1)
    assert found is not None
    assert (found["home"].zip, found["home"].city, found["n"]) == (2, None, None)
    draft = older().branch("tmp_draft")
    assert draft.touched_by_both().columns == ["kk"]
    with refused(table.lake, table.name, kl.GateFailed, "null_rate"):
        draft.publish(require=[kl.null_rate("n", below=0.01)])
    experiment = older().experiment("x")
    table.run("ALTER TABLE {t} RENAME COLUMN kk TO k", "ALTER TABLE {t} RENAME COLUMN k TO kk")
    experiment.update([{"kk": 1, "score": 5}])
    score = experiment.get(kk=1)
    assert score is not None
    assert score["score"] == 5
    assert older().experiment("y", add={"b": Int64}).experiments()[-1].columns == ("b",)


WRITES: dict[str, Callable[[kl.KeyedTable], kl.Commit]] = {
    "upsert": lambda t: t.upsert([row(kk=1)]),
    "update": lambda t: t.update([{"kk": 1, "n": 1, "home": {"zip": 1, "city": "x"}}]),
    "delete": lambda t: t.delete([{"kk": 7}]),
    "apply_changes": lambda t: t.apply_changes([row(kk=1, op="U")], op="op"),
    "overwrite": lambda t: t.overwrite([row(kk=1)]),
}


@pytest.mark.slow
@pytest.mark.parametrize("verb", WRITES)
def test_writes(lake: kl.Lake, verb: str) -> None:
    table = Evolving(lake, before())
    older = table.table
    table.run(*CHANGES)
    assert WRITES[verb](older).rows == 1


@pytest.mark.slow
def test_an_experiment_from_before_writes_by_the_new_name_of_the_key(lake: kl.Lake) -> None:
    table = Evolving(lake, before())
    experiment = table.table.experiment("x", add={"score": Int64})
    table.run(*CHANGES)
    experiment.update([{"kk": 1, "score": 5}])
    found = experiment.get(kk=1)
    assert found is not None
    assert (found["score"], found["n"]) == (5, None)


def test_rows_stay_of_the_class_by_which_a_table_was_opened(lake: kl.Lake) -> None:
    class Seen(kl.Table, name=fresh_name("seen"), buckets=1):
        id: Int64 = kl.key()
        n: Int64 | None = kl.column()

    table = lake.create(Seen)
    table.upsert([Seen(id=1, n=2)])
    lake.table(table.name).alter(add={"score": Int64})
    found = table.get(id=1)
    assert isinstance(found, Seen)
    assert (found.n, found["score"]) == (2, None)
    lake.table(table.name).alter(rename={"n": "m"})
    other = table.get(id=1)
    assert other is not None
    assert not isinstance(other, Seen)
    assert other["m"] == 2
