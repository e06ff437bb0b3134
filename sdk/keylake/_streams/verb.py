"""Verbs for streams: a frame of Structured Streaming goes into a table, and merged rows come out as they change.

frame ── intention.write ── options ── writeStream.toTable      each batch is one commit, known by query and number
stream_changes ── without deletes ── the values afterwards      read_stream
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from pyiceberg.types import TimestampType, TimestamptzType

from keylake._definition.spec import Names, TableSpec
from keylake._gate.checks import Check, OnFailure, row_conditions
from keylake._rows.intention import Intention, Version, write
from keylake._server.statements import Verb, Write, quoted
from keylake._streams.query import TableStream
from keylake._table.changes import ChangeVerbs, Feed
from keylake._table.handle import Verbs
from keylake.errors import BadRows, DefinitionError, check_type
from keylake.results import Commit, CommitInfo

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Output = Literal["append", "update", "complete"]
_OUTPUTS: tuple[Output, ...] = ("append", "update", "complete")


class StreamVerbs(Verbs):
    """The verbs of a table for streams."""

    def stream(
        self,
        frame: DataFrame,
        *,
        checkpoint: str | os.PathLike[str],
        every: str | datetime.timedelta | None = None,
        available_now: bool = False,
        op: str | None = None,
        version: Version | None = None,
        columns_from: str | None = None,
        output: Output = "append",
        stream: str | None = None,
        watermark: datetime.timedelta | None = None,
        require: Sequence[Check] = (),
        on_failure: OnFailure = "raise",
    ) -> TableStream:
        """Write a streaming frame to the table: each of its batches is one commit, and is written once.

        The columns are those of `update`; with `op`, a column of the rows says what is done, as in `apply_changes`.
        A batch begins `every` so often ("1 minute", or a timedelta), or as soon as the one before has ended; with
        `available_now` the query takes what is there, and ends. A query that starts again with its `checkpoint`, a
        folder that the server writes, goes on where it stopped: a batch that was committed before its server died is
        not written again. `output` is Spark's output mode: with "complete" each batch replaces the content of the
        table. `stream` names the writer in the history. `watermark` is how late rows may come: each commit says that
        the stream is complete up to its newest event time, which is in the ordering column, less that.
        `require` and `on_failure` are those of `upsert`: a batch holds rows back that fail a check, or ends the query.

        Raises `BadRows` if the frame is no stream, `DefinitionError` for words that do not go together and for a
        `watermark` where the ordering column is no timestamp, and `SchemaMismatch` and `VersionMissing` before the
        query starts, as `update` does. What is wrong with a row ends the query, and `wait()` raises it.

        Example::

            clicks = lake.spark.readStream.schema("user_id BIGINT, event_time TIMESTAMP, clicks BIGINT").json("clicks")
            profiles.stream(clicks, checkpoint="checkpoints/clicks", every="1 minute")
        """
        if not self._handle.session.is_frame(frame) or not frame.isStreaming:
            raise BadRows(
                "The frame is no stream. Make one with lake.spark.readStream, or write the rows with update or upsert."
            )
        if output not in _OUTPUTS:
            raise DefinitionError(f"output is {output!r}. Use 'append', 'update' or 'complete'.")
        if output == "complete" and op is not None:
            raise DefinitionError("op= goes with batches of changes, and output='complete' gives whole results.")
        check_type("stream", stream, str | None, "the name of a stream")
        verb: Verb = "overwrite" if output == "complete" else "update" if op is None else "apply_changes"
        intention = Intention(
            verb,
            version=version,
            op=op,
            columns_from=columns_from,
            stream=stream,
            writer=self._handle.session.writer,
            require=row_conditions(require, on_failure),
            on_failure=on_failure,
        )
        columns = self._handle.session.columns(frame)
        said = self._knowing(lambda: write(self._handle.writes, self._handle.path, intention, columns))
        said = _complete(said, self.spec if watermark is None else self._current(), watermark)
        trigger = _trigger(every, available_now)
        return TableStream(
            str(self._handle.path),
            self._handle.session.start(said, frame, output, trigger, _folder(checkpoint)),
            self._handle.session,
        )

    def read_stream(
        self,
        columns: Names | None = None,
        *,
        after: Commit | CommitInfo | int | None = None,
        max_commits_per_batch: int | None = None,
        consumer: str | None = None,
    ) -> DataFrame:
        """Merged rows as a stream, for `writeStream` and `stream`: all rows first, then each row that has changed.

        A row comes as it reads after the batch, so that the newest one of a key is its row. Rows that are deleted do
        not come: `stream_changes()` has them. `after`, `max_commits_per_batch` and `consumer` are those of it.

        Raises `SchemaMismatch` for a column that the table does not have, and otherwise the errors of `stream_changes`:
        `SnapshotExpired`, `DefinitionError` and `Unsupported`.

        Example::

            totals.stream(profiles.read_stream(["clicks"], after=commit), checkpoint="checkpoints/totals")
        """
        spec = self._current()
        wanted = spec.value_columns if columns is None else self._handle.columns(columns)
        feed = Feed(ChangeVerbs(self._handle)).stream(
            after=after, max_commits_per_batch=max_commits_per_batch, consumer=consumer
        )
        keys = {name.lower() for name in spec.key}
        values = [f"_after.{quoted(name)} AS {quoted(name)}" for name in wanted if name.lower() not in keys]
        with self._handle.session.asking():
            frame = feed.where("_change <> 'delete'").selectExpr(*map(quoted, spec.key), *values)
            _ = frame.schema
            return frame


def _folder(checkpoint: object) -> str:
    if not isinstance(checkpoint, str | os.PathLike) or not os.fspath(checkpoint):
        raise DefinitionError(
            f"checkpoint is {checkpoint!r}. Use a folder that the server writes, another one for each stream."
        )
    return str(os.fspath(checkpoint))


def _complete(said: Write, spec: TableSpec, watermark: object) -> Write:
    """A write whose batches say watermarks, where that is wanted."""
    check_type("watermark", watermark, datetime.timedelta | None, "how late rows may come: timedelta(minutes=5)")
    if not isinstance(watermark, datetime.timedelta):
        return said
    if watermark < datetime.timedelta(0):
        raise DefinitionError(f"watermark is {watermark}. Use a time of 0 or more: how late rows may come.")
    if spec.ordering is None or not isinstance(spec.column(spec.ordering).type, TimestampType | TimestamptzType):
        column = "no ordering column" if spec.ordering is None else f"{spec.ordering!r}, which is no timestamp"
        raise DefinitionError(
            f"watermark= takes event times from the ordering column, and {spec.name} has {column}. Leave it out, or "
            "say the watermark of each write yourself, in update(..., watermark=)."
        )
    delay = watermark // datetime.timedelta(microseconds=1)
    return replace(said, options=(*said.options, ("watermark_delay", str(delay))))


def _trigger(every: object, available_now: object) -> dict[str, str | bool]:
    """The arguments of Spark's `trigger`, by which batches begin.

    >>> _trigger(datetime.timedelta(minutes=1), False)
    {'processingTime': '60000 milliseconds'}
    """
    check_type("available_now", available_now, bool, "True or False")
    check_type("every", every, str | datetime.timedelta | None, "text such as '1 minute', or a timedelta")
    if available_now:
        if every is not None:
            raise DefinitionError(f"available_now=True takes what is there once, and every={every!r} has no place.")
        return {"availableNow": True}
    if isinstance(every, datetime.timedelta):
        return {"processingTime": f"{every // datetime.timedelta(milliseconds=1)} milliseconds"}
    return {} if every is None else {"processingTime": str(every)}
