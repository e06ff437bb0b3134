"""Rows that do not fit get a clear error through every verb, and nothing is written."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

import keylake as kl
from integration.one_row import KEY, SCHEMA, array, create, frame, one
from integration.refusals import refused
from integration.twin import frame_of, fresh_name


@pytest.fixture(scope="module")
def tables(lake: kl.Lake) -> dict[str, kl.KeyedTable]:
    """A table for each source of versions, with one commit in it."""
    return {versions: create(lake, versions, "bad_input") for versions in ("explicit", "commit", "ordering")}


WHOLE: dict[str, object] = {
    **KEY,
    "a": 1,
    "i": 1,
    "f": 1.0,
    "g": 1.0,
    "s": "",
    "b": True,
    "d": Decimal(1),
    "at": datetime(2026, 1, 1),
    "when": datetime(2026, 1, 1, tzinfo=UTC),
    "n": array([1], pa.list_(pa.int32())),
    "m": array([], pa.map_(pa.string(), pa.int32())),
}


def without(*names: str) -> pa.Table:
    return frame(**{name: value for name, value in WHOLE.items() if name not in names})


@dataclass(frozen=True)
class Bad:
    """A write to the table of these versions, and the error it gets, whose sentence has these words."""

    versions: str
    verb: str
    rows: pa.Table
    error: type[kl.KeylakeError]
    words: tuple[str, ...]
    given: Mapping[str, object] = field(default_factory=dict)


NO_TEXT, NO_LONG = array(None, pa.string()), array(None, pa.int64())
NO_TIME = array(None, pa.timestamp("us", tz="UTC"))
NO_NAMES, NULL_NAMES = array([], pa.list_(pa.string())), array(None, pa.list_(pa.string()))
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
TWICE = pa.Table.from_arrays([pa.array([1]), pa.array(["x"]), pa.array([1]), pa.array([2])], ["id", "day", "a", "a"])
MANY = pa.table({"id": [*range(500), None], "day": ["x"] * 501, "a": [1] * 501})

KEYS = {
    "null key": Bad("commit", "update", one(id=NO_LONG, a=1), kl.BadRows, ("'id'", "null")),
    "null in a part of the key": Bad("commit", "delete", one(day=NO_TEXT), kl.BadRows, ("'day'", "null")),
    "null key among good rows": Bad("commit", "update", MANY, kl.BadRows, ("'id'", "null")),
    "missing key column": Bad("commit", "update", frame(id=1, a=1), kl.SchemaMismatch, ("'day'", "key")),
    "missing key column in delete": Bad("commit", "delete", frame(id=1), kl.SchemaMismatch, ("'day'", "key")),
}

COLUMNS = {
    "unknown": Bad("commit", "update", one(clicks=1), kl.SchemaMismatch, ("'clicks'",)),
    "unknown, near a known one": Bad("commit", "update", one(whem=1), kl.SchemaMismatch, ("'whem'", "'when'")),
    "missing in upsert": Bad("commit", "upsert", without("a", "s"), kl.SchemaMismatch, ("'a'", "'s'", "update")),
    "all missing in upsert": Bad("commit", "upsert", frame(**KEY), kl.SchemaMismatch, ("'a'", "update")),
    "missing in overwrite": Bad("commit", "overwrite", without("a"), kl.SchemaMismatch, ("'a'",)),
    "differing only in case": Bad("commit", "update", one(a=1, A=2), kl.SchemaMismatch, ("'a'", "'A'")),
    "there twice": Bad("commit", "update", TWICE, kl.SchemaMismatch, ("'a'", "twice")),
}


def explicit(rows: pa.Table, error: type[kl.KeylakeError], words: tuple[str, ...], version: object = None) -> Bad:
    return Bad("explicit", "update", rows, error, words, {} if version is None else {"version": version})


VERSIONS = {
    "none": explicit(one(a=1), kl.VersionMissing, ("version",)),
    "none in delete": Bad("explicit", "delete", one(), kl.VersionMissing, ("version",)),
    "a column that is not there": explicit(one(a=1), kl.SchemaMismatch, ("'v'",), "v"),
    "null": explicit(one(a=1, v=NO_LONG), kl.BadRows, ("'v'", "null"), "v"),
    "text": explicit(one(a=1, v="7"), kl.SchemaMismatch, ("'v'", "string"), "v"),
    "a fraction": explicit(one(a=1, v=1.5), kl.SchemaMismatch, ("'v'", "double"), "v"),
    "beyond 64 bits": explicit(one(a=1), kl.BadRows, ("9223372036854775808",), 2**63),
    "null for a column": explicit(one(a=1, v=NO_LONG), kl.BadRows, ("'v'", "null"), {"a": "v"}),
    "for an unknown column": explicit(one(a=1, v=1), kl.SchemaMismatch, ("'clicks'",), {"a": "v", "clicks": "v"}),
    "for a key column": explicit(one(a=1, v=1), kl.SchemaMismatch, ("'id'",), {"a": "v", "id": "v"}),
    "for some columns only": explicit(one(a=1, s="", v=1), kl.VersionMissing, ("'s'",), {"a": "v"}),
    "given to a table of commits": Bad(
        "commit", "update", one(a=1), kl.VersionMissing, ("version", "explicit"), {"version": 3}
    ),
    "neither ordering column nor version": Bad(
        "ordering", "update", one(a=1), kl.VersionMissing, ("'when'", "version")
    ),
    "ordering column and version": Bad(
        "ordering", "update", one(when=NOON), kl.VersionMissing, ("'when'", "version"), {"version": 3}
    ),
    "null ordering column": Bad("ordering", "update", one(when=NO_TIME), kl.BadRows, ("'when'", "null")),
    "delete with neither": Bad("ordering", "delete", one(), kl.VersionMissing, ("'when'", "version")),
}


def naming(names: object, error: type[kl.KeylakeError], *words: str) -> Bad:
    """An update with `columns_from` the column `c`, which holds these names."""
    return Bad("commit", "update", one(a=1, c=names), error, words, {"columns_from": "c"})


COLUMNS_FROM = {
    "a column twice": naming(array(["a", "a"], pa.list_(pa.string())), kl.BadRows, "'a'", "twice"),
    "an unknown column": naming(array(["clicks"], pa.list_(pa.string())), kl.BadRows, "'clicks'"),
    "a column that is not carried": naming(array(["s"], pa.list_(pa.string())), kl.BadRows, "'s'"),
    "a key column": naming(array(["id"], pa.list_(pa.string())), kl.BadRows, "'id'"),
    "nothing": naming(NO_NAMES, kl.BadRows, "columns_from", "empty", "id=1"),
    "an empty name": naming(array([""], pa.list_(pa.string())), kl.BadRows, "columns_from", "empty name", "id=1"),
    "a null": naming(NULL_NAMES, kl.BadRows, "null"),
    "a null name": naming(array([None], pa.list_(pa.string())), kl.BadRows, "columns_from", "name", "id=1"),
    "text": naming("a", kl.SchemaMismatch, "'c'", "string"),
    "a column that is not there": Bad("commit", "update", one(a=1), kl.SchemaMismatch, ("'c'",), {"columns_from": "c"}),
}

CHANGES = {
    "an op that is none": Bad("commit", "apply_changes", one(a=1, o="X"), kl.BadRows, ("'X'", "id=1"), {"op": "o"}),
    "a null op": Bad("commit", "apply_changes", one(a=1, o=NO_TEXT), kl.BadRows, ("null",), {"op": "o"}),
    "no such column": Bad("commit", "apply_changes", one(a=1), kl.SchemaMismatch, ("'o'",), {"op": "o"}),
    "a number": Bad("commit", "apply_changes", one(a=1, o=1), kl.SchemaMismatch, ("'o'", "long"), {"op": "o"}),
}

ALL = {
    f"{what}: {kind}": bad
    for what, kinds in (
        ("key", KEYS), ("column", COLUMNS), ("version", VERSIONS), ("columns_from", COLUMNS_FROM), ("op", CHANGES)
    )
    for kind, bad in kinds.items()
}  # fmt: skip


@pytest.mark.parametrize("kind", ALL)
def test_rows_that_do_not_fit(lake: kl.Lake, tables: dict[str, kl.KeyedTable], kind: str) -> None:
    bad = ALL[kind]
    table = tables[bad.versions]
    with refused(lake, table.name, bad.error, *bad.words):
        getattr(table, bad.verb)(bad.rows, **bad.given)


@pytest.mark.parametrize("kind", [kind for kind in ALL if kind != "column: there twice"])
def test_rows_of_a_frame_that_do_not_fit(lake: kl.Lake, tables: dict[str, kl.KeyedTable], kind: str) -> None:
    """The same rows as a Spark frame, which only the server sees."""
    bad = ALL[kind]
    table = tables[bad.versions]
    with refused(lake, table.name, bad.error, *bad.words):
        getattr(table, bad.verb)(frame_of(lake, bad.rows), **bad.given)


def test_a_group_is_written_whole(lake: kl.Lake) -> None:
    spec = kl.TableSpec.from_arrow(
        SCHEMA, name=fresh_name("bad_input"), key=["id", "day"], versions="commit", column_groups={"pair": ["a", "s"]}
    )
    table = lake.create(spec)
    with refused(lake, table.name, kl.SchemaMismatch, "'pair'", "'s'"):
        table.update(one(a=1))
    with refused(lake, table.name, kl.BadRows, "columns_from", "'pair'", "id=1"):
        table.update(one(a=1, s="x", c=array(["a"], pa.list_(pa.string()))), columns_from="c")
