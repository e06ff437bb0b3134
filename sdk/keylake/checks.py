"""The results of checks of a table's files: what is damaged, what can still be read, and how it is repaired."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from keylake._display.html_table import ShownFields, ShownTable
from keylake._maintenance.compaction import shown_bytes
from keylake.errors import DefinitionError

CheckLevel = Literal["files", "pages"]


def checked_level(level: CheckLevel) -> CheckLevel:
    """The level, if it is one."""
    if level not in get_args(CheckLevel):
        raise DefinitionError(f"level is {level!r}. Use 'files' or 'pages'.")
    return level


@dataclass(frozen=True)
class CheckedFiles(ShownFields):
    """The files of one kind that a check has looked at.

    >>> CheckedFiles("data", files=8, bytes=21_000, rows=2_051).rows
    2051
    """

    kind: str  # metadata, manifest_list, manifest, data, deletes, statistics
    files: int
    bytes: int
    rows: int  # as stored, superseded ones and tombstones included; 0 for metadata


@dataclass(frozen=True)
class Damage(ShownFields):
    """A file that is not as the table says, or one column of it.

    `kind` is `missing`, `truncated`, `wrong_size`, `checksum`, `footer`, `counts`, `columns`, `order`, `bucket`,
    `bounds`, `other_file` or `unreadable`.
    """

    kind: str
    file_kind: str
    path: str
    column: str | None  # None: the whole file
    row_group: int | None
    page: int | None
    detail: str
    rows: int  # stored rows of the file, which cannot be read, or not in this column
    buckets: tuple[str, ...]  # with the values of the partition in front, as in "2026-11-01/3"
    branches: tuple[str, ...]  # that need the file now
    tags: tuple[str, ...]
    snapshots: tuple[int, ...]  # ids of all that need it, the newest first
    next_step: str

    @property
    def is_of_the_past(self) -> bool:
        """The file is needed by older snapshots only, by no branch and no tag."""
        return not self.branches and not self.tags


@dataclass(frozen=True, repr=False)
class CheckReport(ShownTable):
    """The result of `check`: what was looked at, what is damaged, and what can be read all the same.

    Shows itself as text and in notebooks, a line for each kind of files and for each damage.
    """

    table: str
    level: CheckLevel
    looked_at: tuple[CheckedFiles, ...]
    damage: tuple[Damage, ...]
    buckets: tuple[str, ...]  # all that have data files

    _HEADER = ("finding", "what", "files", "bytes", "rows", "needed by", "next step")

    @property
    def is_ok(self) -> bool:
        """Nothing is damaged, in no snapshot."""
        return not self.damage

    @property
    def damaged_buckets(self) -> tuple[str, ...]:
        """The buckets that a branch or tag cannot read as a whole."""
        found = {bucket for each in self.damage if not each.is_of_the_past for bucket in each.buckets}
        return tuple(sorted(found))

    @property
    def readable_buckets(self) -> tuple[str, ...]:
        """The buckets that are not touched: reads with a filter on their keys open no damaged file."""
        damaged = set(self.damaged_buckets)
        return tuple(bucket for bucket in self.buckets if bucket not in damaged)

    @property
    def damaged_columns(self) -> tuple[str, ...]:
        """The columns in which files are damaged; reads of other columns work where no whole file is damaged."""
        return tuple(sorted({each.column for each in self.damage if each.column is not None}))

    @property
    def unreadable_rows(self) -> int:
        """The stored rows of all files that a branch or tag needs and that are damaged."""
        return sum({each.path: each.rows for each in self.damage if not each.is_of_the_past}.values())

    def _title(self) -> str:
        return f"{self.table}: {'all is well' if self.is_ok else f'{len(self.damage):,} findings'} ({self.level})"

    def _rows(self) -> list[tuple[object, ...]]:
        rows: list[tuple[object, ...]] = [
            ("", each.kind, f"{each.files:,}", shown_bytes(each.bytes), f"{each.rows:,}", "", "")
            for each in self.looked_at
        ]
        for each in self.damage:
            needed = ", ".join((*each.branches, *each.tags)) or f"{len(each.snapshots)} older snapshots"
            what = f"{each.path}: {each.detail}"
            rows.append((each.kind, what, "", "", f"{each.rows:,}", needed, each.next_step))
        return rows

    @classmethod
    def from_rows(cls, table: str, level: CheckLevel, rows: Iterable[Mapping[str, Any]]) -> CheckReport:
        """The report of what the procedure `check` returns."""
        lines = list(rows)
        looked_at = [line for line in lines if line["finding"] is None]
        return cls(
            table=table,
            level=level,
            looked_at=tuple(CheckedFiles(*(line[name] for name in _AMOUNTS)) for line in looked_at),
            damage=tuple(_damage(line) for line in lines if line["finding"] is not None),
            buckets=tuple(bucket for line in looked_at for bucket in line["buckets"]),
        )


_AMOUNTS = ("kind", "files", "bytes", "rows")
_SAME_NAMES = (
    *("path", "column", "row_group", "page", "detail", "rows"),
    *("buckets", "branches", "tags", "snapshots", "next_step"),
)


def _damage(line: Mapping[str, Any]) -> Damage:
    values: dict[str, Any] = {
        name: tuple(line[name]) if isinstance(line[name], list) else line[name] for name in _SAME_NAMES
    }
    return Damage(kind=line["finding"], file_kind=line["kind"], **values)


@dataclass(frozen=True)
class RepairStep(ShownFields):
    """The step of a repair for one damaged file.

    `way` is `put_back` (a copy takes its place), `restore_files` (the same rows lie in older files), `rollback`,
    `drop_files` (its rows are lost unless they are sent again), `restore_metadata` (metadata that is in the memory of
    the server, or the metadata file before it), `backup` (only a backup helps) or `none`.
    """

    path: str
    finding: str
    way: str
    statements: tuple[str, ...]  # SQL, in the order in which they are to be run
    why: str
    bucket: str | None  # of rows that are lost; None where none is
    rows: int | None
    lowest_key: tuple[str, ...] | None
    highest_key: tuple[str, ...] | None
    snapshot_id: int | None  # of the commit that wrote them
    stream: str | None
    idempotency_key: str | None


@dataclass(frozen=True, repr=False)
class RepairPlan(ShownTable):
    """The plan of a repair: a step for each damaged file. Nothing is done by making one."""

    table: str
    level: CheckLevel
    copy: str | None  # the folder of copies that was looked at
    steps: tuple[RepairStep, ...]

    _HEADER = ("finding", "file", "way", "rows lost", "why", "statements")

    @property
    def rows_lost(self) -> int:
        """The stored rows that no step brings back."""
        return sum(step.rows or 0 for step in self.steps)

    def _title(self) -> str:
        return f"{self.table}: {f'{len(self.steps):,} damaged files' if self.steps else 'nothing to repair'}"

    def _rows(self) -> list[tuple[object, ...]]:
        return [
            (step.finding, step.path, step.way, step.rows, step.why, "; ".join(step.statements)) for step in self.steps
        ]


@dataclass(frozen=True)
class RepairedFile(ShownFields):
    """A file that a copy was put back for, and whether its checks pass now.

    >>> RepairedFile("s3://lake/t/data/0.parquet", bytes=100, repaired=True).repaired
    True
    """

    path: str
    bytes: int
    repaired: bool
