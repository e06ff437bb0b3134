"""On YARN: a server that is started with the lines of `keylake server-conf`, and executors in containers."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import keylake as kl
from integration.faults.yarn_cluster import yarn
from integration.histories import COMPOUND, Shape, operations
from integration.spark_processes import SPARK_HOME, free_port, running, wait_for
from integration.twin import by_key, fresh_name

pytestmark = pytest.mark.nightly
TOKEN = "of the test"
SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"


def keylake(*arguments: str, **environment: str) -> str:
    command = [sys.executable, "-m", "keylake", *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=120)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def submit(settings: Path, mode: str) -> list[str]:
    """As the page of operations has it."""
    return [
        *(str(SPARK_HOME / "bin" / "spark-submit"), "--master", "yarn", "--deploy-mode", mode),
        *("--properties-file", str(settings), "--class", SERVER, "spark-internal"),
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("yarn")


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def settings(folder: Path, port: int) -> Path:
    """What the command prints, and behind it the sizes of a small machine."""
    own = {
        "spark.yarn.jars": f"local://{SPARK_HOME}/jars/*",
        "spark.yarn.stagingDir": f"file://{folder}/staging",
        "spark.yarn.am.memory": "384m",
        "spark.driver.memory": "1g",
        "spark.executor.instances": "2",
        "spark.executor.cores": "1",
        "spark.executor.memory": "512m",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.locality.wait": "0",
        "spark.sql.shuffle.partitions": "4",
        "spark.connect.grpc.binding.port": str(port),
        "spark.ui.enabled": "false",
        "spark.log.level": "WARN",
    }
    warehouse = ("--catalog-type", "hadoop", "--warehouse", f"file://{folder}/lake")
    file = folder / "spark-defaults.conf"
    file.write_text(keylake("server-conf", "--for", "yarn", *warehouse) + "".join(f"{k} {v}\n" for k, v in own.items()))
    return file


@pytest.fixture(scope="module")
def cluster(folder: Path) -> Iterator[dict[str, str]]:
    with yarn(folder) as environment:
        yield environment


@pytest.fixture(scope="module")
def on_yarn(folder: Path, cluster: dict[str, str], settings: Path, port: int) -> Iterator[kl.Lake]:
    own = cluster | {"SPARK_CONNECT_AUTHENTICATE_TOKEN": TOKEN}
    with running(folder / "server", submit(settings, "client"), own) as server:
        wait_for(port, seconds=180)
        assert server.poll() is None
        with kl.connect(f"sc://localhost:{port}/;token={TOKEN}") as lake:
            yield lake


def containers(lake: kl.Lake, source: str) -> set[str]:
    """Where rows of the source are read: the containers' names, which YARN gives to each in its environment."""
    where = "reflect('java.lang.System', 'getenv', 'CONTAINER_ID')"
    return {row[0] for row in lake.spark.sql(f"SELECT DISTINCT {where} FROM {source}").collect()}


def test_a_doctor_finds_nothing_wrong_before_there_are_tables(on_yarn: kl.Lake, port: int) -> None:
    said = keylake("doctor", "--lake", f"sc://localhost:{port}", "--write", "--json", KEYLAKE_TOKEN=TOKEN)
    assert '"ok": true' in said
    assert '"ok": false' not in said


@pytest.mark.parametrize("shape", [Shape("explicit", COMPOUND, buckets=6), Shape("ordering", buckets=5)], ids=str)
def test_a_history_in_two_containers(on_yarn: kl.Lake, folder: Path, shape: Shape) -> None:
    twin = shape.create(on_yarn, fresh_name("cluster"))
    for operation in operations(shape, seed=21, count=5, rows=200, forms=("arrow", "spark")):
        operation.apply(twin)
    twin.check()
    twin.check(["a"])
    twin.check_stamps()
    joined = on_yarn.spark.sql(
        f"SELECT /*+ MERGE(r) */ l.* FROM {twin.sql_name} l JOIN {twin.sql_name} r USING ({', '.join(twin.model.key)})"
    )
    kl.assert_no_shuffle(joined)
    assert by_key(joined.toArrow(), twin.model.key) == twin.expected()
    started = {path.name for path in folder.glob("containers/application_*/container_*")}
    read_in = containers(on_yarn, twin.sql_name)
    assert read_in <= started, "merged by executors in containers, not by the driver"
    assert len(read_in) == 2
    assert len(twin.table.compact("full")) > 0
    twin.check()
    twin.check_stamps()


def test_spark_refuses_to_start_it_inside_of_a_container(cluster: dict[str, str], settings: Path) -> None:
    """As the page of operations says."""
    own = os.environ | cluster | {"SPARK_HOME": str(SPARK_HOME)}
    said = subprocess.run(submit(settings, "cluster"), capture_output=True, text=True, env=own, timeout=120)
    assert said.returncode != 0
    assert "Cluster deploy mode is not applicable to Spark Connect server" in said.stderr
