"""Spark's own Thrift server with the plug-in; it serves Connect, too, by which tests see what others wrote."""

from pathlib import Path
from typing import ClassVar

import keylake as kl
from integration.spark_processes import free_port, wait_for
from keylake._server.embedded import EmbeddedServer
from keylake._server.server import Setup, find_jars


class ThriftServer(EmbeddedServer):
    """One process with both; `thrift_port` takes every client of this machine, as Spark has it by default."""

    server_class: ClassVar[str] = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"

    def __init__(self, warehouse: Path) -> None:
        self.thrift_port = free_port()
        settings = {
            "spark.keylake.maintenance.enabled": "false",
            "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
            # Spark closes the class loader of `spark.jars` with the first client that leaves.
            "spark.driver.extraClassPath": ":".join(map(str, find_jars())),
            # Of a statement that runs asynchronously, Spark sends the whole stack trace as the message of its error.
            "spark.sql.hive.thriftServer.async": "false",
            "spark.sql.catalogImplementation": "in-memory",
            # A metastore is made nevertheless, and asked once whether it is there.
            "spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:derby:memory:none;create=true",
            "spark.driver.extraJavaOptions": f"-Dderby.stream.error.file={warehouse}/derby.log",
            "spark.hadoop.hive.server2.thrift.bind.host": "127.0.0.1",
            "spark.hadoop.hive.server2.thrift.port": str(self.thrift_port),
        }
        warehouse.mkdir(parents=True, exist_ok=True)
        super().__init__(Setup(warehouse, memory="1g", settings=tuple(settings.items())))
        wait_for(self.thrift_port)

    def lake(self) -> kl.Lake:
        """The lake that its clients write to."""
        lake = kl.connect(self.url)
        lake.spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.default")  # clients of Hive begin with USE default
        return lake
