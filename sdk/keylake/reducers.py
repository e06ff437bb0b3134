"""Reducers: how several writes of one column become one value. Plain value objects.

- *Registers* keep one of the values, the newest by version: `Latest`, the default, and `LatestNotNull`.
- *Accumulators* combine all values that were written, the column's contributions: `Sum`, `Min`, ... A null is no
  contribution. A tombstone takes back the contributions of all earlier commits, whatever their versions. A write
  that is repeated counts twice unless it carries an `idempotency_key`; `Min`, `Max`, `First`, `BoolAnd`, `BoolOr`,
  `MapMerge`, `BitmapOr`, `Hll`, `Theta` and `Collect(distinct=True)` give the same answer all the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import ClassVar

from keylake.errors import DefinitionError, check_type

MOST_COLLECTED = 2**31 - 1


@dataclass(frozen=True)
class Reducer:
    """What all reducers share: a name, and the form that specs keep."""

    states_defaults: ClassVar[bool] = False
    """Whether specs keep the options that are left out, too."""

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
        """The reducer as it stands in a spec: its type and its options; of some only those that are no defaults.

        >>> Collect(distinct=True).to_json()
        {'type': 'Collect', 'distinct': True}
        >>> Daily().to_json()
        {'type': 'Daily', 'days': 90, 'of': {'type': 'Sum'}}
        """
        json: dict[str, object] = {"type": self.type}
        for field in fields(self):
            value = getattr(self, field.name)
            if self.states_defaults or value != field.default:
                json[field.name] = value.to_json() if isinstance(value, Reducer) else value
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

    states_defaults: ClassVar[bool] = True
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


@dataclass(frozen=True)
class Hll(Reducer):
    """The union of HLL sketches, which estimate how many distinct values there were; a binary column.

    A contribution is a sketch of 2**lg_k slots as `hll_sketch_agg(value, lg_k)` makes it, or a library of DataSketches;
    `hll_sketch_estimate(column)` reads it. Sketches of another lg_k, 4 to 21, are refused. The union does not depend on
    the order of the commits. Its standard error is 1.04 / sqrt(2**lg_k): 1.6% for 12. Values that are contributed twice
    count once.

    >>> Hll().text
    'Hll(lg_k=12)'
    """

    states_defaults: ClassVar[bool] = True
    lg_k: int = 12

    def __post_init__(self) -> None:
        """Options that can be met.

        >>> Hll(lg_k=40)
        Traceback (most recent call last):
        keylake.errors.DefinitionError: The lg_k of Hll is 40. Use a whole number from 4 to 21.
        """
        _check_size("lg_k of Hll", self.lg_k, 4, 21)


@dataclass(frozen=True)
class Theta(Reducer):
    """The union of Theta sketches, which estimate distinct values, also of intersections; a binary column.

    A contribution is a compact sketch of up to 2**lg_nominal entries as `theta_sketch_agg(value, lg_nominal)` makes it,
    or a DataSketches library; `theta_sketch_estimate(column)` reads it, and `theta_intersection` and `theta_difference`
    combine columns. A sketch that shows another lg_nominal, 4 to 26, is refused; small ones do not show it. The union
    does not depend on the order of the commits. Its standard error is 1 / sqrt(2**lg_nominal): 1.6% for 12.

    >>> Theta(lg_nominal=14).text
    'Theta(lg_nominal=14)'
    """

    states_defaults: ClassVar[bool] = True
    lg_nominal: int = 12

    def __post_init__(self) -> None:
        """Options that can be met.

        >>> Theta(lg_nominal=3)
        Traceback (most recent call last):
        keylake.errors.DefinitionError: The lg_nominal of Theta is 3. Use a whole number from 4 to 26.
        """
        _check_size("lg_nominal of Theta", self.lg_nominal, 4, 26)


@dataclass(frozen=True)
class Kll(Reducer):
    """The union of KLL sketches, which estimate quantiles; a binary column.

    A contribution is a sketch as `kll_sketch_agg_bigint(value, k)`, `.._float` or `.._double` makes it, or a library of
    DataSketches; `kll_sketch_get_quantile_double(column, 0.99)` reads it. `values` is 'long', 'float' or 'double',
    which the sketch does not say itself. Sketches of another k, 8 to 65535, are refused.

    Up to k values of a key the union is exact. Beyond, it depends on the order of the commits and on compactions,
    within the error that k stands for (1.3% of the ranks for 200, in 99 of 100 cases): a sketch that is united cannot
    tell which values it has dropped. Reads of the same files give the same bytes. A sketch that is contributed twice
    counts twice.

    >>> Kll().text
    'Kll(k=200, values=double)'
    """

    states_defaults: ClassVar[bool] = True
    k: int = 200
    values: str = "double"

    def __post_init__(self) -> None:
        """Options that can be met.

        >>> Kll(values="decimal")
        Traceback (most recent call last):
        keylake.errors.DefinitionError: The values of Kll are 'decimal'. Use 'long', 'float' or 'double'.
        """
        _check_size("k of Kll", self.k, 8, 65_535)
        if self.values not in ("long", "float", "double"):
            raise DefinitionError(f"The values of Kll are {self.values!r}. Use 'long', 'float' or 'double'.")


def _check_size(what: str, value: object, least: int, most: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise DefinitionError(f"The {what} is {value!r}. Use a whole number from {least} to {most}.")


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
