"""The result of taking over a plain Iceberg table."""

from __future__ import annotations

from dataclasses import dataclass

from keylake._display.html_table import ShownFields


@dataclass(frozen=True)
class Adopted(ShownFields):
    """The result of `lake.adopt`: what it has done, or would do. What a dry run cannot know is None."""

    commits: int  # of the plain table that were taken over, one by one; the first of a new table has all rows
    rows: int | None  # that were written: rows, and deletes of keys
    snapshot_id: int | None  # of the plain table, up to which the keyed table has its rows; None where it has no commit
    is_new: bool  # whether the keyed table was created
