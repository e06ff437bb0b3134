"""Look-ups by values that have an index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, Generic, cast

from keylake._definition.indexes import Bloom
from keylake._definition.spec import TableSpec
from keylake._rows.business_time import BusinessTime
from keylake._server.statements import Select
from keylake._table.handle import Handle, Verbs
from keylake._table.log import see_log
from keylake._table.reads import Row
from keylake.conditions import Condition, col
from keylake.errors import BadRows, DefinitionError, SchemaMismatch, check_type


class FindVerbs(Verbs, Generic[Row]):
    """The verb that finds rows by what they have."""

    _model: type[Row]

    def find(
        self,
        values: Mapping[str, object] | None = None,
        /,
        *,
        as_of: BusinessTime | None = None,
        fresh: bool = False,
        **columns: object,
    ) -> list[Row]:
        """The rows with some values, in no order. One of their columns at least has an index, or is of the key.

        The values are given by their columns, or as a mapping where one of these is called `as_of` or `fresh`. `as_of`
        is the business time of an archived state, and `fresh` is that of `get`. Files that were written before the
        column had an index are opened as if there were none, until they are compacted. `read(where=...)` takes any
        condition, and asks indices as well.

        Raises `DefinitionError` if none of the columns has an index, `SchemaMismatch` for a column that the table does
        not have, `BadRows` for a value that does not fit or is None, `TableNotFound` for an unknown archived state, and
        `ForeignCommit` after a commit of another engine.

        Example::

            profiles.layout.add_index(kl.Bloom("device"))
            profiles.find(device="d-17")
        """
        check_type("The values", values, Mapping | None, "a mapping from columns to values")
        see_log(self, self._handle, fresh, as_of=as_of)
        wanted = {**(values or {}), **columns}
        condition = condition_of(self.spec, wanted, indexes_of(self._handle))
        select = Select(self._handle.at_state(as_of).path)
        with self._handle.session.asking():
            rows = self._handle.session.frame_of(select, condition).toArrow().to_pylist()
        return [self._model.from_row(row) for row in rows]


def indexes_of(handle: Handle, procedure: str = "indexes", **arguments: str) -> tuple[Bloom, ...]:
    """The indices of a table, as procedures that list or change them return them."""
    return tuple(Bloom(row["column"]) for row in handle.on_main.call(procedure, **arguments))


def condition_of(spec: TableSpec, values: Mapping[str, object], indexes: Sequence[Bloom]) -> Condition:
    """The condition that rows have some values, of which an index knows one at least."""
    if not values:
        raise SchemaMismatch(
            f"find() takes values by the names of columns, such as find({_example(spec, indexes)}=...)."
        )
    known = {name.lower(): name for name in spec.column_names}
    for name, value in values.items():
        if name.lower() not in known:
            raise SchemaMismatch(f"{spec.name} has no column {name!r}. {spec.hint(name)}")
        if value is None:
            raise BadRows(f"Column {name!r}: find() takes a value, not None. Rows without one: read(where=...).")
    found = {known[name.lower()]: value for name, value in values.items()}
    indexed = {index.column for index in indexes} | set(spec.key)
    if not indexed & found.keys():
        listed = ", ".join(map(repr, sorted(found)))
        raise DefinitionError(
            f"No column of find() has an index: {listed}. Add one, layout.add_index(kl.Bloom({next(iter(found))!r})), "
            "or use read(where=...), which looks at every row."
        )
    tests: list[Condition] = [cast("Any", col(name)) == value for name, value in found.items()]
    return reduce(lambda one, other: one & other, tests)


def _example(spec: TableSpec, indexes: Sequence[Bloom]) -> str:
    return indexes[0].column if indexes else spec.key[0]
