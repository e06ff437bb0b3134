"""The rows that a read wants: conditions as text or as Arrow expressions, and what they say about keys."""

# pyright: reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyiceberg import expressions as ice
from pyiceberg.expressions.visitors import bind, rewrite_not
from pyiceberg.schema import Schema
from pyiceberg.types import FixedType, IcebergType, IntegerType, LongType, NestedField, UUIDType

from keylake.conditions import Condition
from keylake.errors import DefinitionError, check_type
from keylake.local.condition_texts import expression_of_text
from keylake.local.conditions import expression_of
from keylake.local.files import StoredFile
from keylake.local.layout import Layout

Where = str | Condition | ice.BooleanExpression


@dataclass(frozen=True)
class Filter:
    """A condition on merged rows."""

    expression: ice.BooleanExpression
    layout: Layout

    @classmethod
    def of(cls, where: Where, layout: Layout) -> Filter:
        """The condition that a text, columns or an expression of pyiceberg say, on columns of the table."""
        may_be = "a condition such as \"clicks > 5 AND city = 'Oslo'\", or on a column: kl.col(Profile.clicks) > 5"
        check_type("where", where, str | Condition | ice.BooleanExpression, may_be)
        fields = {name.lower(): field for name, field in layout.fields.items()}
        try:
            expression = rewrite_not(_expression(where, fields))
            _check_literals(expression, fields)
            bound = bind(Schema(*layout.fields.values()), expression, case_sensitive=False)
            _check_members(bound, {field.field_id for field in layout.fields.values()})
        except Exception as error:  # noqa: BLE001  # the parser's errors have no common class
            raise DefinitionError(
                f"where={where!r} is no condition on columns of {layout.spec.name}: {_first_line(error)}. "
                "Use comparisons, IN, IS NULL, LIKE 'a%', AND, OR and NOT, or filter the rows that were read."
            ) from None
        return cls(bound, layout)

    @property
    def conjuncts(self) -> Iterator[ice.BooleanExpression]:
        """The conditions that all have to be true."""
        return _conjuncts(self.expression)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it looks at."""
        return tuple(dict.fromkeys(each.term.ref().field.name for each in _predicates(self.expression)))

    def of_rows(self, rows: Any) -> Any:
        """The rows of an Arrow table for which it is true."""
        from pyiceberg.io.pyarrow import expression_to_pyarrow  # which imports pandas, where that is installed

        uuids = [name for name in self.columns if isinstance(_type_of(self.layout, name), UUIDType)]
        if not uuids:
            return rows.filter(expression_to_pyarrow(self.expression))
        # Arrow compares no uuids, but their bytes.
        plain = pa.schema([field.with_type(pa.binary(16)) if field.name in uuids else field for field in rows.schema])
        fields = [
            NestedField(each.field_id, each.name, FixedType(16)) if each.name in uuids else each
            for each in self.layout.fields.values()
        ]
        expression = bind(Schema(*fields), _unbound(self.expression), case_sensitive=True)
        return rows.cast(plain).filter(expression_to_pyarrow(expression)).cast(rows.schema)

    def may_have(self, file: StoredFile) -> bool:
        """A file can have keys for which the filter is true."""
        key = [field.name for field in self.layout.key]
        for each in self.conjuncts:
            if isinstance(each, ice.BoundLiteralPredicate) and each.term.ref().field.name in key:
                at = key.index(each.term.ref().field.name)
                if not _is_possible(each, file.lower[at], file.upper[at]):
                    return False
        return True


def _expression(where: Where, fields: Mapping[str, NestedField]) -> ice.BooleanExpression:
    if isinstance(where, str):
        return expression_of_text(where, fields)
    return expression_of(where, fields) if isinstance(where, Condition) else where


def _check_members(expression: ice.BooleanExpression, columns: Set[int]) -> None:
    """Refuses a condition on a member of a struct, which would be taken for the column of its name."""
    for each in _predicates(expression):
        field = each.term.ref().field
        if field.field_id not in columns:
            raise ValueError(f"{field.name!r} is a member of a struct, and columns alone are compared here")


def _check_literals(expression: ice.BooleanExpression, fields: Mapping[str, NestedField]) -> None:
    """Refuses a fraction beside whole numbers, which pyiceberg would round."""
    for each in _parts(expression):
        field = fields.get(str(getattr(each.term, "name", "")).lower())
        if field is not None and isinstance(field.field_type, IntegerType | LongType):
            literals = [each.literal] if isinstance(each, ice.LiteralPredicate) else getattr(each, "literals", ())
            for value in (literal.value for literal in literals):
                if isinstance(value, float | Decimal) and value != int(value):
                    raise ValueError(f"{value} is no whole number, and column {field.name!r} is {field.field_type}")


def _parts(expression: ice.BooleanExpression) -> Iterator[Any]:
    """The comparisons of an expression that is not bound to columns yet."""
    if isinstance(expression, ice.And | ice.Or):
        yield from _parts(expression.left)
        yield from _parts(expression.right)
    elif isinstance(expression, ice.UnboundPredicate):
        yield expression


def _unbound(expression: ice.BooleanExpression) -> ice.BooleanExpression:
    """An expression without the types of its columns; values of uuids in it are bytes."""
    if isinstance(expression, ice.And | ice.Or):
        return type(expression)(_unbound(expression.left), _unbound(expression.right))
    if not isinstance(expression, ice.BoundPredicate):
        return expression
    predicate: Any = expression
    values: tuple[Any, ...] = ()
    if isinstance(expression, ice.BoundLiteralPredicate):
        values = (predicate.literal,)
    elif isinstance(expression, ice.BoundSetPredicate):
        values = (predicate.literals,)
    unbound: ice.BooleanExpression = predicate.as_unbound(predicate.term.ref().field.name, *values)
    return unbound


def _type_of(layout: Layout, name: str) -> IcebergType:
    return next(each.field_type for each in layout.fields.values() if each.name == name)


def _first_line(error: Exception) -> str:
    if hasattr(error, "parser_element"):  # what the parser says is its whole grammar
        return "it cannot be parsed"
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def _conjuncts(expression: ice.BooleanExpression) -> Iterator[ice.BooleanExpression]:
    if isinstance(expression, ice.And):
        yield from _conjuncts(expression.left)
        yield from _conjuncts(expression.right)
    else:
        yield expression


def _predicates(expression: ice.BooleanExpression) -> Iterator[Any]:
    if isinstance(expression, ice.And | ice.Or):
        yield from _predicates(expression.left)
        yield from _predicates(expression.right)
    elif isinstance(expression, ice.BoundPredicate):
        yield expression


def _is_possible(predicate: Any, low: Any, high: Any) -> bool:
    value = predicate.literal.value
    if low is None or high is None or type(value) is not type(low):
        return True
    if isinstance(predicate, ice.BoundEqualTo):
        return bool(low <= value <= high)
    if isinstance(predicate, ice.BoundLessThan):
        return bool(low < value)
    if isinstance(predicate, ice.BoundLessThanOrEqual):
        return bool(low <= value)
    if isinstance(predicate, ice.BoundGreaterThan):
        return bool(high > value)
    return not isinstance(predicate, ice.BoundGreaterThanOrEqual) or bool(high >= value)
