"""On a standalone cluster of two workers: tasks travel, executors share nothing, and the answers are the same."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import keylake as kl
from integration.histories import COMPOUND, Shape, operations
from integration.spark_processes import cluster, connect_server
from integration.twin import by_key, fresh_name

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cluster")


@pytest.fixture(scope="module")
def on_cluster(folder: Path) -> Iterator[kl.Lake]:
    """A lake whose server is the driver of a cluster."""
    with cluster(folder, workers=2) as master:
        settings = {
            "spark.master": master,
            "spark.executor.memory": "512m",
            "spark.executor.cores": "1",
            "spark.cores.max": "2",
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            "spark.locality.wait": "0",
        }
        with connect_server(folder / "lake", settings) as server, kl.connect(server.url) as lake:
            yield lake


def executors(folder: Path) -> set[str]:
    """The workers that an executor has run on."""
    return {path.parent.parent.parent.name for path in folder.glob("worker-*/app-*/*/stderr")}


@pytest.mark.parametrize("shape", [Shape("explicit", COMPOUND, buckets=6), Shape("ordering", buckets=5)], ids=str)
def test_a_history_on_two_executors(on_cluster: kl.Lake, folder: Path, shape: Shape) -> None:
    twin = shape.create(on_cluster, fresh_name("cluster"))
    for operation in operations(shape, seed=21, count=5, rows=200, forms=("arrow", "spark")):
        operation.apply(twin)
    twin.check()
    twin.check(["a"])
    twin.check_stamps()
    key, expected = next(iter(twin.expected().items()))
    assert twin.get(dict(zip(twin.model.key, key, strict=True))) == expected
    joined = on_cluster.spark.sql(
        f"SELECT /*+ MERGE(r) */ l.* FROM {twin.sql_name} l JOIN {twin.sql_name} r USING ({', '.join(twin.model.key)})"
    )
    kl.assert_no_shuffle(joined)
    assert by_key(joined.toArrow(), twin.model.key) == twin.expected()
    assert executors(folder) == {"worker-0", "worker-1"}


def test_a_bad_row_on_an_executor(on_cluster: kl.Lake) -> None:
    twin = Shape("commit").create(on_cluster, fresh_name("cluster"))
    rows = on_cluster.spark.range(0, 1000, 1, 4).selectExpr("if(id = 777, NULL, id) AS id", "id AS a")
    with pytest.raises(kl.BadRows, match="'id'"):
        twin.table.update(rows)
    assert twin.table.history() == [] or len(twin.table.history()) == 0
