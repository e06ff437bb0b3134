"""A table as files that an online key-value store loads as they are: a sorted one for each group of keys."""

from __future__ import annotations

import datetime
import decimal
import os
import re
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pyiceberg.types import BinaryType, BooleanType, DecimalType, IcebergType, IntegerType, StringType
from pyiceberg.utils.datetime import date_to_days, datetime_to_micros

from keylake._definition.spec import Names, TableSpec, names_of
from keylake._display.html_table import ShownFields
from keylake._rows.business_time import BusinessTime
from keylake._server.statements import quoted
from keylake._table.handle import Namespace, snapshot_id_of
from keylake.errors import DefinitionError, check_type
from keylake.results import Commit, CommitInfo

KvFormat = Literal["parquet", "rocksdb"]

_DECIMAL_BYTES = 16
_HAS_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


@dataclass(frozen=True)
class PublishedKv(ShownFields):
    """The result of `publish_kv`: the rows of a commit, in a file for each group that has any.

    >>> print(PublishedKv(17, groups=8192, files=8191, rows=1_000_000, tombstones=0, bytes=52_428_800, seconds=3.21))
    snapshot 17: 1,000,000 rows and 0 tombstones in 8,191 files for 8,192 groups, 52,428,800 bytes, 3.2 s
    """

    snapshot_id: int
    groups: int
    files: int  # groups that have no row have no file
    rows: int
    tombstones: int  # keys that were deleted after `after`
    bytes: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"snapshot {self.snapshot_id}: {self.rows:,} rows and {self.tombstones:,} tombstones in {self.files:,} "
            f"files for {self.groups:,} groups, {self.bytes:,} bytes, {self.seconds:.1f} s"
        )


@dataclass(frozen=True)
class PublishedIceberg(ShownFields):
    """The result of `publish_iceberg`: what was done to a plain copy, which now has the rows of `source_snapshot_id`.

    >>> print(PublishedIceberg("changes", None, source_snapshot_id=17, snapshot_id=4, rows_written=12, rows_deleted=3))
    changes: snapshot 17 is snapshot 4 of the copy, 12 rows written and 3 deleted
    """

    mode: Literal["full", "changes", "nothing"]
    reason: str | None  # why all rows were written; None where they were not
    source_snapshot_id: int
    snapshot_id: int  # of the copy
    rows_written: int
    rows_deleted: int  # that are replaced or gone

    def __str__(self) -> str:
        return (
            f"{self.mode}: snapshot {self.source_snapshot_id} is snapshot {self.snapshot_id} of the copy, "
            f"{self.rows_written:,} rows written and {self.rows_deleted:,} deleted"
        )


@dataclass(frozen=True)
class MergedState(ShownFields):
    """A plain Iceberg table that has the merged rows of a commit, as `merged_state` gives it.

    `metadata_location` is what other engines open: DuckDB by `iceberg_scan`, pyiceberg and polars by
    `StaticTable.from_metadata`. Both ids are None where the table has no commit.

    >>> print(MergedState("/lake/f/p/merged-state/0/metadata/00003-a.metadata.json", snapshot_id=4, of_snapshot_id=17))
    snapshot 17 as a plain table: /lake/f/p/merged-state/0/metadata/00003-a.metadata.json
    """

    metadata_location: str
    snapshot_id: int | None  # of the plain table
    of_snapshot_id: int | None  # of this table

    def __str__(self) -> str:
        of = "no commit" if self.of_snapshot_id is None else f"snapshot {self.of_snapshot_id}"
        return f"{of} as a plain table: {self.metadata_location}"


class Serving(Namespace):
    """`table.serving`: how a table gets to an online key-value store, and to other engines."""

    def publish_iceberg(self, into: str, *, full: bool = False) -> PublishedIceberg:
        """Keep a plain Iceberg table in step with this one, for engines that cannot read a branch.

        `into` is the name of a table in the same catalog. The first call creates and fills it; each later one applies
        what has changed since, in one commit, or does nothing. Changes that the copy lacks do not expire. If they
        are gone, after a rollback or where a column has another type, all rows are written again; `reason` says so.

        Raises `TableExists` if `into` is no copy of this table, `ForeignCommit` if somebody else has written to the
        copy (`full=True` writes all rows again), `CommitConflict` if somebody does so meanwhile, `TableNotFound` if
        this table has no commit, `Unsupported` for columns that a plain table cannot hold, and `DefinitionError` on a
        branch or experiment and for a name without a namespace.

        Example::

            profiles.serving.publish_iceberg("shared.profiles")
        """
        check_type("into", into, str, "the name of a table, namespace.name")
        check_type("full", full, bool, "True or False")
        if self._handle.path.branch is not None:
            raise DefinitionError(
                f"{self._handle.path} is not main, and a copy has the rows of main. "
                "Publish main: lake.table(...).serving.publish_iceberg(...)."
            )
        return PublishedIceberg(**self._handle.call("publish_iceberg", into=into, full=full)[0])

    def publish_kv(
        self,
        target: str | os.PathLike[str],
        *,
        format: KvFormat = "parquet",  # noqa: A002 - the word of the procedure
        columns: Names | None = None,
        after: Commit | CommitInfo | int | None = None,
        at: Commit | CommitInfo | int | None = None,
    ) -> PublishedKv:
        """Write a file for each group of keys, sorted by key, that a store loads as it is. Nothing is shuffled.

        `target` is a folder, empty or new, on any file system that the server knows; a path without a scheme is one on
        this machine. `columns` are the values that are wanted, all of them unless said. `at` is the commit whose rows
        are published, the newest unless said. With `after`, only keys that have changed after that commit are written,
        and those that were deleted as tombstones. In a table without groups, the buckets are the groups.

        - "parquet": `group=000042.parquet` has the key, `_group`, the values and, with `after`, `_deleted`.
        - "rocksdb": `group=000042.sst` is for IngestExternalFile. A key is what `kv_key` gives, its value a JSON object
          of the value columns in UTF-8, nulls included, times in ISO form in UTC, binary in base64.

        `manifest.json` comes last, and names all files with their rows, bytes and CRC-32. Where the work was stopped,
        the same call, with `at` where the table has moved on, does what is left; where it was done, it does nothing.

        Raises `DefinitionError` for a target that holds anything else and for an unknown format, `SchemaMismatch` for a
        column that the table does not have, `TableNotFound` if there is no commit to publish, `Unsupported` for a table
        with `partition_by` or files of an earlier bucket count, and `SnapshotExpired` if `after` is not kept any more.

        Example::

            profiles.serving.publish_kv("s3://online/profiles/2026-11-01", format="rocksdb", columns=["clicks"])
        """
        check_type("target", target, str | os.PathLike, "the path or URL of a folder")
        check_type("format", format, str, "'parquet' or 'rocksdb'")
        place = os.fspath(target)
        names = None if columns is None else ", ".join(map(quoted, names_of(columns)))
        published = self._handle.call(
            "publish_kv",
            target=place if _HAS_SCHEME.match(place) else str(Path(place).absolute()),
            format=format,
            columns=names,
            after=snapshot_id_of("after", after),
            at=snapshot_id_of("at", at),
        )
        return PublishedKv(**published[0])

    def merged_state(self, *, as_of: BusinessTime | None = None) -> MergedState:
        """The newest commit as a plain Iceberg table without hidden columns, for engines that know nothing of keylake.

        On a branch it is the newest commit of the branch. `as_of` is the business time of an archived state.

        Files of this table are in it as they lie, with deletion vectors (format version 3) over the rows that lost;
        only rows that are composed of several writes are written, to small files. What an earlier call has made is
        used again for all keys that have not changed since. Nothing is committed to this table, and the state of an
        earlier call stays readable for an hour.

        Raises `ForeignCommit` after a commit of another engine, `TableNotFound` for an unknown archived state or a
        branch that was dropped, `DefinitionError` for an `as_of` that is no time, and `Unsupported` on an experiment.

        Example::

            state = profiles.serving.merged_state()
            duckdb.sql(f"SELECT * FROM iceberg_scan('{state.metadata_location}')")
        """
        self._handle.check_no_experiment("merged state")
        return MergedState(**self._handle.at_state(as_of).call("merged_state")[0])

    def refresh_merged(self) -> Commit:
        """Make the branch `merged` anew, in which every key stands once, for engines that know nothing of keyed tables.

        Trino, DuckDB or pyiceberg read the right rows from that branch; its snapshot says of which one of main it was
        made (`keylake.merged_of`). It takes as long as merging everything that is not merged yet.

        Raises `NothingToDo` if the table has no commit, `ForeignCommit` after a commit of another engine, and
        `CommitConflict` if other commits to the branch come first.

        Example::

            profiles.serving.refresh_merged().rows
        """
        begun_at = time.perf_counter()
        row = self._handle.on_main.call("refresh_merged")[0]
        return Commit.from_row(row, time.perf_counter() - begun_at)


def kv_key(spec: TableSpec, *key: object) -> bytes:
    r"""The bytes that stand for a key in files for RocksDB; their order is that of the keys.

    A key of one column of text or binary is its own bytes. Of any other, the columns follow each other: a boolean is
    one byte; an int or date (days) four and a long or timestamp (microseconds) eight bytes, the highest first, with the
    sign bit turned round; a decimal the same in sixteen, of its unscaled value; a uuid its sixteen bytes; text (UTF-8)
    and binary end with two zero bytes, and a zero byte in them is followed by 0xff.

    >>> import pyarrow as pa
    >>> schema = pa.schema([("user_id", pa.int64()), ("page", pa.string())])
    >>> kv_key(TableSpec.from_arrow(schema, name="a.b", key=["user_id", "page"]), 7, "home")
    b'\x80\x00\x00\x00\x00\x00\x00\x07home\x00\x00'
    >>> kv_key(TableSpec.from_arrow(schema, name="a.b", key="page"), "home")
    b'home'
    """
    check_type("spec", spec, TableSpec, "the TableSpec of a table: table.spec")
    key = spec.fitted_key(*key)
    types = [spec.column(name).type for name in spec.key]
    if len(types) == 1 and isinstance(types[0], StringType | BinaryType):
        return _text(key[0])
    return b"".join(_column(type_, value) for type_, value in zip(types, key, strict=True))


def _text(value: object) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    raise TypeError(f"{value!r} is neither text nor bytes")


def _column(type_: IcebergType, value: object) -> bytes:
    if isinstance(type_, StringType | BinaryType):
        return _text(value).replace(b"\0", b"\0\xff") + b"\0\0"
    if isinstance(value, uuid.UUID):
        return value.bytes
    if isinstance(type_, BooleanType):
        return b"\x01" if value else b"\x00"
    if isinstance(type_, DecimalType) and isinstance(value, decimal.Decimal | int):
        with decimal.localcontext(decimal.Context(prec=76)):
            return _above(int(decimal.Decimal(value).scaleb(type_.scale)), _DECIMAL_BYTES)
    if isinstance(value, datetime.datetime):
        return _above(datetime_to_micros(value), 8)
    if isinstance(value, datetime.date):
        return _above(date_to_days(value), 4)
    if isinstance(value, int):
        return _above(value, 4 if isinstance(type_, IntegerType) else 8)
    raise TypeError(f"{value!r} cannot be part of a key")


def _above(number: int, size: int) -> bytes:
    """A number with a sign as bytes that are compared without one."""
    return (number + (1 << (8 * size - 1))).to_bytes(size, "big")
