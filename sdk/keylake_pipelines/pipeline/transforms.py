"""The transforms of the rows of a source table on their way: projection, filter, keys.

    row (JSON) ── from_json by the columns of the source ── filter ── expressions ── to_json ── row

    a row that the filter lets through     the columns of the projection
    one that it keeps back                 a delete of its key, so that a row which leaves the filter leaves the table;
                                           an insert is left out
    a delete                               a delete of its key; with SOFT_DELETE an update

Columns that a row does not have are not written: a column of the projection is there if the columns are that it is made
of. If only some of them are, or those of the filter are not, the value is not known, and the row is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, TypeVar

from pyiceberg.types import (
    DecimalType,
    FixedType,
    IcebergType,
    ListType,
    MapType,
    StructType,
    TimeType,
    UUIDType,
)

from keylake.errors import DefinitionError, KeylakeError
from keylake.extension import iceberg_type, literal, quoted, sql_type
from keylake.types import numbered
from keylake_pipelines.pipeline.expressions import column_name, items, names_in, spark_text, substituted, without_alias
from keylake_pipelines.source.source import CHANGES
from keylake_pipelines.source.tables import SourceColumn, SourceSchema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from keylake.extension import Session
    from keylake_pipelines.definition.pipeline import Transform

METADATA = ("__namespace_name__", "__schema_name__", "__table_name__", "__data_event_type__", "op_ts")
_JSON = "map('ignoreNullFields', 'false', 'timeZone', 'UTC', 'timestampFormat', {}, 'timestampNTZFormat', {})".format(
    literal("yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"), literal("yyyy-MM-dd'T'HH:mm:ss.SSSSSS")
)
_OP, _NAMES, _KEPT = "_of_keylake_op", "_of_keylake_names", "_of_keylake_kept"
_OF_EVENTS = re.compile(
    r"\b(?:__data_event_type__|op_ts|(?:current_date|current_timestamp|curdate|now|localtimestamp|rand|randn|random"
    r"|uuid|shuffle|unix_timestamp|monotonically_increasing_id)\b)",
    re.IGNORECASE,
)
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Projected:
    """A column of a projection: its expression over the columns of the source, and which of them it is made of."""

    column: SourceColumn
    text: str
    made_of: tuple[str, ...]


@dataclass(frozen=True)
class _Rule:
    """A transform for the columns of one table."""

    columns: tuple[Projected, ...]
    filter: str | None
    filtered_by: tuple[str, ...]
    keeps_deletes: bool


@dataclass(frozen=True)
class Transformed:
    """The transforms of one source table, and the columns that its rows have then.

    Of several transforms that of a row is the first whose filter lets it through.
    """

    source: SourceSchema
    schema: SourceSchema
    rules: tuple[_Rule, ...]

    @classmethod
    def of(cls, session: Session, source: SourceSchema, transforms: Sequence[Transform]) -> Transformed:
        """The transforms of a table, typed by Spark.

        Errors: `DefinitionError` for an expression that Spark refuses, a column without a name, a key that is not
        there.
        """
        if not transforms:
            return cls(source, source, ())
        rules = tuple(_rule(session, source, each) for each in transforms)
        columns = rules[0].columns
        for rule in rules[1:]:
            if [each.column for each in rule.columns] != [each.column for each in columns]:
                one, other = (", ".join(each.column.name for each in some) for some in (columns, rule.columns))
                raise DefinitionError(
                    f"The transforms of {source.table} give other columns: {one}, and {other}. Give all of them the "
                    "same names and types, in one order."
                )
        schema = replace(source, columns=tuple(each.column for each in columns), key=_key(source, transforms, columns))
        is_as_it_was = [each.text for each in columns] == [quoted(column.name) for column in source.columns]
        if is_as_it_was and len(rules) == 1 and rules[0].filter is None and not rules[0].keeps_deletes:
            return cls(source, schema, ())
        return cls(source, schema, rules)

    @property
    def of_events(self) -> frozenset[str]:
        """The columns whose values depend on when, and by which change, a row came, not only on the row."""
        return frozenset(
            each.column.name for rule in self.rules for each in rule.columns if _OF_EVENTS.search(each.text)
        )

    @property
    def incomparable(self) -> str:
        """The reason why the rows of the keyed table are not those that the source has now; empty where they are."""
        if any(rule.keeps_deletes for rule in self.rules):
            return "its transform keeps rows that are deleted in the source (SOFT_DELETE)"
        if any(rule.filter is not None and _OF_EVENTS.search(rule.filter) for rule in self.rules):
            return "the filter of its transform depends on when a row came, not only on the row"
        return ""

    def is_copied(self, name: str, source: str) -> bool:
        """A column is always the one of that name in the source."""
        copies = [
            each.text == quoted(source) for rule in self.rules for each in rule.columns if each.column.name == name
        ]
        return all(copies) if self.rules else name == source

    def rows(self, rows: DataFrame) -> DataFrame:
        """Rows with the columns of `CHANGES`, as they are written."""
        if not self.rules:
            return rows
        read = _read(self.source, rows)
        parts: list[DataFrame] = []
        for number, rule in enumerate(self.rules):
            chosen = read.where(self._chosen(number)) if len(self.rules) > 1 else read
            parts.append(self._written(rule, chosen))
        return reduce(lambda one, other: one.unionByName(other), parts)

    def _chosen(self, number: int) -> str:
        """The condition for the rows of a rule; the last rule has also those that no filter lets through."""
        before = [self.rules[each].filter for each in range(number)]
        if None in before:
            return "false"
        mine = self.rules[number].filter
        own = [] if mine is None or number == len(self.rules) - 1 else [f"coalesce({mine}, false)"]
        return " AND ".join([*(f"NOT coalesce({each}, false)" for each in before), *own]) or "true"

    def _written(self, rule: _Rule, read: DataFrame) -> DataFrame:
        passes = "true" if rule.filter is None else f"coalesce({rule.filter}, false)"
        checked = read.where(" AND ".join(["true", *self._checks(rule)]))
        kept = checked.selectExpr("*", f"{_OP} = 'd' OR {passes} AS {_KEPT}").where(f"{_KEPT} OR {_OP} <> 'c'")
        deleted = "u" if rule.keeps_deletes else "d"
        own = {
            "op": f"CASE WHEN NOT {_KEPT} THEN 'd' WHEN {_OP} = 'd' THEN '{deleted}' ELSE {_OP} END",
            "row": self._json(rule),
        }
        values = [f"{each.text} AS {_value(number)}" for number, each in enumerate(rule.columns)]
        texts = {name: own.get(name, _own(name)) for name in CHANGES.names}
        return kept.selectExpr("*", *values).selectExpr(*(f"{text} AS {quoted(name)}" for name, text in texts.items()))

    def _checks(self, rule: _Rule) -> Iterator[str]:
        """Conditions that are true, or end the write with a sentence."""
        if rule.filtered_by:
            yield self._check(f"{_OP} <> 'd'", rule.filtered_by, "the filter", 1)
        for each in rule.columns:
            name = f"column {each.column.name!r}"
            if each.column.name in self.schema.key and each.made_of:
                yield self._check("true", each.made_of, name, 1)
            elif len(each.made_of) > 1:
                yield self._check(f"{_OP} <> 'd'", each.made_of, name, len(each.made_of))

    def _check(self, when: str, made_of: tuple[str, ...], what: str, fewer_than: int) -> str:
        """Refuses rows that lack some columns, but not those that lack so many or more, if that is all of several."""
        names = f"array({', '.join(map(literal, made_of))})"
        absent = f"array_except({names}, {_NAMES})"
        bad = f"size({absent}) > 0" + (f" AND size({absent}) < {fewer_than}" if fewer_than > 1 else "")
        said = literal(f"[KEYLAKE_BAD_ROWS] A row of {self.source.table} lacks columns that {what} is made of: ")
        end = literal(
            ". Let the source give whole rows: binlog_row_image or REPLICA IDENTITY set to FULL. SQLSTATE: 22000"
        )
        return f"if({when} AND {bad}, raise_error(concat({said}, array_join({absent}, ', '), {end})), true)"

    def _json(self, rule: _Rule) -> str:
        """The row as JSON: whole, or with the columns that are there."""
        members = [(each, _as_json(_value(number), each.column.type)) for number, each in enumerate(rule.columns)]
        pairs = ", ".join(f"{literal(each.column.name)}, {value}" for each, value in members)
        whole = f"to_json(named_struct({pairs}), {_JSON})"
        made_of = list(dict.fromkeys(name for each in rule.columns for name in each.made_of))
        if not made_of:
            return whole
        parts: list[str] = []
        for each, value in members:
            one = f"to_json(named_struct({literal(each.column.name)}, {value}), {_JSON})"
            text = f"substring({one}, 2, length({one}) - 2)"
            parts.append(f"if({_has(each.made_of)}, {text}, NULL)" if each.made_of else text)
        some = f"concat('{{', array_join(array({', '.join(parts)}), ','), '}}')"  # which leaves out null
        return f"if({_has(made_of)}, {whole}, {some})"


def spark_type(type_: IcebergType) -> str:
    """The type that Spark reads values of JSON as: text for those that it has no type for.

    >>> from pyiceberg.types import LongType
    >>> spark_type(ListType(1, LongType(), element_required=False))
    'ARRAY<BIGINT>'
    """
    match type_:
        case ListType():
            return f"ARRAY<{spark_type(type_.element_type)}>"
        case MapType():
            return f"MAP<{spark_type(type_.key_type)}, {spark_type(type_.value_type)}>"
        case StructType():
            return (
                f"STRUCT<{', '.join(f'{quoted(each.name)}: {spark_type(each.field_type)}' for each in type_.fields)}>"
            )
        case UUIDType() | TimeType():
            return "STRING"
        case FixedType():
            return "BINARY"
        case _:
            return sql_type(type_)


# ---------------------------------------------------------------------------------------------------------- planning


def _rule(session: Session, source: SourceSchema, transform: Transform) -> _Rule:
    empty = _read(source, _no_rows(session.spark))
    names = tuple(column.name for column in source.columns)
    known = (*names, *METADATA)
    columns: dict[str, Projected] = {}
    for item in items("*" if transform.projection is None else transform.projection):
        for each in _all(source) if item.is_all else [_projected(session, source, empty, item.text, known)]:
            columns[each.column.name.lower()] = each  # a later one of the same name takes its place
    found = tuple(columns.values())
    text, made_of = None, tuple[str, ...]()
    if transform.filter is not None:
        text = _with_computed(_spark_text(source, "filter", transform.filter), found, names)
        made_of = tuple(name for name in names_in(text, known) if name in names)
        _analysed(session, source, "filter", transform.filter, lambda: empty.where(text).schema)
    return _Rule(found, text, made_of, transform.converter_after_transform == "SOFT_DELETE")


def _all(source: SourceSchema) -> list[Projected]:
    return [Projected(column, quoted(column.name), (column.name,)) for column in source.columns]


def _projected(session: Session, source: SourceSchema, empty: DataFrame, text: str, known: Sequence[str]) -> Projected:
    """A column of a projection as Spark understands it."""
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_schema

    own = {column.name.lower(): column for column in source.columns}
    bare = column_name(text)
    if bare is not None and bare.lower() in own:
        column = own[bare.lower()]
        return Projected(column, quoted(column.name), (column.name,))
    spark = _spark_text(source, "projection", text)
    field = _analysed(session, source, "projection", text, lambda: empty.selectExpr(spark).schema.fields[0])
    expression, is_named = without_alias(spark, field.name)
    if not is_named and bare is None:
        raise DefinitionError(
            f"The transform of {source.table} has a column without a name in its projection: {text}. "
            "Name it: ... AS name."
        )
    made_of = tuple(name for name in names_in(expression, known) if name.lower() in own)
    renamed = own.get((column_name(expression) or "").lower())
    if renamed is not None:
        return Projected(replace(renamed, name=field.name), quoted(renamed.name), (renamed.name,))
    from pyspark.sql.types import StructType as SparkStruct

    with session.asking():
        arrow: pa.DataType = to_arrow_schema(SparkStruct([field])).field(0).type
    where = f"The transform of {source.table}: column {field.name!r}"
    if pa.types.is_null(arrow):
        raise DefinitionError(f"{where} has no type. Give it one: CAST(NULL AS STRING) AS {field.name}.")
    return Projected(SourceColumn(field.name, numbered(iceberg_type(arrow, where))), expression, made_of)


def _with_computed(text: str, columns: Sequence[Projected], own: Sequence[str]) -> str:
    """A filter in which columns that are computed stand as their expressions; names of the source are the source's."""
    computed = {each.column.name: each.text for each in columns if each.column.name not in own}
    used = names_in(text, computed)
    return text if not used else substituted(text, {name: f"({computed[name]})" for name in used})


def _key(source: SourceSchema, transforms: Sequence[Transform], columns: Sequence[Projected]) -> tuple[str, ...]:
    keys = {each.primary_keys for each in transforms}
    if len(keys) > 1:
        raise DefinitionError(f"The transforms of {source.table} have several primary-keys. Give all of them the same.")
    by_lower = {each.column.name.lower(): each.column.name for each in columns}
    wanted = keys.pop() or source.key
    gone = [name for name in wanted if name.lower() not in by_lower]
    if gone:
        raise DefinitionError(
            f"The transform of {source.table} leaves out {', '.join(gone)}, of which the key is made. Add it to the "
            f"projection, or name another key with primary-keys. There are: {', '.join(by_lower.values())}."
        )
    return tuple(by_lower[name.lower()] for name in wanted)


def _spark_text(source: SourceSchema, what: str, text: str) -> str:
    try:
        return spark_text(text)
    except ValueError as error:
        raise DefinitionError(f"The {what} of {source.table} {error}") from None


def _analysed(session: Session, source: SourceSchema, what: str, text: str, ask: Callable[[], _Result]) -> _Result:
    """Spark's answer about an expression, or its refusal as a sentence."""
    try:
        with session.asking():
            return ask()
    except KeylakeError as error:
        raise type(error)(f"The {what} of {source.table} is refused, {text}: {error}") from None


# -------------------------------------------------------------------------------------------------------- rows of JSON


def _no_rows(spark: SparkSession) -> DataFrame:
    types = {"int64": "BIGINT", "string": "STRING"}
    columns = [f"CAST(NULL AS {types.get(str(field.type), 'TIMESTAMP')}) AS {quoted(field.name)}" for field in CHANGES]
    return spark.sql(f"SELECT {', '.join(columns)}").where("false")


def _read(source: SourceSchema, rows: DataFrame) -> DataFrame:
    """The rows with the columns of the source by their names, and what is known of them under names of our own."""
    ddl = ", ".join(f"{quoted(column.name)} {spark_type(column.type)}" for column in source.columns)
    *above, table = source.table.parts
    # As in Flink CDC, the database of MySQL is a schema, and has no namespace.
    namespace, schema = (["CAST(NULL AS STRING)", "CAST(NULL AS STRING)"] + [literal(each) for each in above])[-2:]
    known = {
        "__namespace_name__": namespace,
        "__schema_name__": schema,
        "__table_name__": literal(table),
        "__data_event_type__": f"CASE {_OP} WHEN 'd' THEN '-D' WHEN 'u' THEN '+U' ELSE '+I' END",
        "op_ts": f"unix_millis({_own('at')})",
    }
    own = {column.name.lower() for column in source.columns}
    return (
        rows.selectExpr(*(f"{quoted(name)} AS {_own(name)}" for name in CHANGES.names))
        .selectExpr(
            "*",
            f"json_object_keys({_own('row')}) AS {_NAMES}",
            f"from_json({_own('row')}, {literal(ddl)}, map('mode', 'FAILFAST')) AS {_own('read')}",
        )
        .selectExpr("*", f"{_own('read')}.*")
        .selectExpr("*", *(f"{text} AS {name}" for name, text in known.items() if name not in own))
    )


def _own(name: str) -> str:
    """The name that a column of `CHANGES` has beside those of the source."""
    return f"_of_keylake_{name}"


def _value(number: int) -> str:
    return f"_of_keylake_value_{number}"


def _has(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"array_contains({_NAMES}, {literal(names[0])})"
    return f"size(array_except(array({', '.join(map(literal, names))}), {_NAMES})) = 0"


def _as_json(name: str, type_: IcebergType) -> str:
    """The value in a form that JSON keeps."""
    return f"CAST({name} AS STRING)" if isinstance(type_, DecimalType) else name
