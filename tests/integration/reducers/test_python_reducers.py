"""Reducers that users write in Python: run in Spark's Python workers, tried before a column has them."""

import os
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

import keylake as kl
from integration.random_runs import of_every, seeds
from integration.reducers import acme
from integration.reducers.reduced import Reduced, check, check_explanations, history, one_of, table_of
from integration.refusals import refused, refused_in_sql
from integration.twin import fresh_name

CASES = {
    "range": Reduced(pa.int64(), acme.Range, one_of([-7, 0, 1, 99, 2**40])),
    "streak": Reduced(pa.int64(), acme.Streak, one_of([0, 1, 1, 2])),
    "joined": Reduced(pa.string(), acme.Joined, one_of(["a", "", "é", "long" * 20])),
}
ALLOWED = ("Range", "Streak", "Joined", "MeanOfMeans", "Ranked", "TooLittle", "PLAIN", "Missing")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kl.Lake]:
    """A server whose Python finds the module."""
    made = tmp_path_factory.mktemp("python")
    settings = {
        "spark.keylake.reducers": ", ".join([*(f"{acme.__name__}.{name}" for name in ALLOWED), "acme.no.Module"]),
        "spark.sql.shuffle.partitions": "2",
    }
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(
            "PYTHONPATH", os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
        )
        opened = kl.connect(warehouse=made / "lake", memory="1g", settings=settings)
    with opened as lake:
        yield lake


@pytest.mark.slow
@of_every("name", {name: name for name in CASES}, today=1)
@pytest.mark.parametrize("seed", seeds(1, 4))
def test_any_history_is_one_fold_in_python(lake: kl.Lake, name: str, seed: int) -> None:
    random = Random(seed)
    twin = table_of(lake, CASES[name], buckets=random.choice([1, 3]))
    for operation in history(CASES[name], random, 7):
        operation.apply(twin)
        if random.random() < 0.3:
            twin.table.compact(random.choice(["full", "settle"]))
            check(twin)
    check(twin)
    check_explanations(twin)
    after, until = sorted(random.sample(range(1, len(twin.commits) + 1), 2))
    twin.table.undo(after=twin.commits[after - 1], until=twin.commits[until - 1])
    twin.model = twin.model.without(after, until)
    check(twin)


@pytest.mark.slow
def test_many_contributions_of_few_keys_and_of_many(lake: kl.Lake) -> None:
    """More of one key than are gathered at a time, and more keys than are completed at a time."""
    twin = table_of(lake, CASES["range"])
    rows = "SELECT IF(id % 2 = 0, 0, id) AS k, id + 100 AS v, id AS r, id AS at FROM range(0, 100000, 1, 2)"
    for _ in range(2):
        twin.table.upsert(lake.spark.sql(rows), version="at")
    (row,) = twin.table.read().selectExpr("count(*) AS keys", "max(v) AS widest", "sum(v) AS all").collect()
    assert (row.keys, row.widest, row.all) == (50_001, 99_998, 99_998)
    twin.table.compact("full")
    assert twin.table.get(k=0).v == 99_998


@pytest.mark.slow
def test_the_change_feed_has_net_differences(lake: kl.Lake) -> None:
    twin = table_of(lake, CASES["joined"], versions="commit")
    commits = [twin.table.update([{"k": 1, "v": text}]) for text in ("a", "b", "c")]
    (change,) = twin.table.changes(after=commits[0]).collect()
    assert (change["_change"], change["_after"].v) == ("update", "a,b,c")


def create(lake: kl.Lake, reducer: str, state: str, type_: str) -> str:
    name = fresh_name("python")
    lake.spark.sql(
        f"CREATE TABLE {lake.catalog}.{name} (id BIGINT, v {type_}, PRIMARY KEY (id)) USING keylake "
        f"TBLPROPERTIES ('versions' = 'commit', 'reduce.v' = 'Python(name={reducer}, state=`{state}`)')"
    ).collect()
    return name


REFUSED = {
    "mean of means": (
        f"{acme.__name__}.MeanOfMeans",
        acme.MeanOfMeans.state,
        ["'v', which is double", "grouped or ordered", "[1.0, 1.0, 2.0] give", "[1.0] [1.0, 2.0]", "a compaction"],
    ),
    "looks at other keys": (f"{acme.__name__}.Ranked", acme.Ranked.state, ["'v', which is double"]),
    "gives too little": (
        f"{acme.__name__}.TooLittle",
        acme.TooLittle.state,
        ["fails with", "combine gives 0 elements of 1"],
    ),
    "no struct": (f"{acme.__name__}.Range", "bigint", ["the state of the reducer", "'bigint'", "struct<least"]),
    "another state": (
        f"{acme.__name__}.Range",
        "struct<other:bigint>",
        ["the state of the class is struct<least:bigint,most:bigint>", "the table keeps struct<other:bigint>"],
    ),
    "no reducer": (f"{acme.__name__}.PLAIN", "struct<a:bigint>", ["cannot be loaded", "is no reducer", "@kl.reducer"]),
    "no class": (f"{acme.__name__}.Missing", "struct<a:bigint>", ["cannot be loaded", "has no Missing", "PYTHONPATH"]),
    "no module": ("acme.no.Module", "struct<a:bigint>", ["cannot be loaded", "No module named", "PYTHONPATH"]),
    "not allowed": ("os.path.join", "struct<a:bigint>", ["is not allowed", "spark.keylake.reducers", "acme.Range"]),
}


@of_every("refused_reducer", REFUSED, today=4)
def test_reducers_in_python_that_are_refused(lake: kl.Lake, refused_reducer: tuple[str, str, list[str]]) -> None:
    reducer, state, says = refused_reducer
    with refused_in_sql(lake, "no.table", "DEFINITION", reducer, *says):
        create(lake, reducer, state, "DOUBLE")


@pytest.mark.slow
def test_what_a_class_raises_is_told_and_nothing_is_written(lake: kl.Lake) -> None:
    table = lake.table(create(lake, acme.Range.name, acme.Range.state, "BIGINT"))
    table.update([{"id": 1, "v": v} for v in (5, 1, 9)])
    with refused(lake, table.name, kl.BadRows, acme.Range.name, "13 is no number here"):
        table.update([{"id": 1, "v": 13}])
    assert table.get(id=1).v == 8
    assert lake.spark.sql(f"SELECT v FROM {lake.catalog}.{table.name}").collect()[0].v == 8
    with refused(lake, table.name, kl.Unsupported, "reduced by Python and gives none back"):
        table.update([{"id": 1, "v": 5}], retract=True)


def test_a_class_that_workers_do_not_find_is_refused_where_it_is_defined() -> None:
    with pytest.raises(kl.DefinitionError, match="workers do not find it"):

        @kl.reducer(state=pa.struct([("a", pa.int64())]))
        class Local(acme.Joined.steps.__class__):  # type: ignore[misc]
            pass

    with pytest.raises(kl.DefinitionError, match=r"has no contribute\. Define contribute, combine and value"):
        kl.reducer(state=pa.struct([("a", pa.int64())]))(Path)  # type: ignore[arg-type]
