"""Members of rows of `CHANGES`, rewritten while all others stay as they are written: no digit of a number is lost."""

# pyright: reportUnknownParameterType=false
# Arrow's own types stand in signatures, and Arrow carries no types for a checker.

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from json.encoder import encode_basestring as quoted

import pyarrow as pa

_JSON = json.JSONDecoder()
_NOT_BLANK = re.compile(r"[^ \t\r\n]")


@dataclass(frozen=True)
class Rewriting:
    r"""The rewriting of members of rows: other names, values that become text, members that are left out.

    >>> Rewriting(names={"ID": "id"}).row('{"ID":1.50,"n":[1,{"ID":2}]}')
    '{"id":1.50,"n":[1,{"ID":2}]}'
    >>> Rewriting(texts=["n", "m", "o"]).row('{"id": 1, "n": 1.50, "m": ["x", 1], "o": null, "p": 2}')
    '{"id":1,"n":"1.50","m":"[\\"x\\", 1]","o":null,"p":2}'
    >>> Rewriting(without=["n"]).row('{ "id": 1, "N": 2 }'), Rewriting().row("{ }")
    ('{"id":1}', '{}')
    """

    names: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    texts: Collection[str] = ()  # texts and nulls stay as they are
    without: Collection[str] = ()

    def row(self, text: str) -> str:
        """A row, rewritten."""
        members: list[str] = []
        for name, value in _members(text):
            called = self.names.get(name, name)
            if called.lower() not in self._without:
                is_text = called.lower() not in self._texts or value[0] == '"' or value == "null"
                members.append(f"{quoted(called)}:{value if is_text else quoted(value)}")
        return f"{{{','.join(members)}}}"

    @cached_property
    def _texts(self) -> frozenset[str]:
        return frozenset(name.lower() for name in self.texts)

    @cached_property
    def _without(self) -> frozenset[str]:
        return frozenset(name.lower() for name in self.without)

    def rows(self, rows: pa.Table) -> pa.Table:
        """All rows, rewritten."""
        return rewritten(rows, dict.fromkeys(rows["table"].unique().to_pylist(), self))


def rewritten(rows: pa.Table, by_table: Mapping[str, Rewriting]) -> pa.Table:
    """Rows of which those of some source tables are rewritten."""
    if not by_table:
        return rows
    texts = [
        text if (rewriting := by_table.get(table or "")) is None else rewriting.row(text)
        for table, text in zip(rows["table"].to_pylist(), rows["row"].to_pylist(), strict=True)
    ]
    return rows.set_column(rows.column_names.index("row"), "row", pa.array(texts, pa.string()))


def _members(row: str) -> Iterator[tuple[str, str]]:
    """The members of an object of JSON: each name, and its value as it is written."""
    at = _next(row, 0) + 1  # behind the brace
    while row[at := _next(row, at)] != "}":
        name, at = _JSON.raw_decode(row, at)
        begin = _next(row, _next(row, at) + 1)  # behind the colon
        _, end = _JSON.raw_decode(row, begin)
        yield name, row[begin:end]
        at = _next(row, end)
        at += row[at] == ","


def _next(row: str, at: int) -> int:
    """The next place that is not blank."""
    found = _NOT_BLANK.search(row, at)
    assert found is not None
    return found.start()
