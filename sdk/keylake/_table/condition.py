"""How a table is doing: one look at its files, streams and maintenance, from metadata alone."""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from typing import get_args

from keylake._display.pictures import Event
from keylake._maintenance.compaction import BucketPicture, CompactionPlan
from keylake._maintenance.maintenance import Maintenance
from keylake._server.statements import Verb
from keylake._table.handle import Verbs
from keylake.health import Health, ReadHealth, StreamHealth
from keylake.results import CommitInfo

MOST_COMMITS = 1000
VERBS = get_args(Verb)
_AMOUNTS = ("bytes", "rows", "live_rows")


class ConditionVerbs(Verbs):
    """How the table is doing."""

    def health(self) -> Health:
        """How the table or branch is doing: layout, reads, storage, streams, maintenance, and what to do.

        Reads metadata only, and of the history the newest 1,000 commits. Shows itself as text and in notebooks;
        `plot()` draws it, `report()` writes a page, and `to_do` has a sentence for each thing that is wrong.

        Example::

            print(profiles.health())
            profiles.health().to_do
        """
        now = datetime.datetime.now(datetime.timezone.utc)
        rows = self._handle.call("compaction_plan")
        commits = self._handle.commits(at_most=MOST_COMMITS)
        on_main = self._handle.path.branch is None
        name = self._handle.path.name
        maintenance = Maintenance(self._handle.session)
        log = maintenance.log() if maintenance.is_on else ()
        return Health(
            table=str(self._handle.path),
            at=now,
            buckets=CompactionPlan(str(self._handle.path), map(BucketPicture.from_row, rows)),
            reads=self._reads(),
            kept_bytes=self._kept_bytes(),
            streams=self._streams(commits, now),
            commits=tuple(Event(each.committed_at, each.stream, each.verb, each.rows or 0) for each in commits),
            maintenance=tuple(each for each in log if each.table.endswith(name) and (each.branch is None) == on_main),
            bucket_advice=self._bucket_advice() if on_main else None,
        )

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the table's health as a page that stands in one file; needs matplotlib.

        Example::

            profiles.report("health.html")
        """
        return self.health().report(path)

    def _reads(self) -> ReadHealth:
        sections = self._handle.part("sections")
        amounts = sections.selectExpr("reading", *_AMOUNTS, "bytes * if(reading = 'merged', runs, 1) AS runs")
        rows = amounts.groupBy("reading").sum(*_AMOUNTS, "runs").toDF("reading", *_AMOUNTS, "runs").collect()
        found = {row["reading"]: row for row in rows}
        total = {name: sum(row[name] for row in found.values()) for name in (*_AMOUNTS, "runs")}
        of = {name: found[name]["bytes"] if name in found else 0 for name in ("passed_through", "settled", "merged")}
        return ReadHealth(
            **of,
            rows=total["rows"],
            live_rows=total["live_rows"],
            read_amplification=total["runs"] / total["bytes"] if total["bytes"] else 1.0,
        )

    def _kept_bytes(self) -> int:
        files = self._handle.on_main.part("all_data_files").select("file_path", "file_size_in_bytes").distinct()
        (total,) = files.groupBy().sum("file_size_in_bytes").collect()[0]
        return total or 0

    def _streams(self, commits: tuple[CommitInfo, ...], now: datetime.datetime) -> tuple[StreamHealth, ...]:
        watermarks = {row["stream"] or "": row["watermark"] for row in self._handle.call("watermarks")}
        found: list[StreamHealth] = []
        writes = [each for each in commits if each.verb in VERBS]
        for stream in dict.fromkeys(each.stream for each in writes):
            own = [each for each in writes if each.stream == stream]
            watermark = watermarks.get(stream or "")
            found.append(
                StreamHealth(
                    stream=stream,
                    commits=len(own),
                    rows=sum(each.rows or 0 for each in own),
                    last_commit_at=own[0].committed_at,
                    watermark=watermark,
                    late_by=None if watermark is None else now - watermark,
                )
            )
        return tuple(found)

    def _bucket_advice(self) -> str | None:
        advice = self._handle.call("bucket_advice")[0]
        return None if advice["recommended"] == advice["buckets"] else advice["reason"]
