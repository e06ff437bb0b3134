"""The lines of the procedure `explain_row` as a value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from keylake._definition.spec import TableSpec
from keylake._server.statements import KeyParts
from keylake._values.read import python_value
from keylake.explanations import CellOrigin, Origin, RowExplanation, StoredValue
from keylake.reducers import Reducer

Line = Mapping[str, Any]


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
    return RowExplanation(
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
                contribution_count=line["contributions"],
                contributions=tuple(stored.get((name, "contribution"), ())),
                lost=tuple(stored.get((name, "lost"), ())),
            )
            for name, line in values.items()
        ),
    )


def _origin(line: Line) -> dict[str, Any]:
    names = ("version", "snapshot_id", "committed_at", "stream", "commit_order", "file", "files_merged")
    return {name: line[name] for name in names} | {"is_merged": bool(line["is_merged"])}


def _value(spec: TableSpec, line: Line) -> object:
    """The value, which is the only member that is set of those for all types."""
    found = [member for member in (line["typed_value"] or {}).values() if member is not None]
    if not found:
        return None
    name = line["column"]
    return python_value(spec.column(name).type, found[0]) if name in spec.column_names else found[0]


def _reducer(spec: TableSpec, column: str) -> Reducer | None:
    return spec.column(column).reducer if column in spec.column_names else None
