"""Answers as people and as scripts read them: tables, or JSON with the same names."""

from __future__ import annotations

import dataclasses
import io
import os
import sys
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, cast

import typer
from pydantic import ConfigDict, TypeAdapter
from rich.box import SIMPLE_HEAD, Box
from rich.cells import cell_len
from rich.console import Console
from rich.pager import SystemPager
from rich.table import Table
from rich.text import Text

from keylake._display.html_table import ShownTable

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, with the names that Python has.")]
LimitOption = Annotated[
    int | None, typer.Option("--limit", min=1, help="At most so many; 100 unless --json is given.", show_default=False)
]
USUAL_LIMIT = 100
_LONGEST_WORD = 30  # that a column does not fold

_VALUES: TypeAdapter[Any] = TypeAdapter(Any, config=ConfigDict(ser_json_inf_nan="strings"))


def tell(sentence: str) -> None:
    """A sentence for the person, on the error output."""
    typer.echo(f"keylake: {sentence}", err=True)


def show(value: object, as_json: bool) -> None:
    """One result: a document of JSON, or the text that the result has for people."""
    typer.echo(_document(value) if as_json else str(value))


def show_all(title: str, values: Sequence[object], as_json: bool) -> None:
    """Several results of one kind: an array of JSON, or a table with a column for each name."""
    if as_json:
        typer.echo(_document(list(values)))
    else:
        show_table(title, [cast("Mapping[str, Any]", _plain(value)) for value in values])


def show_result(result: ShownTable, as_json: bool) -> None:
    """A result that is a table: an array of JSON, or its text, which is fitted to a terminal."""
    if as_json or not sys.stdout.isatty():
        show(list(cast("Iterable[object]", result)) if as_json else result, as_json)
        return
    rows = result._rows()  # pyright: ignore[reportPrivateUsage]
    if not rows:
        typer.echo(str(result))
        return
    header = result._HEADER  # pyright: ignore[reportPrivateUsage]
    named = [
        {name: None if cell is None else str(cell) for name, cell in zip(header, row, strict=True)} for row in rows
    ]
    show_table(result._title(), named, header)  # pyright: ignore[reportPrivateUsage]


def show_table(title: str, rows: Sequence[Mapping[str, Any]], names: Sequence[str] | None = None) -> None:
    """Rows as a table that fits the terminal, or as wide as it needs to be where the output is no terminal.

    Cells are folded between words. In a terminal that is too narrow for the words, each row is a table of its own, with
    a line for each cell.
    """
    if title and not rows:
        typer.echo(f"{title}: none")
        return
    named = names or list(dict.fromkeys(name for row in rows for name in row))
    cells = [[_cell(row.get(name)) for name in named] for row in rows]
    if sys.stdout.isatty():
        _print_on_screen(title, named, cells)
        return
    if title:
        typer.echo(title)
    console = Console(width=10_000, file=io.StringIO())
    with console.capture() as captured:
        console.print(_table(named, cells, [None] * len(named), (0, 1)), highlight=False)
    typer.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))


def _print_on_screen(title: str, names: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    """Print a table on a terminal, by the pager where it is longer than the screen."""
    console = Console()
    with console.capture() as captured:
        if title:
            console.print(Text(title, style="bold"))  # a title of a table would be as narrow as the table
        for table in _fitted(names, cells, console.width):
            console.print(table, highlight=False)
    text = captured.get()
    if text.count("\n") < console.height or os.environ.get("PAGER") == "":  # as `--no-pager` makes it
        sys.stdout.write(text)
        return
    os.environ.setdefault("LESS", "FRX")  # with colours, and the text stays on the screen afterwards
    SystemPager().show(text)


def _fitted(names: Sequence[str], cells: Sequence[Sequence[str]], width: int) -> Iterator[Table]:
    """The table for a terminal of a width, or one for each row where words of all columns do not fit beside another."""
    columns = [[name, *(row[place] for row in cells)] for place, name in enumerate(names)]
    ranges = [_range(column) for column in columns]
    for gap in (2, 1):
        widths = _widths(ranges, width, gap)
        if widths is not None:
            yield _table(names, cells, widths, (0, gap - 1, 0, 0), SIMPLE_HEAD)
            return
    for row in cells:
        pairs = [(name, cell) for name, cell in zip(names, row, strict=True) if cell]
        yield _table(None, [*pairs, ("", "")], [None, None], (0, 1))  # with an empty line below it


def _range(column: Sequence[str]) -> tuple[int, int]:
    """The least and the usual width of a column: of its longest word, and of its longest line."""
    words = [cell_len(word) for cell in column for word in cell.split()]
    return min(max(words, default=0), _LONGEST_WORD), max(
        cell_len(line) for cell in column for line in cell.split("\n")
    )


def _widths(ranges: Sequence[tuple[int, int]], width: int, gap: int) -> list[int | None] | None:
    """The width of each column, of which narrow ones get what they need first; None where they do not fit."""
    free = width - gap * len(ranges) - sum(least for least, _ in ranges)
    if free < 0:
        return None
    found: list[int | None] = [None] * len(ranges)
    wanting = sorted(range(len(ranges)), key=lambda place: ranges[place][1] - ranges[place][0])
    for number, place in enumerate(wanting):
        least, usual = ranges[place]
        more = min(usual - least, free // (len(ranges) - number))
        found[place] = least + more
        free -= more
    return found


def _table(
    names: Sequence[str] | None,
    rows: Iterable[Sequence[str]],
    widths: Sequence[int | None],
    padding: tuple[int, ...],
    box: Box | None = None,
) -> Table:
    table = Table(box=box, show_header=names is not None, show_edge=False, padding=cast("Any", padding))
    for name, width in zip(names or [""] * len(widths), widths, strict=True):
        table.add_column(Text(name), overflow="fold", width=width)
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def show_lines(rows: Iterable[Mapping[str, Any]]) -> None:
    """Rows as lines of JSON, as they come."""
    for row in rows:
        typer.echo(_json(row))


def _cell(value: object) -> str:
    return "" if value is None else value if isinstance(value, str) else _json(value)


def _plain(value: object) -> object:
    """A result in values of JSON; a property that is shown is not stored, and stays out."""
    if isinstance(value, str) or not dataclasses.is_dataclass(value):
        return _VALUES.dump_python(_in_base64(value), mode="json", fallback=str)
    return {each.name: _plain(getattr(value, each.name)) for each in dataclasses.fields(value)}


def _json(value: object) -> str:
    return _VALUES.dump_json(_in_base64(value), fallback=str).decode()


def _in_base64(value: object) -> object:
    """The value with text for bytes: pydantic's own base64 has the alphabet of URLs."""
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, Mapping):
        return {_in_base64(key): _in_base64(each) for key, each in cast("Mapping[object, object]", value).items()}
    return [_in_base64(each) for each in cast("list[object]", value)] if isinstance(value, list | tuple) else value


def _document(value: object) -> str:
    plain = [_plain(each) for each in value] if isinstance(value, list) else _plain(value)
    return _VALUES.dump_json(plain, indent=2).decode()
