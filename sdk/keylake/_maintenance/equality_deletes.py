"""The result of turning the equality deletes of a plain Iceberg table into positions."""

from __future__ import annotations

from dataclasses import dataclass

from keylake._display.html_table import ShownFields


@dataclass(frozen=True)
class AppliedDeletes(ShownFields):
    """The result of `lake.apply_equality_deletes`: what it has done, or would do.

    A portion is a set of data files with the same deletes: a partition, as a rule. What a dry run cannot know is None.
    """

    portions: int
    data_files: int  # whose keys were read
    rows: int | None  # that positions delete now, and equality deletes did before
    data_files_removed: int | None  # of which no row was left
    delete_files_removed: int
    bytes_removed: int
    delete_files_written: int | None  # deletion vectors, or files of positions in a table of format 2
    bytes_written: int | None
    commits: int
    commits_lost: int  # that another commit came before, and that were planned again
    due_because: str | None = None  # in a dry run: why the policy in the table's property would do it now
