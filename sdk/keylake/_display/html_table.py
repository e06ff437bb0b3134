"""Small tables, for terminals and for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from html import escape
from typing import cast


def html_table(title: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A titled HTML table; None shows as an empty cell.

    >>> html_table("t", ["a"], [[1], [None]])
    '<table><caption>t</caption><tr><th>a</th></tr><tr><td>1</td></tr><tr><td></td></tr></table>'
    """
    lines = [_line("th", header), *(_line("td", row) for row in rows)]
    return f"<table><caption>{escape(title)}</caption>{''.join(lines)}</table>"


class ShownTable:
    """Shows itself as text and as an HTML table; who inherits it says the title, the header and the rows."""

    _HEADER: tuple[str, ...]

    def _title(self) -> str:
        raise NotImplementedError

    def _rows(self) -> list[tuple[object, ...]]:
        raise NotImplementedError

    def __str__(self) -> str:
        lines = [self._HEADER, *(tuple("" if cell is None else str(cell) for cell in row) for row in self._rows())]
        widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
        shown = ("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
        return "\n".join((self._title(), *shown))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(self._title(), self._HEADER, self._rows())


@dataclass(frozen=True)
class ShownFields:
    """A frozen result that shows itself in notebooks as a table of its fields."""

    def _repr_html_(self) -> str:
        rows = [(each.name, _cell(getattr(self, each.name))) for each in fields(self)]
        return html_table(type(self).__name__, ("", ""), rows)


def _cell(value: object) -> object:
    """A value of a field; of several, one after the other."""
    return ", ".join(map(str, cast("tuple[object, ...]", value))) if isinstance(value, tuple) else value


def _line(tag: str, cells: Sequence[object]) -> str:
    shown = ("" if cell is None else escape(str(cell)) for cell in cells)
    return "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in shown) + "</tr>"
