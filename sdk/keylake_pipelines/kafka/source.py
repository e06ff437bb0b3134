"""Topics as a source of changes: Spark reads and decodes them in its tasks, and says how far partitions go.

    poll:  offsets (a procedure) ── planned ──▶ stretches ──▶ Spark's reader of Kafka ──▶ keylake_message_changes
           ──▶ the columns that rows tell, in a step of their own ──▶ the rows

Where columns are found from rows, the job that decodes them brings both here.
"""

# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false
# Arrow's own types stand in signatures, and Arrow carries no types for a checker.

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from keylake.errors import KeylakeError, SourceFailed, Unavailable
from keylake.extension import Call, literal
from keylake_pipelines.kafka.columns import FoundTables
from keylake_pipelines.kafka.messages import MessageFormat
from keylake_pipelines.kafka.offsets import (
    MessageSizes,
    PartitionOffsets,
    Stretch,
    Topics,
    as_option,
    lost,
    planned,
    replaced,
    topic_number,
)
from keylake_pipelines.source.absence import SourceAway
from keylake_pipelines.source.members import rewritten
from keylake_pipelines.source.source import CHANGES, Lag, Step
from keylake_pipelines.source.tables import SourceSchema, SourceTable, TableChange

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from keylake.extension import Session

_PAUSE_SECONDS = 0.25
_MESSAGES_OF_A_TASK = 25_000  # a batch of one large partition is work for all cores, too
# What Spark says of brokers that have gone while it reads.
_NO_ANSWER = re.compile(
    r"(?:kafka\.common\.errors\.|\()(?:Timeout|Disconnect|Network|\w*NotAvailable|NotLeader)\w*"
    r"|Timeout of \d+ms expired|Cannot fetch record for offset"
)
# A broker that starts again answers within this; one whose topic was deleted is asked about it no longer.
_LIMITS = {"kafka.default.api.timeout.ms": "20000", "kafka.request.timeout.ms": "10000"}
_OWN = ("partition", "offset")  # columns that a message has, and not its changes
# A partition without rows, whose offsets are times at which rows told of columns: what one run told, no other tells at
# the same offset.
_TOLD = "columns"
_BEGUN = "topics begun"  # the first look, from which on other partitions are new
_ID = "topic "  # before the name of a topic, whose id it is


_ANOTHER_TOPIC = "Send to a topic of another name, from a new snapshot on, and read that."

LOG = logging.getLogger("keylake")


class KafkaSource:
    """Changes of rows from topics, as a `Source`; partitions are named as Kafka names them, `orders-0`.

    Without `schemas`, columns are found from the rows: a table comes as `TableCreated` when its first rows are seen
    (or was known at `begin`), and its new and widened columns before the rows that have them.

    Example::

        source = KafkaSource(session, Topics("host:9092", ("shop.orders",)), MessageFormat("debezium-json"))
        source.begin({})
        for step in source.poll(100_000, 1.0):
            ...
    """

    def __init__(
        self, session: Session, topics: Topics, said: MessageFormat, schemas: Sequence[SourceSchema] | None = None
    ) -> None:
        self._session = session
        self._topics = topics
        self._format = said
        self._declared = None if schemas is None else tuple(schemas)
        self._found = FoundTables()
        self._at: dict[str, int] = {}
        self._ids: dict[str, int] = {}  # of topics
        self._has_begun = False
        self._told_at = 0
        self._topics_there: frozenset[str] | None = None  # at the last look
        self._replaced: dict[str, str] = {}  # a sentence about each topic that is another one now
        self._held: dict[str, int] = {}  # the end of partitions at the last look, where a transaction is open
        self._told_of: frozenset[str] = frozenset()  # partitions of which a warning told
        self._sizes = MessageSizes()

    def begin(self, positions: Mapping[str, int], schemas: Sequence[SourceSchema] = ()) -> None:
        """Go on at these offsets, by partition, and with these tables: columns are what they were, or wider."""
        self._found = FoundTables.of(schemas)
        self._ids = {name.removeprefix(_ID): at for name, at in positions.items() if name.startswith(_ID)}
        self._at = {name: at for name, at in positions.items() if name != _TOLD and " " not in name}
        self._has_begun = bool(positions)
        self._replaced = {}

    def reread(self, table: SourceTable) -> bool:  # noqa: ARG002
        """The source reads no topic once more: the rows that were read are all that there are."""
        return False

    def schemas(self) -> tuple[SourceSchema, ...]:
        """The tables that were declared, or that rows have told of."""
        return self._found.schemas() if self._declared is None else self._declared

    def poll(self, most_rows: int, seconds: float) -> tuple[Step, ...]:
        """About so many messages, or what came within so many seconds."""
        deadline = time.monotonic() + seconds
        while True:
            there = self._offsets()
            steps = (*self._begun(there), *self._skipped(there))
            stretches = planned(self._readable(there), self._at, self._sizes.most(most_rows))
            if stretches:
                try:
                    return (*steps, *self._steps(stretches))
                except SourceAway:
                    if not steps:
                        raise
                    return steps
            if steps or time.monotonic() + _PAUSE_SECONDS > deadline:
                return steps
            time.sleep(_PAUSE_SECONDS)

    def written(self, positions: Mapping[str, int]) -> None:
        """Kafka is told nothing."""

    def missing(self) -> str | None:
        """A sentence that names the topics that are not there, which may come later, and those that are others now."""
        if self._topics_there is None:
            return None
        others = " ".join(f"{said}. {_ANOTHER_TOPIC}" for said in self._replaced.values())
        return " ".join(filter(None, (self._unmet(), others))) or None

    def _unmet(self) -> str | None:
        topics = self._topics
        assert self._topics_there is not None
        names = [f"topic {name!r}" for name in topics.names if name not in self._topics_there]
        if topics.pattern is not None and not self._topics_there:
            names = [f"topic of the pattern {topics.pattern!r}"]
        if not names:
            return None
        return (
            f"Kafka at {topics.servers} has no {', no '.join(names)}, or does not show it to this user. Check the "
            "names; a topic that comes later is read from its first message on."
        )

    def lag(self) -> Lag:
        """The lag behind the topics: the number of messages that were not polled yet."""
        try:
            there = self._offsets()
        except SourceAway:  # the next poll tells it
            return Lag(None, "rows")
        there = self._readable(there)
        behind = sum(max(0, each.latest - self._at.get(each.name, each.earliest)) for each in there)
        newest = max((each.newest for each in there if each.newest), default=None)
        return Lag(behind, "rows", newest=newest, waits=self._waits(there))

    def _waits(self, there: Sequence[PartitionOffsets]) -> str | None:
        """A sentence about an open transaction that holds back what is behind it, at two looks at one place."""
        held = [each for each in there if each.written > each.latest == self._at.get(each.name)]
        before, self._held = self._held, {each.name: each.latest for each in held}
        still = [each for each in held if before.get(each.name) == each.latest]
        if not still:
            return None
        first = still[0]
        said = (
            f"A transaction that is open holds back {first.written - first.latest} messages of partition {first.name} "
            f"from offset {first.latest} on: they are read when its producer ends it, or the broker does "
            "(transaction.timeout.ms)."
        )
        if not before.keys() & self._told_of:
            LOG.warning("%s", said)
        self._told_of = frozenset(each.name for each in still)
        return said

    def close(self) -> None:
        """The source keeps nothing open."""

    # ------------------------------------------------------------------------------------------------------- offsets

    def _offsets(self) -> tuple[PartitionOffsets, ...]:
        start = self._topics.start
        call = Call.of(
            "kafka_offsets",
            None,
            settings=json.dumps(self._topics.client_settings),
            topics=None,
            pattern=self._topics.any_of_them,
            at=int(start.timestamp() * 1000) if isinstance(start, datetime) and not self._has_begun else None,
        )
        try:
            rows = self._session.call(call).to_pylist()
        except Unavailable as error:
            raise SourceAway(str(error)) from None
        self._topics_there = frozenset(row["topic"] for row in rows)
        return tuple(
            PartitionOffsets(
                row["topic"],
                row["partition"],
                row["earliest"],
                row["latest"],
                row["at"],
                row["newest"],
                row["topic_id"],
                row["written"],
            )
            for row in rows
        )

    def _begun(self, there: Sequence[PartitionOffsets]) -> Iterator[Step]:
        """A step with the positions at which new partitions begin, so that these are kept before they have rows.

        Where others have positions already, a partition was added since then, and all of it is new.
        """
        new = {
            each.name: each.earliest if self._has_begun else each.begin(self._topics.start)
            for each in there
            if each.name not in self._at
        }
        ids = {
            each.topic: topic_number(each.topic_id) for each in there if each.topic_id and each.topic not in self._ids
        }
        told = {**new, **{_ID + topic: number for topic, number in ids.items()}}
        if not self._has_begun:
            told[_BEGUN] = 1
        self._at.update(new)
        self._ids.update(ids)
        self._has_begun = True
        if told:
            yield Step(None, told)

    def _readable(self, there: Sequence[PartitionOffsets]) -> tuple[PartitionOffsets, ...]:
        """The partitions of topics that are those which were read before."""
        return tuple(each for each in there if each.topic not in self._replaced)

    def _skipped(self, there: Sequence[PartitionOffsets]) -> Iterator[Step]:
        """Refuses to go on where messages are lost, or goes on behind them with a row that says so.

        Of a topic that was created anew tables would take no message: they have taken its offsets. It alone is left
        out, and a source that has no other topic ends.
        """
        for each in there:
            what = replaced(each, self._at[each.name], self._ids.get(each.topic))
            if what is not None:
                self._replaced.setdefault(each.topic, what)
        if there and not self._readable(there):
            raise SourceFailed(f"{next(iter(self._replaced.values()))}. {_ANOTHER_TOPIC}")
        for each in self._readable(there):
            at = self._at[each.name]
            what = lost(each, at)
            if what is None:
                continue
            if self._topics.lost == "refuse":
                raise SourceFailed(
                    f"{what}. Go on behind them with lost: skip in the source (from offset {each.earliest}); what they "
                    "changed is missing in the tables until a new snapshot is sent to the topic."
                )
            self._at[each.name] = each.earliest
            row = {"row": "", "partition": each.name, "offset": at, "error": what}
            rows = pa.Table.from_pylist([{**dict.fromkeys(CHANGES.names), **row}], schema=CHANGES)
            yield Step(rows, {each.name: each.earliest}, count=1)

    # ---------------------------------------------------------------------------------------------------------- rows

    def _steps(self, stretches: Sequence[Stretch]) -> Iterator[Step]:
        ends = {each.name: each.end for each in stretches}
        try:
            with self._session.asking():
                decoded = self._decoded(stretches)
                whole: pa.Table = (decoded if self._declared is None else decoded.select(*CHANGES.names)).toArrow()
        except KeylakeError as error:
            if _NO_ANSWER.search(str(error)):
                said = str(error).rstrip(".")
                raise SourceAway(
                    f"Kafka at {self._topics.servers} does not answer while messages are read: {said}. "
                    "Check that the brokers run."
                ) from None
            raise
        if self._declared is None and (changes := self._told(whole)):
            self._told_at = max(self._told_at + 1, int(time.time() * 1000))
            yield Step(None, {_TOLD: self._told_at}, changes)
        self._sizes.read(sum(each.end - each.begin for each in stretches), whole.nbytes)
        self._at.update(ends)
        yield Step(rewritten(whole.select(CHANGES.names).cast(CHANGES), self._found.rewriting), ends)

    def _decoded(self, stretches: Sequence[Stretch]) -> DataFrame:
        """The columns of `CHANGES`, and `found`."""
        reader = self._session.spark.read.format("kafka").options(
            **_LIMITS | {f"kafka.{name}": value for name, value in self._topics.client_settings.items()},
            assign=json.dumps(_numbers(stretches)),
            startingOffsets=as_option(stretches, end=False),
            endingOffsets=as_option(stretches, end=True),
            maxRecordsPerPartition=str(_MESSAGES_OF_A_TASK),
        )
        said = literal(self._format.as_json(infers=self._declared is None))
        arguments = f"{said}, topic, offset, timestamp, key, value"
        messages = reader.load().selectExpr(
            "concat(topic, '-', partition) AS partition", "offset", f"keylake_message_changes({arguments}) AS changes"
        )
        changes = messages.selectExpr(*_OWN, "explode(changes) AS c")
        own = [name if name in _OWN else f"c.`{name}` AS `{name}`" for name in CHANGES.names]
        return changes.selectExpr(*own, "c.found AS found")

    def _told(self, whole: pa.Table) -> tuple[TableChange, ...]:
        """The changes of tables by what the rows tell of columns: one row of each task, for each table."""
        telling = whole.select(["table", "found"]).filter(pc.is_valid(whole["found"]))
        found = dict.fromkeys(zip(*(telling[name].to_pylist() for name in telling.column_names), strict=True))
        return self._found.add(found)


def _numbers(stretches: Sequence[Stretch]) -> dict[str, list[int]]:
    """The numbers of partitions by topic, as Spark's reader takes them."""
    topics = sorted({each.topic for each in stretches})
    return {topic: [each.number for each in stretches if each.topic == topic] for topic in topics}
