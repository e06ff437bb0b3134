"""Checks that a branch has to pass before it is published, or that each row of a write has to pass.

A check of a branch measures the rows that the branch has inserted or updated, as they are there. Those checks that look
at one row at a time, `condition` and `value_range`, are conditions that a write can require of its rows, too.
"""

from __future__ import annotations

import datetime
import decimal
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from keylake._definition.words import Name
from keylake._outcomes.findings import Finding
from keylake._server.conditions import required_text
from keylake._server.statements import literal, quoted
from keylake.conditions import Condition
from keylake.errors import DefinitionError, check_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Bound = int | float | str | decimal.Decimal | datetime.date | datetime.datetime
OnFailure = Literal["raise", "quarantine"]
INSERTED, DELETED = "_change = 'insert'", "_change = 'delete'"


@dataclass(frozen=True)
class Check:
    """One condition on what a branch has changed; `null_rate()` and the other functions of this module make one."""

    text: str
    limit: str
    passes: Callable[[float], bool]
    # Of the changes as `KeyedTable.changes()` gives them, of the changed rows, and of all rows.
    measured: Callable[[DataFrame, DataFrame, DataFrame], object]
    row: str | None = None  # in SQL, what holds for a row that passes; None for a check that needs several rows

    def __repr__(self) -> str:
        return f"Check({self.text}: must be {self.limit})"

    def found(self, value: Any) -> Finding:
        """The figure and what it means; nothing to measure is nothing wrong."""
        number = None if value is None else float(value)
        return Finding(self.text, number, self.limit, number is None or self.passes(number))


def null_rate(column: Name, *, below: float) -> Check:
    """The share of the changed rows in which a column is null.

    >>> null_rate("spend", below=0.01).limit
    'below 0.01'
    """
    _check_column("null_rate", column)
    check_type("below", below, float | int, "a share, above 0 and at most 1")
    if not 0 < below <= 1:
        raise DefinitionError(f"null_rate({column!r}, below={below}): the limit is a share, above 0 and at most 1.")
    measure = f"avg(CAST({quoted(column)} IS NULL AS DOUBLE))"
    return Check(f"null_rate({column!r})", f"below {below:g}", lambda value: value < below, _of_rows(measure))


def row_count_change(*, at_least: int | None = None, at_most: int | None = None) -> Check:
    """The change in the number of rows, which is negative where there are fewer than before.

    >>> row_count_change(at_least=0).limit
    'at least 0'
    """
    for word, limit in (("at_least", at_least), ("at_most", at_most)):
        check_type(word, limit, int | None, "a whole number of rows")
    limits = {"at least": at_least, "at most": at_most}
    shown = " and ".join(f"{word} {limit}" for word, limit in limits.items() if limit is not None)
    if not shown:
        raise DefinitionError("row_count_change() needs at_least= or at_most=.")
    return Check(
        "row_count_change()",
        shown,
        lambda value: (at_least is None or value >= at_least) and (at_most is None or value <= at_most),
        lambda changes, _changed, _rows: _only(changes, f"count_if({INSERTED}) - count_if({DELETED})"),
    )


def value_range(column: Name, at_least: Bound | None = None, at_most: Bound | None = None) -> Check:
    """The number of changed rows with a value outside of a range; null is in it.

    >>> value_range("clicks", at_least=0).text
    "value_range('clicks', at_least=0)"
    """
    _check_column("value_range", column)
    bounds = {"at_least": at_least, "at_most": at_most}
    given = {word: bound for word, bound in bounds.items() if bound is not None}
    if not given:
        raise DefinitionError(f"value_range({column!r}) needs at_least= or at_most=.")
    for word, bound in given.items():
        check_type(word, bound, Bound, "a number, text, a date or a datetime")
        if isinstance(bound, float | decimal.Decimal) and not math.isfinite(bound):
            raise DefinitionError(f"value_range({column!r}, {word}={bound!r}): the bound is no number. Leave it out.")
    signs, signs_inside = {"at_least": "<", "at_most": ">"}, {"at_least": ">=", "at_most": "<="}
    outside = " OR ".join(f"{quoted(column)} {signs[word]} {_in_sql(bound)}" for word, bound in given.items())
    inside = " AND ".join(f"{quoted(column)} {signs_inside[word]} {_in_sql(bound)}" for word, bound in given.items())
    said = ", ".join(f"{word}={bound!r}" for word, bound in given.items())
    row = f"{quoted(column)} IS NULL OR ({inside})"
    return _none(f"value_range({column!r}, {said})", f"coalesce({outside}, false)", row)


def condition(sql: str | Condition) -> Check:
    """The number of changed rows for which a condition does not hold; where it is null, it does not hold.

    It is SQL, or a condition on columns such as `kl.col(Profile.clicks) >= 0`.

    >>> condition("clicks >= 0").limit
    '0'
    """
    check_type("The condition", sql, str | Condition, "SQL, such as 'clicks >= 0', or kl.col(Profile.clicks) >= 0")
    text = required_text(sql)
    return _none(f"condition({sql!r})", f"NOT coalesce(({text}), false)", text)


def unique(*columns: Name) -> Check:
    """The number of values of some columns that several rows of the branch have; rows with a null in them do not count.

    >>> unique("email").text
    "unique('email')"
    """
    if not columns:
        raise DefinitionError("unique() needs the name of a column.")
    for column in columns:
        _check_column("unique", column)

    def repeated(_changes: DataFrame, _changed: DataFrame, rows: DataFrame) -> int:
        names = [quoted(column) for column in columns]
        whole = rows.where(" AND ".join(f"{name} IS NOT NULL" for name in names))
        return whole.groupBy(*names).count().where("count > 1").count()

    return Check(f"unique({', '.join(map(repr, columns))})", "0", lambda value: value == 0, repeated)


def references(column: Name, frame: DataFrame, to: Name | None = None) -> Check:
    """The number of values in a column of changed rows that a column of another frame lacks; null refers to nothing.

    Example::

        references("user_id", users.read(), to="id")
    """
    from pyspark.sql import DataFrame as AnyFrame

    _check_column("references", column)
    check_type("frame", frame, AnyFrame, "a Spark frame, such as users.read()")
    check_type("to", to, str | None, "the name of a column of the other frame")
    target = column if to is None else to

    def missing(_changes: DataFrame, changed: DataFrame, _rows: DataFrame) -> int:
        values = changed.selectExpr(f"{quoted(column)} AS value").where("value IS NOT NULL").distinct()
        known = frame.selectExpr(f"{quoted(target)} AS value")
        return values.join(known, on="value", how="left_anti").count()

    return Check(f"references({column!r}, to={target!r})", "0", lambda value: value == 0, missing)


def checks_of(require: object) -> tuple[Check, ...]:
    """The checks in a list of them, or one error for all that is wrong with it.

    >>> checks_of(null_rate("spend", below=0.01))
    Traceback (most recent call last):
    keylake.errors.DefinitionError: require= takes a list of checks, and this is one check. Write require=[...].
    """
    if isinstance(require, Check):
        raise DefinitionError("require= takes a list of checks, and this is one check. Write require=[...].")
    if isinstance(require, str | bytes) or not isinstance(require, Iterable):
        raise DefinitionError(f"require={require!r} is not a list of checks, such as [kl.null_rate('spend', below=1)].")
    given = tuple(require)
    wrong = [f"number {number} is {each!r}" for number, each in enumerate(given, 1) if not isinstance(each, Check)]
    if wrong:
        raise DefinitionError(
            f"require= takes checks such as kl.condition('clicks >= 0'), and {', '.join(wrong)}. Write these as checks."
        )
    return given


def row_conditions(require: object, on_failure: object) -> tuple[str, ...]:
    """The conditions in SQL that checks require of each row of a write.

    >>> row_conditions([condition("clicks >= 0"), value_range("age", at_most=150)], "quarantine")
    ('clicks >= 0', '`age` IS NULL OR (`age` <= 150)')
    >>> row_conditions([], "quarantine")
    Traceback (most recent call last):
    keylake.errors.DefinitionError: on_failure='quarantine' holds rows back that fail a check. Say which: require=[...].
    """
    if on_failure not in get_args(OnFailure):
        raise DefinitionError(f"on_failure={on_failure!r} is none. Use 'raise' or 'quarantine'.")
    checks = checks_of(require)
    if on_failure == "quarantine" and not checks:
        raise DefinitionError("on_failure='quarantine' holds rows back that fail a check. Say which: require=[...].")
    for check in checks:
        if check.row is None:
            raise DefinitionError(
                f"{check.text} looks at many rows, and require= of a write takes kl.condition() and kl.value_range(), "
                "which look at one. Write to a branch, and publish it with require=[...]."
            )
    return tuple(check.row for check in checks if check.row is not None)


def _check_column(check: str, column: object) -> None:
    check_type(f"The column of {check}()", column, str, "the name of a column")


def _none(text: str, is_wrong: str, row: str) -> Check:
    return Check(text, "0", lambda value: value == 0, _of_rows(f"count_if({is_wrong})"), row)


def _of_rows(aggregate: str) -> Callable[[DataFrame, DataFrame, DataFrame], object]:
    return lambda _changes, changed, _rows: _only(changed, aggregate)


def _only(frame: DataFrame, aggregate: str) -> object:
    return frame.selectExpr(aggregate).collect()[0][0]


def _in_sql(bound: Bound) -> str:
    if isinstance(bound, datetime.datetime):
        return f"TIMESTAMP {literal(bound.isoformat(sep=' '))}"
    if isinstance(bound, datetime.date):
        return f"DATE {literal(bound.isoformat())}"
    return literal(bound) if isinstance(bound, str) else str(bound)
