"""Small tables, for terminals and for notebooks."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from html import escape
from itertools import islice
from typing import cast

MOST_LINES = 30  # of a table that shows itself; print() shows all
MOST_CHARACTERS = 200  # of a cell there
_PLAIN_NUMBERS = ("_id", "version", "versions", "order")  # the ends of names whose numbers are copied, not read

# Colours are those of the notebook's theme; what is drawn on them is grey or see-through, for light and dark themes.
_STYLE = """<style>
.keylake { color: inherit; font-size: 13px; line-height: 1.45; overflow-x: auto; }
.keylake table { border: 0; border-collapse: collapse; margin: 2px 0 6px; color: inherit; min-width: min(34em, 100%); }
.keylake td table { min-width: 0; }
.keylake caption { caption-side: top; color: inherit; font-weight: 600; padding: 4px 0; text-align: left; }
.keylake th, .keylake td { border: 0; border-bottom: 1px solid rgba(128, 128, 128, .35); color: inherit;
  max-width: 36em; overflow-wrap: break-word; padding: 3px 14px 3px 2px; text-align: left; vertical-align: top;
  white-space: normal; }
.keylake th { font-weight: 600; opacity: .8; }
.keylake td td, .keylake td th { border: 0; padding-top: 0; }
.keylake summary { cursor: pointer; opacity: .8; }
</style>"""


def in_notebook(*parts: str) -> str:
    """Parts of HTML as an output of a notebook, with the style of all of them.

    >>> in_notebook("<p>t</p>").endswith('<div class="keylake"><p>t</p></div>')
    True
    """
    return f'{_STYLE}<div class="keylake">{"".join(parts)}</div>'


def html_table(title: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A titled HTML table; None shows as an empty cell.

    >>> html_table("t", ["a"], [[1], [None]])
    '<table><caption>t</caption><tr><th>a</th></tr><tr><td>1</td></tr><tr><td></td></tr></table>'
    """
    return f"<table><caption>{escape(title)}</caption>{_lines_of(header, rows)}</table>"


def first_rows(title: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """The first of many rows as an output of a notebook; long values are cut."""
    cells = ([None if cell is None else _cut_text(str(cell)) for cell in row] for row in islice(rows, MOST_LINES))
    return in_notebook(html_table(title, header, cells))


class ShownTable:
    """Shows itself as text and as an HTML table; who inherits it says the title, the header and the rows."""

    _HEADER: tuple[str, ...]

    def _title(self) -> str:
        raise NotImplementedError

    def _rows(self) -> list[tuple[object, ...]]:
        raise NotImplementedError

    def __str__(self) -> str:
        return self._text(self._rows())

    def __repr__(self) -> str:
        rows = self._rows()
        return "\n".join((self._text([*map(_cut, rows[:MOST_LINES])]), *_left_out(rows)))

    def _text(self, rows: Sequence[tuple[object, ...]]) -> str:
        lines = [self._HEADER, *(tuple("" if cell is None else str(cell) for cell in row) for row in rows)]
        widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
        shown = ("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
        return "\n".join((self._title(), *shown))

    def _repr_html_(self) -> str:
        rows = self._rows()
        shown = html_table(self._title(), self._HEADER, map(_cut, rows[:MOST_LINES]))
        return in_notebook(shown, *map(escape, _left_out(rows)))


@dataclass(frozen=True)
class ShownFields:
    """A frozen result that shows itself in notebooks as a table of its fields."""

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(each.name)}</td><td>{_field(each.name, getattr(self, each.name))}</td></tr>"
            for each in fields(self)
        )
        return in_notebook(f"<table><caption>{escape(type(self).__name__)}</caption>{rows}</table>")


def _field(name: str, value: object) -> str:
    """A value of a field; of several, one after the other, and several results as a table."""
    if not isinstance(value, tuple):
        return escape(_text_of(name, value))
    values = cast("tuple[object, ...]", value)
    if values and all(isinstance(each, ShownFields) and is_dataclass(each) for each in values):
        results = cast("tuple[ShownFields, ...]", values)
        header = [each.name for each in fields(results[0])]
        cells = ([_text_of(each, getattr(result, each, None)) for each in header] for result in results[:MOST_LINES])
        return f"<table>{_lines_of(header, cells)}</table>{' '.join(_left_out(values))}"
    return escape(_cut_text(", ".join(_text_of(name, each) for each in values)))


def _text_of(name: str, value: object) -> str:
    """A value as people read it: separators in counts, no fractions of seconds in moments."""
    if value is None or value == {}:
        return ""
    if isinstance(value, datetime.datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 100 else f"{value:,.0f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) if name.endswith(_PLAIN_NUMBERS) else f"{value:,}"
    return _cut_text(str(value))


def _cut(row: tuple[object, ...]) -> tuple[object, ...]:
    return tuple(_cut_text(cell) if isinstance(cell, str) else cell for cell in row)


def _cut_text(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 3]}..."


def _left_out(rows: Sequence[object]) -> tuple[str, ...]:
    more = len(rows) - MOST_LINES
    return () if more <= 0 else (f"... and {more:,} more: print() shows all",)


def _lines_of(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    return _line("th", header) + "".join(_line("td", row) for row in rows)


def _line(tag: str, cells: Sequence[object]) -> str:
    shown = ("" if cell is None else escape(str(cell)) for cell in cells)
    return "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in shown) + "</tr>"
