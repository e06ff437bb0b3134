"""The class of a table's rows, as its columns change between reads, and keys by the names of its attributes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Generic

from keylake._definition.spec import TableSpec
from keylake._table.reads import Row
from keylake._table.reads import by_column as of_columns
from keylake.errors import SchemaMismatch, check_type
from keylake.local.layout import Layout
from keylake.schema import Table, importable, model_of

_AT_MOST = 16


class Models(Generic[Row]):
    """The class that a table was opened by; or, of one that was opened by name, a class of the columns of each read."""

    def __init__(self, name: str, model: type[Row] | None) -> None:
        self._name = name
        self._model = model
        self._named: dict[Layout, type[Row]] = {}
        self._checked: set[Layout] = set()

    @property
    def named_class(self) -> type[Row] | None:
        """The class that the table was opened by, if another process can import it."""
        return None if self._model is None else importable(self._model)

    def of(self, layout: Layout) -> type[Row]:
        """The class of the rows of a read; an error where the table has not the columns of its class any more."""
        if self._model is not None and layout not in self._checked:
            self._check(self._model.table_spec(), layout.spec)
            if len(self._checked) >= _AT_MOST:
                self._checked.clear()
            self._checked.add(layout)
        return self.unchecked(layout)

    def unchecked(self, layout: Layout) -> type[Row]:
        """The same without the check, for rows in another form."""
        if self._model is not None:
            return self._model
        if layout not in self._named:
            if len(self._named) >= _AT_MOST:
                self._named.clear()
            made: type[Any] = model_of(layout.spec)
            self._named[layout] = made
            return made
        return self._named[layout]

    def _check(self, meant: TableSpec, found: TableSpec) -> None:
        """Columns that were added are no difference: the class has no place for them."""
        there = {column.name: column.type for column in found.columns}
        differences = [
            f"column {each.name}: {each.type} here, {there.get(each.name, 'missing')} there"
            for each in meant.columns
            if there.get(each.name) != each.type
        ]
        if meant.key != found.key:
            differences.append(f"key: {', '.join(meant.key)} here, {', '.join(found.key)} there")
        if differences:
            raise SchemaMismatch(
                f"{self._name} has changed (there) since its class was written (here): {'; '.join(differences)}. "
                "Change the class, or open the table by its name."
            )


def by_column(keys: Iterable[Mapping[str, object]], model: type[Table], name: str) -> list[list[object]]:
    """The values of keys by key column."""
    wanted = model.table_spec().key
    names = set(wanted)
    given = [key if isinstance(key, dict) and key.keys() == names else _by_name(key, model, name) for key in keys]
    return [[key[column] for key in given] for column in wanted]


def _by_name(key: Mapping[str, object], model: type[Table], name: str) -> Mapping[str, object]:
    """A key by the names of columns; it may have those of attributes."""
    spec = model.table_spec()
    check_type("A key", key, Mapping, f"a mapping such as dict({said(spec)})")
    given = of_columns(key, model)
    if given.keys() != set(spec.key) or len(key) != len(given):
        raise SchemaMismatch(
            f"The key of {name} is {', '.join(map(repr, spec.key))}, "
            f"and get() has {', '.join(map(repr, key)) or 'none'}."
        )
    return given


def said(spec: TableSpec) -> str:
    """The arguments by which a key is given.

    >>> import pyarrow as pa
    >>> said(TableSpec.from_arrow(pa.schema([("user_id", pa.int64())]), name="a.b", key="user_id"))
    'user_id=...'
    """
    return ", ".join(f"{name}=..." for name in spec.key)
