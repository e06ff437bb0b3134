"""A small table for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def html_table(title: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A titled HTML table; None shows as an empty cell.

    >>> html_table("t", ["a"], [[1], [None]])
    '<table><caption>t</caption><tr><th>a</th></tr><tr><td>1</td></tr><tr><td></td></tr></table>'
    """
    lines = [_line("th", header), *(_line("td", row) for row in rows)]
    return f"<table><caption>{escape(title)}</caption>{''.join(lines)}</table>"


def _line(tag: str, cells: Sequence[object]) -> str:
    shown = ("" if cell is None else escape(str(cell)) for cell in cells)
    return "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in shown) + "</tr>"
