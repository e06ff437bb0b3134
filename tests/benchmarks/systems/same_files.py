"""The files of a keyed table, read by stock Iceberg as they stand: the measure for a merged read."""

from collections.abc import Sequence

from benchmarks.engine import Engine
from benchmarks.workload import Workload


class SameFiles:
    name = "scan of the same files"

    def __init__(self, engine: Engine, table: str, workload: Workload, metadata_file: str) -> None:
        self.engine = engine
        self.workload = workload
        self.table = table
        catalog, _, name = table.partition(".")
        engine.fetch(f"CALL {catalog}.system.register_table(table => '{name}', metadata_file => '{metadata_file}')")

    def rows(self, columns: Sequence[str]) -> str:
        return f"SELECT {', '.join(columns)} FROM {self.table}"
