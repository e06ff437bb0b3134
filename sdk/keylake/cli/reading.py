"""Commands that read: tables, rows, plain SQL, history and changes."""

from __future__ import annotations

import dataclasses
import datetime
import os
import sys
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, cast

import typer
from pydantic import TypeAdapter
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    IcebergType,
    TimestampType,
    TimestamptzType,
    UUIDType,
)

import keylake as kl
from keylake.cli.opened import (
    USUAL_CATALOG,
    USUAL_LAKE,
    BranchOption,
    CatalogOption,
    LakeOption,
    TableArgument,
    asking,
    branch_of,
    local_lake,
    opened,
)
from keylake.cli.shown import USUAL_LIMIT, JsonOption, LimitOption, show_all, show_lines, show_result, show_table, tell
from keylake.cli.shown import show as show_one
from keylake.errors import SchemaMismatch, Unsupported
from keylake.types import named

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

KeyArgument = Annotated[
    list[str], typer.Argument(help="The values of the key columns in their order, or as column=value.")
]


def tables(lake: LakeOption = USUAL_LAKE, catalog: CatalogOption = USUAL_CATALOG, as_json: JsonOption = False) -> None:
    """List the keyed tables of the lake."""
    with local_lake(lake, catalog) as here:
        if here is not None:
            found = here.tables()
        else:
            with opened(lake, catalog) as there:
                found = there.tables()
    listed: list[dict[str, object]] = [{"name": each.name, "versions": each.versions} for each in found]
    if any(each.problem for each in found):
        listed = [row | {"problem": each.problem} for row, each in zip(listed, found, strict=True)]
    show_all("keyed tables", listed, as_json)


def show(
    table: TableArgument,
    lake: LakeOption = USUAL_LAKE,
    catalog: CatalogOption = USUAL_CATALOG,
    as_json: JsonOption = False,
) -> None:
    """Show what a table is: its key, versions, buckets and columns."""
    with opened(lake, catalog) as found:
        spec = found.table(table).spec
    typer.echo(spec.to_json() if as_json else str(spec))


def get(
    table: TableArgument,
    key: KeyArgument,
    branch: BranchOption = None,
    lake: LakeOption = USUAL_LAKE,
    catalog: CatalogOption = USUAL_CATALOG,
    as_json: JsonOption = False,
) -> None:
    """Print the merged row of a key. The status is 1 where there is none."""
    values, row = _row_here(table, key, branch, lake, catalog) or _row_there(table, key, branch, lake, catalog)
    if row is None:
        tell(f"{table} has no row with the key {', '.join(f'{name}={value}' for name, value in values.items())}.")
        raise typer.Exit(1)
    cells = row.model_dump(by_alias=True)
    if as_json:
        show_one(cells, as_json)
    else:
        show_table(table, [{"column": name, "value": value} for name, value in cells.items()])


_Found: TypeAlias = "tuple[dict[str, object], kl.Table | None]"


def _row_here(table: str, key: list[str], branch: str | None, lake: str, catalog: str) -> _Found | None:
    """A row of the lake of a directory; None where a server has to be asked."""
    with local_lake(lake, catalog) as found:
        if found is None or branch not in (None, "main"):
            return None
        try:
            of = found.table(table)
            values = key_of(of.spec, key)
            return values, of.get(values)
        except Unsupported:
            return None


def _row_there(table: str, key: list[str], branch: str | None, lake: str, catalog: str) -> _Found:
    with opened(lake, catalog) as found:
        of = branch_of(found.table(table), branch)
        values = key_of(of.spec, key)
        return values, of.get(**cast("Any", values))


def sql(
    statement: Annotated[str, typer.Argument(help="A statement of Spark; - reads it from the standard input.")],
    lake: LakeOption = USUAL_LAKE,
    catalog: CatalogOption = USUAL_CATALOG,
    limit: LimitOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a statement of SQL and print its rows. With --json each is a line."""
    text = sys.stdin.read() if statement == "-" else statement
    with opened(lake, catalog) as found:
        with asking(found):
            found.spark.catalog.setCurrentCatalog(catalog)
            frame = found.spark.sql(text)
        _show_rows(found, "", frame, limit, as_json)


def history(
    table: TableArgument,
    branch: BranchOption = None,
    compactions: Annotated[bool, typer.Option("--compactions", help="Compactions, too.")] = False,
    lake: LakeOption = USUAL_LAKE,
    catalog: CatalogOption = USUAL_CATALOG,
    limit: LimitOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the commits of a table or branch, the newest first."""
    most = limit or (None if as_json else USUAL_LIMIT)
    with opened(lake, catalog) as found:
        commits = branch_of(found.table(table), branch).history(at_most=most, compactions=compactions)
    show_result(commits, as_json)


def watch(
    table: TableArgument,
    after: Annotated[int | None, typer.Option(help="The snapshot behind which it begins; the newest if none.")] = None,
    seconds: Annotated[
        float | None, typer.Option(min=0, help="It ends when there was no commit for so long; never unless said.")
    ] = None,
    branch: BranchOption = None,
    compactions: Annotated[bool, typer.Option("--compactions", help="Compactions, too.")] = False,
    lake: LakeOption = USUAL_LAKE,
    catalog: CatalogOption = USUAL_CATALOG,
    as_json: JsonOption = False,
) -> None:
    """Print each commit of a table or branch as it comes. With --json each is a line, for a file or a pipe."""
    with local_lake(lake, catalog) as here:
        if here is not None:
            found = here.table(table).watch(after, seconds=seconds, branch=branch, compactions=compactions)
            _show_as_they_come(found, as_json)
        else:
            with opened(lake, catalog) as there:
                of = branch_of(there.table(table), branch)
                _show_as_they_come(of.watch(after, seconds=seconds, compactions=compactions), as_json)


def _show_as_they_come(commits: Iterator[kl.CommitInfo], as_json: bool) -> None:
    if as_json:
        show_lines(map(dataclasses.asdict, commits))
        return
    for commit in commits:
        known = {"rows": commit.rows, "stream": commit.stream, "watermark": commit.watermark}
        words = (f"{name} {value}" for name, value in known.items() if value is not None)
        verb = commit.verb or "of another engine"
        typer.echo(f"{commit.committed_at:%Y-%m-%d %H:%M:%S}  {commit.snapshot_id}  {'  '.join((verb, *words))}")


def changes(
    table: TableArgument,
    after: Annotated[int | None, typer.Option(help="The snapshot behind which the range begins.")] = None,
    until: Annotated[int | None, typer.Option(help="The snapshot with which it ends; the newest unless said.")] = None,
    every_commit: Annotated[bool, typer.Option("--every-commit", help="The changes of each commit.")] = False,
    branch: BranchOption = None,
    lake: LakeOption = USUAL_LAKE,
    catalog: CatalogOption = USUAL_CATALOG,
    limit: LimitOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print how merged rows differ between two commits. With --json each key is a line."""
    with opened(lake, catalog) as found:
        of = branch_of(found.table(table), branch)
        _show_rows(found, table, of.changes(after=after, until=until, every_commit=every_commit), limit, as_json)


def explain_row(
    table: TableArgument,
    key: KeyArgument,
    branch: BranchOption = None,
    lake: LakeOption = USUAL_LAKE,
    catalog: CatalogOption = USUAL_CATALOG,
    as_json: JsonOption = False,
) -> None:
    """Say why a row reads as it does. Of each column: the value that counts, who wrote it, and what lost."""
    with opened(lake, catalog) as found:
        of = branch_of(found.table(table), branch)
        explained = of.explain_row(key_of(of.spec, key))
    if as_json:
        show_one(explained, as_json)
    else:
        show_result(explained, as_json)


def key_of(spec: kl.TableSpec, words: Sequence[str]) -> dict[str, object]:
    """The values of a key as the command line gives them."""
    parts = [word.partition("=") for word in words]
    by_name = {name: text for name, sign, text in parts if sign and name in spec.key}
    given = by_name if len(by_name) == len(words) else dict(zip(spec.key, words, strict=False))
    if len(words) != len(spec.key) or given.keys() != set(spec.key):
        shape = " ".join(f"{name}=VALUE" for name in spec.key)
        raise SchemaMismatch(
            f"{spec.name} has the key {', '.join(spec.key)}, and {len(words)} values are given. Write it as {shape}."
        )
    return {name: _value(spec, name, given[name]) for name in spec.key}


def _value(spec: kl.TableSpec, name: str, text: str) -> object:
    type_ = spec.column(name).type
    try:
        if isinstance(type_, BinaryType):
            return bytes.fromhex(text)
        # Not by Arrow, which imports pandas for a value where that is installed.
        return TypeAdapter[object](named(type_, type)).validate_strings(text)
    except ValueError:  # pydantic's errors are of this kind, too
        raise SchemaMismatch(
            f"The key column {name!r} of {spec.name} is {type_}, and {text!r} is none. "
            f"Write it like {_WRITTEN.get(type(type_), '7')}."
        ) from None


# How values of keys are written; those that are not here are numbers.
_WRITTEN: Mapping[type[IcebergType], str] = {
    BinaryType: "00ff, in hexadecimal digits",
    BooleanType: "true or false",
    DateType: "2026-11-01",
    TimestampType: "2026-11-01T10:00:00",
    TimestamptzType: "2026-11-01T10:00:00Z",
    UUIDType: "f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
}


def told_apart(names: Sequence[str]) -> list[str]:
    """Names of columns, where those that stand again, as after a join, get numbers.

    >>> told_apart(["id", "a", "id", "id_2"])
    ['id', 'a', 'id_3', 'id_2']
    """
    found: list[str] = []
    for name in names:
        numbered = (f"{name}_{number}" for number in range(2, len(names) + 2))
        found.append(next(each for each in numbered if each not in (*names, *found)) if name in found else name)
    return found


def _show_rows(lake: kl.Lake, title: str, frame: DataFrame, limit: int | None, as_json: bool) -> None:
    with asking(lake):
        names = told_apart(frame.columns)
        frame = frame if names == frame.columns else frame.toDF(*names)
    if as_json:
        show_lines(_rows(lake, frame if limit is None else frame.limit(limit)))
        return
    most = limit or USUAL_LIMIT
    found = list(_rows(lake, frame.limit(most + 1))) if names else []
    if names:
        show_table(title, found[:most], names)
    if len(found) > most:
        tell(f"These are the first {most} rows; --limit shows more.")


def _rows(lake: kl.Lake, frame: DataFrame) -> Iterator[Mapping[str, Any]]:
    with asking(lake):
        types = {field.name: field.dataType for field in frame.schema.fields}
        rows = frame.toLocalIterator()
    while True:
        with asking(lake), _in_utc():
            row = next(rows, None)
        if row is None:
            return
        yield {name: _zoned(value, types[name]) for name, value in row.asDict(recursive=True).items()}


@contextmanager
def _in_utc() -> Generator[None]:
    """UTC for this process: Spark's rows have points in time in its zone, where an hour may come twice."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = "UTC"
    time.tzset()
    try:
        yield
    finally:
        if before is None:
            del os.environ["TZ"]
        else:
            os.environ["TZ"] = before
        time.tzset()


def _zoned(value: Any, of: DataType) -> Any:
    """The value with UTC for its points in time: Spark's rows do not say in which zone they are."""
    from pyspark.sql.types import ArrayType, MapType, StructType, TimestampType

    if value is None:
        return None
    if isinstance(of, TimestampType):
        return value.replace(tzinfo=datetime.timezone.utc)
    if isinstance(of, StructType):
        return {field.name: _zoned(value[field.name], field.dataType) for field in of.fields}
    if isinstance(of, ArrayType):
        return [_zoned(each, of.elementType) for each in value]
    if isinstance(of, MapType):
        return {_zoned(key, of.keyType): _zoned(each, of.valueType) for key, each in value.items()}
    return value


def health(
    table: TableArgument,
    branch: BranchOption = None,
    lake: LakeOption = USUAL_LAKE,
    catalog: CatalogOption = USUAL_CATALOG,
    as_json: JsonOption = False,
) -> None:
    """Say how a table is doing, and what to do. The status is 0 whatever is found."""
    with opened(lake, catalog) as found:
        looked = branch_of(found.table(table), branch).health()
    if as_json:
        figures = {"table": looked.table, "at": looked.at, "to_do": looked.to_do, "reads": looked.reads}
        ratios = {"storage_amplification": looked.storage_amplification, "skew": looked.skew}
        show_one(figures | ratios | {"streams": looked.streams, "buckets": list(looked.buckets)}, as_json)
    else:
        typer.echo(str(looked))


def report(
    table: TableArgument,
    path: Annotated[str, typer.Argument(help="The file of the page, as in health.html.")] = "health.html",
    branch: BranchOption = None,
    lake: LakeOption = USUAL_LAKE,
    catalog: CatalogOption = USUAL_CATALOG,
    as_json: JsonOption = False,
) -> None:
    """Write how a table is doing as a page that stands in one file."""
    with opened(lake, catalog) as found:
        written = str(branch_of(found.table(table), branch).report(path))
    show_one({"path": written} if as_json else written, as_json)
