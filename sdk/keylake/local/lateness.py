"""Late rows: which rows of a write are late, how names of files tell them, and the order of files with late ones."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from keylake._definition.spec import TableSpec
from keylake._outcomes.lateness import parsed
from keylake.local.names import LATENESS

# As the server has it: the end of a file's name begins with what is known of the versions in it.
_IN_NAME = re.compile(r"-(late|timely)_(m?\d{1,19}|x)(?:_(\d{1,19}))?-")
_MIXED = "-mixed-"


@dataclass(frozen=True)
class Mark:
    """The part of a file's name that tells late rows from timely ones.

    `limit` is a version: all of late rows lie below it, and none of timely rows does. None says that nothing is known.
    `since` is the number of the oldest commit of the rows; None is that of the file.

    >>> Mark.of("data/00000-1-timely_1767225600000000_12-compact-1f.parquet")
    Mark(is_late=False, limit=1767225600000000, since=12)
    >>> print(Mark.of("data/00000-1-late_m5-1f.parquet"))
    late_m5-
    >>> Mark.of("data/00000-1-1f.parquet")
    Mark(is_late=False, limit=None, since=None)
    """

    is_late: bool
    limit: int | None = None
    since: int | None = None

    @classmethod
    def of(cls, path: str) -> Mark:
        """The mark in the name of a file."""
        found = _IN_NAME.search(path.rpartition("/")[2])
        if found is None:
            return cls(is_late=False)
        limit, since = found[2], found[3]
        return cls(
            found[1] == "late",
            None if limit == "x" else int(limit.replace("m", "-")),
            None if since is None else int(since),
        )

    def __str__(self) -> str:
        limit = "x" if self.limit is None else str(self.limit).replace("-", "m")
        since = "" if self.since is None else f"_{self.since}"
        return f"{'late' if self.is_late else 'timely'}_{limit}{since}-"


def is_late(path: str) -> bool:
    """Says that the rows of a file are late."""
    return "-late_" in path and Mark.of(path).is_late


def is_mixed(path: str) -> bool:
    """Says that rows of a file were late, and are a run like others now."""
    return _MIXED in path and _MIXED in path.rpartition("/")[2]


def limit_of(properties: Mapping[str, str], spec: TableSpec, watermarks: Mapping[str, int]) -> int | None:
    """The version below which a row is late; None where the table allows any lateness, or knows no watermark."""
    said = properties.get(LATENESS)
    accumulates = any(column.reducer.accumulates for column in spec.columns)
    if said is None or not watermarks or spec.versions != "ordering" or accumulates:
        return None
    return max(min(watermarks.values()) - int(parsed(said).total_seconds()) * 1_000_000, -(2**63))


def ages_of(files: Sequence[tuple[str, int]]) -> list[int]:
    """The ages of the files of one bucket as they count in a merge: the later of two equal versions wins.

    A file is its path and the number of its commit. The order is that of commits, but for late files, which merges of
    timely ones leave where they are. A late file comes after all timely ones, but before those that began after it with
    a lower limit. Rows that were late, and are a run like others now, come after the others of their number.

    >>> ages_of([("1-timely_x_1-a.parquet", 3), ("2-late_20-b.parquet", 2)])
    [1, 2]
    >>> ages_of([("2-mixed-compact-b.parquet", 3), ("1-timely_x_1-a.parquet", 3)])
    [2, 1]
    """
    marked = [(number, Mark.of(path)) for path, number in files]
    timely = {(mark.since or number, number, mark.limit) for number, mark in marked if not mark.is_late}
    before = math.inf  # late files keep their order among themselves
    places: dict[int, tuple[float, bool, int, bool]] = {}  # by the index of a file
    for at in sorted(range(len(marked)), key=lambda each: -marked[each][0]):
        number, mark = marked[at]
        if mark.is_late:
            before = min(
                [before, *(newest for since, newest, limit in timely if _is_after(number, mark, since, limit))]
            )
            places[at] = before, False, number, False
        else:
            places[at] = number, True, number, is_mixed(files[at][0])
    ages = {place: age for age, place in enumerate(sorted(set(places.values())), 1)}
    return [ages[places[at]] for at in range(len(marked))]


def _is_after(number: int, late: Mark, since: int, limit: int | None) -> bool:
    """Timely rows may have versions that late rows have, too, which were written before them."""
    return since > number and (limit is None or late.limit is None or limit < late.limit)
