"""The condition of a table: its health, from metadata alone, and the check and repair of all of its files."""

from __future__ import annotations

import datetime
import os
from functools import reduce
from pathlib import Path
from typing import get_args

from pyiceberg.types import TimestampType, TimestamptzType

from keylake._display.pictures import Amplification, Event
from keylake._maintenance.compaction import BucketPicture, CompactionPlan, CompactionPolicy
from keylake._maintenance.maintenance import Maintenance
from keylake._server.session import Session
from keylake._server.statements import Call, TablePath, Verb
from keylake._table.handle import Verbs
from keylake.checks import CheckLevel, CheckReport, RepairedFile, RepairPlan, RepairStep, checked_level
from keylake.errors import DefinitionError, check_type
from keylake.health import Health, IndexHealth, PastHealth, ReadHealth, StreamHealth
from keylake.results import CommitInfo

MOST_COMMITS = 1000
MOST_LOOKS = 12  # at how many earlier commits it is seen how reads took the files
MOST_FILES = 60_000  # that are looked at for these
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
VERBS = get_args(Verb)
_AMOUNTS = ("bytes", "rows", "live_rows")


class ConditionVerbs(Verbs):
    """The verbs about the health of a table."""

    def health(self) -> Health:
        """The health of the table or branch: layout, reads, storage, streams, maintenance, and what to do.

        Reads metadata only, and of the history the newest 1,000 commits. What snapshots no longer keep cannot be drawn
        over time: pictures begin with the oldest commit that they keep. Shows itself as text and in notebooks;
        `plot()` draws it, `report()` writes a page, and `to_do` has a sentence for each thing that is wrong.

        Raises `Unsupported` on an experiment, and `ForeignCommit` after a commit of another engine.

        Example::

            print(profiles.health())
            profiles.health().to_do
        """
        self._handle.check_no_experiment("health")
        now = datetime.datetime.now(datetime.timezone.utc)
        rows = self._handle.call("compaction_plan", policy="maintenance")
        commits = self._handle.commits(at_most=MOST_COMMITS)
        on_main = self._handle.path.branch is None
        name = self._handle.path.name
        maintenance = Maintenance(self._handle.session)
        log = maintenance.log() if maintenance.is_on else ()
        return Health(
            table=str(self._handle.path),
            at=now,
            buckets=CompactionPlan(str(self._handle.path), map(BucketPicture.from_row, rows)),
            policy=CompactionPolicy.from_json(self._handle.on_main.call("compaction_policy")[0]["policy"]),
            reads=self._reads(),
            kept_bytes=self._kept_bytes(),
            over_time=self._over_time(commits, files=sum(row["files"] for row in rows)),
            streams=self._streams(commits, now),
            commits=tuple(Event(each.committed_at, each.stream, each.verb, each.rows or 0) for each in commits),
            maintenance=tuple(each for each in log if each.table.endswith(name) and (each.branch is None) == on_main),
            bucket_advice=self._bucket_advice() if on_main else None,
            past=PastHealth(**self._handle.call("retained")[0]) if on_main else None,
            indexes=self._indexes(),
        )

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the table's health as a page that stands in one file; needs matplotlib.

        Raises `StoreFailed` if the page cannot be written, and `Unsupported` on an experiment.

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

    def _indexes(self) -> tuple[IndexHealth, ...]:
        indexes = self._handle.on_main.call("indexes")
        if not indexes:
            return ()
        lacked = {row["column"]: row["lacked_until"] for row in indexes}
        files = self._handle.part("entries").where("status < 2 AND data_file.content = 0")
        older = [f"count_if(file_sequence_number <= {number})" for number in lacked.values()]
        counts = files.selectExpr("count(*)", *older).collect()[0]
        return tuple(IndexHealth(column, counts[0], count) for column, count in zip(lacked, counts[1:], strict=True))

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
                    latest_row_by=self._latest_row(own),
                )
            )
        return tuple(found)

    def _latest_row(self, commits: list[CommitInfo]) -> datetime.timedelta | None:
        """The longest time from a row's event time to its commit; None where versions are no event times."""
        ordering = self.spec.ordering
        if ordering is None or not isinstance(self.spec.column(ordering).type, TimestampType | TimestamptzType):
            return None
        oldest = [(each.committed_at, each.versions[0]) for each in commits if each.versions is not None]
        return max((at - _EPOCH - datetime.timedelta(microseconds=version) for at, version in oldest), default=None)

    def _over_time(self, commits: tuple[CommitInfo, ...], files: int) -> tuple[Amplification, ...]:
        """The costs of reads and storage at the commits that snapshots keep, the oldest first.

        Sizes come from the summaries of commits: what the oldest needs, and what each later one has added. How reads
        took the files is seen at some commits, evenly, the newest among them; not at those of other engines, and not at
        those from before the table was keyed.
        """
        oldest_first = commits[::-1]
        sizes = self._handle.on_main.part("snapshots").selectExpr(
            "snapshot_id",
            "cast(summary['total-files-size'] AS BIGINT) AS live",
            "cast(summary['added-files-size'] AS BIGINT) AS added",
        )
        of = {row["snapshot_id"]: (row["live"] or 0, row["added"] or 0) for row in sizes.collect()}
        looks = max(2, min(MOST_LOOKS, MOST_FILES // max(files, 1)))
        ours = [commit.snapshot_id for commit in oldest_first if commit.verb is not None]
        places = {(len(ours) - 1) * step // (looks - 1) for step in range(looks)} if ours else set[int]()
        reads = self._reads_at([ours[place] for place in sorted(places)])
        found: list[Amplification] = []
        kept = 0
        for commit in oldest_first:
            live, added = of.get(commit.snapshot_id, (0, 0))
            kept = kept + added if found else live
            storage = kept / live if live else 1.0
            found.append(Amplification(commit.committed_at, reads.get(commit.snapshot_id), storage))
        return tuple(found)

    def _reads_at(self, snapshots: list[int]) -> dict[int, float]:
        """The number of runs with which a byte was read at some commits."""
        if not snapshots:
            return {}
        looks = [
            self._handle.on_main.part("sections", snapshot).selectExpr(
                f"{snapshot} AS snapshot_id", "bytes", "bytes * if(reading = 'merged', runs, 1) AS runs"
            )
            for snapshot in snapshots
        ]
        sums = reduce(lambda one, other: one.union(other), looks).groupBy("snapshot_id").sum("bytes", "runs")
        return {at: runs / size if size else 1.0 for at, size, runs in sums.collect()}

    def _bucket_advice(self) -> str | None:
        advice = self._handle.call("bucket_advice")[0]
        return None if advice["recommended"] == advice["buckets"] else advice["reason"]


class CheckVerbs(Verbs):
    """The verbs about damage of files."""

    def check(self, level: CheckLevel = "files") -> CheckReport:
        """Look at every file that the table needs, on all of its branches, tags and kept snapshots. Nothing is changed.

        "files" reads metadata and the ends of files: whether each file is there, has its size and its own name, whether
        its footer can be read, and whether footers, manifests and summaries agree on files and rows. "pages" also reads
        every page of every column with its checksum, and compares keys with their order, bucket and bounds. Tasks do
        the work. Damage is a result and no error; the report says what can still be read.

        Raises `DefinitionError` for another level, and `Unavailable` if the store does not answer.

        Example::

            report = profiles.check()
            report.is_ok, report.readable_buckets
        """
        return checked(self._handle.session, str(self._handle.on_main.path), level)

    def repair_plan(self, level: CheckLevel = "files", *, copy: str | os.PathLike[str] | None = None) -> RepairPlan:
        """Check the table, and say for each damaged file what can be had back and how. Nothing is changed.

        `copy` is a folder that has files of the table under the same names, as a backup of its folder has: a file whose
        checks pass there can be put back. Otherwise the plan names older files with the same rows, a commit to go back
        to, or the rows that are lost, with their keys, commit and stream. `Lake.repair_plan` is for tables that cannot
        be opened.

        Raises `DefinitionError` for another level, and `Unavailable` if the store does not answer.

        Example::

            print(profiles.repair_plan("pages", copy="/backups/lake/features/user_profile"))
        """
        return planned(self._handle.session, str(self._handle.on_main.path), level, copy)

    def repair(self, plan: RepairPlan) -> tuple[RepairedFile, ...]:
        """Put back all damaged files of which the plan's folder of copies has one that passes its checks.

        No commit is made: the files have the content again with which they were committed. The other steps of a plan
        are statements, which a person runs. The files are checked once more, before and after.

        Raises `DefinitionError` for a plan without `copy`, and `StoreFailed` if a file cannot be written.

        Example::

            profiles.repair(profiles.repair_plan(copy="/backups/lake/features/user_profile"))
        """
        check_type("plan", plan, RepairPlan, "what repair_plan() returns")
        if plan.copy is None:
            raise DefinitionError("The plan has no folder of copies. Use repair_plan(copy=...), or run its SQL.")
        rows = self._handle.on_main.call("repair", copy=plan.copy, level=plan.level)
        return tuple(RepairedFile(**row) for row in rows)


def checked(session: Session, table: str, level: CheckLevel) -> CheckReport:
    """The report of a table, which need not be one that can be opened."""
    check_type("The name of a table", table, str, "text such as 'namespace.table'")
    rows = session.call(Call.of("check", TablePath(table), level=checked_level(level))).to_pylist()
    return CheckReport.from_rows(table, level, rows)


def planned(session: Session, table: str, level: CheckLevel, copy: str | os.PathLike[str] | None) -> RepairPlan:
    """The plan of the repair of a table, which need not be one that can be opened."""
    check_type("The name of a table", table, str, "text such as 'namespace.table'")
    check_type("copy", copy, str | os.PathLike | None, "the path or URL of a folder")
    copy = None if copy is None else os.fspath(copy)
    rows = session.call(Call.of("repair_plan", TablePath(table), level=checked_level(level), copy=copy)).to_pylist()
    return RepairPlan(table, level, copy, tuple(RepairStep(**row) for row in rows))
