"""A batch of payloads as frames of Spark: its fields, what they are as columns, and what is rescued.

    rows ── documents ──┬── fields      one aggregation: names and kinds, from which the plan is made
                        └── rows of a plan: columns, the names of those that a row carries, what is rescued

Columns of these frames have short names of their own, so that no name of the rows or of a payload is in the way.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyiceberg.types import IcebergType

from keylake._json.mapping import FieldPath, JsonMapping
from keylake._json.plan import Plan, SeenField, Target
from keylake._json.values import OBJECT, converted, fits, got, is_null, is_text, kind
from keylake._server.statements import literal
from keylake.errors import BadRows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PAYLOADS = "a JSON STRING, MAP<STRING, STRING>, MAP<STRING, VARIANT> or VARIANT"
MOST_FIELDS = 10_000
NAMES = "names"  # of the columns that a row carries
RESCUED = "rescued"
_ENTRY = "struct<field:string,value:string,reason:string>"
_NO_ENTRIES = f"CAST(array() AS array<{_ENTRY}>)"
_NO_NAMES = "CAST(array() AS array<string>)"
_NO_FIELDS = f"CAST(map() AS {OBJECT})"
_NO_TEXT = "CAST(NULL AS STRING)"
_NO_OBJECT = (
    "CASE WHEN p IS NULL OR schema_of_variant(v) LIKE 'OBJECT<%' THEN NULL "
    "WHEN v IS NULL THEN 'it cannot be parsed as JSON' "
    f"ELSE concat(lower({kind('schema_of_variant(v)')}), ' is no object') END"
)


@dataclass(frozen=True)
class Batch:
    """Rows with a payload each.

    `documents` has the columns beside the payload as `b0`, `b1`, ...; the fields as `d`, a map to VARIANT; and, where
    the payload is no object, its text as `w` and the reason as `r`.
    """

    documents: DataFrame
    columns: tuple[str, ...]  # all that the rows have beside the payload
    version: str | None  # the one of them that is the version of the row, and no column of the table
    is_text: bool  # the values are text, as in MAP<STRING, STRING>
    mapping: JsonMapping
    mark: str

    @classmethod
    def of(cls, frame: DataFrame, payload: str, type_: str, mapping: JsonMapping, version: str | None) -> Batch:
        """The batch of a frame whose column `payload` has this type, as Spark names it."""
        mark = uuid.uuid4().hex  # nothing that is in a payload
        columns = list(frame.columns)
        others = tuple(name for name in columns if name != payload)
        numbers = {name: f"b{number}" for number, name in enumerate(others)}
        rows = frame.toDF(*(numbers.get(name, "p") for name in columns))
        own = list(numbers.values())
        if type_ in ("map<string,string>", "map<string,variant>"):
            document = [f"coalesce(CAST(p AS {OBJECT}), {_NO_FIELDS}) AS d", f"{_NO_TEXT} AS w", f"{_NO_TEXT} AS r"]
            documents = rows.selectExpr(*own, *document)
        elif type_ == "variant" or type_.partition("(")[0].partition(" ")[0] in ("string", "varchar", "char"):
            value, text = ("p", "to_json(p)") if type_ == "variant" else (_parsed("p", mark), "p")
            document = [f"coalesce({got('v', OBJECT)}, {_NO_FIELDS}) AS d", f"{text} AS w", f"{_NO_OBJECT} AS r"]
            documents = rows.selectExpr(*own, "p", f"{value} AS v").selectExpr(*own, *document)
        else:
            raise BadRows(f"Column {payload!r} of the rows is {type_}. Give {PAYLOADS}.")
        return cls(documents, others, version, type_ == "map<string,string>", mapping, mark)

    def of_column(self, name: str) -> str:
        """The column beside the payload, as it is called in these frames."""
        return f"b{self.columns.index(name)}"

    @property
    def beside(self) -> tuple[str, ...]:
        """The columns beside the payload that are columns of the table."""
        return tuple(name for name in self.columns if name != self.version)

    # -------------------------------------------------------------------------------------------------------- fields

    def fields(self) -> DataFrame:
        """The fields that the payloads have: `path` (-1: of the payload itself), `name`, `kinds`, `nested`."""
        from pyspark.sql.connect.functions import expr

        own = (
            f"transform(map_entries({self._considered()}), e -> named_struct('path', -1, 'name', e.key, 'v', e.value))"
        )
        paths = [path for path in self.mapping.paths if len(path) > 1]
        deep = [
            f"if({_has(path)}, array(named_struct('path', {number}, 'name', '', 'v', {_at(path)})), array())"
            for number, path in enumerate(paths)
        ]
        seen = self.documents.selectExpr(f"inline(concat({', '.join([own, *deep])}))")
        nested = "schema_of_variant_agg(v) FILTER (WHERE kind IN ('ARRAY', 'OBJECT')) AS nested"
        named = f"if({is_null('v')}, NULL, {kind('schema_of_variant(v)')}) AS kind"
        kinds = seen.selectExpr("path", "name", "v", named).groupBy("path", "name")
        return kinds.agg(expr("collect_set(kind) AS kinds"), expr(nested)).limit(MOST_FIELDS + 1)

    def seen(self, rows: Sequence[dict[str, object]]) -> list[SeenField]:
        """The rows of `fields()` as fields."""
        if len(rows) > MOST_FIELDS:
            raise BadRows(
                f"The payloads have more than {MOST_FIELDS:,} different fields. Name those that count with include=."
            )
        paths = [path for path in self.mapping.paths if len(path) > 1]
        return [
            SeenField(
                (str(row["name"]),) if row["path"] == -1 else paths[int(str(row["path"]))],
                tuple(sorted(row["kinds"])),  # type: ignore[call-overload]
                None if row["nested"] is None else str(row["nested"]),
            )
            for row in rows
        ]

    def _considered(self) -> str:
        """The fields of the payload itself that count."""
        listed, excluded = self.mapping.listed, self.mapping.exclude
        if listed is not None:
            return f"map_filter(d, (k, v) -> k IN ({_literals(listed)}))" if listed else _NO_FIELDS
        return f"map_filter(d, (k, v) -> k NOT IN ({_literals(tuple(excluded))}))" if excluded else "d"

    # ------------------------------------------------------------------------------------------------ rows of a plan

    def rows(self, plan: Plan) -> DataFrame:
        """The columns beside the payload, those of the plan as `c0`, `c1`, ..., `names` and `rescued`."""
        own = [f"b{number}" for number in range(len(self.columns))]
        targets = [*plan.updates, *plan.repeated]
        numbers = range(len(targets))
        chosen = self.documents.selectExpr(
            *own, "d", "w", "r", *(f"{_chosen(t)} AS f{n}" for n, t in enumerate(targets))
        )
        values = chosen.selectExpr(
            *own,
            "d",
            "w",
            "r",
            *(f"f{n}" for n in numbers),
            *(f"{self._value(t, n)} AS x{n}" for n, t in enumerate(targets)),
        )
        schemas = [f"schema_of_variant(x{n}) AS s{n}" for n in numbers]
        checks = [f"({is_null(f'x{n}')} OR {fits(f'x{n}', t.type, f's{n}')}) AS ok{n}" for n, t in enumerate(targets)]
        checked = values.selectExpr("*", *schemas).selectExpr("*", *checks)
        updates, repeated = plan.updates, list(enumerate(plan.repeated, len(plan.updates)))
        carried = [
            f"coalesce(f{n} IS NOT NULL AND ok{n}{self._whole_group(plan, t)}, false) AS h{n}"
            for n, t in enumerate(updates)
        ]
        same = [f"(f{n} IS NULL OR ok{n} AND {self._equals(t, n)}) AS h{n}" for n, t in repeated]
        decided = checked.selectExpr("*", *carried, *same)
        beside = {name.lower() for name in self.beside}
        always = [name for name in plan.spec.value_columns if name.lower() in beside]
        names = [f"CAST(array({', '.join(map(literal, always))}) AS array<string>)"]
        names += [f"if(h{n}, array({literal(t.column)}), {_NO_NAMES})" for n, t in enumerate(updates)]
        converted_values = [f"if(h{n}, {_converted(n, t.type)}, NULL) AS c{n}" for n, t in enumerate(updates)]
        return decided.selectExpr(
            *own, *converted_values, f"concat({', '.join(names)}) AS {NAMES}", f"{self._rescued(plan)} AS {RESCUED}"
        )

    def _given(self, target: Target, number: int) -> str:
        """The value that the payload has for a column; null where there is none."""
        deep = [path for path in target.fields if len(path) > 1]
        flat = f"try_element_at(d, f{number})"
        cases = "".join(f" WHEN f{number} = {literal(_label(path))} THEN {_at(path)}" for path in deep)
        return f"CASE{cases} ELSE {flat} END" if deep else flat

    def _value(self, target: Target, number: int) -> str:
        """The value as it is to be stored, if it fits."""
        value = self._given(target, number)
        if not self.is_text or is_text(target.type):
            return value
        # Text is JSON for a number, a list and so on; other text stays what it is, and does not fit.
        return f"if(f{number} IS NULL, NULL, coalesce({_parsed(got(value, 'string'), self.mark)}, {value}))"

    def _whole_group(self, plan: Plan, target: Target) -> str:
        group = plan.group_of(target)
        if group is None:
            return ""
        members = [n for n, other in enumerate(plan.updates) if other.column in group.columns]
        return "".join(f" AND f{n} IS NOT NULL AND ok{n}" for n in members)

    def _equals(self, target: Target, number: int) -> str:
        beside = next(name for name in self.beside if name.lower() == target.column.lower())
        return f"{_converted(number, target.type)} <=> {self.of_column(beside)}"

    def _rescued(self, plan: Plan) -> str:
        lists = [f"if(r IS NULL, {_NO_ENTRIES}, array({_entry('CAST(NULL AS STRING)', 'w', 'r')}))"]
        for n, target in enumerate([*plan.updates, *plan.repeated]):
            entry = _entry(f"f{n}", f"to_json({self._given(target, n)})", _reason(plan, target, n))
            lists.append(f"if(f{n} IS NULL OR h{n}, {_NO_ENTRIES}, array({entry}))")
            if len(target.fields) > 1:
                lists.append(_not_chosen(target, n))
        lists.append(self._others(plan))
        return f"concat({', '.join(lists)})"

    def _others(self, plan: Plan) -> str:
        """The fields that are no updates: nothing that is there and not null is lost."""
        own = [path[0] for target in [*plan.updates, *plan.repeated] for path in target.fields if len(path) == 1]
        mapped = f"k IN ({_literals(own)}) OR " if own else ""
        left = f"map_filter({self._considered()}, (k, v) -> NOT ({mapped}{is_null('v')}))"
        reason = literal("its type is not known")
        flat = {path[0]: why for path, why in plan.refused.items() if len(path) == 1}
        if flat:
            pairs = ", ".join(f"{literal(name)}, {literal(why)}" for name, why in flat.items())
            reason = f"coalesce(try_element_at(map({pairs}), e.key), {reason})"
        others = f"transform(map_entries({left}), e -> {_entry('e.key', 'to_json(e.value)', reason)})"
        deep = [
            f"if({_has(path)} AND NOT {is_null(_at(path))}, "
            f"array({_entry(literal(_label(path)), f'to_json({_at(path)})', literal(why))}), {_NO_ENTRIES})"
            for path, why in plan.refused.items()
            if len(path) > 1
        ]
        return ", ".join([others, *deep])


def _parsed(text: str, mark: str) -> str:
    """Text as VARIANT, null where it is no JSON.

    Spark's parser does not look behind the first value, so a mark follows that it has to find.
    """
    both = got(f"try_parse_json(concat('[', {text}, ',\"{mark}\"]'))", "array<variant>")
    is_one = f"size(a) = 2 AND {got('get(a, 1)', 'string')} = '{mark}'"
    return f"get(transform(array({both}), a -> if({is_one}, get(a, 0), NULL)), 0)"


def _inside(path: FieldPath) -> str:
    """The object that holds the last field of a path, as a map."""
    inside = "d"
    for name in path[:-1]:
        inside = got(f"try_element_at({inside}, {literal(name)})", OBJECT)
    return inside


def _at(path: FieldPath) -> str:
    return f"try_element_at({_inside(path)}, {literal(path[-1])})"


def _has(path: FieldPath) -> str:
    return f"coalesce(map_contains_key({_inside(path)}, {literal(path[-1])}), false)"


def _label(path: FieldPath) -> str:
    return ".".join(path)


def _chosen(target: Target) -> str:
    """The field of a row that is the update of a column; of several, the one that is written as the column."""
    present = [f"if({_has(path)}, array({literal(_label(path))}), {_NO_NAMES})" for path in target.fields]
    if len(present) == 1:
        return f"get({present[0]}, 0)"
    names = f"concat({', '.join(present)})"
    exact = literal(target.column)
    one = f"if(array_contains(c, {exact}), {exact}, if(size(c) = 1, get(c, 0), NULL))"
    return f"get(transform(array({names}), c -> {one}), 0)"


def _not_chosen(target: Target, number: int) -> str:
    reason = literal(f"other fields of the payload are column {target.column!r}, too")
    each = [
        f"if({_has(path)} AND NOT {literal(_label(path))} <=> f{number} AND NOT {is_null(_at(path))}, "
        f"array({_entry(literal(_label(path)), f'to_json({_at(path)})', reason)}), {_NO_ENTRIES})"
        for path in target.fields
    ]
    return f"concat({', '.join(each)})"


def _reason(plan: Plan, target: Target, number: int) -> str:
    if target in plan.repeated:
        return literal(f"column {target.column!r} stands beside the payload, with another value")
    said = (
        f"concat(lower({kind(f's{number}')}), {literal(f' does not fit into column {target.column!r}, {target.type}')})"
    )
    group = plan.group_of(target)
    if group is None:
        return said
    together = f"the columns of group {group.name!r} are written together, and not all of them are there and fit"
    return f"if(ok{number}, {literal(together)}, {said})"


def _entry(name: str, value: str, reason: str) -> str:
    return f"named_struct('field', {name}, 'value', {value}, 'reason', {reason})"


def _converted(number: int, type_: IcebergType) -> str:
    return f"if({is_null(f'x{number}')}, NULL, {converted(f'x{number}', type_, f's{number}')})"


def _literals(names: Sequence[str]) -> str:
    return ", ".join(map(literal, names))
