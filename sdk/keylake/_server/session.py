"""The way to Spark: opens a Connect session, runs statements, and gives what comes back as values or as our errors.

The one place that imports pyspark at run time. Everything goes over Spark Connect; the server may run anywhere.
"""

# pyright: reportUnknownParameterType=false
# Arrow's own types stand in signatures, and Arrow carries no types for a checker.

from __future__ import annotations

import contextlib
import functools
import json
import operator
import os
import uuid
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import parquet

from keylake._definition.names import Setting
from keylake._server.address import Address, with_token, without_token
from keylake._server.conditions import any_of, column_or_text, literal_of
from keylake._server.embedded import EmbeddedServer
from keylake._server.failures import details, finished, sentence, understood
from keylake._server.frames import SENT_ROWS, carrying, chunks_of, in_utc, rows_of, schema_of
from keylake._server.lazy_errors import is_of_spark, known_to_pyspark
from keylake._server.opened import WE_ASK, few_tries, let_go, opened
from keylake._server.server import CATALOG_CLASS, VERSION, jars_lie_in, lines_to_add
from keylake._server.statements import (
    Call,
    Explain,
    KeyParts,
    Select,
    TablePath,
    Write,
    quoted,
)
from keylake._server.versions import lacks, work_together
from keylake.errors import (
    BadRows,
    KeylakeError,
    ServerMissingPlugin,
    ServerRefused,
    ServerUnreachable,
    Unsupported,
    from_server,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from keylake._server.conditions import Where

CONNECT_LIMIT_SECONDS = 3.0
MOST_BYTES_AS_THEY_ARE = 2**20  # of more, pyspark sends what the server keeps
MOST_BYTES_OF_CHUNKS = 16 * 2**20
ROWS_IN_A_GROUP = 1 << 16  # which one task reads

_AT_FIRST = "Check that it runs and that the address is right, or let kl.connect() start a server of its own."
_AFTERWARDS = (
    "Connect again with kl.connect(). A write that was under way is either whole or not there: history() tells which, "
    "and a write with an idempotency_key= can simply be repeated."
)


class Session:
    """An open Connect session to a server that has the plug-in."""

    def __init__(self, url: str, catalog: str, writer: str | None = None, server: EmbeddedServer | None = None) -> None:
        self.address = Address.of(url)
        self.catalog = catalog
        self.writer = writer
        self._server = server
        self.was_open = False
        self._url = url
        self._settings: dict[str, str] = {}
        self.server_version = VERSION  # until the server has said its own
        known_to_pyspark()
        self._open()

    def _open(self) -> None:
        if not self.address.answers(CONNECT_LIMIT_SECONDS):
            raise self._unreachable("nothing answers there")
        with self.asking():
            self.spark = opened(self._url, is_own=self._server is not None)
        try:
            self._check_plugin()
            with self.asking():
                for name, value in self._settings.items():
                    self.spark.conf.set(name, value)
        except BaseException:
            self.close()
            raise
        self.was_open = True

    def __reduce__(self) -> tuple[Callable[..., Session], tuple[str, str, str | None]]:
        if self._server is not None:
            raise Unsupported(
                "The server was started by this process, which alone has its token, so no other process can open its "
                "tables. Start one with `keylake serve` and connect to its address, or read with keylake.local."
            )
        return _opened_again, (without_token(self._url), self.catalog, self.writer)

    def open_again(self) -> None:
        """Go on in a new session, with what was `set`, where this one is over; a server of this process starts anew."""
        try:
            self._check_plugin()
        except ServerUnreachable:
            if self._server is not None:
                self._url = self._server.started_again()
                self.address = Address.of(self._url)
            over: Any = self.spark
            over.client.close()
            let_go(self.spark)
            self._open()

    def set(self, name: str, value: str) -> None:
        """Give the session a setting of Spark."""
        with self.asking():
            self.spark.conf.set(name, value)
        self._settings[name] = value

    def close(self) -> None:
        """End the session on the server. A second call does nothing."""
        with contextlib.suppress(KeylakeError), self.asking(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pyspark warns of itself when the server is gone
            self.spark.stop()
        let_go(self.spark)

    # --------------------------------------------------------------------------------------------------- statements

    def call(self, call: Call | Explain) -> pa.Table:
        """The rows that a procedure gives; times are in UTC."""
        return self._fetched(call.in_sql(self.catalog), call.parameters(self.catalog))

    def fetch(self, select: Select) -> pa.Table:
        """The rows of a read; times are in UTC."""
        return self._fetched(select.in_sql(self.catalog), select.parameters())

    def look_up(self, path: TablePath, key: KeyParts) -> pa.Table:
        """The row of a key, if there is one, with the columns that the table has now; times are in UTC.

        As a plan it goes to the server once. A statement would go there to be parsed, and again to be run.
        """
        from pyspark.sql.connect.functions import col

        with self.asking():
            frame = self.spark.table(path.in_sql(self.catalog))
            for name, type_, value in key:
                frame = frame.where(col(quoted(name)) == literal_of(type_, value))
            return rows_of(frame)

    def look_up_all(self, path: TablePath, keys: Sequence[KeyParts]) -> pa.Table:
        """The rows of some keys, in no order, with the columns that the table has now; times are in UTC.

        Each column of the key is asked for its values first: that is what leaves out buckets, files and pages.
        """
        from pyspark.sql.connect.functions import col

        with self.asking():
            frame = self.spark.table(path.in_sql(self.catalog))
            for column, (name, type_, _) in enumerate(keys[0]):
                values = dict.fromkeys(key[column][2] for key in keys)
                frame = frame.where(col(quoted(name)).isin(*(literal_of(type_, value) for value in values)))
            if len(keys[0]) > 1:
                equal = [[col(quoted(name)) == literal_of(type_, value) for name, type_, value in key] for key in keys]
                frame = frame.where(any_of([functools.reduce(operator.and_, each) for each in equal]))
            return rows_of(frame)

    def frame_of(self, select: Select, where: Where | None) -> DataFrame:
        """A read as a plain frame, analysed, so that a wrong name is told now and not when the frame is used."""
        condition = column_or_text(where)
        with self.asking():
            frame = self.spark.sql(replace(select, columns=None).in_sql(self.catalog))
            frame = frame if condition is None else frame.where(condition)
            frame = frame if select.columns is None else frame.select(*map(quoted, select.columns))
            _ = frame.schema
            return frame

    def stream_of(self, path: TablePath, part: str, options: Mapping[str, object]) -> DataFrame:
        """A part of a table, such as its change feed, as a frame that goes on."""
        with self.asking():
            said = {name: value if isinstance(value, str) else str(value).lower() for name, value in options.items()}
            reader = self.spark.readStream.options(**said)
            frame = reader.table(f"{path.in_sql(self.catalog)}.{quoted(part)}")
            _ = frame.schema
            return frame

    def start(
        self, write: Write, frame: DataFrame, output: str, trigger: Mapping[str, str | bool], checkpoint: str
    ) -> StreamingQuery:
        """Write a streaming frame, batch by batch."""
        with self.asking():
            writer: Any = frame.writeStream.outputMode(output).option("checkpointLocation", checkpoint)
            # Spark would create the table of a branch, which it does not find by the name of the branch.
            branch = {} if write.path.experiments or write.path.branch is None else {"branch": write.path.branch}
            path = replace(write.path, branch=None)
            writer = writer.options(**dict(write.options), **branch)
            writer = writer.trigger(**trigger) if trigger else writer
            query: StreamingQuery = writer.toTable(path.in_sql(self.catalog))
            return query

    def write(self, write: Write, frame: DataFrame, replaced: Where | None = None) -> None:
        """Write a frame; `replaced` is the condition on the rows that an overwrite replaces."""
        from pyspark.sql.connect.functions import expr, lit

        rows = column_or_text(replaced)
        with self.asking():
            writer = frame.writeTo(write.path.in_sql(self.catalog)).options(**dict(write.options))
            if write.mode == "append":
                writer.append()
            else:
                condition: Any = lit(True) if rows is None else expr(rows) if isinstance(rows, str) else rows
                writer.overwrite(condition)

    def committed(self, write_id: str) -> dict[str, Any] | None:
        """The commit of a write, as members of JSON; None where another one of the session came after it."""
        with self.asking():
            said: dict[str, Any] = json.loads(self.spark.conf.get(Setting.COMMITTED, "{}") or "{}")
            return said if said.get("write_id") == write_id else None

    def drop(self, path: TablePath) -> None:
        """Take a table out of the catalog."""
        with self.asking():
            self.spark.sql(f"DROP TABLE {path.in_sql(self.catalog)}").toArrow()

    def run_once(
        self,
        texts: Sequence[str],
        parameters: Mapping[str, Any],
        idempotency_key: str,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """Run statements of SQL to their ends; what each inserts into a keyed table under this key counts once.

        They have a copy of the session, with its views and settings: writes that others make meanwhile do not get the
        key. `variables` stand in statements as `${name}`.
        """
        with self._copy(variables) as copy:
            for number, text in enumerate(texts, start=1):
                key = idempotency_key if number == 1 else f"{idempotency_key}, statement {number}"
                copy.conf.set(Setting.IDEMPOTENCY_KEY, key)
                copy.sql(text, dict(parameters)).toArrow()

    def parse(self, text: str, parameters: Mapping[str, Any], variables: Mapping[str, str]) -> None:
        """Have the server parse a statement, and run nothing; names need not be known yet."""
        with self._copy(variables) as copy:
            copy.sql(f"EXPLAIN {text}", dict(parameters)).toArrow()

    @contextlib.contextmanager
    def _copy(self, variables: Mapping[str, str] | None = None) -> Generator[Any]:
        """A copy of the session, with its views and settings, which ends."""
        with self.asking():
            connected: Any = self.spark
            copy = connected.cloneSession()
            try:
                copy.client.set_retry_policies([few_tries()])
                for name, value in (variables or {}).items():
                    copy.conf.set(name, value)
                yield copy
            finally:
                with contextlib.suppress(Exception):  # the server may be gone; what was run is told all the same
                    copy.client.release_session()
                copy.client.close()
                vars(copy).clear()  # see _KEPT in `opened`: nothing is left that it could close when it is collected

    def _fetched(self, text: str, parameters: Mapping[str, Any]) -> pa.Table:
        with self.asking():
            return rows_of(self.spark.sql(text, dict(parameters) or None))

    # ------------------------------------------------------------------------------------------------------- frames

    @contextlib.contextmanager
    def local_frame(self, rows: pa.Table) -> Generator[DataFrame]:
        """Local rows as a frame, for as long as the block runs.

        Many rows go in chunks that the server forgets afterwards, very many to a server on this machine as a file. Sent
        with the plan, each would become several objects there, and what pyspark sends is kept as long as the session.
        """
        if rows.nbytes < MOST_BYTES_AS_THEY_ARE:
            yield self.frame(rows)
            return
        folder = None if self._server is None else self._server.shared_folder
        if folder is None or rows.nbytes < MOST_BYTES_OF_CHUNKS:
            with self._sent(rows) as frame:
                yield frame
            return
        file = folder / f"rows-{uuid.uuid4()}.parquet"
        try:
            parquet.write_table(rows, file, compression="lz4", row_group_size=ROWS_IN_A_GROUP)
            with self.asking():
                frame = self.spark.read.schema(schema_of(rows)).parquet(str(file))
            yield frame
        finally:
            file.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _sent(self, rows: pa.Table) -> Generator[DataFrame]:
        connected: Any = self.spark
        hashes: list[str] = []
        try:
            with self.asking():
                for chunk in chunks_of(rows):
                    hashes += connected.client.cache_artifacts([chunk])
                reader = self.spark.read.schema(schema_of(rows)).format(SENT_ROWS)
                frame = reader.option("chunks", ",".join(hashes)).load()
            yield frame
        finally:
            with contextlib.suppress(KeylakeError):  # a session that is over has forgotten them
                self.call(Call.of("forget_sent", chunks=hashes))

    def frame(self, rows: pa.Table) -> DataFrame:
        """Local rows as a frame that carries them.

        Of few rows the plan is made here: pyspark would first ask the server for settings, and the server would analyse
        a schema that the rows have anyway.
        """
        with self.asking():
            if rows.nbytes < MOST_BYTES_AS_THEY_ARE:
                return carrying(rows, self.spark)
            return self.spark.createDataFrame(rows, schema=schema_of(rows))

    def columns(self, frame: DataFrame) -> tuple[str, ...]:
        """The columns of a frame of this session."""
        with self.asking():
            return tuple(frame.columns)

    def arrow_schema(self, frame: DataFrame) -> pa.Schema:
        """The columns of a frame with their types as Arrow has them."""
        with self.asking():
            return frame.limit(0).toArrow().schema

    def answer(self, question: Callable[[], object]) -> object:
        """The answer to a question about frames of this session."""
        with self.asking():
            return question()

    def values(self, frame: DataFrame, column: str, at_most: int) -> list[object]:
        """Some values of a column that are not null."""
        name = quoted(column)
        with self.asking():
            found = frame.where(f"{name} IS NOT NULL").select(name).limit(at_most).toArrow()
            return list(in_utc(found).column(0).to_pylist())

    def is_frame(self, rows: object) -> bool:
        """The rows are a Spark frame; one that this session cannot write is an error."""
        from pyspark.sql import DataFrame as AnyFrame
        from pyspark.sql.connect.dataframe import DataFrame as ConnectFrame

        if not isinstance(rows, AnyFrame):
            return False
        if not isinstance(rows, ConnectFrame) or id(rows.sparkSession) != id(self.spark):
            raise BadRows("The frame belongs to another Spark session than this lake. Make it with lake.spark.")
        return True

    # ------------------------------------------------------------------------------------------------------- errors

    @contextlib.contextmanager
    def asking(self) -> Generator[None]:
        """Whatever fails in the block comes out as one of our errors, in one sentence, and nothing else is printed."""
        token = WE_ASK.set(True)
        try:
            yield
        except Exception as error:  # pyspark raises of many kinds, and gRPC of its own
            if isinstance(error, KeylakeError) and not is_of_spark(error):
                raise
            raise self._meant(error) from None
        finally:
            WE_ASK.reset(token)

    def _meant(self, error: Exception) -> KeylakeError:
        ours = from_server(error)
        if ours is not None:
            return type(ours)(finished(str(ours)))
        said = sentence(error)
        status = getattr(getattr(error, "getGrpcStatusCode", lambda: None)(), "name", "")
        if status == "UNAUTHENTICATED":
            return ServerRefused(
                f"The server at {self.address} refuses the token ({details(said)}). "
                "Give the right one: kl.connect('sc://host:15002/;token=...'), or KEYLAKE_TOKEN on the command line."
            )
        if status == "UNAVAILABLE":
            return self._unreachable(details(said))
        lacking = lacks(said, self.server_version, VERSION)
        return understood(error, said, self.address) if lacking is None else Unsupported(lacking)

    def _unreachable(self, reason: str) -> ServerUnreachable:
        if not self.was_open and (why := self.address.misunderstanding(CONNECT_LIMIT_SECONDS)):
            return ServerUnreachable(f"The Spark server at {self.address} cannot be spoken with: {why}")
        if self._server is not None and not self._server.is_alive:
            reason = f"it has ended, and its log, {self._server.log}, ends with: {self._server.last_words()}"
        reason = f"{reason}. {_AFTERWARDS if self.was_open else _AT_FIRST}"
        return ServerUnreachable(f"The Spark server at {self.address} cannot be reached: {reason}")

    def _check_plugin(self) -> None:
        try:
            found = str(self.call(Call("keylake_version")).column(0)[0])
        except ServerUnreachable:
            raise
        except KeylakeError as error:
            raise self._without_plugin(str(error)) from None
        if not work_together(found, VERSION):
            raise ServerMissingPlugin(
                f"The server at {self.address} runs version {found} of the keylake plug-in, and this is keylake "
                f"{VERSION}. They work together if their minor versions differ by one at most: give the server "
                f"keylake-server-{VERSION}.jar, or install keylake=={found} here."
            )
        self.server_version = found

    def _without_plugin(self, reason: str) -> KeylakeError:
        with self.asking():
            setting = self.spark.conf.get(f"spark.sql.catalog.{self.catalog}", "")
        if setting == CATALOG_CLASS and "FAILED_TO_LOAD_ROUTINE" not in reason and "plugin class" not in reason:
            return KeylakeError(f"The catalog {self.catalog!r} of the server at {self.address} does not work: {reason}")
        is_now = f"is {setting}" if setting else "is not there"
        return ServerMissingPlugin(
            f"The server at {self.address} runs without the keylake plug-in: its catalog {self.catalog!r} {is_now}. "
            f"Add these lines to its configuration and start it anew:\n\n{lines_to_add(self.catalog)}\n\n"
            f"{jars_lie_in()} (The server said: {reason})"
        )


def _opened_again(url: str, catalog: str, writer: str | None) -> Session:
    """The session of this process for what was pickled, with the token that the environment has."""
    session = _of_process(with_token(url), catalog, writer, os.getpid())
    session.open_again()
    return session


@functools.lru_cache(8)
def _of_process(url: str, catalog: str, writer: str | None, _process: int) -> Session:
    return Session(url, catalog, writer)
