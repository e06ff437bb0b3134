"""The merge of reads without a server gives what the text cases say. Rows are in memory as files would give them."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.types import IcebergType, LongType, NestedField

from keylake import Column, ColumnGroup, TableSpec
from keylake.local.accumulators import picked
from keylake.local.decisions import Entries, Numbers, Stamp
from keylake.local.files import StoredFile
from keylake.local.layout import Layout
from keylake.local.merging import Merge
from keylake.reducers import LATEST, Max, Min, Reducer, from_json
from model.cases import Case, Expected, read_cases
from model.model import Written

KEY, VERSION, WRITTEN, DELETED, FIRST_COLUMN, FIRST_LEAF = 1, 2, 3, 4, 10, 1000
CASES = read_cases()


@dataclass
class StoredRow:
    """A stretch of one row: a commit of several rows of a key stores what they give together, row after row."""

    file: StoredFile
    fields: Mapping[int, int | None]
    rows: int = 1

    def columns(self, wanted: Mapping[int, IcebergType], rows: Numbers | None = None) -> dict[int, Any]:
        found = {id_: pa.array([self.fields[id_]], pa.int64()) for id_ in wanted if id_ in self.fields}
        return found if rows is None else {id_: column.take(pa.array(rows)) for id_, column in found.items()}


def layout(case: Case) -> Layout:
    reducers = dict(pair.split("=") for pair in case.header.get("reducers", "").split())
    groups = dict(pair.split("=") for pair in case.header.get("groups", "").split())
    columns = [Column(name, LongType(), reducer=reducer(name, reducers.get(name))) for name in case.columns]
    spec = TableSpec.of(
        [Column("k", LongType()), *columns],
        name="cases.t",
        key="k",
        ordering=case.header.get("ordering"),
        versions=None if "ordering" in case.header else case.header.get("versions", "explicit"),  # type: ignore[typeddict-item]
        column_groups=[ColumnGroup(name, tuple(members.split(","))) for name, members in groups.items()],
    )
    fields = {name: NestedField(FIRST_COLUMN + at, name, LongType()) for at, name in enumerate(case.columns)}
    leaf = {name: FIRST_LEAF + at for at, name in enumerate(case.columns)}
    leader = {member: members.split(",")[0] for members in groups.values() for member in members.split(",")}
    shared = {name: leaf[name if spec.column(name).reducer.accumulates else leader.get(name, name)] for name in leaf}
    fields["k"] = NestedField(KEY, "k", LongType(), required=True)
    return Layout(spec, fields, VERSION, WRITTEN, DELETED, shared, {}, 1, {0: 1}, in_commit_order=False)


def reducer(column: str, kind: str | None) -> Any:
    return LATEST if kind is None else from_json(column, {"type": kind})


def stored(of: Layout, age: int, row: Written) -> StoredRow:
    """A row as a file has it. Nulls say nothing to reducers that ignore them."""
    fields: dict[int, int | None] = {KEY: row.key[0], VERSION: row.version}  # type: ignore[dict-item]
    newest = max([row.version, *(version for version, _ in row.columns.values())])  # a column can be newer than its row
    fields[DELETED if row.deleted else WRITTEN] = row.version - newest
    for name, (version, value) in row.columns.items():
        kind = type(of.spec.column(name).reducer).__name__
        if value is None and kind != "Latest":
            continue
        assert isinstance(value, int | None)
        fields[of.fields[name].field_id] = 1 if kind == "Count" else value
        fields[of.leaves[name]] = row.version - version
    file = StoredFile(str(age), 1, 1, age, (0,), 1, (None,), (None,), None, frozenset(), frozenset(), not row.deleted)
    return StoredRow(file, fields)


def read(case: Case, expected: Expected, columns: Sequence[str]) -> dict[int, dict[str, object]]:
    of = layout(case)
    adds_up = any(
        of.spec.column(name).reducer.accumulates for name in case.columns
    )  # then versions say what comes first
    runs = [sorted(run, key=lambda row: row.version if adds_up else 0) for run in case.runs[: expected.runs]]
    rows = [row for run in runs for row in run]
    stretches = [stored(of, age, row) for age, row in enumerate(rows)]
    merged = Merge(of, ("k", *columns)).rows(stretches).to_pylist()
    return {row.pop("k"): row for row in merged}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_reads_give_what_the_case_says(case: Case) -> None:
    for expected in case.reads:
        assert read(case, expected, case.columns) == expected.rows
        for name in case.columns:
            assert read(case, expected, [name]) == {key: {name: row[name]} for key, row in expected.rows.items()}


@pytest.mark.parametrize("reducer_of", [Min, Max])
def test_the_order_of_floats(reducer_of: type[Reducer]) -> None:
    values = [float("-inf"), -1.5, -0.0, 0.0, 5e-324, 2.0, float("inf"), float("nan")]
    entries = Entries(np.zeros(2, np.int64), 1)
    given = Stamp(np.ones(2, np.bool_), np.zeros(2, np.int64))
    for low, high in itertools.pairwise(values):
        for pair, smaller in (([low, high], 0), ([high, low], 1)):
            assert picked(entries, given, pa.array(pair), reducer_of()) == (
                smaller if reducer_of is Min else 1 - smaller
            )
