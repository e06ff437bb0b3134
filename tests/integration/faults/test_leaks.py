"""Long work leaves nothing behind: files that stay open, threads, memory, temporary files, on the server and here."""

import gc
import re
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

import keylake as kl

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are counted in /proc")

# Spark's own threads, of which it keeps up to a hundred for later, whatever there is to do.
POOLS = re.compile(
    r"block-manager-|shuffle-exchange-|(Result)?QueryStage|Executor task launch|grpc-default-|dispatcher-|G1 "
)
SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), ("a", pa.int64()), ("b", pa.string())])


@dataclass(frozen=True)
class Held:
    """What the server and this process hold at a moment; more at the end than `allowed` is a leak."""

    server_files: int
    server_threads: int
    server_bytes: int  # of objects that are reachable
    server_folders: int
    client_files: int
    client_threads: int
    client_folders: int

    @classmethod
    def by(cls, pid: int, scratch: Path) -> "Held":
        reachable = settled_bytes(pid)
        gc.collect()
        stacks = subprocess.run(["jcmd", str(pid), "Thread.print"], capture_output=True, text=True, check=True).stdout
        threads = [name for name in re.findall(r'^"([^"]*)"', stacks, re.MULTILINE) if not POOLS.match(name)]
        return cls(
            sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir()),
            len(threads),
            reachable,
            sum(1 for _ in scratch.rglob("*")),
            sum(1 for _ in Path("/proc/self/fd").iterdir()),
            threading.active_count(),
            sum(1 for _ in Path(tempfile.gettempdir()).glob("keylake*")),
        )


def reachable_bytes(pid: int) -> int:
    histogram = subprocess.run(["jcmd", str(pid), "GC.class_histogram"], capture_output=True, text=True, check=True)
    total = re.search(r"^Total\s+\d+\s+(\d+)", histogram.stdout, re.MULTILINE)
    assert total is not None, histogram.stdout[-500:]
    return int(total[1])


def settled_bytes(pid: int) -> int:
    """Bytes of the server once they fall no more: work that goes on or was just stopped holds up to 15 MB."""
    least = reachable_bytes(pid)
    for _ in range(20):
        time.sleep(1)
        now = reachable_bytes(pid)
        if now > least - SETTLED:
            return min(now, least)
        least = now
    return least


ALLOWED = Held(10, 8, 25 << 20, 40, 5, 3, 1)
SETTLED = 1 << 20  # bytes
KEPT_OF_A_STREAM = 500_000  # bytes: Spark Connect keeps a stream that was stopped, and its session, for an hour


class Work:
    """Verbs of every day on one lake, the failures among them, in random order."""

    def __init__(self, lake: kl.Lake, random: Random) -> None:
        self.lake, self.random = lake, random
        self.number = 0
        self.streams = 0
        self.table = self.made()
        self.few()
        self.steps: list[Callable[[], object]] = [
            self.few, self.few, self.many, self.read, self.read, self.get, self.get, self.feed, self.wrong_rows,
            self.wrong_name, self.stopped, self.stream, self.draft, self.compact, self.again, self.another_table,
        ]  # fmt: skip

    def made(self) -> kl.KeyedTable:
        self.number += 1
        spec = kl.TableSpec.from_arrow(SCHEMA, name=f"leaks.t{self.number}", key="k", buckets=2)
        return self.lake.create(spec)

    def rows(self, count: int) -> list[dict[str, object]]:
        return [{"k": self.random.randrange(1000), "a": number, "b": "x"} for number in range(count)]

    def few(self) -> None:
        self.table.upsert(list({row["k"]: row for row in self.rows(5)}.values()))

    def many(self) -> None:
        self.table.upsert(list({row["k"]: row for row in self.rows(6000)}.values()))

    def read(self) -> None:
        self.table.read(where="a > 2").collect()

    def get(self) -> None:
        self.table.get(k=self.random.randrange(1000))

    def feed(self) -> None:
        commits = self.table.history(at_most=3)
        if commits:
            self.table.changes(after=commits[-1].snapshot_id).collect()

    def wrong_rows(self) -> None:
        with pytest.raises(kl.KeylakeError):
            self.table.upsert([{"k": None, "a": 1, "b": "x"}])
        frame = self.lake.spark.range(3).selectExpr("id AS k", "id AS a", "CAST(raise_error('no') AS STRING) AS b")
        with pytest.raises(kl.KeylakeError):
            self.table.upsert(frame)

    def wrong_name(self) -> None:
        with pytest.raises(kl.KeylakeError):
            self.lake.table("leaks.nothing")

    def stopped(self) -> None:
        frame = self.lake.spark.range(1 << 40).selectExpr("max(hash(id))")
        tag = f"slow{self.random.random()}"
        self.lake.spark.addTag(tag)
        try:
            timer = threading.Timer(0.3, lambda: self.lake.spark.interruptTag(tag))
            timer.start()
            with pytest.raises(Exception, match=r"."):
                frame.collect()
            timer.join()
        finally:
            self.lake.spark.removeTag(tag)

    def stream(self) -> None:
        rows = self.lake.spark.readStream.format("rate").load().selectExpr("value AS k", "value AS a", "'x' AS b")
        with tempfile.TemporaryDirectory() as folder:
            query = self.table.stream(rows, checkpoint=folder)
            query.stop()
        self.streams += 1

    def draft(self) -> None:
        draft = self.table.branch("tmp_leak")
        draft.upsert([{"k": 1, "a": 1, "b": "y"}])
        self.table.branches.drop("tmp_leak")

    def compact(self) -> None:
        self.table.compact()
        self.table.clean(kl.RetentionPolicy(days=0, snapshots=1))

    def again(self) -> None:
        assert self.lake._server is not None
        with kl.connect(self.lake._server.url) as other:
            other.table(self.table.name).read().count()

    def another_table(self) -> None:
        name = self.table.name
        self.table = self.made()
        self.lake.drop(name)
        self.few()


@pytest.mark.parametrize(
    ("warm", "count"),
    [pytest.param(120, 240, marks=pytest.mark.slow), pytest.param(500, 10_000, marks=pytest.mark.nightly)],
)
def test_work_leaves_nothing_behind(tmp_path: Path, warm: int, count: int) -> None:
    with kl.connect(warehouse=tmp_path / "lake", memory="1g") as lake:
        assert lake._server is not None
        pid = lake._server._process.pid
        scratch = lake._server.scratch
        work = Work(lake, Random(7))
        for _ in range(warm):
            work.random.choice(work.steps)()
        before, streams = Held.by(pid, scratch), work.streams
        for _ in range(count):
            work.random.choice(work.steps)()
        after = Held.by(pid, scratch)
    more = {each.name: getattr(after, each.name) - getattr(before, each.name) for each in fields(Held)}
    kept = (work.streams - streams) * KEPT_OF_A_STREAM
    allowed = replace(ALLOWED, server_bytes=ALLOWED.server_bytes + kept)
    assert not {name: grown for name, grown in more.items() if grown > getattr(allowed, name)}, (before, after)
