"""What a system is to a measurement. Each one is a small file in `systems`; a new one needs nothing else here."""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

from benchmarks.engine import Connected, Engine, Hashing
from benchmarks.spark_server import SparkServer
from benchmarks.stopwatch import Times, seconds
from benchmarks.workload import Batch, Workload


class Reader(Protocol):
    """Something that answers with rows: one row per key, or, for a plain scan, all rows that are stored."""

    @property
    def name(self) -> str:
        """As reports call it."""
        ...

    @property
    def workload(self) -> Workload:
        """What it holds."""
        ...

    @property
    def engine(self) -> Engine:
        """A session of its own, with the settings that are best for it."""
        ...

    def rows(self, columns: Sequence[str]) -> str:
        """A SELECT of these columns."""
        ...


class Hashed:
    """A reader whose rows are hashed where another's are thrown away."""

    def __init__(self, reader: Reader) -> None:
        self.name = reader.name
        self.workload = reader.workload
        self.engine: Engine = Hashing(reader.engine)
        self.rows = reader.rows


class Writer(Protocol):
    """Something that takes batches of rows."""

    @property
    def name(self) -> str:
        """As reports call it."""
        ...

    def write(self, batch: Batch) -> None:
        """Take a staged batch."""
        ...


@dataclass(frozen=True)
class KeyedFiles:
    """What a keyed table consists of now: for those who read the same files, or make theirs alike."""

    metadata_file: str
    data_files: tuple[Path, ...]
    properties: Mapping[str, str]


@dataclass(frozen=True)
class Staged:
    """A workload, ready to be written; `keyed` is there once keylake has taken it."""

    workload: Workload
    batches: tuple[Batch, ...]
    keyed: KeyedFiles | None = None

    @property
    def files(self) -> KeyedFiles:
        """The keyed table's."""
        assert self.keyed, "keylake takes every workload first"
        return self.keyed


class System(ABC):
    """A way to keep a keyed table, or a limit for all of them, in a process of its own."""

    name: ClassVar[str]
    workloads: ClassVar[frozenset[str]] = frozenset()  # in which it is a peer
    knows_late_columns: ClassVar[bool] = True  # whether late, partial rows come out right
    feeds_sinks: ClassVar[bool] = True  # whether Spark's sink that throws rows away can read it

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.written: dict[str, Times] = {}
        folder.mkdir(parents=True)

    @abstractmethod
    def take(self, staged: Staged) -> tuple[Reader, ...]:
        """Write all of a workload; who reads it then."""

    def compact(self, staged: Staged) -> tuple[Reader, ...]:
        """Bring the table into its best state; who reads it then. Nobody, where it makes no difference."""
        return ()

    @abstractmethod
    def close(self) -> None:
        """End the process."""

    def timed(self, writer: Writer, batches: Sequence[Batch]) -> None:
        """Write the batches, and note how long the commits after the base took."""
        taken = [seconds(lambda batch=batch: writer.write(batch)) for batch in batches]  # type: ignore[misc]
        if len(taken) > 1:
            self.written[writer.name] = Times(tuple(taken[1:]))


class StockSpark(System):
    """A system on Spark as everybody has it, without this project."""

    settings: ClassVar[Mapping[str, str]] = {}

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.server = SparkServer(folder, self.settings)
        self.engine = Connected(self.server.session())

    def run(self, statement: str) -> None:
        """Run a statement for what it does."""
        self.engine.fetch(statement)

    def close(self) -> None:
        with contextlib.suppress(Exception):  # a session that outlives its server would ask for it for minutes
            self.engine.spark.stop()
        self.server.stop()
