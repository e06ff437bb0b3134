"""The command `load`: a file of rows into a table, which is made where it is not there."""

# pyright: reportUnknownParameterType=false
# Arrow carries no types for a checker.

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

import keylake as kl
from keylake._values.arrow_types import natural
from keylake.cli.opened import USUAL_CATALOG, USUAL_LAKE, CatalogOption, LakeOption, TableArgument, opened_or_made
from keylake.cli.shown import JsonOption, show, tell
from keylake.errors import BadRows, DefinitionError, TableNotFound

_BLOCK_BYTES = 1 << 20


def load(
    file: Annotated[Path, typer.Argument(help="A file of CSV with a header, of JSON lines, or of Parquet.")],
    table: TableArgument,
    key: Annotated[str | None, typer.Option(help="The key columns of a new table, as in user_id,day.")] = None,
    ordering: Annotated[
        str | None, typer.Option(help="The column of a new table whose newest value wins; commits decide unless said.")
    ] = None,
    lake: LakeOption = USUAL_LAKE,
    catalog: CatalogOption = USUAL_CATALOG,
    as_json: JsonOption = False,
) -> None:
    """Write the rows of a file into a table. With --key the table is made, with the columns of the file.

    The columns that the file has are written, others stay as they are. The same file is loaded once, however often the
    command runs.
    """
    if not file.is_file():
        raise DefinitionError(f"There is no file {file}. Name one of CSV, JSON lines or Parquet.")
    once = f"load {_digest(file)}"
    with opened_or_made(lake, catalog) as found:
        there = _table(found, table)
        rows = rows_of(file, None if there is None else there.spec)
        if there is None:
            there = _made(found, rows, table, key, ordering)
        elif key is not None and tuple(key.split(",")) != there.spec.key:
            raise DefinitionError(f"{table} has the key {','.join(there.spec.key)}. Leave --key out.")
        commit = there.update(rows, idempotency_key=once, stream=file.name)
    if commit.repeated:
        tell(f"{file} was loaded before; nothing was written.")
    show({"table": table, "rows": commit.rows, "snapshot_id": commit.snapshot_id, "repeated": commit.repeated}, as_json)


def _table(lake: kl.Lake, name: str) -> kl.KeyedTable | None:
    try:
        return lake.table(name)
    except TableNotFound:
        return None


def _made(lake: kl.Lake, rows: pa.Table, name: str, key: str | None, ordering: str | None) -> kl.KeyedTable:
    if key is None:
        raise TableNotFound(
            f"There is no table {name}. Make it with the columns of the file: --key names those of its key, as in "
            f"--key {rows.column_names[0]}."
        )
    return lake.create(kl.TableSpec.from_arrow(rows.schema, name=name, key=key.split(","), ordering=ordering))


def _digest(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as content:
        while part := content.read(_BLOCK_BYTES):
            digest.update(part)
    return digest.hexdigest()


def rows_of(file: Path, spec: kl.TableSpec | None) -> pa.Table:
    """The rows of a file; those of a table that is there have its types."""
    types: dict[str, Any] = {} if spec is None else {each.name: natural(each.type) for each in spec.columns}
    kind = file.suffix.lower()
    try:
        if kind in (".csv", ".tsv"):
            from pyarrow import csv

            return csv.read_csv(
                file,
                parse_options=csv.ParseOptions(delimiter="\t" if kind == ".tsv" else ","),
                convert_options=csv.ConvertOptions(column_types=types, strings_can_be_null=True),
            )
        if kind in (".json", ".jsonl", ".ndjson"):
            return _json_rows(file, types)
        if kind == ".parquet":
            from pyarrow import parquet

            return parquet.read_table(file)
    except (pa.ArrowException, OSError) as error:
        raise BadRows(f"{file} cannot be read: {str(error).rstrip('.')}. Nothing was written.") from None
    raise DefinitionError(f"{file} is of no kind that is known. Name a file .csv, .tsv, .jsonl or .parquet.")


def _json_rows(file: Path, types: dict[str, Any]) -> pa.Table:
    """JSON has times and dates as text, of which its reader would make times without their zone."""
    from pyarrow import json

    # An object may be as long as the file.
    options = json.ReadOptions(block_size=max(_BLOCK_BYTES, file.stat().st_size))
    found = json.read_json(file, read_options=options)
    times = {field.name: pa.string() for field in found.schema if pa.types.is_temporal(field.type)}
    rows = json.read_json(
        file, read_options=options, parse_options=json.ParseOptions(explicit_schema=pa.schema(list(times.items())))
    )
    rows = rows.select(found.column_names)
    for place, name in enumerate(rows.column_names):
        column = rows.column(name)
        type_ = types.get(name, _time_of(column) if name in times else None)
        if type_ is not None and pa.types.is_string(column.type) and not pa.types.is_nested(type_):
            rows = rows.set_column(place, name, column.cast(type_))
    return rows


def _time_of(texts: pa.ChunkedArray) -> pa.DataType:
    """The type of texts that are dates or times, by the first of them; the others have to fit."""
    first = next((text for text in texts.to_pylist() if text is not None), "")
    if len(first) == len("2026-11-01"):
        return pa.date32()
    return pa.timestamp("us", "UTC" if re.search(r"(Z|[+-]\d\d:?\d\d)$", first) else None)
