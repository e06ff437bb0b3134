"""Reducers that users write in Java: loaded where they are allowed, tried before a column has them."""

from collections.abc import Iterator
from random import Random

import pyarrow as pa
import pytest

import keylake as kl
from integration.random_runs import seeds
from integration.reducers.acme_jar import acme_jar
from integration.reducers.reduced import Reduced, check, history, lists_of, one_of, table_of
from integration.refusals import refused, refused_in_sql
from integration.twin import fresh_name

CLASSES = ("Median", "Trail", "RoundedSum", "Sticky", "Hidden", "Other", "Missing")


def own(name: str) -> kl.Own:
    return kl.Own(f"com.acme.Examples${name}")


CASES = {
    "median": Reduced(pa.int64(), own("Median"), one_of([-7, 0, 1, 99, 2**40])),
    "trail": Reduced(pa.list_(pa.string()), own("Trail"), lists_of(["a", "b", "c"], longest=3)),
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kl.Lake]:
    """A server that may load the classes."""
    made = tmp_path_factory.mktemp("own")
    settings = {
        "spark.jars": str(acme_jar(made)),
        "spark.keylake.reducers": ", ".join(own(name).name for name in CLASSES),
        "spark.sql.shuffle.partitions": "2",
    }
    with kl.connect(warehouse=made / "lake", memory="1g", settings=settings) as lake:
        yield lake


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seed", seeds(1, 6))
def test_any_history_is_one_fold_in_java(lake: kl.Lake, name: str, seed: int) -> None:
    random = Random(seed)
    twin = table_of(lake, CASES[name], buckets=random.choice([1, 3]))
    for operation in history(CASES[name], random, 7):
        operation.apply(twin)
        if random.random() < 0.3:
            twin.table.compact(random.choice(["full", "settle"]))
            check(twin)
    check(twin)
    after, until = sorted(random.sample(range(1, len(twin.commits) + 1), 2))
    twin.table.undo(after=twin.commits[after - 1], until=twin.commits[until - 1])
    twin.model = twin.model.without(after, until)
    check(twin)


def create(lake: kl.Lake, reducer: str, type_: str = "DOUBLE") -> str:
    name = fresh_name("own")
    lake.spark.sql(
        f"CREATE TABLE {lake.catalog}.{name} (id BIGINT, v {type_}, PRIMARY KEY (id)) USING keylake "
        f"TBLPROPERTIES ('versions' = 'commit', 'reduce.v' = 'Own(name={reducer})')"
    ).collect()
    return name


@pytest.mark.parametrize(
    ("reducer", "type_", "says"),
    [
        (
            "com.acme.Examples$RoundedSum",
            "DOUBLE",
            ["'v'", "[1.0, 1.0, 1.0E16] give", "[1.0] [1.0, 1.0E16]", "a compaction"],
        ),
        ("com.acme.Examples$Sticky", "DOUBLE", ["'v'", "[1.0]"]),
        ("com.acme.Examples$Median", "DOUBLE", ["'v' is double", "does not take"]),
        ("com.acme.Examples$Hidden", "DOUBLE", ["cannot be made", "public constructor"]),
        ("com.acme.Examples$Other", "DOUBLE", ["does not implement io.keylake.merge.Reducer"]),
        ("com.acme.Examples$Missing", "DOUBLE", ["is not found", "spark.jars"]),
        ("java.lang.Object", "DOUBLE", ["is not allowed", "spark.keylake.reducers", "Examples$Median"]),
    ],
)
def test_reducers_in_java_that_are_refused(lake: kl.Lake, reducer: str, type_: str, says: list[str]) -> None:
    with refused_in_sql(lake, "no.table", "DEFINITION", reducer, *says):
        create(lake, reducer, type_)


@pytest.mark.slow
def test_a_column_that_is_added_is_tried_and_stays(lake: kl.Lake) -> None:
    name = create(lake, own("Median").name, "BIGINT")
    sql = f"{lake.catalog}.{name}"
    lake.spark.sql(f"ALTER TABLE {sql} ADD COLUMN w DOUBLE").collect()
    with refused_in_sql(lake, name, "DEFINITION", "'w'", "1.0E16"):
        lake.spark.sql(f"ALTER TABLE {sql} SET TBLPROPERTIES ('reduce.w' = 'Own(name={own('RoundedSum').name})')")
    table = lake.table(name)
    table.update([{"id": 1, "v": v} for v in (5, 1, 9)])
    with refused_in_sql(lake, name, "BAD_ROWS", "'v'", "id=1", "13 is no number here"):
        lake.spark.sql(f"INSERT INTO {sql} (id, v) VALUES (1, 13)").collect()
    assert table.get(id=1).v == 5


@pytest.mark.slow
def test_a_server_that_has_not_got_the_class_reads_the_rest(lake: kl.Lake) -> None:
    """As one whose list is shorter does."""
    name = create(lake, own("Median").name, "BIGINT")
    for value in (3, 4):
        lake.table(name).update([{"id": 1, "v": value}])
    warehouse = str(lake.spark.conf.get(f"spark.sql.catalog.{lake.catalog}.warehouse"))
    with kl.connect(warehouse=warehouse, memory="700m") as other:
        other.table(name).update([{"id": 2}])
        assert [row.id for row in other.table(name).read(columns=["id"]).sort("id").collect()] == [1, 2]
        with refused(other, name, kl.DefinitionError, "is not allowed here", "names none"):
            other.table(name).update([{"id": 1, "v": 5}])
