"""Local rows on their way to Spark: from what people have in hand to an Arrow table that fits the table exactly.

    list of rows, pandas, Arrow  ->  LocalRows  ->  to_arrow(spec, helpers)
                                     as given       with the names and types of the table, in Spark's form

- A dict or a row of a class carries the columns that it has; all rows of one list carry the same ones.
- NaN in a pandas column means null, as pandas can hardly say it otherwise; from Arrow and from lists it stays NaN.
- Helpers are columns that are none of the table: versions, the op, the names of a row's columns.
- Rows are counted from 0, as pandas and Arrow count them.
"""

# pyright: reportUnknownParameterType=false
# Arrow's own types stand in signatures, and Arrow carries no types for a checker.

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, cast

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.types import (
    DateType,
    IcebergType,
    ListType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
)

from keylake._definition.definition import ORDERING_TYPES
from keylake._definition.models import Model
from keylake._definition.spec import TableSpec
from keylake._rows.intention import Intention, write
from keylake._server.statements import TablePath, Write
from keylake._values import arrow_types
from keylake._values.fit import fit
from keylake._values.misfit import Misfit, family, type_name
from keylake._values.objects import by_kind, fit_objects
from keylake.errors import BadRows, SchemaMismatch

if TYPE_CHECKING:
    import pandas
    from pyspark.sql import DataFrame


class ArrowStream(Protocol):
    """Rows that Arrow can take in: tables, batches and readers of pyarrow, frames of polars, relations of DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


OneRow: TypeAlias = "Mapping[str, Any] | Model"
Rows: TypeAlias = "DataFrame | pandas.DataFrame | ArrowStream | Sequence[OneRow] | Iterator[OneRow] | OneRow"
"""What verbs write: a Spark frame, a pandas or polars frame, Arrow data, dicts or rows of the table's class: a list of
them, what yields them, or one."""

Helper = Literal["version", "op", "columns_from"]

_NAMES = ListType(1, StringType(), False)
_VERSION_TYPES: dict[str, IcebergType] = {
    "integer": LongType(),
    "date": DateType(),
    "timestamp": TimestampType(),
    "timestamptz": TimestamptzType(),
    "datetime64": TimestampType(),
}
_WHOLE_ROWS = ("upsert", "overwrite")
_OBJECTS_AT_ONCE = 1 << 18  # of a list, so that text and bytes of one Arrow array stay well below its 2 GB

Values = Any  # a pyarrow.ChunkedArray, or a list of Python objects


@dataclass(frozen=True)
class LocalRows:
    """Rows as they were given: the name and the values of each column.

    >>> schema = pa.schema([("user_id", pa.int64()), ("spend", pa.float64())])
    >>> spec = TableSpec.from_arrow(schema, name="features.spend", key="user_id")
    >>> rows = LocalRows.of([{"user_id": 7, "spend": 2}], spec, "update")
    >>> rows.names
    ('user_id', 'spend')
    >>> rows.to_arrow(spec).to_pylist()
    [{'user_id': 7, 'spend': 2.0}]
    """

    columns: tuple[tuple[str, Values], ...]
    count: int

    @classmethod
    def of(cls, rows: object, spec: TableSpec, verb: str) -> LocalRows:
        """The rows, of whatever form; the verb says which columns the rows of a class carry."""
        frame = getattr(sys.modules.get("pandas"), "DataFrame", None)  # another thread may be importing it
        if frame is not None and isinstance(rows, frame):
            return _of_pandas(cast("pandas.DataFrame", rows), spec)
        if isinstance(rows, Model) or (isinstance(rows, Mapping) and not _is_of_columns(rows)):
            rows = [rows]
        elif isinstance(rows, Iterator) and not isinstance(rows, pa.RecordBatchReader):
            rows = list(cast("Iterator[object]", rows))
        elif type(rows).__module__.startswith("polars.") and hasattr(rows, "collect"):  # a frame that waits
            rows = cast("Any", rows).collect()
        if isinstance(rows, Sequence) and not isinstance(rows, str | bytes):
            return _of_list(cast("Sequence[object]", rows), spec, verb)
        if isinstance(rows, pa.Table | pa.RecordBatch) or hasattr(rows, "__arrow_c_stream__"):
            try:
                table: Any = rows if isinstance(rows, pa.Table) else pa.table(rows)
            except (pa.ArrowException, TypeError) as error:
                raise BadRows(_not_rows(rows, next(iter(str(error).splitlines()), ""))) from None
            return cls(tuple(zip(table.column_names, table.columns, strict=True)), table.num_rows)
        raise BadRows(_not_rows(rows))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, as given."""
        return tuple(name for name, _ in self.columns)

    @property
    def types(self) -> dict[str, pa.DataType]:
        """The Arrow type of each column; Python objects have the one that Arrow finds for them."""
        return {name: _arrow_type(name, values) for name, values in self.columns}

    def to_arrow(self, spec: TableSpec, helpers: Mapping[str, Helper] | None = None) -> pa.Table:
        """The rows as the table has them: its names, in its order, its types in Spark's form; helpers come last."""
        given = self._by_lower_name()
        roles: dict[str, Helper] = {name.lower(): role for name, role in (helpers or {}).items()}
        known = [column for column in spec.columns if column.name.lower() in given]
        fields: list[tuple[Any, Any]] = []
        for column in known:
            if roles.get(column.name.lower()) == "version" and not isinstance(column.type, ORDERING_TYPES):
                raise SchemaMismatch(_not_a(column.name, str(column.type), "version"))
            values = _fitted(column.name, given.pop(column.name.lower())[1], column.type)
            must = column.name in spec.key or column.name == spec.ordering or column.name.lower() in roles
            _check_no_null(column.name, values, must)
            roles.pop(column.name.lower(), None)
            fields.append((pa.field(column.name, values.type, nullable=not column.required), values))
        for lower, (name, raw) in given.items():
            if lower not in roles:
                raise SchemaMismatch(f"{spec.name} has no column {name!r}. {spec.hint(name)}")
            values = _fitted_helper(name, raw, roles.pop(lower))
            _check_no_null(name, values, True)
            fields.append((pa.field(name, values.type), values))
        for lower in roles:
            raise SchemaMismatch(f"The rows have no column {lower!r}; they have {', '.join(map(repr, self.names))}.")
        return pa.table([values for _, values in fields], schema=pa.schema([field for field, _ in fields]))

    def _by_lower_name(self) -> dict[str, tuple[str, Values]]:
        given: dict[str, tuple[str, Values]] = {}
        for name, values in self.columns:
            if name.lower() in given:
                other = given[name.lower()][0]
                how = "stands twice in the rows" if other == name else f"and {name!r} differ only in case"
                raise SchemaMismatch(f"Column {other!r} {how}. Rename one of the two, or leave it out.")
            given[name.lower()] = name, values
        return given


def local_rows(rows: object, spec: TableSpec, intention: Intention) -> tuple[LocalRows, Intention]:
    """Rows, of whatever form, and what is to be done with them.

    An empty list, or an empty frame without columns, carries every column that the verb or its words name, and the
    version that it is given is that of no row.
    """
    local = LocalRows.of(rows, spec, intention.verb)
    if local.columns and not (isinstance(rows, Sequence) and not rows):
        return local, intention
    if spec.ordering is not None:
        intention = replace(intention, version=None)
    version = intention.version
    named = version.values() if isinstance(version, Mapping) else [version]
    words = dict.fromkeys(each for each in (*named, intention.op, intention.columns_from) if isinstance(each, str))
    known = LocalRows.of([], spec, intention.verb)
    taken = {name.lower() for name in known.names}
    more = ((name, list[object]()) for name in words if name.lower() not in taken)
    return LocalRows((*known.columns, *more), 0), intention


def helpers(statement: Write) -> dict[str, Helper]:
    """The columns of the rows that the options of a write name, and what they are for."""
    roles: dict[str, Helper] = {
        "version": "version",
        "version_of": "version",
        "op": "op",
        "columns_from": "columns_from",
    }
    return {
        value: roles[name.partition(".")[0]] for name, value in statement.options if name.partition(".")[0] in roles
    }


def checked_rows(rows: object, spec: TableSpec, intention: Intention) -> pa.Table:
    """The rows as a write would send them, checked as it would; nothing is sent."""
    if _is_of_spark(rows):
        raise BadRows(
            "Rows of a Spark frame are checked by the server when they are written. "
            "Give frame.toArrow(), a pandas frame, an Arrow table, or a list of dicts or of rows of the table's class."
        )
    local, intention = local_rows(rows, spec, intention)
    return local.to_arrow(spec, helpers(write(spec, TablePath(spec.name), intention, local.names)))


def _is_of_spark(rows: object) -> bool:
    return type(rows).__module__.startswith("pyspark.")


def _arrow_type(name: str, values: Values) -> pa.DataType:
    if not isinstance(values, list):
        return values.type
    try:
        return pa.array(values).type
    except (pa.ArrowException, TypeError, ValueError):
        raise BadRows(
            f"Column {name!r} has values of no one type. Add it with alter(add={{{name!r}: ...}}), and write what fits."
        ) from None


# ----------------------------------------------------------------------------------------------------- what is given


def _not_rows(rows: object, reason: str = "") -> str:
    arrow = f", which is no Arrow table: {reason}" if reason else ""
    return (
        f"Rows are of the type {type(rows).__name__}{arrow}. "
        "Give a Spark frame, a pandas frame, an Arrow table, or a list of dicts or of rows of the table's class."
    )


def arrow_schema_of(rows: object) -> pa.Schema:
    """The columns of local rows, as Arrow finds their types; for a table that is made for them.

    >>> arrow_schema_of({"user_id": 7, "spend": 0.5}).names
    ['user_id', 'spend']
    """
    pandas = sys.modules.get("pandas")
    if type(rows).__module__.startswith("polars.") and hasattr(rows, "collect"):
        rows = cast("Any", rows).collect()
    if _is_of_spark(rows) and hasattr(rows, "toArrow"):
        rows = cast("Any", rows).limit(0).toArrow()
    try:
        if pandas is not None and isinstance(rows, pandas.DataFrame):
            return pa.Schema.from_pandas(rows, preserve_index=False).remove_metadata()
        if hasattr(rows, "__arrow_c_stream__"):
            return pa.table(cast("Any", rows)).schema.remove_metadata()
        listed = [rows] if isinstance(rows, Mapping | Model) else rows
        if isinstance(listed, Sequence) and not isinstance(listed, str | bytes) and listed:
            dicts = [each.model_dump(by_alias=True) if isinstance(each, Model) else each for each in listed]
            return pa.Table.from_pylist(cast("Any", dicts)).schema
    except (pa.ArrowException, TypeError, AttributeError) as error:
        raise BadRows(f"The rows have no columns of one type each: {error}. Give a frame, or a TableSpec.") from None
    raise BadRows(_not_rows(rows) if rows != [] else "There are no rows that say the columns. Give a TableSpec.")


def _is_of_columns(rows: Mapping[Any, Any]) -> bool:
    """A dict has columns where frames are made of it: no row has a list in its key."""
    return all(isinstance(value, list) for value in rows.values())


def _of_pandas(frame: Any, spec: TableSpec) -> LocalRows:
    hidden = [name for name in frame.index.names if name in spec.column_names and name not in frame.columns]
    if hidden:
        raise SchemaMismatch(f"Column {hidden[0]!r} is the index of the frame. Make it a column with reset_index().")
    columns: list[tuple[str, Values]] = []
    for position, name in enumerate(frame.columns):
        if not isinstance(name, str):
            raise SchemaMismatch(f"The frame has a column named {name!r}, which is no text. Rename it.")
        series = frame.iloc[:, position]
        columns.append((name, _objects(series) if series.dtype == object else _of_series(name, series)))
    return LocalRows(tuple(columns), len(frame))


def _objects(series: Any) -> list[object]:
    return [None if isinstance(value, float) and value != value else value for value in series]


def _of_series(name: str, series: Any) -> Any:
    try:
        array = pa.Array.from_pandas(series)
    except (pa.ArrowException, TypeError):
        raise BadRows(
            f"Column {name!r} has the pandas type {series.dtype}, which cannot be stored. Convert it."
        ) from None
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


def _of_list(rows: Sequence[object], spec: TableSpec, verb: str) -> LocalRows:
    if not rows:
        names = _columns_of(spec.column_names, spec, verb)
        return LocalRows(tuple((name, list[object]()) for name in names), 0)
    if all(isinstance(row, Mapping) for row in rows):
        return _of_dicts(cast("Sequence[Mapping[object, object]]", rows))
    if all(isinstance(row, Model) for row in rows):
        return _of_instances(cast("Sequence[Model]", rows), spec, verb)
    wanted = Mapping if isinstance(rows[0], Mapping) else Model
    position = next(number for number, row in enumerate(rows) if not isinstance(row, wanted))
    kind = type(rows[position]).__name__
    raise BadRows(f"Row {position} is of the type {kind}. Give dicts only, or rows of the table's class only.")


def _of_dicts(rows: Sequence[Mapping[object, object]]) -> LocalRows:
    if len(set(map(tuple, rows))) > 1:
        _check_same_columns([frozenset(row) for row in rows])
    names = list(rows[0])
    strange = next((name for name in names if not isinstance(name, str)), None)
    if strange is not None:
        raise SchemaMismatch(f"The rows have a column named {strange!r}, which is no text. Rename it.")
    return LocalRows(tuple((str(name), [row[name] for row in rows]) for name in names), len(rows))


def _of_instances(rows: Sequence[Model], spec: TableSpec, verb: str) -> LocalRows:
    """Rows of a class: all columns where the verb writes whole rows, else those that were set."""
    models = {type(row) for row in rows}
    if len(models) > 1:
        raise BadRows(f"The rows are of the classes {', '.join(sorted(m.__name__ for m in models))}. Write them apart.")
    attributes = type(rows[0]).attributes()
    if verb in _WHOLE_ROWS:
        names = list(attributes)
    elif verb == "delete":
        names = _columns_of(list(attributes), spec, verb)
    else:
        sets = [frozenset(row.model_fields_set) for row in rows]
        _check_same_columns(sets)
        names = [name for name, attribute in attributes.items() if attribute in sets[0]]
    return LocalRows(tuple((name, [getattr(row, attributes[name]) for row in rows]) for name in names), len(rows))


def _columns_of(names: Sequence[str], spec: TableSpec, verb: str) -> list[str]:
    return [name for name in names if verb != "delete" or name in spec.key or name == spec.ordering]


def _check_same_columns(sets: Sequence[frozenset[Any]]) -> None:
    for position, names in enumerate(sets):
        differing = sorted(map(str, names ^ sets[0]))
        if differing:
            there, missing = (position, 0) if differing[0] in names else (0, position)
            raise BadRows(
                f"Row {there} has the column {differing[0]!r} and row {missing} has not, but a write is about the same "
                "columns of every row. Give it a value (None is null), write the rows apart, or use columns_from=."
            )


# ----------------------------------------------------------------------------------------------------- what fits


def _fitted(name: str, values: Values, type_: IcebergType) -> Any:
    chunks: list[Any] = []
    for start, chunk in _chunks(values):
        try:
            chunks.append(fit_objects(chunk, type_) if isinstance(chunk, list) else fit(chunk, type_))
        except Misfit as misfit:
            raise BadRows(misfit.sentence(name, start + misfit.position)) from None
    return pa.chunked_array(chunks, type=arrow_types.for_spark(type_))


def _chunks(values: Values) -> Iterator[tuple[int, Any]]:
    start = 0
    if isinstance(values, list):
        for start in range(0, len(values), _OBJECTS_AT_ONCE):
            yield start, values[start : start + _OBJECTS_AT_ONCE]
        return
    for chunk in values.chunks:
        yield start, chunk
        start += len(chunk)


def _fitted_helper(name: str, values: Values, role: Helper) -> Any:
    """A column that no spec gives a type: text, names, or anything that is a version."""
    kind, told = _kind_of(values)
    type_ = _VERSION_TYPES.get(kind) if role == "version" else StringType() if role == "op" else _NAMES
    fits = {"version": type_ is not None, "op": kind == "string", "columns_from": kind == "list"}[
        role
    ] or kind == "null"
    if not fits:
        raise SchemaMismatch(_not_a(name, told, role))
    return _fitted(name, values, type_ or LongType())


def _not_a(name: str, told: str, role: Helper) -> str:
    wanted = {"version": "an integer, a date or a timestamp", "op": "a string", "columns_from": "a list of strings"}
    return f"Column {name!r} is a {told}, and as {role} it is {wanted[role]}. Convert it, or name another column."


def _kind_of(values: Values) -> tuple[str, str]:
    """The kind of values that a column has, and the words for it in an error."""
    if isinstance(values, list):
        kinds = by_kind(cast("list[object]", values))
        names = {"integer": "long", "float": "double"}
        return (next(iter(kinds)) if len(kinds) == 1 else "mixed" if kinds else "null"), " and a ".join(
            names.get(kind, kind) for kind in kinds
        )
    type_ = values.type.value_type if isinstance(values.type, pa.DictionaryType) else values.type
    if values.null_count == len(values):
        return "null", "null"
    return ("list" if arrow_types.is_list(type_) else family(type_)), type_name(type_)


def _check_no_null(name: str, values: Any, must: bool) -> None:
    if must and values.null_count:
        row = pc.index(values.is_null(), pa.scalar(True)).as_py()
        raise BadRows(
            f"Column {name!r} is null in row {row}, and it never may be. Give it a value, or leave the row out."
        )
