"""dbt, with its adapter for Spark, builds `examples/dbt` on keyed tables."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import keylake as kl
from integration.clients.thrift_server import ThriftServer

ROOT = Path(__file__).parents[3]
DBT = ROOT / ".build" / "clients" / "bin" / "dbt"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copied = tmp_path_factory.mktemp("dbt") / "shop"
    return Path(shutil.copytree(ROOT / "examples" / "dbt", copied))


def dbt(project: Path, server: ThriftServer, *words: str) -> None:
    assert DBT.exists(), "dbt has an environment of its own: run `make clients`"
    ran = subprocess.run(
        [DBT, "--no-use-colors", *words],
        cwd=project,
        env=os.environ | {"THRIFT_PORT": str(server.thrift_port), "DBT_PROFILES_DIR": str(project)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def rows(lake: kl.Lake, query: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in lake.spark.sql(query).collect()]


def verbs(lake: kl.Lake, table: str) -> list[str]:
    return [commit.verb for commit in reversed(lake.table(table).history())]


def test_models_and_a_snapshot_are_built_and_built_again(
    thrift_server: ThriftServer, thrift_lake: kl.Lake, project: Path
) -> None:
    """Orders come by merge, open orders by delete+insert, sales by partitions, cities as a whole."""
    dbt(project, thrift_server, "build", "--vars", "loads: 1")
    assert set(thrift_lake.tables()) == {
        f"shop.{name}" for name in ("deliveries", "orders", "open_orders", "sales", "cities", "order_states")
    }
    assert thrift_lake.table("shop.deliveries").spec.key == ("load", "order_id")
    orders = thrift_lake.table("shop.orders")
    assert (orders.spec.key, orders.spec.buckets) == (("order_id",), 4)

    dbt(project, thrift_server, "build", "--vars", "{loads: 2, with_load: true}")
    assert rows(thrift_lake, "SELECT order_id, amount, status, load FROM shop.orders ORDER BY 1") == [
        (1, 10, "open", None),  # was there before the column
        (2, 25, "paid", 2),
        (3, 30, "open", None),
        (4, 40, "open", 2),
        (5, 50, "open", 2),
    ]
    assert rows(thrift_lake, "SELECT order_id, amount, is_open FROM shop.open_orders ORDER BY 1") == [
        (1, 10, True), (2, 25, False), (3, 30, True), (4, 40, True), (5, 50, True),
    ]  # fmt: skip
    # Day 2 was replaced, and day 1 was not: the model asks for the newest days only.
    assert rows(thrift_lake, "SELECT CAST(day AS STRING), city, amount FROM shop.sales ORDER BY 1, 2") == [
        ("2026-11-01", "Lima", 20), ("2026-11-01", "Oslo", 10),
        ("2026-11-02", "Lima", 40), ("2026-11-02", "Oslo", 30), ("2026-11-03", "Oslo", 50),
    ]  # fmt: skip
    assert rows(thrift_lake, "SELECT * FROM shop.cities ORDER BY 1") == [("Lima", 2), ("Oslo", 3)]
    states = "SELECT order_id, status, dbt_valid_to IS NULL FROM shop.order_states ORDER BY 1, dbt_valid_from"
    assert rows(thrift_lake, states) == [
        (1, "open", True), (2, "open", False), (2, "paid", True),
        (3, "open", True), (4, "open", True), (5, "open", True),
    ]  # fmt: skip
    assert verbs(thrift_lake, "shop.orders") == ["overwrite", "update"]
    assert verbs(thrift_lake, "shop.open_orders") == ["overwrite", "delete", "update"]

    dbt(project, thrift_server, "build", "--full-refresh", "--vars", "loads: 3")
    assert rows(thrift_lake, "SELECT order_id, status FROM shop.orders WHERE status = 'paid' ORDER BY 1") == [
        (2, "paid"),
        (5, "paid"),
    ]
    assert verbs(thrift_lake, "shop.orders") == ["overwrite"]
    assert len(rows(thrift_lake, states)) == 7  # full refreshes keep snapshots
    dbt(project, thrift_server, "docs", "generate", "--vars", "loads: 3")
