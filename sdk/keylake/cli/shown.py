"""Answers as people and as scripts read them: tables, or JSON with the same names."""

from __future__ import annotations

import dataclasses
import io
import sys
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, cast

import typer
from pydantic import ConfigDict, TypeAdapter
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, with the names that Python has.")]
LimitOption = Annotated[
    int | None, typer.Option("--limit", min=1, help="At most so many; 100 unless --json is given.", show_default=False)
]
USUAL_LIMIT = 100

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


def show_table(title: str, rows: Sequence[Mapping[str, Any]], names: Sequence[str] | None = None) -> None:
    """Rows as a table as wide as the terminal, or as wide as it needs to be where the output is no terminal."""
    if title and not rows:
        typer.echo(f"{title}: none")
        return
    is_terminal = sys.stdout.isatty()
    table = Table(box=SIMPLE_HEAD if is_terminal else None)
    for name in names or list(dict.fromkeys(name for row in rows for name in row)):
        table.add_column(Text(name), overflow="fold")
    for row in rows:
        table.add_row(*(Text(_cell(row.get(str(column.header)))) for column in table.columns))
    if title:
        typer.secho(title, bold=True)  # a title of rich would be as narrow as the table
    if is_terminal:
        Console().print(table, highlight=False)
        return
    console = Console(width=10_000, file=io.StringIO())
    with console.capture() as captured:
        console.print(table, highlight=False)
    typer.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))


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
