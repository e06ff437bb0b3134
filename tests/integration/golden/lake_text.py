"""All that a golden lake says, as lines of text, which stay the same however the code changes."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any
from uuid import UUID

import pyarrow as pa

import keylake as kl
import keylake.local
from keylake.errors import Unsupported

HISTORY = ("verb", "rows", "columns", "stream", "writer", "idempotency_key", "undone")
LEDGERS = ("offsets", "watermarks", "consumers", "history_branches")
LAYOUT = "bucket, commit_order, files, rows, live_rows, min_version, max_version, has_tombstones, settling"
WITHOUT_SERVER = ("Latest", "LatestNotNull", "Sum", "Min", "Max", "Count", "First", "BoolAnd", "BoolOr", "Collect")
LOOKED_UP = 2  # rows of each table

Row = dict[str, object]
Read = Callable[..., Any]


def lines(lake: kl.Lake, local: keylake.local.LocalLake) -> Iterator[str]:
    """Every keyed table, by name."""
    for name in sorted(lake.tables()):
        table = lake.table(name)
        yield f"table {name}: {table.spec.property_json()}"
        for part in (of_rows, of_history):
            yield from (f"  {line}" for line in part(table, local[name]))
        for part_of_server in (of_branches, of_ledgers):
            yield from (f"  {line}" for line in part_of_server(lake, table))


def of_rows(table: kl.KeyedTable, local: keylake.local.LocalTable) -> Iterator[str]:
    """The merged rows, all the ways to get at them, and why they read so."""
    read = table.read().toArrow()
    found = sorted_rows(read, table.spec.key)
    yield from map(text_of, found)
    yield f"without a server {compared(found, local.read, table.spec)}"
    for row in sorted(read.select(table.spec.key).to_pylist(), key=lambda row: text_of(plain_row(row)))[:LOOKED_UP]:
        looked_up = table.get(row)
        is_same = looked_up is not None and text_of(columns_of(looked_up)) in map(text_of, found)
        yield f"looked up {text_of(plain_row(row))}: {'the same' if is_same else repr(looked_up)}"
        for cell in table.explain_row(row).columns:
            yield f"{cell.column} from version {cell.version}, commit {cell.snapshot_id}: {plain(cell.value)!r}"


def of_history(table: kl.KeyedTable, local: keylake.local.LocalTable) -> Iterator[str]:
    """The commits, what each changed, and the rows as they were half way."""
    feed = sorted_rows(table.changes(every_commit=True).toArrow(), table.spec.key)
    commits = list(table.history(compactions=True))
    for commit in commits:
        changed = [row for row in feed if row["_commit"] == commit.snapshot_id]
        said = ", ".join(f"{name}={getattr(commit, name)!r}" for name in HISTORY)
        yield f"commit {commit.snapshot_id} at {plain(commit.committed_at)} {said}: {digest(changed)}"
    middle = commits[len(commits) // 2]
    before = sorted_rows(table.read(at=middle).toArrow(), table.spec.key)
    yield f"at {middle.snapshot_id} {digest(before)}"
    yield f"then without a server {compared(before, local.read, table.spec, at=middle)}"
    try:
        yield f"changes without a server {same(feed, local.changes(every_commit=True), table.spec.key)}"
    except Unsupported as refusal:
        yield f"changes without a server: {refusal}"


def of_branches(lake: kl.Lake, table: kl.KeyedTable) -> Iterator[str]:
    """What each branch and tag reads, and how files lie."""
    name = f"{lake.catalog}.{table.name}"
    others = table.branches().where("name <> 'main'").orderBy("name").collect()
    for ref in others:
        rows = lake.spark.sql(f"SELECT * FROM {name} VERSION AS OF '{ref['name']}'").toArrow()
        found = sorted_rows(rows, table.spec.key)
        yield f"{ref['type'].lower()} {ref['name']} at {ref['snapshot_id']}: {digest(found)}"
    for each in table.experiments():
        rows = table.experiment(each.name).read().toArrow()
        yield f"{each}: {digest(sorted_rows(rows, table.spec.key))}"
    for run in lake.spark.sql(f"SELECT {LAYOUT} FROM {name}.runs ORDER BY ALL").collect():
        yield f"run {text_of(run.asDict())}"


def of_ledgers(lake: kl.Lake, table: kl.KeyedTable) -> Iterator[str]:
    """Positions of sources and readers, and archived states."""
    for what in LEDGERS:
        answer = getattr(table, what)()
        for each in answer.items() if isinstance(answer, dict) else answer:
            yield f"{what} {plain(each if isinstance(each, tuple) else vars_of(each))}"


def vars_of(value: object) -> Row:
    return {name: getattr(value, name) for name in value.__dataclass_fields__}  # type: ignore[attr-defined]


# ---------------------------------------------------------------------------------------------------- ways to compare


def compared(wanted: Sequence[Row], read: Read, spec: kl.TableSpec, **how: object) -> str:
    """The difference of a read without a server, "the same" without one; where some columns need one, of the others."""
    try:
        return same(wanted, read(**how), spec.key)
    except Unsupported:
        columns = [each.name for each in spec.columns if each.name in spec.key or each.reducer.type in WITHOUT_SERVER]
        return f"{columns[len(spec.key) :]}: {same(wanted, read(columns=columns, **how), spec.key)}"


def same(wanted: Sequence[Row], found: Any, key: Sequence[str]) -> str:
    """The difference of rows, "the same" without one; of wanted rows only the columns that were read are looked at."""
    rows = sorted_rows(found.to_arrow(), key)
    expected = [like(row, rows[0]) for row in wanted] if rows else wanted
    return "the same" if list(map(text_of, rows)) == list(map(text_of, expected)) else f"other rows: {rows}"


def like(row: Row, other: Row) -> Row:
    """The row with no other columns than those of another."""
    return {name: row[name] for name in other if name in row}


def sorted_rows(rows: pa.Table, key: Sequence[str]) -> list[Row]:
    """The rows in order of their keys, of changes also of their commits, without the versions of all columns."""
    kept = [name for name in rows.column_names if name != "_merge_info"]
    order = [name for name in (*key, "_commit") if name in kept]
    found = [plain_row(row) for row in rows.select(kept).to_pylist()]
    return sorted(found, key=lambda row: text_of({name: row[name] for name in order}))


def columns_of(row: Any) -> Row:
    """A row of a class by the names of its columns."""
    return plain_row({column: row[column] for column in type(row).attributes()})


def plain_row(row: Mapping[str, object]) -> Row:
    return {name: plain(value) for name, value in row.items()}


def plain(value: Any) -> object:
    """The value in one form whatever gave it: long bytes as a hash, times in UTC, maps as dictionaries."""
    if isinstance(value, bytes) and len(value) > 20:
        return f"{len(value)} bytes {hashlib.sha256(value).hexdigest()[:16]}"
    if isinstance(value, datetime):
        return (value if value.tzinfo is None else value.astimezone(timezone.utc)).isoformat()
    if isinstance(value, UUID):
        return str(value)
    if hasattr(value, "model_dump"):
        return plain(value.model_dump())
    if value == {}:
        return []  # as a map without keys is in Arrow
    if isinstance(value, list | tuple) and value and all(isinstance(each, tuple) for each in value):
        return plain(dict(value))
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return plain_row(value) if isinstance(value, dict) else value


def text_of(row: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in row.items())


def digest(rows: Sequence[Row]) -> str:
    """How many rows, and a hash of all of them."""
    return f"{len(rows)} rows {hashlib.sha256(repr(list(map(text_of, rows))).encode()).hexdigest()[:16]}"
