"""A keyed table, written by `upsert` and `update`, and read by SELECT."""

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import keylake as kl
from benchmarks.engine import Connected
from benchmarks.spark_server import ALIKE, HEAP
from benchmarks.system import KeyedFiles, Reader, Staged, System
from benchmarks.workload import KEY, TIME, Batch, Workload

UNTENDED = {"spark.keylake.maintenance.enabled": "false"}  # what is measured must stay as it was written


class Keyed:
    name = "keylake"

    def __init__(self, lake: kl.Lake, table: str, workload: Workload) -> None:
        self.workload = workload
        self.engine = Connected(lake.spark)
        self.table = f"{lake.catalog}.{table}"
        self.keyed = lake.create(workload.spec(table))

    def write(self, batch: Batch) -> None:
        frame = batch.frame(self.engine.spark)
        if not self.workload.streams:
            self.keyed.upsert(frame)
        elif batch.is_whole:
            self.keyed.upsert(frame.select(KEY, TIME, *batch.columns), version=TIME)
        else:
            self.keyed.update(frame.select(KEY, TIME, *batch.columns), version=TIME)

    def rows(self, columns: Sequence[str]) -> str:
        return f"SELECT {', '.join(columns)} FROM {self.table}"

    def files(self) -> KeyedFiles:
        log = f"SELECT file FROM {self.table}.metadata_log_entries ORDER BY timestamp DESC LIMIT 1"
        listed = self.engine.fetch(f"SHOW TBLPROPERTIES {self.table}")
        return KeyedFiles(
            str(self.engine.fetch(log)[0][0]),
            self.data_files(),
            {str(name): str(value) for name, value in listed if str(name).startswith("write.parquet.")},
        )

    def data_files(self) -> tuple[Path, ...]:
        found = self.engine.fetch(f"SELECT file_path FROM {self.table}.files")
        return tuple(Path(str(row[0]).removeprefix("file:")) for row in found)


class OnBranch(Keyed):
    """A new branch of a table: what is done there leaves the table as it is for all others."""

    def __init__(self, of: Keyed, branch: str) -> None:
        self.workload, self.engine, self.branch = of.workload, of.engine, branch
        self.engine.fetch(f"ALTER TABLE {of.table} CREATE BRANCH {branch}")
        self.keyed = of.keyed.branch(branch)
        self.table = f"{of.table}.branch_{branch}"


class Keylake(System):
    name: ClassVar[str] = Keyed.name

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.lake = kl.connect(warehouse=folder / "lake", memory=HEAP, settings=ALIKE | UNTENDED)
        self._taken: dict[str, Keyed] = {}

    def take(self, staged: Staged) -> tuple[Keyed]:
        name = staged.workload.name
        keyed = self._taken[name] = Keyed(self.lake, f"bench.{name}", staged.workload)
        self.timed(keyed, staged.batches)
        return (keyed,)

    def compact(self, staged: Staged) -> tuple[Reader, ...]:
        """Compact a branch, so that what everybody else reads stays as it is."""
        compacted = OnBranch(self._taken[staged.workload.name], "compacted")
        compacted.keyed.compact("full")
        return (compacted,)

    def close(self) -> None:
        self.lake.close()
