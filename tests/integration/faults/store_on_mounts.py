"""What a lake says of full and read-only disks, in a mount namespace of its own, where everybody may mount some.

unshare --map-root-user --mount python store_on_mounts.py <an empty folder>
"""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

import keylake as kl
from integration.faults.small_disks import filled, mount, mount_small

SIZE = "32m"
SETTINGS = {"spark.keylake.maintenance.enabled": "false", "spark.sql.shuffle.partitions": "2"}


def main(folder: Path) -> None:
    mount_small(folder, SIZE)
    warehouse = folder / "lake"
    with kl.connect(warehouse=warehouse, memory="700m", settings=SETTINGS) as lake:
        schema = pa.schema([("id", pa.int64()), ("a", pa.string())])
        table = lake.create(kl.TableSpec.from_arrow(schema, name="ns.t", key="id", buckets=2))
        first = table.upsert([{"id": 1, "a": "x"}])
        insert = f"INSERT INTO {lake.catalog}.ns.t SELECT 2L AS id, 'y' AS a"

        with read_only(warehouse / "ns" / "t"):
            said = "of lake.ns.t could not be written: the disk is read-only; the table is as before; make it writable"
            fails(said, lambda: table.upsert([{"id": 2, "a": "y"}]))
            condition(said, lambda: lake.spark.sql(insert).collect())
            same(lake.spark.sql("SELECT a FROM lake.ns.t").collect(), [("x",)])
        filler = filled(folder, 200_000)
        many = lake.spark.range(50_000).selectExpr("id", "sha2(CAST(rand() AS STRING), 512) AS a")
        fails("disk (of the server )?is full.*as before.*[Mm]ake room", lambda: table.upsert(many))
        filler.unlink()
        same([commit.snapshot_id for commit in table.history()], [first.snapshot_id])
        table.upsert([{"id": 2, "a": "y"}])
        same(table.read().count(), 2)
    with read_only(warehouse):
        fails("cannot be written to: Read-only.*Nothing was started", lambda: kl.connect(warehouse=warehouse))
    with kl.connect(warehouse=warehouse, memory="700m", settings=SETTINGS) as lake:
        same(lake.table("ns.t").read().count(), 2)


def fails(words: str, call: Callable[[], object]) -> None:
    with pytest.raises(kl.StoreFailed, match=words) as raised:
        call()
    assert not any(word in str(raised.value) for word in ("\n", "Exception", "org.apache", "Job aborted")), raised.value


def condition(words: str, call: Callable[[], object]) -> None:
    """The same as a client of plain SQL sees it."""
    with pytest.raises(PySparkException, match=words) as raised:
        call()
    assert raised.value.getCondition() == "KEYLAKE_STORE_FAILED"


def same(found: object, expected: object) -> None:
    assert found == expected, found


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    mount("--bind", folder, folder)
    mount("-o", "remount,bind,ro", folder)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
