"""Where a run takes place: one server with a fixed heap and two cores, and words that say what it ran on."""

import os
import platform
import tempfile
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from pyspark.sql import SparkSession

import keylake as kl
from keylake._server.server import catalog_settings, find_jars

HEAP = "6g"
CORES = 2
PLAIN = "plain"


@dataclass(frozen=True)
class Machine:
    """A folder with an empty lake in it, and the server that every session of the run shares."""

    folder: Path
    _open: ExitStack
    _of_first: dict[str, str] = field(default_factory=dict)  # settings of the server, which all sessions have to say

    def session(self, settings: Mapping[str, str] | None = None, server: Mapping[str, str] | None = None) -> kl.Lake:
        """A session of one system, with settings of its own; the first one may say some for the server."""
        plain = self.folder / PLAIN
        self._of_first.update(server or {})
        of_server = {
            "spark.master": f"local[{CORES}]",
            "spark.keylake.maintenance.enabled": "false",  # what is measured must stay as it was written
            "spark.driver.extraJavaOptions": f"-Xms{HEAP}",
            **catalog_settings(PLAIN, "org.apache.iceberg.spark.SparkCatalog", plain),
            **self._of_first,
        }
        lake = self._open.enter_context(kl.connect(warehouse=self.folder / "lake", memory=HEAP, settings=of_server))
        for name, value in (settings or {}).items():
            lake.spark.conf.set(name, value)
        return lake

    def describe(self) -> str:
        """What the figures were taken on, in one line."""
        java = self.session().spark.sql("SELECT java_method('java.lang.System', 'getProperty', 'java.version')")
        iceberg = next(path.stem for path in find_jars() if "iceberg" in path.name).rpartition("-")[2]
        return (
            f"{processor()}, {os.cpu_count()} cores, local[{CORES}], heap {HEAP}, zstd, "
            f"keylake {version('keylake')}, Spark {version('pyspark')}, Iceberg {iceberg}, Java {java.collect()[0][0]}"
        )


@contextmanager
def machine() -> Generator[Machine]:
    """A machine for one run; nothing is left of it."""
    with tempfile.TemporaryDirectory(prefix="keylake-bench-") as name, ExitStack() as opened:
        folder = Path(name)
        for part in (PLAIN, "lake", "staged"):
            (folder / part).mkdir()
        yield Machine(folder, opened)


@dataclass
class Cost:
    """Of each round: seconds, and seconds of the server's processors."""

    time: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)


def processor_seconds(spark: SparkSession) -> float:
    """What the server of a session has used of its processors, as Linux counts it."""
    process = spark.sql("SELECT java_method('java.lang.ProcessHandle', 'current')").collect()[0][0]
    ticks = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK")


def processor() -> str:
    """The processor, as the machine calls it."""
    described = Path("/proc/cpuinfo")
    lines = described.read_text().splitlines() if described.exists() else []
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.machine())
