"""Indices of the values of columns."""

from __future__ import annotations

from dataclasses import dataclass

from keylake._display.html_table import ShownFields
from keylake.errors import check_type


@dataclass(frozen=True)
class Bloom(ShownFields):
    """An index of a column: a Bloom filter in each data file, which tells the files that do not have a value.

    A query for rows with one value of the column, or one of at most 32, opens nothing but filters in the buckets of
    which no file has such a value. That pays where a value is that of few rows, such as a device or an order number.
    The column is one of whole numbers, decimals, dates, timestamps, text, binary or uuids, and does not accumulate. A
    filter takes one to two bytes for each row of a file, less where values repeat.

    Raises `DefinitionError` if `column` is no name.

    >>> Bloom("device").column
    'device'
    """

    column: str

    def __post_init__(self) -> None:
        check_type("column", self.column, str, "the name of a column, such as 'device'")
