"""Without a server, no Spark: a process that cannot import pyspark reads and writes a table, and starts no JVM."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa

import keylake as kl
from integration.twin import fresh_name

PROGRAM = """
import subprocess, sys

class NoSpark:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyspark", "py4j", "grpc"):
            raise ImportError(f"{name} is not installed")

sys.meta_path.insert(0, NoSpark())
started = []
sys.addaudithook(lambda event, args: started.append(args) if event == "subprocess.Popen" else None)

import keylake.local

with keylake.local.open(sys.argv[1]) as lake:
    table = lake.table(sys.argv[2])
    print(sys.argv[2] in lake.tables(), table.get(id=1), table.get(id=3), table.get_many([{"id": 2}])[0].a)
    print(table.read(columns=["id"], where="id < 2").to_arrow().to_pylist(), len(table.read()))
    print(table.read().rows() == table.get_many([{"id": 1}, {"id": 2}]), table.read().to_pandas()["a"].sum())
    table.update([{"id": 4, "a": 40}])
    print(table.get(id=4), table.delete([{"id": 2}]).rows)
assert not started, started
"""


def test_a_process_without_spark_reads_and_writes_a_table(lake: kl.Lake, warehouse: Path) -> None:
    name = fresh_name("without")
    table = lake.create(
        kl.TableSpec.from_arrow(pa.schema([("id", pa.int64()), ("a", pa.int64())]), name=name, key="id")
    )
    table.upsert([{"id": 1, "a": 10}, {"id": 2, "a": 20}, {"id": 3, "a": 30}])
    table.update([{"id": 1, "a": 11}])
    table.delete([{"id": 3}])
    done = subprocess.run([sys.executable, "-c", PROGRAM, warehouse, name], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    row = table.get(id=1)
    assert done.stdout.splitlines() == [f"True {row} None 20", "[{'id': 1}] 2", "True 31", "id=4 a=40 1"]
    assert sorted((row["id"], row["a"]) for row in table.read().toArrow().to_pylist()) == [(1, 11), (4, 40)]
