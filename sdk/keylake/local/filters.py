"""Which rows a read wants: conditions as text or as Arrow expressions, and what they say about keys."""

# pyright: reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyiceberg import expressions as ice
from pyiceberg.expressions.parser import parse
from pyiceberg.expressions.visitors import bind, rewrite_not
from pyiceberg.io.pyarrow import expression_to_pyarrow
from pyiceberg.schema import Schema

from keylake.errors import DefinitionError, check_type
from keylake.local.files import StoredFile
from keylake.local.layout import Layout

Where = str | ice.BooleanExpression


@dataclass(frozen=True)
class Filter:
    """A condition on merged rows."""

    expression: ice.BooleanExpression
    layout: Layout

    @classmethod
    def of(cls, where: Where, layout: Layout) -> Filter:
        """The condition that a text or an expression of pyiceberg says, on columns of the table."""
        check_type("where", where, str | ice.BooleanExpression, "a condition such as \"clicks > 5 AND city = 'Oslo'\"")
        try:
            expression = parse(where) if isinstance(where, str) else where
            bound = bind(Schema(*layout.fields.values()), rewrite_not(expression), case_sensitive=False)
        except Exception as error:  # noqa: BLE001  # the parser's errors have no common class
            raise DefinitionError(
                f"where={where!r} is no condition on columns of {layout.spec.name}: {_first_line(error)}. "
                "Use comparisons, IN, IS NULL, LIKE 'a%', AND, OR and NOT, or filter the rows that were read."
            ) from None
        return cls(bound, layout)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it looks at."""
        return tuple(dict.fromkeys(each.term.ref().field.name for each in _predicates(self.expression)))

    def of_rows(self, rows: Any) -> Any:
        """The rows of an Arrow table for which it is true."""
        return rows.filter(expression_to_pyarrow(self.expression))

    def may_have(self, file: StoredFile) -> bool:
        """Whether a file can have keys for which it is true."""
        key = [field.name for field in self.layout.key]
        for each in _conjuncts(self.expression):
            if isinstance(each, ice.BoundLiteralPredicate) and each.term.ref().field.name in key:
                at = key.index(each.term.ref().field.name)
                if not _is_possible(each, file.lower[at], file.upper[at]):
                    return False
        return True


def _first_line(error: Exception) -> str:
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
