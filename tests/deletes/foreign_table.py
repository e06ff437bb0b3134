"""Plain Iceberg tables with equality deletes: written by Iceberg's own writers, and a plain model of their rows."""

import json
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import keylake as kl
from integration.spark_processes import SPARK_HOME
from integration.twin import fresh_name
from keylake._server.server import find_jars

Row = Mapping[str, Any]
WRITER = Path(__file__).with_name("ForeignWriter.java")


def as_json(row: Row) -> Row:
    """A row in the form that Iceberg has for single values."""
    return {name: _as_json(value) for name, value in row.items()}


def _as_json(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex().upper()
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds")
    return value.isoformat() if isinstance(value, date) else str(value) if isinstance(value, Decimal) else value


def comparable(rows: Iterable[Iterable[Any]]) -> list[str]:
    """Rows in a form and an order in which they can be compared."""
    return sorted(repr([bytes(each) if isinstance(each, bytearray) else each for each in row]) for row in rows)


@dataclass
class File:
    """A file of a commit: rows, or with `deletes` the keys of rows that are deleted."""

    rows: Sequence[Row]
    deletes: Sequence[str] = ()
    format: str = "parquet"


class ForeignWriter:
    """Another engine, in a process of its own."""

    def __init__(self, lake: kl.Lake) -> None:
        warehouse = str(lake.spark.conf.get(f"spark.sql.catalog.{lake.catalog}.warehouse"))
        jars = ":".join([f"{SPARK_HOME}/jars/*", *map(str, find_jars())])
        command = ["java", "-Xmx256m", "-Dfile.encoding=UTF-8", "-cp", jars, str(WRITER), lake.catalog, warehouse]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)

    def commit(self, table: str, files: Sequence[File]) -> int:
        """Commits files and gives the snapshot."""
        told = [
            {"rows": [as_json(row) for row in file.rows], "format": file.format}
            | ({"deletes": list(file.deletes)} if file.deletes else {})
            for file in files
        ]
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"table": table, "files": told}) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def stop(self) -> None:
        """Ends the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(20)


@contextmanager
def foreign_writer(lake: kl.Lake) -> Iterator[ForeignWriter]:
    """A writer for as long as the block runs."""
    writer = ForeignWriter(lake)
    try:
        yield writer
    finally:
        writer.stop()


@dataclass
class Stored:
    """A row and the partition of its file."""

    values: Row
    partition: object


@dataclass
class ForeignTable:
    """A table and what its rows must be. All rows of a file are of one partition."""

    lake: kl.Lake
    writer: ForeignWriter
    name: str
    partition: Sequence[str] = ()
    stored: list[Stored] = field(default_factory=list)
    states: dict[int, list[Row]] = field(default_factory=dict)

    @property
    def sql(self) -> str:
        """The name in statements."""
        return f"{self.lake.catalog}.{self.name}"

    def place(self, row: Row) -> object:
        """The partition in which a row lies; None where deletes are of the whole table."""
        return tuple(row.get(name) for name in self.partition) if self.partition else None

    def commit(self, *files: File) -> None:
        """Writes files, in the table and in the model: deletes are of the rows of earlier commits."""
        snapshot = self.writer.commit(self.name, files)
        for file in files:
            if file.deletes:
                place = self.place(file.rows[0])
                keys = {tuple(row.get(name) for name in file.deletes) for row in file.rows}
                self.stored = [
                    row
                    for row in self.stored
                    if (place is not None and row.partition != place)
                    or tuple(row.values.get(name) for name in file.deletes) not in keys
                ]
        for file in files:
            if not file.deletes:
                self.stored += [Stored(row, self.place(file.rows[0])) for row in file.rows]
        self.states[snapshot] = [row.values for row in self.stored]

    def alter(self, change: str) -> None:
        """Changes columns or partitions."""
        self.lake.spark.sql(f"ALTER TABLE {self.sql} {change}").collect()

    def delete(self, column: str, value: int) -> None:
        """Iceberg's own DELETE, which writes positions or deletion vectors."""
        self.lake.spark.sql(f"DELETE FROM {self.sql} WHERE {column} = {value}").collect()
        self.stored = [row for row in self.stored if row.values.get(column) != value]

    def check(self, columns: Sequence[str], snapshot: int | None = None) -> None:
        """The rows that queries see are those of the model."""
        version = "" if snapshot is None else f" VERSION AS OF {snapshot}"
        rows = self.lake.spark.sql(f"SELECT {', '.join(columns)} FROM {self.sql}{version}").collect()
        expected = [row.values for row in self.stored] if snapshot is None else self.states[snapshot]
        assert comparable(rows) == comparable([row.get(name) for name in columns] for row in expected)


@contextmanager
def foreign_table(
    lake: kl.Lake,
    writer: ForeignWriter,
    columns: str,
    partition: Sequence[str] = (),
    version: int = 2,
    **properties: str,
) -> Iterator[ForeignTable]:
    """A new table; it is dropped in the end, because pyiceberg refuses to read it."""
    name = fresh_name("foreign")
    table = ForeignTable(lake, writer, name, tuple(partition))
    listed = {"format-version": str(version), "write_delete_mode": "merge-on-read"} | properties
    said = ", ".join(f"'{key.replace('_', '.')}' = '{value}'" for key, value in listed.items())
    by = f"PARTITIONED BY ({', '.join(partition)})" if partition else ""
    lake.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {lake.catalog}.{name.split('.')[0]}")
    lake.spark.sql(f"CREATE TABLE {table.sql} ({columns}) USING iceberg {by} TBLPROPERTIES ({said})")
    try:
        yield table
    finally:
        lake.spark.sql(f"DROP TABLE {table.sql} PURGE")
