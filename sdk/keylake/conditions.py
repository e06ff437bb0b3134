"""Conditions on the columns of a class, as values: `kl.col(Profile.clicks) > 3`, wherever `where=` is taken.

    kl.col(Profile.clicks) > 3  ──▶  Condition  ──▶  `clicks` > 3             for Spark: `_server.conditions`
                                                ──▶  GreaterThan("clicks", 3)  without a server: `local.conditions`

To Spark and to a reader without a server a condition means the same: a comparison with null is neither true nor false,
and a NaN is equal to itself and above all other numbers.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar, overload

import numpy as np

from keylake.errors import DefinitionError, check_type

Sign = Literal["=", "<>", "<", "<=", ">", ">="]
Value = bool | int | float | decimal.Decimal | str | bytes | uuid.UUID | datetime.date | datetime.datetime

T = TypeVar("T")
Compared = TypeVar("Compared")

MOST_DIGITS = 38  # of decimals, in tables and in SQL


class Condition(ABC):
    """A condition on the columns of a row: true, false, or neither where it compares a null.

    `&` is and, `|` is or, `~` is not. Comparisons stand in brackets there, because Python binds `&` closer than `>`.

    >>> ~(col("clicks") > 3) & col("city").isin(["Oslo", "Bergen"])
    ~(kl.col('clicks') > 3) & kl.col('city').isin(['Oslo', 'Bergen'])
    """

    __slots__ = ()

    def __and__(self, other: Condition) -> Condition:
        return Joined("&", (*self._parts("&"), *_checked("&", other)._parts("&")))

    def __or__(self, other: Condition) -> Condition:
        return Joined("|", (*self._parts("|"), *_checked("|", other)._parts("|")))

    def __invert__(self) -> Condition:
        return Negated(self)

    def __bool__(self) -> bool:
        raise DefinitionError(
            f"The condition {self} is neither true nor false before rows are read. "
            "Join conditions by &, | and ~ in the place of `and`, `or` and `not`, each in brackets: "
            "(kl.col(P.clicks) > 3) & (kl.col(P.clicks) < 9)."
        )

    def _parts(self, _sign: Literal["&", "|"]) -> tuple[Condition, ...]:
        return (self,)

    @abstractmethod
    def __repr__(self) -> str:
        """The condition as it is written in Python."""


@dataclass(frozen=True, repr=False)
class Comparison(Condition):
    """A column compared with a value."""

    column: str
    sign: Sign
    value: Value

    _PYTHON: ClassVar[dict[Sign, str]] = {"=": "==", "<>": "!="}

    def __repr__(self) -> str:
        return f"kl.col({self.column!r}) {self._PYTHON.get(self.sign, self.sign)} {self.value!r}"


@dataclass(frozen=True, repr=False)
class Membership(Condition):
    """A column whose value is one of some."""

    column: str
    values: tuple[Value, ...]

    def __repr__(self) -> str:
        return f"kl.col({self.column!r}).isin({list(self.values)!r})"


@dataclass(frozen=True, repr=False)
class IsNull(Condition):
    """A column that is null."""

    column: str

    def __repr__(self) -> str:
        return f"kl.col({self.column!r}).is_null()"


@dataclass(frozen=True, repr=False)
class Joined(Condition):
    """Two or more conditions, of which all or one hold."""

    sign: Literal["&", "|"]
    parts: tuple[Condition, ...]

    def _parts(self, _sign: Literal["&", "|"]) -> tuple[Condition, ...]:
        return self.parts if _sign == self.sign else (self,)

    def __repr__(self) -> str:
        return f" {self.sign} ".join(_in_brackets(each) for each in self.parts)


@dataclass(frozen=True, repr=False)
class Negated(Condition):
    """A condition that does not hold."""

    part: Condition

    def __repr__(self) -> str:
        return f"~{_in_brackets(self.part)}"


class ColumnOperand(Generic[Compared]):
    """A column of which conditions are made, by `==`, `!=`, `<`, `<=`, `>`, `>=`, `isin` and `is_null`.

    >>> col("clicks") != 0
    kl.col('clicks') != 0
    """

    __slots__ = ("_name",)
    __hash__ = None  # type: ignore[assignment]  # an operand is equal to nothing: == makes a condition

    def __init__(self, name: str) -> None:
        self._name = name

    def __eq__(self, value: Compared) -> Condition:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._compared("=", value)

    def __ne__(self, value: Compared) -> Condition:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._compared("<>", value)

    def __lt__(self, value: Compared) -> Condition:
        return self._compared("<", value)

    def __le__(self, value: Compared) -> Condition:
        return self._compared("<=", value)

    def __gt__(self, value: Compared) -> Condition:
        return self._compared(">", value)

    def __ge__(self, value: Compared) -> Condition:
        return self._compared(">=", value)

    def isin(self, values: Iterable[Compared]) -> Condition:
        """The value is one of these, of which there may be none; not true of a null.

        Raises `DefinitionError` for a null among them, and for values that no column has.

        >>> col("city").isin(["Oslo", "Bergen"])
        kl.col('city').isin(['Oslo', 'Bergen'])
        """
        if isinstance(values, str | bytes):
            raise DefinitionError(f"isin({values!r}) takes a list of values, such as [{values!r}].")
        check_type("The values of isin()", values, Iterable, "a list")
        return Membership(self._name, tuple(_value(self._name, each) for each in values))

    def is_null(self) -> Condition:
        """The value is null; `~kl.col(P.city).is_null()` where it is not.

        >>> ~col("city").is_null()
        ~kl.col('city').is_null()
        """
        return IsNull(self._name)

    def _compared(self, sign: Sign, value: object) -> Condition:
        return Comparison(self._name, sign, _value(self._name, value))

    def __bool__(self) -> bool:
        raise DefinitionError(f"{self} is a column, and no condition. {self._advice()}")

    if not TYPE_CHECKING:  # to a checker these operators are not there

        def __and__(self, other: object) -> object:
            raise DefinitionError(f"{self} & ... has no condition on its left side. {self._advice()}")

        def __or__(self, other: object) -> object:
            raise DefinitionError(f"{self} | ... has no condition on its left side. {self._advice()}")

        def __invert__(self) -> object:
            raise DefinitionError(f"~{self} is not of a condition. {self._advice()}")

        __rand__, __ror__ = __and__, __or__

    def _advice(self) -> str:
        return f"Compare it with a value, in brackets: ({self} == ...) & (...)."

    def __repr__(self) -> str:
        return f"kl.col({self._name!r})"


@overload
def col(column: str | None) -> ColumnOperand[Any]: ...


@overload
def col(column: T | None) -> ColumnOperand[T]: ...


def col(column: object) -> ColumnOperand[Any]:
    """A column of a condition for `where=`: an attribute of a class, such as `Profile.clicks`, or a name.

    Checkers of types know from the attribute what its values are; of text columns and names they allow any value.

    The column is compared with numbers, text, bytes, dates, datetimes, uuids, and members of an Enum by their values.
    A datetime has a zone where those of the column have one.

    Raises `DefinitionError` for what is no name, and, when it is compared, for values that no column has.

    >>> (col("clicks") > 3) | col("city").is_null()
    (kl.col('clicks') > 3) | kl.col('city').is_null()
    >>> (col("clicks") > 3) and (col("clicks") < 9)
    Traceback (most recent call last):
    keylake.errors.DefinitionError: The condition kl.col('clicks') > 3 is neither true nor false before rows are \
read. Join conditions by &, | and ~ in the place of `and`, `or` and `not`, each in brackets: \
(kl.col(P.clicks) > 3) & (kl.col(P.clicks) < 9).
    """
    check_type("The column of a condition", column, str, "a name, or an attribute of a class such as Profile.clicks")
    return ColumnOperand(str(column))


def _checked(sign: str, other: object) -> Condition:
    if isinstance(other, Condition):
        return other
    raise DefinitionError(
        f"{other!r} beside {sign} is no condition. Put each comparison in brackets: "
        f"(kl.col(P.clicks) > 3) {sign} (kl.col(P.city) == 'Oslo')."
    )


def _in_brackets(part: Condition) -> str:
    return f"({part!r})" if isinstance(part, Comparison | Joined) else repr(part)


def _value(column: str, value: object) -> Value:
    """A value that a condition can have, in a plain type of Python."""
    if isinstance(value, enum.Enum):
        return _value(column, value.value)
    if isinstance(value, np.generic) and value.dtype.kind in "biufUS":
        return _value(column, value.item())
    is_null = value is None or (isinstance(value, datetime.datetime) and str(value) == "NaT")  # as pandas has it
    if is_null:
        raise DefinitionError(f"No value is equal to null. Use kl.col({column!r}).is_null().")
    if isinstance(value, bytearray):
        return bytes(value)
    if not isinstance(value, Value):
        raise DefinitionError(
            f"kl.col({column!r}) is compared with {value!r}, a {type(value).__name__}. Use a number, text, bytes, a "
            "date, a datetime or a uuid; other values of columns go into a condition in SQL."
        )
    number = value if isinstance(value, int | decimal.Decimal) else 0
    if isinstance(number, decimal.Decimal) and not number.is_finite():
        raise DefinitionError(
            f"kl.col({column!r}) is compared with {value!r}, which no decimal is. Use float({str(value)!r})."
        )
    digits = f"{number:f}" if isinstance(number, decimal.Decimal) else str(int(number))
    if len(digits.lstrip("-").replace(".", "")) > MOST_DIGITS:
        raise DefinitionError(
            f"kl.col({column!r}) is compared with {value!r}, and numbers have {MOST_DIGITS} digits at most."
        )
    if getattr(value, "nanosecond", 0):
        raise DefinitionError(f"kl.col({column!r}) is compared with {value!r}, and times of tables have microseconds.")
    return value
