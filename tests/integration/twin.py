"""A keyed table and its naive model, written alike and compared."""

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Literal, TypeAlias
from uuid import UUID

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

import keylake as kl
from model.model import Key, KeyedTable, Row, Stamps, Version, as_version
from model.reducers import rule_of

Form = Literal["arrow", "rows", "spark", "pandas"]
Rows: TypeAlias = Sequence[Row]
Found: TypeAlias = dict[Key, dict[str, object]]

# Columns that are no columns of the table: versions, the names of a row's columns, the kind of change.
_NUMBERS = count(1)
EXTRAS = {"changed": pa.list_(pa.string()), "op": pa.string()}


def fresh_name(namespace: str) -> str:
    """The name of a table that no test has used."""
    return f"{namespace}.t{next(_NUMBERS)}"


def comparable(value: object) -> object:
    """The value in a form in which equal means identical: NaN is NaN, 0.0 is not -0.0, a uuid is text."""
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else struct.pack(">d", value)
    if isinstance(value, list):
        return [comparable(item) for item in value]
    if isinstance(value, tuple):
        return tuple(comparable(item) for item in value)
    if isinstance(value, dict):
        return {name: comparable(item) for name, item in value.items()}
    return value


def rows_of(model: KeyedTable, columns: Sequence[str] | None = None, commits: int | None = None) -> Found:
    """The rows that a model has, now or after some of its commits."""
    return {
        tuple(map(comparable, key)): {name: comparable(value) for name, value in row.items()}
        for key, row in model.read(columns, commits).items()
    }


def by_key(rows: pa.Table, key: Sequence[str]) -> Found:
    """The rows by key; a key that stands twice is an error."""
    found: Found = {}
    for row in rows.to_pylist():
        of_row = tuple(comparable(row.pop(name)) for name in key)
        assert of_row not in found, f"key {of_row} stands twice"
        found[of_row] = {name: comparable(value) for name, value in row.items()}
    return found


def frame_of(lake: kl.Lake, rows: pa.Table) -> DataFrame:
    """The rows as a frame, whose timestamps have a zone only where the rows' own have one."""
    return lake.spark.createDataFrame(rows, schema=from_arrow_schema(rows.schema, prefer_timestamp_ntz=True))


@dataclass
class Twin:
    """The two, with the commits that both have."""

    lake: kl.Lake
    table: kl.KeyedTable
    model: KeyedTable
    schema: pa.Schema
    commits: list[kl.Commit] = field(default_factory=list)

    @classmethod
    def create(cls, lake: kl.Lake, spec: kl.TableSpec, schema: pa.Schema) -> "Twin":
        """An empty table and an empty model of one definition; the schema says how rows are handed in."""
        model = KeyedTable(
            key=spec.key,
            columns=spec.value_columns,
            versions=spec.versions,
            ordering=spec.ordering,
            reducers={c.name: rule_of(c.reducer.to_json(), str(c.type)) for c in spec.columns},
            groups={group.name: group.columns for group in spec.column_groups},
        )
        return cls(lake, lake.create(spec), model, schema)

    @property
    def sql_name(self) -> str:
        """The table's name in SQL."""
        return f"{self.lake.catalog}.{self.table.name}"

    # ------------------------------------------------------------------------------------------------------- writes

    def upsert(self, rows: Rows, version: Version = None, form: Form = "arrow") -> kl.Commit:
        self.model.upsert(rows, version)
        return self._keep(self.table.upsert(self.frame(rows, form), **given(version=version)))

    def update(
        self, rows: Rows, version: Version = None, columns_from: str | None = None, form: Form = "arrow"
    ) -> kl.Commit:
        self.model.update(rows, version, columns_from)
        frame = self.frame(rows, form)
        return self._keep(self.table.update(frame, **given(version=version, columns_from=columns_from)))

    def delete(self, rows: Rows, version: Version = None, form: Form = "arrow") -> kl.Commit:
        self.model.delete(rows, version)
        return self._keep(self.table.delete(self.frame(rows, form), **given(version=version)))

    def apply_changes(self, rows: Rows, version: Version = None, form: Form = "arrow") -> kl.Commit:
        self.model.apply_changes(rows, "op", version)
        return self._keep(self.table.apply_changes(self.frame(rows, form), op="op", **given(version=version)))

    def overwrite(self, rows: Rows, version: Version = None, form: Form = "arrow") -> kl.Commit:
        self.model.overwrite(rows, version)
        return self._keep(self.table.overwrite(self.frame(rows, form), **given(version=version)))

    def _keep(self, commit: kl.Commit) -> kl.Commit:
        self.commits.append(commit)
        return commit

    def frame(self, rows: Rows, form: Form = "arrow") -> object:
        """The rows as one of the things that a verb takes."""
        types = {name: self.schema.field(name).type for name in self.schema.names} | EXTRAS
        fields = [pa.field(name, types.get(name, pa.int64())) for name in rows[0]]
        table = pa.Table.from_pylist([dict(row) for row in rows], schema=pa.schema(fields))
        makers: Mapping[Form, Callable[[], object]] = {
            "arrow": lambda: table,
            "rows": lambda: [dict(row) for row in rows],
            "pandas": lambda: table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get),
            "spark": lambda: frame_of(self.lake, table),
        }
        return makers[form]()

    # -------------------------------------------------------------------------------------------------------- reads

    def expected(self, columns: Sequence[str] | None = None, commits: int | None = None) -> Found:
        return rows_of(self.model, columns, commits)

    def read(self, columns: Sequence[str] | None = None, commits: int | None = None) -> Found:
        """What the table says, now or at one of its commits."""
        wanted = None if columns is None else [*self.model.key, *columns]
        at = None if commits is None else self.commits[commits - 1]
        return by_key(self.table.read(**given(columns=wanted, at=at)).toArrow(), self.model.key)

    def read_at(self, moment: object) -> Found:
        """What the table said at a tag, a time or a snapshot."""
        return by_key(self.table.read(at=moment).toArrow(), self.model.key)

    def get(self, key: Mapping[str, object]) -> dict[str, object] | None:
        """The value columns of one key, looked up."""
        row = self.table.get(**key)
        return None if row is None else {name: comparable(row[name]) for name in self.model.columns}

    def explained(self, key: Mapping[str, object]) -> dict[str, object] | None:
        """The same, from the explanation of the row."""
        row = self.table.explain_row(key)
        return {cell.column: comparable(cell.value) for cell in row.columns} if row.exists else None

    def check(self, columns: Sequence[str] | None = None, commits: int | None = None) -> None:
        """The table and the model give the same rows."""
        assert self.read(columns, commits) == self.expected(columns, commits)

    def check_stamps(self) -> None:
        """`_merge_info` of the merged rows says what the model says, in absolute versions."""
        key = ", ".join(f"`{column}`" for column in self.model.key)
        rows = self.lake.spark.sql(f"SELECT {key}, _merge_info FROM {self.sql_name}").toArrow()
        found = {of_key: row["_merge_info"] for of_key, row in by_key(rows, self.model.key).items()}
        read = self.model.read()
        expected = {tuple(map(comparable, of_key)): self._stamps(of_key) for of_key in read}
        ordering = {tuple(map(comparable, of_key)): row.get(self.model.ordering or "") for of_key, row in read.items()}
        assert {of_key: stamps(info, ordering[of_key]) for of_key, info in found.items()} == expected

    def _stamps(self, of_key: Key) -> Stamps:
        """The model's stamps; where it counts commits, the table has the times of these commits."""
        of_model = self.model.merge_info(of_key)
        if self.model.versions != "commit":
            return of_model

        def time(number: int) -> int:
            versions = self.commits[number - 1].versions
            assert versions is not None
            assert versions[0] == versions[1], "all rows of a commit have one version"
            return versions[0]

        return Stamps(
            time(of_model.version),
            None if of_model.written is None else time(of_model.written),
            None if of_model.deleted is None else time(of_model.deleted),
            {name: time(number) for name, number in of_model.columns.items()},
        )


def stamps(info: object, ordering: object) -> Stamps:
    """The lags of `_merge_info` as absolute versions; a version that is null is that of the ordering column."""
    assert isinstance(info, dict)
    version = as_version(ordering) if info["version"] is None else int(info["version"])
    columns = info["columns"]
    assert isinstance(columns, dict)
    at = {name: None if lag is None else version - int(lag) for name, lag in columns.items()}
    return Stamps(
        version,
        None if info["written"] is None else version - int(info["written"]),
        None if info["deleted"] is None else version - int(info["deleted"]),
        {name: stamp for name, stamp in at.items() if stamp is not None},
    )


def given(**arguments: object) -> dict[str, object]:
    """The arguments that are not None."""
    return {name: value for name, value in arguments.items() if value is not None}
