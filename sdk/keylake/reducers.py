"""Reducers: how several writes of one column become one value. Plain value objects.

- *Registers* keep one of the values, the newest by version: `Latest`, the default, and `LatestNotNull`.
- *Accumulators* combine all values that were written, the column's contributions: `Sum`, `Min`, ... A null is no
  contribution. A tombstone takes back the contributions of all earlier commits, whatever their versions. A write
  that is repeated counts twice unless it carries an `idempotency_key`; `Min`, `Max`, `First`, `BoolAnd`, `BoolOr`,
  `MapMerge`, `BitmapOr` and `Collect(distinct=True)` give the same answer all the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from keylake.errors import DefinitionError, check_type

MOST_COLLECTED = 2**31 - 1


@dataclass(frozen=True)
class Reducer:
    """What all reducers share: a name, and the form that specs keep."""

    @property
    def accumulates(self) -> bool:
        """Whether every contribution counts, not only the newest.

        >>> Sum().accumulates, LatestNotNull().accumulates
        (True, False)
        """
        return not isinstance(self, Latest | LatestNotNull)

    @property
    def type(self) -> str:
        """The name of the reducer, the same in Python, JSON and Java.

        >>> Sum().type
        'Sum'
        """
        return type(self).__name__

    @property
    def text(self) -> str:
        """The reducer as SQL's property `reduce.<column>` has it, with the options that differ from their defaults.

        >>> Collect(distinct=True, limit=100).text
        'Collect(distinct, limit=100)'
        """
        options = [
            name if value is True else f"{name}={value['type'] if isinstance(value, dict) else value}"
            for name, value in self.to_json().items()
            if name != "type"
        ]
        return f"{self.type}({', '.join(options)})" if options else self.type

    def to_json(self) -> dict[str, object]:
        """The reducer as it stands in a spec: its type, and the options that differ from their defaults.

        >>> Collect(distinct=True).to_json()
        {'type': 'Collect', 'distinct': True}
        """
        json: dict[str, object] = {"type": self.type}
        for field in fields(self):
            if getattr(self, field.name) != field.default:
                json[field.name] = getattr(self, field.name)
        return json


@dataclass(frozen=True)
class Latest(Reducer):
    """The newest value wins, null included. The reducer of every column that names none.

    >>> Latest()
    Latest()
    """


@dataclass(frozen=True)
class LatestNotNull(Reducer):
    """The newest value that is not null wins: writing null says nothing.

    >>> LatestNotNull().to_json()
    {'type': 'LatestNotNull'}
    """


@dataclass(frozen=True)
class Sum(Reducer):
    """The sum of all contributions, of an int, long, float, double or decimal column.

    The sum is exact: one of floats and doubles is rounded once, when it is read, so that it does not depend on the
    order of the commits. One that does not fit the column's type is an error of the read, which names key and column.

    >>> Sum()
    Sum()
    """


@dataclass(frozen=True)
class Min(Reducer):
    """The smallest contribution: of numbers (NaN is the largest), booleans, dates, timestamps, texts, bytes.

    >>> Min().to_json()
    {'type': 'Min'}
    """


@dataclass(frozen=True)
class Max(Reducer):
    """The largest contribution: of numbers (NaN is the largest), booleans, dates, timestamps, texts, bytes.

    >>> Max().to_json()
    {'type': 'Max'}
    """


@dataclass(frozen=True)
class Count(Reducer):
    """How many contributions there were that are not null, whatever their value; a long column, 0 without any.

    >>> Count().to_json()
    {'type': 'Count'}
    """


@dataclass(frozen=True)
class First(Reducer):
    """The contribution of the earliest version, of any type; of equal versions that of the earlier commit.

    >>> First().to_json()
    {'type': 'First'}
    """


@dataclass(frozen=True)
class BoolAnd(Reducer):
    """True when all contributions are true.

    >>> BoolAnd().to_json()
    {'type': 'BoolAnd'}
    """


@dataclass(frozen=True)
class BoolOr(Reducer):
    """True when any contribution is true.

    >>> BoolOr().to_json()
    {'type': 'BoolOr'}
    """


@dataclass(frozen=True)
class Collect(Reducer):
    """The elements of all contributions, which are lists, in commit order; nulls among them are left out.

    `distinct` keeps the first of equal elements; `limit` keeps the first so many.

    >>> Collect(distinct=True, limit=100).to_json()
    {'type': 'Collect', 'distinct': True, 'limit': 100}
    """

    distinct: bool = False
    limit: int | None = None

    def __post_init__(self) -> None:
        """Options that can be met.

        >>> Collect(limit=0)
        Traceback (most recent call last):
        keylake.errors.DefinitionError: The limit of Collect is 0. Use a whole number from 1 to 2147483647, or None \
for no limit.
        """
        if not isinstance(self.distinct, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise DefinitionError(f"The option distinct of Collect is {self.distinct!r}. Use True or False.")
        is_number = isinstance(self.limit, int) and not isinstance(self.limit, bool)
        if self.limit is not None and not (is_number and 1 <= self.limit <= MOST_COLLECTED):
            raise DefinitionError(
                f"The limit of Collect is {self.limit!r}. "
                f"Use a whole number from 1 to {MOST_COLLECTED}, or None for no limit."
            )


@dataclass(frozen=True)
class ArraySum(Reducer):
    """The sum of lists of numbers, element by element; a shorter list's missing tail, and a null in it, is a zero.

    >>> ArraySum().to_json()
    {'type': 'ArraySum'}
    """


@dataclass(frozen=True)
class MapMerge(Reducer):
    """The union of maps; of one map key the value of the later commit.

    >>> MapMerge().to_json()
    {'type': 'MapMerge'}
    """


@dataclass(frozen=True)
class BitmapOr(Reducer):
    """The union of Roaring bitmaps of 32-bit numbers, in a binary column, in the portable form of the Roaring format.

    >>> BitmapOr().to_json()
    {'type': 'BitmapOr'}
    """


@dataclass(frozen=True)
class Daily(Reducer):
    """A value for each of the last days, of a column struct<day: date, values: list<number>>.

    `values[i]` is the value of the day `day - i`, null where it has no contribution. A contribution is such a struct,
    usually of one day and one value; the contributions of a day are combined by `of`: Sum(), Min() or Max(). `days` are
    kept, from 1 to 3660; what is older than the newest day that was written by as many days falls out. In SQL,
    `window_sum(column, 7)` and its kin read the last 7 days.

    >>> Daily(days=30).text
    'Daily(days=30, of=Sum)'
    """

    days: int = 90
    of: Reducer = Sum()

    def __post_init__(self) -> None:
        """Options that can be met.

        >>> Daily(days=0)
        Traceback (most recent call last):
        keylake.errors.DefinitionError: The days of Daily are 0. Use a whole number from 1 to 3660.
        """
        check_type("days of Daily", self.days, int, "a whole number")
        if not 1 <= self.days <= 3660:
            raise DefinitionError(f"The days of Daily are {self.days!r}. Use a whole number from 1 to 3660.")
        if not isinstance(self.of, Sum | Min | Max):
            raise DefinitionError(f"Daily is of {self.of!r}. Use kl.Sum(), kl.Min() or kl.Max().")

    def to_json(self) -> dict[str, object]:
        """The reducer as it stands in a spec, with all options.

        >>> Daily().to_json()
        {'type': 'Daily', 'days': 90, 'of': {'type': 'Sum'}}
        """
        return {"type": self.type, "days": self.days, "of": self.of.to_json()}


LATEST = Latest()
REDUCERS: dict[str, type[Reducer]] = {kind.__name__: kind for kind in Reducer.__subclasses__()}


def from_json(column: str, value: object) -> Reducer:
    """The reducer that a spec names for a column.

    >>> from_json("last_page", {"type": "LatestNotNull"})
    LatestNotNull()
    """
    if not isinstance(value, Mapping):
        raise DefinitionError(f'The reducer of column {column!r} is {value!r}. Say {{"type": "LatestNotNull"}}.')
    options: dict[str, object] = {str(name): option for name, option in value.items()}
    name = options.pop("type", None)
    kind = REDUCERS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise DefinitionError(
            f"Column {column!r} has the reducer {name!r}, which this version does not know. "
            "Upgrade keylake, or use one of: " + ", ".join(REDUCERS) + "."
        )
    unknown = sorted(options.keys() - {field.name for field in fields(kind)})
    if unknown:
        raise DefinitionError(
            f"Reducer {name} of column {column!r} has the option {unknown[0]!r}, which this version does not know. "
            "Upgrade keylake, or leave the option out."
        )
    empty = [option for option, given in options.items() if given is None]
    if empty:
        raise DefinitionError(
            f"Reducer {name} of column {column!r} has null as the option {empty[0]!r}. Leave the option out."
        )
    if "of" in options:
        options["of"] = from_json(column, options["of"])
    try:
        return replace(kind(), **options)
    except DefinitionError as error:
        raise DefinitionError(f"The reducer of column {column!r} is not valid. {error}") from None
