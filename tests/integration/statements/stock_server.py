"""A Connect server of Spark and Iceberg alone, as one has it without keylake."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from integration.spark_processes import SPARK_HOME, free_port, running, wait_for
from keylake._server.server import JOINED_WHERE_THEY_LIE, find_jars

TOKEN = "of-a-test"


@contextmanager
def stock_server(folder: Path, time_zone: str) -> Iterator[str]:
    """Such a server with the settings of ours that are Spark's own; gives its address."""
    (iceberg,) = (jar for jar in find_jars() if jar.name.startswith("iceberg-spark-runtime"))
    port = free_port()
    settings = {
        "spark.master": "local[2]",
        "spark.driver.memory": "1g",
        "spark.driver.extraClassPath": str(iceberg),
        "spark.driver.host": "127.0.0.1",
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.shuffle.partitions": "8",
        "spark.sql.session.timeZone": time_zone,
        "spark.connect.grpc.binding.port": str(port),
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "spark-warehouse"),
        "spark.ui.enabled": "false",
        **JOINED_WHERE_THEY_LIE,
    }
    command = [str(SPARK_HOME / "bin" / "spark-submit")]
    for name, value in settings.items():
        command += ["--conf", f"{name}={value}"]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    own = {"SPARK_CONNECT_AUTHENTICATE_TOKEN": TOKEN, "JAVA_TOOL_OPTIONS": os.environ.get("JAVA_TOOL_OPTIONS", "")}
    with running(folder / "server", command, own):
        wait_for(port)
        yield f"sc://localhost:{port}/;token={TOKEN}"
