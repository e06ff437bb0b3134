"""The state of a pipeline, which it keeps in the keyed table `keylake.pipelines` of its lake.

    kind       name            columns
    pipeline   ''              host, process, run, state, started_at, seen_at, rounds, rows, lag, last_error,
                               recent: what the last rounds did; reason: why it did
                               not begin anew when it was asked; wanted
    partition  of the source   position
    table      source>target   target, schema, done: the last change of the source table that was made in the keyed one;
                               former: columns that the source has no more
    target     keyed table     aside: since where it is set aside; reason; state: gone, where its source is; wanted
    reread     source table    position: 0 while it was asked for, and no position of the source says so yet
    check      keyed table     reason: which rows differ from those of the source, as a check while it runs has found

A pipeline writes its rows under a counter, the offsets of a source that is called as the pipeline: of two processes
that write the same number one is told that it is not the first. `wanted` is written by others, and read every second.
"""

from __future__ import annotations

import datetime
import json
import os
import re
import socket
import threading
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import keylake as kl
from keylake.errors import BadRows, KeylakeError, PipelineBusy, SourceFailed, TableNotFound
from keylake.extension import html_bars, html_table, in_notebook, literal
from keylake_pipelines.runner.life import SignOfLife
from keylake_pipelines.runner.rounds import Recent, recent_from_json, recent_to_json, series
from keylake_pipelines.runner.schema_json import schema_from_json, schema_to_json
from keylake_pipelines.source.tables import SourceSchema

if TYPE_CHECKING:
    from keylake.lake import Lake
    from keylake.table import KeyedTable

_TEXT, _LONG, _TIME = pa.string(), pa.int64(), pa.timestamp("us", tz="UTC")
_KEY = ("pipeline", "kind", "name")
_COLUMNS = pa.schema(
    [
        *(pa.field(name, _TEXT, nullable=False) for name in _KEY),
        pa.field("position", _LONG),
        pa.field("target", _TEXT),
        pa.field("schema", _TEXT),
        pa.field("done", _TEXT),
        pa.field("former", _TEXT),
        pa.field("aside", _TEXT),
        pa.field("reason", _TEXT),
        pa.field("host", _TEXT),
        pa.field("process", _LONG),
        pa.field("run", _TEXT),
        pa.field("state", _TEXT),
        pa.field("started_at", _TIME),
        pa.field("seen_at", _TIME),
        pa.field("rounds", _LONG),
        pa.field("rows", _LONG),
        pa.field("lag", _TEXT),
        pa.field("last_error", _TEXT),
        pa.field("recent", _TEXT),
        pa.field("wanted", _TEXT),
    ]
)
_GONE = "gone"
_OURS = tuple(name for name in _COLUMNS.names if name != "wanted")

_COMMITS = 32  # of all pipelines, after which the files are merged, on a server without maintenance, too

Done = tuple[int, int]
"""The end of a step in a partition, and the number of a change in it."""

Pair = tuple[str, str]
"""A source table, and a keyed table that its rows go to."""


@dataclass(frozen=True)
class PipelineState:
    """The state of a pipeline, as `status` gives it."""

    name: str
    state: str  # running, stopped, failed; lost, where its process is gone without a word
    host: str
    process: int
    started_at: datetime.datetime
    seen_at: datetime.datetime
    rounds: int
    rows: int
    lag: str
    last_error: str | None = None
    wanted: str | None = None  # stop, where it was asked to stop
    set_aside: Mapping[str, str] = field(
        default_factory=dict[str, str], hash=False
    )  # keyed tables: since when, and why
    differences: Mapping[str, str] = field(
        default_factory=dict[str, str], hash=False
    )  # keyed tables whose rows differ from those of the source, as a check while it runs has found
    refusal: str | None = None  # why it did not begin anew when it was asked last
    run: str = ""  # of the process, unlike that of any other
    recent: tuple[Recent, ...] = ()  # the last rounds that wrote rows

    @property
    def runs(self) -> bool:
        """The process of the pipeline lives, as far as that is known."""
        return self.state == "running" and self.sign.lives()

    @property
    def sign(self) -> SignOfLife:
        """The last sign of life of its process."""
        return SignOfLife(self.host, self.process, self.seen_at)

    def observed(self) -> PipelineState:
        """The state as others see it: one that says `running`, and whose process is gone, is `lost`."""
        if self.state != "running" or self.runs:
            return self
        return replace(self, state="lost", last_error=self.sign.lost(self.last_error))

    @property
    def unit(self) -> str:
        """The unit of the lag."""
        return self.lag.rpartition(" ")[2]

    def _repr_html_(self) -> str:
        told = {
            "state": self.state,
            "asked to": self.wanted,
            "seen": f"{self.seen_at:%Y-%m-%d %H:%M:%S} UTC",
            "lag": self.lag,
            "rounds": f"{self.rounds:,}",
            "rows": f"{self.rows:,}",
            "process": f"{self.process} on {self.host}, since {self.started_at:%Y-%m-%d %H:%M:%S} UTC",
            "last error": self.last_error,
            "goes on as it was": self.refusal,
            **self.set_aside,
            **self.differences,
        }
        rows = [(name, value) for name, value in told.items() if value is not None]
        drawn = (html_bars(*series(self.recent, self.unit)),) if self.recent else ()
        return in_notebook(html_table(f"Pipeline {self.name}", ("", ""), rows), *drawn)


@dataclass(frozen=True)
class TableState:
    """The state of a source table, for a keyed table: its columns now, and the last change that was made.

    `former` are names, in small letters, of columns that the source has no more, and the keyed table may still have.
    """

    schema: SourceSchema
    done: Mapping[str, Done] = field(default_factory=dict[str, Done], hash=False)
    former: frozenset[str] = frozenset()


def _is_log(partition: str) -> bool:
    """A partition is one of a log: readings of a table have a blank or a slash in their names."""
    return not re.search(r"[/ ]", partition)


@dataclass(frozen=True)
class TargetState:
    """A keyed table that is set aside: since which offsets, and why; `gone` where the source has no table for it."""

    aside: Mapping[str, int] = field(hash=False)
    reason: str
    gone: bool = False

    def __str__(self) -> str:
        logs = {partition: at for partition, at in self.aside.items() if _is_log(partition)} or self.aside
        named = sorted((f"{at} of {partition}" for partition, at in logs.items()), key=len)
        since = f" since offset {', '.join(named[:2])}" if named else ""
        return f"set aside{since}: {self.reason}"


class StateTable:
    """The rows of one pipeline, read when it begins, and written again where they have changed."""

    def __init__(self, lake: Lake, namespace: str, name: str) -> None:
        self.name = name
        self.positions: dict[str, int] = {}
        self.tables: dict[Pair, TableState] = {}
        self.targets: dict[str, TargetState] = {}
        self.asked: set[str] = set()  # source tables to read once more, of which no position says so yet
        self.pipeline: PipelineState | None = None
        self.table = opened(lake, namespace)
        self._written: dict[tuple[str, str], Mapping[str, object]] = {}
        self._next = 0
        self._given_up: dict[str, int] = {}
        self._one_at_a_time = threading.RLock()

    def read(self) -> None:
        """Read the rows that the table has of the pipeline."""
        self._next = self.table.commits.offsets().get(self.name, 0)
        for row in rows_of(self.table, f"pipeline = {literal(self.name)}"):
            match row["kind"]:
                case "partition":
                    self.positions[row["name"]] = row["position"]
                case "table" if row["schema"] is not None:
                    done = {partition: (end, number) for partition, (end, number) in json.loads(row["done"]).items()}
                    former = frozenset[str](json.loads(row["former"] or "[]"))
                    state = TableState(schema_from_json(row["schema"]), done, former)
                    self.tables[str(state.schema.table), row["target"]] = state
                case "target" if row["aside"] is not None:
                    gone = row["state"] == _GONE
                    self.targets[row["name"]] = TargetState(json.loads(row["aside"]), row["reason"], gone)
                case "reread" if row["position"] is not None:
                    self.asked.add(row["name"])
                case "pipeline" if row["run"] is not None:  # which a wish alone does not have
                    self.pipeline = _pipeline(row)
                case _:
                    pass
        self._written = self._rows()

    def give_up_positions(self) -> bool:
        """All tables are to be read once more: the log is read from its end on. False where that was said before."""
        if self._given_up:
            return False
        self._given_up, self.positions = self.positions, {}
        return True

    def check_grows(self, partition: str, end: int) -> None:
        """Refuse a log whose rows would not count: after positions were given up, they are older than those before."""
        before = self._given_up.get(partition, end)
        if _is_log(partition) and end < before:
            raise SourceFailed(
                f"{partition} is at {end:,} now, and was at {before:,}: its rows would be older than those that are in "
                "tables. Another server, or a log that was reset, needs a pipeline of another name, and new tables."
            )

    def take(self, lease: float) -> PipelineState:
        """Become the process of the pipeline, unless another one is; its state then."""
        other = self.pipeline
        if other is not None and other.state == "running" and other.sign.lives(lease):
            raise PipelineBusy(other.sign.busy(other.name, lease))
        now = datetime.datetime.now(datetime.timezone.utc)
        run = uuid.uuid4().hex
        host, process = socket.gethostname(), os.getpid()
        state = PipelineState(self.name, "running", host, process, now, now, 0, 0, "unknown", run=run)
        if other is not None:
            state = replace(state, rounds=other.rounds, rows=other.rows, recent=other.recent)
        self.pipeline = state
        self.write()  # before the wish is gone: who waits for a run that begins anew sees it, and not the one before
        self.table.update([{"pipeline": self.name, "kind": "pipeline", "name": "", "wanted": None}])
        return state

    def heard(self, target: str, *, kind: str = "target") -> None:
        """A wish about a keyed table, or the pipeline, is fulfilled, or cannot be."""
        self.table.update([{"pipeline": self.name, "kind": kind, "name": target, "wanted": None}])

    def refuse(self, reason: str) -> None:
        """The pipeline does not begin anew, as it was asked to: why is there before the wish is gone."""
        self.seen(refusal=reason)
        self.write()
        self.heard("", kind="pipeline")

    def seen(self, **changes: Any) -> None:
        """The pipeline lives, and what else is new of it."""
        with self._one_at_a_time:
            assert self.pipeline is not None
            now = datetime.datetime.now(datetime.timezone.utc)
            self.pipeline = replace(self.pipeline, seen_at=now, **changes)

    def write(self) -> None:
        """Write the rows that have changed since they were read or written, if nobody else has done so."""
        with self._one_at_a_time:
            rows = self._rows()
            gone = [key for key in self._written if key not in rows]
            changed = [
                *(_row(self.name, key, row) for key, row in rows.items() if self._written.get(key) != row),
                *(_row(self.name, key, {}) for key in gone if key[0] != "partition"),
            ]
            if changed:
                self._commit(changed)
                self._written = rows

    def sign(self, seconds: float) -> None:
        """Write that the pipeline lives, and nothing else, if it was not seen for so long. Another thread may do so."""
        with self._one_at_a_time:
            assert self.pipeline is not None
            if (datetime.datetime.now(datetime.timezone.utc) - self.pipeline.seen_at).total_seconds() < seconds:
                return
            self.seen()
            row = {**self._written["pipeline", ""], "seen_at": self.pipeline.seen_at}
            self._commit([_row(self.name, ("pipeline", ""), row)])
            self._written = {**self._written, ("pipeline", ""): row}

    def _commit(self, rows: Sequence[Mapping[str, object]]) -> None:
        if not self._commits(rows):
            self._catch_up()
            if not self._commits(rows):
                raise self._overtaken()
        self._next += 1

    def _commits(self, rows: Sequence[Mapping[str, object]]) -> bool:
        """Write rows under the next number; False where that was taken."""
        try:
            commit = self.table.update(rows, offsets={self.name: (self._next, self._next + 1)})
        except BadRows:
            return False
        if commit.snapshot_id % _COMMITS == 0:  # the ids of snapshots are random
            with suppress(KeylakeError):  # another commit of some pipeline is the next to do so
                self.table.compact("full")
        return not commit.repeated

    def _catch_up(self) -> None:
        """A number that was taken may be ours: that of a write whose answer a server that failed did not give."""
        row: Any = self.table.get(pipeline=self.name, kind="pipeline", name="")
        if self.pipeline is None or row is None or row.run != self.pipeline.run:
            raise self._overtaken()
        self._next = self.table.commits.offsets().get(self.name, 0)

    def _overtaken(self) -> PipelineBusy:
        return PipelineBusy(
            f"Another process has written the state of pipeline {self.name!r} meanwhile, so this one has ended. What "
            "it had written is in the tables once. Look at `keylake status`, and let one process run the pipeline."
        )

    def _rows(self) -> dict[tuple[str, str], Mapping[str, object]]:
        rows: dict[tuple[str, str], Mapping[str, object]] = {
            ("partition", name): {"position": position} for name, position in self.positions.items()
        }
        rows |= {("reread", name): {"position": 0} for name in self.asked}
        for (source, target), table in self.tables.items():
            rows["table", f"{source}>{target}"] = {
                "target": target,
                "schema": schema_to_json(table.schema),
                "done": json.dumps(table.done),
                "former": json.dumps(sorted(table.former)) if table.former else None,
            }
        for name, aside in self.targets.items():
            gone = {"state": _GONE} if aside.gone else {}
            rows["target", name] = {"aside": json.dumps(aside.aside), "reason": aside.reason, **gone}
        if self.pipeline is not None:
            said = {
                name: value
                for name, value in vars(self.pipeline).items()
                if name not in ("name", "wanted", "set_aside", "differences", "recent", "refusal")
            }
            recent = recent_to_json(self.pipeline.recent)
            rows["pipeline", ""] = {**said, "recent": recent, "reason": self.pipeline.refusal}
        return rows


def opened(lake: Lake, namespace: str) -> KeyedTable:
    """The table of all pipelines of a lake, created where it is not there."""
    path = f"{namespace}.pipelines"
    try:
        table = lake.table(path)
    except TableNotFound:
        text = "Where pipelines are, and what they know of their sources. Written by keylake."
        spec = kl.TableSpec.from_arrow(_COLUMNS, name=path, key=_KEY, buckets=1, comment=text)
        return lake.create(spec, if_exists="match")
    missing = _missing(table)
    if missing:  # an older version has made it
        try:
            table.alter(add=missing)
        except KeylakeError:
            table = lake.table(path)
            if _missing(table):
                raise
    return table


def _missing(table: KeyedTable) -> dict[str, Any]:
    """Columns that a table of pipelines lacks."""
    return {each.name: each.type for each in _COLUMNS if each.name not in table.spec.column_names}


def states_of(lake: Lake, namespace: str) -> tuple[PipelineState, ...]:
    """All pipelines that a lake knows, by name."""
    try:
        return states_in(rows_of(lake.table(f"{namespace}.pipelines"), "kind IN ('pipeline', 'target', 'check')"))
    except TableNotFound:
        return ()


def states_in(rows: Sequence[Mapping[str, Any]]) -> tuple[PipelineState, ...]:
    """The pipelines of these rows of the table, by name."""
    aside: dict[str, dict[str, str]] = {}
    different: dict[str, dict[str, str]] = {}
    for row in rows:
        if row["kind"] == "check" and row["reason"] is not None:
            different.setdefault(row["pipeline"], {})[row["name"]] = row["reason"]
        elif row["kind"] == "target" and row["aside"] is not None:
            state = TargetState(json.loads(row["aside"]), str(row["reason"]))
            aside.setdefault(row["pipeline"], {})[row["name"]] = str(state)
    known = [_pipeline(row).observed() for row in rows if row["kind"] == "pipeline" and row["run"] is not None]
    found = [
        replace(each, set_aside=aside.get(each.name, {}), differences=different.get(each.name, {})) for each in known
    ]
    return tuple(sorted(found, key=lambda state: state.name))


def asides_of(lake: Lake, namespace: str, pipeline: str) -> frozenset[str]:
    """The keyed tables that a pipeline has set aside."""
    where = f"pipeline = {literal(pipeline)} AND kind = 'target' AND aside IS NOT NULL"
    return frozenset(row["name"] for row in rows_of(opened(lake, namespace), where))


def tables_of(lake: Lake, namespace: str, pipeline: str) -> tuple[str, ...]:
    """The keyed tables that a pipeline knows, or has set aside."""
    where = f"pipeline = {literal(pipeline)} AND (kind = 'table' AND target IS NOT NULL OR aside IS NOT NULL)"
    return tuple(sorted({row["target"] or row["name"] for row in rows_of(opened(lake, namespace), where)}))


def rows_of(table: KeyedTable, where: str) -> list[dict[str, Any]]:
    """Rows of a table, here."""
    return list(table.read(where=where).toArrow().to_pylist())


def _row(pipeline: str, key: tuple[str, str], row: Mapping[str, object]) -> dict[str, object]:
    return {**dict.fromkeys(_OURS), "pipeline": pipeline, "kind": key[0], "name": key[1], **row}


def _pipeline(row: Mapping[str, Any]) -> PipelineState:
    names = [name for name in _COLUMNS.names[_COLUMNS.names.index("host") :] if name != "recent"]
    said = {name: row[name] for name in names}
    utc = {name: said[name].astimezone(datetime.timezone.utc) for name in ("started_at", "seen_at")}
    refusal = row.get("reason")
    return PipelineState(row["pipeline"], **said | utc, refusal=refusal, recent=recent_from_json(row.get("recent")))
