"""Hudi, merge-on-read with a bucket index, on the newest Spark it has a bundle for: in an environment of its own.

It is far slower than everybody else, and its environment has to be fetched, so it runs only when asked for, and on a
smaller table, beside keylake and the scans of that size.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from benchmarks.spark_server import CORES, HEAP, ONLY_CENTRAL, SHUFFLE_PARTITIONS
from benchmarks.system import Reader, Staged, System
from benchmarks.workload import Batch, Workload
from benchmarks.workloads.whole_rows import whole_rows

NAME = "hudi"
FULL_SIZE = 80_000
SPARK = "pyspark==3.5.7"
PACKAGE = "org.apache.hudi:hudi-spark3.5-bundle_2.12:1.2.0"


def small_rows(keys: int) -> Workload:
    """W1 in small, with a few questions."""
    return whole_rows(keys, NAME, asked=("all", "few", "count"))


class HudiMerge(System):
    name: ClassVar[str] = "Hudi"
    workloads = frozenset({NAME})

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        environment = folder / "environment"
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        pip = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet", SPARK, "setuptools<81"]
        subprocess.run(pip, check=True)
        ivy = folder / "ivy.xml"
        ivy.write_text(ONLY_CENTRAL)
        settings = {
            "spark.master": f"local[{CORES}]",
            "spark.driver.memory": HEAP,
            "spark.driver.extraJavaOptions": f"-Xms{HEAP}",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.local.dir": str(folder),
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": str(SHUFFLE_PARTITIONS),
            "spark.jars.packages": PACKAGE,
            "spark.jars.ivySettings": str(ivy),
            "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
            "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
            "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
        }
        worker = Path(__file__).parent / "hudi_worker" / "worker.py"
        # This process has said to which Spark it is connected; the worker has one of its own.
        own = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
        with (folder / "worker.log").open("wb") as log:
            self.process = subprocess.Popen(
                [environment / "bin" / "python", worker, json.dumps(settings)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=own,
            )

    def take(self, staged: Staged) -> tuple[Reader, ...]:
        table = HudiTable(self, staged.workload)
        self.timed(table, staged.batches)
        return (table,)

    def close(self) -> None:
        if self.process.stdin:
            self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def asked(self, what: str, *words: str) -> list[tuple[object, ...]]:
        """What the worker answers."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps([what, *words]) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"Hudi's Spark has ended:\n{(self.folder / 'worker.log').read_text()[-4000:]}")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return [tuple(row) for row in answer["rows"]]


class HudiTable:
    name = HudiMerge.name

    def __init__(self, system: HudiMerge, workload: Workload) -> None:
        self.system = system
        self.workload = workload
        self.engine = self
        self.path = str(system.folder / workload.name)

    def write(self, batch: Batch) -> None:
        operation = "upsert" if batch.number else "bulk_insert"
        self.system.asked("write", str(batch.path), batch.schema, self.path, operation)

    def consume(self, query: str) -> None:
        self.system.asked("consume", query)

    def fetch(self, query: str) -> list[tuple[object, ...]]:
        return self.system.asked("fetch", query)

    def rows(self, columns: Sequence[str]) -> str:
        return f"SELECT {', '.join(columns)} FROM hudi_table"
