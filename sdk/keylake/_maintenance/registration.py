"""The result of making a keyed table of a plain table, or of Parquet files."""

from __future__ import annotations

from dataclasses import dataclass

from keylake._display.html_table import ShownFields


@dataclass(frozen=True)
class Registered(ShownFields):
    """The result of `lake.register`."""

    table: str  # the keyed table
    snapshot_id: int  # of its commit
    rows_read: int  # of the plain table, or of the files
    keys_written: int  # one row for each, those that only tell a delete included
    rows_folded: int  # that newer rows of their keys have superseded, or that tell what was before an update
