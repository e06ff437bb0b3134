"""The verbs of small writes: rows become files of their buckets, and one commit."""

from __future__ import annotations

import contextlib
import getpass
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.table import Table as IcebergTable
from pyiceberg.typedef import Record
from pyiceberg.utils.datetime import datetime_to_micros

from keylake._definition.spec import TableSpec
from keylake._rows.business_time import zoned
from keylake._rows.intention import Intention, write
from keylake._rows.rows import local_rows
from keylake._rows.small import check_writable
from keylake._server.statements import TablePath, Verb, Write
from keylake.errors import KeylakeError, Unsupported
from keylake.local import names
from keylake.local.damage import writing
from keylake.local.keys import plain_keys
from keylake.local.lateness import Mark, is_late, limit_of
from keylake.local.layout import Layout, layout_of
from keylake.local.writing.attempts import Attempts
from keylake.local.writing.batch import Batch
from keylake.local.writing.commits import Facts, Said, append, facts_of, versions_of
from keylake.local.writing.datafiles import BatchFile, raised
from keylake.results import Commit

_FORMAT_VERSION = 2


@dataclass
class SmallWrite:
    """One write of some rows to a branch of a table."""

    name: str
    table: IcebergTable
    branch: str
    intention: Intention
    files: list[DataFile] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._attempts = Attempts(self.name, self.table)

    def made(self, rows: object) -> Commit:
        """Writes the rows, and commits them; where that fails for certain, the files are deleted."""
        begun_at = time.perf_counter()
        layout = self._layout()
        batch, write_id = batch_of(self.name, layout, self.intention, rows)
        facts = facts_of(self.name, self.table, self.branch)
        version = max(time.time_ns() // 1000, facts.highest_version or 0)
        limit = limit_of(self.table.metadata.properties, layout.spec, facts.watermarks)
        try:
            self.files.extend(self._written(batch, layout, version, limit))
            return self._committed(batch, layout, version, write_id, begun_at)
        except BaseException:
            if not self._attempts.may_stand:
                self._delete()
            raise

    def _committed(self, batch: Batch, layout: Layout, version: int, write_id: str, begun_at: float) -> Commit:
        mark = self.intention.watermark
        said = Said(
            self.intention.verb,
            batch.count,
            batch.columns,
            self.intention.stream,
            self.intention.writer,
            write_id,
            None if mark is None else datetime_to_micros(zoned("watermark", mark)),
            sum(file.record_count for file in self.files if is_late(file.file_path)),
        )

        def files(facts: Facts) -> tuple[list[DataFile], dict[str, str]]:
            if self._layout().key_order != layout.key_order or self.table.metadata.current_schema_id != self._schema_id:
                raise KeylakeError(
                    f"{self.name} was changed while rows were written to it. Nothing was written; write again."
                )
            versions = _versions(batch, version, facts)
            if batch.versions is None and versions is not None and versions[0] > version:
                for file in self.files:
                    raised(file, layout.version, versions[0])
            return self.files, said.summary(facts, versions)

        taken = append(self._attempts, self.branch, files)
        seconds = time.perf_counter() - begun_at
        return Commit(
            taken.snapshot_id,
            batch.count,
            versions_of(taken),
            seconds,
            parent_id=taken.parent_snapshot_id,
            late=said.late_rows,
        )

    def _layout(self) -> Layout:
        metadata = self.table.metadata
        if metadata.format_version != _FORMAT_VERSION:
            raise Unsupported(
                f"{self.name} has Iceberg's format version {metadata.format_version}, and writes without Spark are for "
                f"version {_FORMAT_VERSION}. Write through Spark: kl.connect()."
            )
        if self.branch.startswith(names.EXPERIMENT_BRANCH):
            raise Unsupported(f"{self.branch!r} of {self.name} is an experiment. Write it through Spark: kl.connect().")
        return layout_of(self.name, metadata, metadata.schema())

    def _written(self, batch: Batch, layout: Layout, version: int, limit: int | None) -> Iterator[DataFile]:
        metadata = self.table.metadata
        self._schema_id = metadata.current_schema_id
        spec = metadata.spec()
        count = layout.bucket_counts.get(spec.spec_id)
        if count is None:
            raise Unsupported(f"{self.name} is being changed to another number of buckets. Write through Spark.")
        places = self.table.location_provider()
        for number, ((*partition, mark), rows) in enumerate(_by_bucket(batch, layout.spec, count, limit).items()):
            path = places.new_data_location(f"{number:05d}-0-{mark}{uuid.uuid4()}-00001.parquet")
            part = BatchFile(batch.taken(rows), Record(*partition), partition[-1], path)  # type: ignore[arg-type]
            schema = _written_schema(metadata.schema(), layout)
            with writing(path):
                file = part.written(self.table.io, layout, schema, version, spec.spec_id)
            yield file

    def _delete(self) -> None:
        for file in self.files:
            with contextlib.suppress(Exception):
                self.table.io.delete(file.file_path)


def batch_of(name: str, layout: Layout, intention: Intention, rows: object) -> tuple[Batch, str]:
    """The rows of a write as a batch, and the id of the write; an error where they do not fit the table."""
    local, intention = local_rows(rows, layout.spec, intention)
    version: Any = intention.version  # a number or a name, in writes without a server
    statement = _statement(name, layout, intention.verb, version, local.names)
    return Batch.of(local, layout.spec, statement), str(uuid.uuid4())


@lru_cache(maxsize=64)
def _statement(name: str, layout: Layout, verb: Verb, version: str | int | None, columns: tuple[str, ...]) -> Write:
    """The write of rows with some columns, if the table takes it here: services send the same ones again and again."""
    spec = layout.spec
    statement = write(spec, TablePath(name), Intention(verb, version), columns)
    check_writable(spec, verb, columns)
    return statement


def _versions(batch: Batch, version: int, facts: Facts) -> tuple[int, int] | None:
    """The lowest and the highest version of a batch as it is committed."""
    if batch.count == 0:
        return None
    if batch.versions is None:
        at = max(version, facts.highest_version or version)
        return at, at
    return int(batch.versions.min()), int(batch.versions.max())


def _by_bucket(batch: Batch, spec: TableSpec, count: int, limit: int | None) -> dict[tuple[object, ...], list[int]]:
    """The places of the rows of each bucket of each partition, in key order; late ones are apart.

    The last part of each tuple is the mark that the name of the file gets.
    """
    marks = ("",) * batch.count
    if limit is not None and batch.versions is not None:
        both = str(Mark(is_late=False, limit=limit)), str(Mark(is_late=True, limit=limit))
        marks = tuple(both[version < limit] for version in batch.versions.tolist())
    parts = [plain_keys(batch.rows.column(name)) for name in spec.partition_by]
    by_bucket: dict[tuple[object, ...], list[int]] = {}
    for place, bucket in enumerate(batch.buckets(spec, count)):
        partition = (*(part[place] for part in parts), bucket, marks[place])
        by_bucket.setdefault(partition, []).append(place)
    return by_bucket


def _written_schema(schema: Schema, layout: Layout) -> Schema:
    """The columns of the table, without those of experiments."""
    hidden = {"_merge_info", "_bucket", "_group"}
    ids = {each.field_id for each in layout.fields.values()}
    return Schema(*(each for each in schema.fields if each.field_id in ids or each.name in hidden))


def user() -> str | None:
    """The name of the user who writes, for the history; None where the system does not know it."""
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        return None
