"""Changes of a source applied by key and version in plain Python: the naive model of keyed tables."""

import json
from collections.abc import Iterable, Mapping

from keylake_pipelines.source.source import Step
from keylake_pipelines.source.tables import (
    ColumnAdded,
    ColumnDropped,
    ColumnRenamed,
    SourceSchema,
    TableChange,
    TableCreated,
    TableDropped,
    TableRenamed,
    TableReread,
    TableTruncated,
)

Values = dict[str, tuple[int, object]]


class Applied:
    """Tables of a source by what its steps have said of them."""

    def __init__(self, schemas: Iterable[SourceSchema]) -> None:
        self.keys: dict[str, tuple[str, ...]] = {}
        self.columns: dict[str, list[str]] = {}
        self._rows: dict[str, dict[tuple[object, ...], Values]] = {}
        self._deleted: dict[str, dict[tuple[object, ...], int]] = {}
        for schema in schemas:
            self._create(schema)

    def _create(self, schema: SourceSchema) -> None:
        table = str(schema.table)
        if table not in self.keys:
            self.keys[table], self.columns[table] = schema.key, [column.name for column in schema.columns]
            self._rows[table], self._deleted[table] = {}, {}

    def take(self, step: Step) -> None:
        if step.rows is not None:
            for row in step.rows.to_pylist():
                self._write(row)
        for change in step.changes:
            self._change(change)

    def _write(self, row: Mapping[str, object]) -> None:
        assert row["error"] is None, row
        table, version = str(row["table"]), row["version"]
        assert isinstance(version, int)
        values: dict[str, object] = json.loads(str(row["row"]))
        key = tuple(values[name] for name in self.keys[table])
        if row["op"] == "d":
            self._deleted[table][key] = max(version, self._deleted[table].get(key, version))
            return
        unknown = values.keys() - set(self.columns[table])
        assert not unknown, f"{table} has no columns {unknown}"
        stored = self._rows[table].setdefault(key, {})
        for name, value in {**values, "": None}.items():
            if name not in stored or stored[name][0] <= version:
                stored[name] = (version, value)

    def _change(self, change: TableChange) -> None:
        if isinstance(change, TableCreated):
            self._create(change.schema)
            return
        table = str(change.table)
        if isinstance(change, TableTruncated):
            self._rows[table].clear()
        elif isinstance(change, TableReread):
            rows = self._rows[table]
            self._rows[table] = {
                key: values
                for key, values in rows.items()
                if max(version for version, _ in values.values()) >= change.version
            }
        elif isinstance(change, TableDropped):
            for each in (self.keys, self.columns, self._rows, self._deleted):
                each.pop(table)
        elif isinstance(change, TableRenamed):
            for each in (self.keys, self.columns, self._rows, self._deleted):
                each[str(change.to)] = each.pop(table)
        else:
            self._change_columns(table, change)

    def _change_columns(self, table: str, change: TableChange) -> None:
        names = self.columns[table]
        if isinstance(change, ColumnAdded) and change.column.name not in names:
            names.append(change.column.name)
        elif isinstance(change, ColumnDropped) and change.name in names:
            names.remove(change.name)
            for values in self._rows[table].values():
                values.pop(change.name, None)
        elif isinstance(change, ColumnRenamed) and change.name in names:
            names[names.index(change.name)] = change.to
            self.keys[table] = tuple(change.to if each == change.name else each for each in self.keys[table])
            for values in self._rows[table].values():
                if change.name in values:
                    values[change.to] = values.pop(change.name)

    def rows(self, table: str) -> list[dict[str, object]]:
        """The rows of a table, by key: values that are newer than the key's delete, null where there is none."""
        found: list[dict[str, object]] = []
        for key, values in self._rows[table].items():
            deleted = self._deleted[table].get(key, -1)
            if any(version > deleted for version, _ in values.values()):
                read = {name: values.get(name, (-1, None)) for name in self.columns[table]}
                found.append({name: value if version > deleted else None for name, (version, value) in read.items()})
        return sorted(found, key=lambda row: [str(row[name]) for name in self.keys[table]])
