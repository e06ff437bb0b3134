"""The snapshots of tables under way: which chunks are read, when their rows may be given, and what is left of them.

A table that changes with others by foreign keys is read once more when its parents change. Rows that were given before
such a change may be others since: behind the last row the reading begins once more, after a pause that is as long as
the last reading, so that a parent whose rows go all the time does not have its children read without end.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from keylake_pipelines.mysql.keys import BEGIN, DONE
from keylake_pipelines.mysql.known import KnownTables
from keylake_pipelines.mysql.rows import snapshot_rows
from keylake_pipelines.mysql.snapshot import Chunk, ChunkReader, Read, Snapshot, TableUnreadable
from keylake_pipelines.mysql.words import Name
from keylake_pipelines.source.absence import SourceAway
from keylake_pipelines.source.source import Step
from keylake_pipelines.source.tables import SourceTable, TableRefused

_STALE = "/stale"


class Readings:
    """Snapshots by the names of their tables, which go on at positions."""

    def __init__(self, tables: KnownTables, reader: ChunkReader, connections: int, pause_seconds: float) -> None:
        self._tables = tables
        self._reader = reader
        self._connections = connections
        self._pause_seconds = pause_seconds
        self._snapshots: dict[Name, Snapshot] = {}
        self._touched: dict[Name, int] = {}  # the place up to which chunks that were not given are read again
        self._paused: dict[Name, float] = {}  # until when
        self._count = 0

    def __bool__(self) -> bool:
        return bool(self._snapshots)

    @property
    def locked(self) -> list[Name]:
        """The tables whose next rows are locked by others."""
        return [name for name, snapshot in self._snapshots.items() if snapshot.waits]

    def close(self) -> None:
        self._reader.close()

    def forget_connections(self) -> None:
        self._reader.forget()

    def go_on(self, positions: Mapping[str, int], place: int, *, all_tables: bool) -> dict[str, int]:
        """Begin, or go on with, the snapshots that are not done at positions; new positions of theirs."""
        ends: dict[str, int] = {}
        for name in self._tables.schemas():
            first = f"{'.'.join(name)}/snapshot"
            again = [(int(each.rpartition("@")[2]), each) for each in positions if each.startswith(f"{first}@")]
            partition = max(again)[1] if again else first
            if partition not in positions and not all_tables:
                continue
            at, since = positions.get(partition), positions.get(_since(partition))
            stale = positions.get(f"{'.'.join(name)}{_STALE}")
            if stale is not None and (since is None or since < stale):
                ends |= self.again(name, max(place, stale))
            elif at is None:
                self._snapshots[name] = Snapshot(name, partition)
            elif at != DONE:
                # Chunks have other bounds now, so their offsets are not those of the same rows: another partition.
                self._snapshots[name] = Snapshot(name, self._another(name), at, since, given=at != BEGIN)
                ends |= {**_told(self._snapshots[name]), partition: DONE}
        return ends

    def begun(self) -> dict[str, int]:
        """The positions of all snapshots as they begin."""
        return {name: at for each in self._snapshots.values() for name, at in _told(each).items()}

    def touch(self, name: Name, place: int) -> dict[str, int]:
        """A statement at a place has changed a table, or it is gone."""
        self._touched[name] = place
        gone = name in self._snapshots and self._tables.schema(name) is None
        return {self._snapshots.pop(name).partition: DONE} if gone else {}

    def created(self, name: Name) -> dict[str, int]:
        """A table was made in the log, which has all of its rows: it is not read, though the catalog had it before."""
        before = self._snapshots.pop(name, None)
        return {f"{'.'.join(name)}/snapshot": DONE} | ({} if before is None else {before.partition: DONE})

    def rename(self, name: Name, to: Name) -> dict[str, int]:
        """The positions of a new snapshot of a table that got another name while one was under way; else none."""
        before = self._snapshots.pop(name, None)
        if before is None:
            return {}
        self._snapshots[to] = before
        return self.again(to, None)

    def again(self, name: Name, since: int | None) -> dict[str, int]:
        """Begin another snapshot of a table, which has what is left of one that is under way."""
        before = self._snapshots.pop(name, None)
        if before is not None and since is None:
            since = before.since if before.stale is None else before.stale
        snapshot = self._snapshots[name] = Snapshot(name, self._another(name), since=since)
        return _told(snapshot) | ({} if before is None else {before.partition: DONE})

    def stale(self, name: Name, place: int) -> dict[str, int]:
        """Rows of a table changed with a parent's, at a place of the log which has no word of it."""
        self._touched[name] = place
        under_way = self._snapshots.get(name)
        if under_way is None:
            ends = self.again(name, place)
            self._snapshots[name].not_before = self._paused.get(name, 0.0)
            return ends
        if not under_way.given:
            under_way.since = place
            return _told(under_way)
        under_way.stale = place
        return {f"{'.'.join(name)}{_STALE}": place}

    def steps(self, place: int, ends: Mapping[str, int], most_rows: int, connection: Any, steps: list[Step]) -> None:
        """Adds the rows that may be given, where the log was read up to a place; of a table without any, why."""
        try:
            self._read_ahead(connection)
            self._give(place, ends, most_rows, steps)
        except TableUnreadable as error:
            del self._snapshots[error.name]
            steps.append(Step(None, ends, (TableRefused(SourceTable(error.name), str(error)),)))

    def _give(self, place: int, ends: Mapping[str, int], most_rows: int, steps: list[Step]) -> None:
        given = 0
        for snapshot in list(self._snapshots.values()):
            while given < most_rows and snapshot.chunks:
                found = self._ready(snapshot, snapshot.chunks[0], place)
                if found is None:
                    break
                steps.extend(self._given(snapshot, found, place, ends))
                given += len(found.rows)
                if self._snapshots.get(snapshot.name) is not snapshot:
                    break

    def _read_ahead(self, connection: Any) -> None:
        """Keeps twice as many chunks as connections under way, of tables in their order."""
        # Tables that wait for locks do not keep others from being read.
        under_way = sum(len(snapshot.chunks) for snapshot in self._snapshots.values() if not snapshot.waits)
        for snapshot in self._snapshots.values():
            schema = self._tables.schema(snapshot.name)
            if snapshot.waits or time.monotonic() < (snapshot.not_before or 0.0):
                continue
            snapshot.begun_at = snapshot.begun_at or time.monotonic()
            while schema is not None and not snapshot.planned and under_way < 2 * self._connections:
                chunk = self._reader.plan(snapshot, schema.key, connection)
                if chunk is None:
                    break
                snapshot.chunks.append(chunk)
                self._reader.submit(snapshot, chunk, schema.key)
                under_way += 1

    def _ready(self, snapshot: Snapshot, chunk: Chunk, place: int) -> Read | None:
        """The rows of a chunk, if they may be given now."""
        schema = self._tables.schema(snapshot.name)
        if schema is None or chunk.read is None or not chunk.read.done():
            return None
        try:
            found = chunk.read.result()
        except SourceAway:
            self._reader.submit(snapshot, chunk, schema.key)
            raise
        if found is not None and place < found.place:
            return None  # the log comes there soon
        if found is None or self._touched.get(snapshot.name, 0) > found.place:
            self._reader.submit(snapshot, chunk, schema.key)
            return None
        return found

    def _given(self, snapshot: Snapshot, found: Read, place: int, log_ends: Mapping[str, int]) -> list[Step]:
        schema = self._tables.schema(snapshot.name)
        own = {(each.name, each.type) for each in found.columns}
        if schema is not None and {(each.name, each.type) for each in schema.columns} != own:
            # The log was read up to the chunk, so its columns are right, and a statement was not understood.
            changes = self._tables.observe(snapshot.name, found.columns, schema.key, sure=True)
            if changes:
                return [Step(None, {**log_ends, **self.again(snapshot.name, place)}, changes, 0)]
        snapshot.take(found)
        begins, done = snapshot.at, snapshot.planned and not snapshot.chunks
        if done:
            snapshot.at = DONE
        elif found.last is not None and found.offsets is not None:
            snapshot.at = found.offsets.after(begins, found.last)
        ends = {**log_ends, snapshot.partition: snapshot.at}
        if done:
            ends |= self._done(snapshot, place)
        gone = snapshot.gone() if done else ()
        count = len(found.rows)
        rows = snapshot_rows(snapshot.partition, ".".join(snapshot.name), found.rows, found.place, begins)
        return [Step(rows if count else None, ends, gone, count)]

    def _done(self, snapshot: Snapshot, place: int) -> dict[str, int]:
        """The positions of the snapshot that begins behind the last row of another one, or none."""
        del self._snapshots[snapshot.name]
        now = time.monotonic()
        if snapshot.not_before is not None or snapshot.stale is not None:
            self._paused[snapshot.name] = now + max(self._pause_seconds, now - snapshot.begun_at)
        return {} if snapshot.stale is None else self.stale(snapshot.name, place)

    def _another(self, name: Name) -> str:
        """The name of one more snapshot of a table, that no other had."""
        self._count += 1
        return f"{'.'.join(name)}/snapshot@{time.time_ns() + self._count}"


def _since(partition: str) -> str:
    """The name of the position that says since when rows may be gone that a snapshot does not find.

    >>> _since("shop.orders/snapshot@17"), _since("shop.orders/snapshot")
    ('shop.orders/since@17', 'shop.orders/since')
    """
    table, _, number = partition.rpartition("/snapshot")
    return f"{table}/since{number}"


def _told(snapshot: Snapshot) -> dict[str, int]:
    """The positions of a snapshot as it begins, or goes on."""
    since = {} if snapshot.since is None else {_since(snapshot.partition): snapshot.since}
    return {snapshot.partition: snapshot.at, **since}
