"""A full disk, conditions that cannot be read, and cancelled calls: one sentence each."""

import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import keylake as kl

SIZE = "24m"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own, since root may write to whatever is not mounted otherwise."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", tmp_path], check=True)
    try:
        yield tmp_path
    finally:
        subprocess.run(["umount", "--lazy", tmp_path], check=True)


def fails(error: type[kl.KeylakeError], words: str, call: Callable[[], object]) -> None:
    with pytest.raises(error, match=words) as raised:
        call()
    said = str(raised.value)
    assert len(said) < 500
    assert not any(word in said for word in ("\n", "Exception", "org.apache", "Job aborted"))


@pytest.mark.slow
@pytest.mark.skipif(os.getuid() != 0, reason="only root may mount a small disk")
def test_failures_of_the_store_are_told_in_a_sentence(disk: Path) -> None:
    settings = {"spark.keylake.maintenance.enabled": "false"}
    with kl.connect(warehouse=disk / "lake", memory="700m", settings=settings) as lake:
        schema = pa.schema([("id", pa.int64()), ("a", pa.string())])
        table = lake.create(kl.TableSpec.from_arrow(schema, name="ns.t", key="id", buckets=2))
        first = table.upsert([{"id": 1, "a": "x"}])

        many = lake.spark.range(500_000).selectExpr("id", "sha2(CAST(rand() AS STRING), 512) AS a")
        fails(kl.StoreFailed, "disk of the server is full.*as before.*Make room", lambda: table.upsert(many))
        assert [commit.snapshot_id for commit in table.history()] == [first.snapshot_id]
        fails(kl.DefinitionError, "This SQL cannot be read: .*near '>'", lambda: table.read(where="a > > 3"))

        def interrupt() -> None:
            while not over.wait(0.5):
                lake.spark.interruptAll()

        over = threading.Event()
        interrupter = threading.Thread(target=interrupt)
        interrupter.start()
        endless = lake.spark.range(10**13).selectExpr("max(id) AS id", "'' AS a")
        try:
            fails(kl.Cancelled, r"was cancelled.*history\(\) tells", lambda: table.upsert(endless))
        finally:
            over.set()
            interrupter.join()
