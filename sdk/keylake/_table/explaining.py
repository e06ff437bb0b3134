"""The lines of the procedure `explain_row` as a value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pyiceberg.types import IcebergType, ListType, MapType, StructType, UUIDType

from keylake._definition.spec import TableSpec
from keylake._definition.version_times import version_text
from keylake._server.statements import KeyParts
from keylake._values.read import python_value
from keylake.explanations import CellOrigin, Origin, RowExplanation, StoredValue
from keylake.reducers import Reducer

Line = Mapping[str, Any]

# What Arrow makes of types that Python has in another form. A column of an earlier moment may have had another type.
_FORMS: dict[type[IcebergType], type] = {UUIDType: str, ListType: list, MapType: list, StructType: dict}


def explained(table: str, spec: TableSpec, key: KeyParts, lines: Iterable[Line]) -> RowExplanation:
    """The explanation that the lines give, with values as Python has them."""
    events: dict[str, Line] = {}
    values: dict[str, Line] = {}
    stored: dict[tuple[str, str], list[StoredValue]] = {}
    for line in lines:
        if line["column"] is None:
            events[line["part"]] = line
        elif line["part"] == "value":
            values[line["column"]] = line
        else:
            lost = line["part"] == "lost"
            value = StoredValue(**_origin(line), value=_value(spec, line), lost_because=line["why"] if lost else None)
            stored.setdefault((line["column"], line["part"]), []).append(value)
    write = events.get("write")
    delete = events.get("delete")
    found = RowExplanation(
        table=table,
        key=tuple((name, value) for name, _, value in key),
        exists=write is not None and write["why"] is None,
        newest_write=None if write is None else Origin(**_origin(write)),
        newest_delete=None if delete is None else Origin(**_origin(delete)),
        columns=tuple(
            CellOrigin(
                **_origin(line),
                column=name,
                reducer=_reducer(spec, name),
                value=_value(spec, line),
                missing_because=line["why"],
                contribution_count=line["contributions"],
                contributions=tuple(stored.get((name, "contribution"), ())),
                lost=tuple(stored.get((name, "lost"), ())),
            )
            for name, line in values.items()
        ),
    )
    return found._with_version_text(version_text(spec))  # pyright: ignore[reportPrivateUsage]


def _origin(line: Line) -> dict[str, Any]:
    names = ("version", "snapshot_id", "committed_at", "stream", "commit_order", "file", "files_merged")
    return {name: line[name] for name in names} | {"is_merged": bool(line["is_merged"])}


def _value(spec: TableSpec, line: Line) -> object:
    """The value, which is the only member that is set of those for all types."""
    found = next((member for member in (line["typed_value"] or {}).values() if member is not None), None)
    if line["column"] not in spec.column_names:
        return found  # a column of an earlier moment
    type_ = spec.column(line["column"]).type
    form = next((form for of, form in _FORMS.items() if isinstance(type_, of)), object)
    return python_value(type_, found) if isinstance(found, form) else found


def _reducer(spec: TableSpec, column: str) -> Reducer | None:
    return spec.column(column).reducer if column in spec.column_names else None
