"""Accumulators of lists and maps, and of values by day."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from keylake.errors import DefinitionError, check_type
from keylake.reducers.numbers import Max, Min, Sum
from keylake.reducers.own import Own
from keylake.reducers.registers import Reducer, check_size

MOST_COLLECTED = 2**31 - 1
MOST_KEPT = 10_000
_SUM = Sum()


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
        """Refuse options that cannot be met.

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
    """The union of maps; of one map key the value of the later commit, or what `of` makes of all its values.

    With `of`, the keys of the map are sorted. It can be any reducer that combines all values without versions.

    >>> MapMerge(of=Sum()).text
    'MapMerge(of=Sum)'
    """

    of: Reducer | None = None

    def __post_init__(self) -> None:
        """Refuse options that cannot be met.

        >>> from keylake.reducers import First
        >>> MapMerge(of=First())
        Traceback (most recent call last):
        keylake.errors.DefinitionError: MapMerge is of First(). Use a reducer that combines all values without \
versions, such as kl.Sum().
        """
        if self.of is not None:
            check_part("MapMerge is of", self.of)


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
    of: Reducer = _SUM

    def __post_init__(self) -> None:
        """Refuse options that cannot be met.

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
class TopN(Reducer):
    """The `n` elements that are the largest by their member `by`, of a list of structs, the largest first.

    Of equal ones the earlier commit's come first. A contribution is a list of such structs, usually of one; null among
    them is left out, and an element without `by` is refused. An element that is contributed twice is there twice.

    >>> TopN(by="score", n=3).text
    'TopN(by=score, n=3)'
    """

    states_defaults: ClassVar[bool] = True
    by: str
    n: int = 10

    def __post_init__(self) -> None:
        """Refuse options that cannot be met.

        >>> TopN(by="score", n=0)
        Traceback (most recent call last):
        keylake.errors.DefinitionError: The n of TopN is 0. Use a whole number from 1 to 10000.
        """
        check_type("by of TopN", self.by, str, "the name of a member of the elements")
        if not self.by:
            raise DefinitionError(f"The option by of TopN is {self.by!r}. Write the name of a member of the elements.")
        check_size("n of TopN", self.n, 1, MOST_KEPT)


@dataclass(frozen=True)
class LatestN(Reducer):
    """The `n` elements of the newest versions, of a list, the newest first.

    A contribution is a list, usually of one element; of several the newest comes first. Each element has the version of
    its row; of equal versions the later commit's come first. Null among them is left out.

    >>> LatestN(50).text
    'LatestN(n=50)'
    """

    states_defaults: ClassVar[bool] = True
    needs_versions: ClassVar[bool] = True
    n: int = 10

    def __post_init__(self) -> None:
        """Refuse options that cannot be met.

        >>> LatestN(0)
        Traceback (most recent call last):
        keylake.errors.DefinitionError: The n of LatestN is 0. Use a whole number from 1 to 10000.
        """
        check_size("n of LatestN", self.n, 1, MOST_KEPT)


def check_part(what: str, reducer: object) -> None:
    """A reducer that can be a part of another.

    >>> check_part("The member 'clicks' of Struct is", Sum())
    """
    if not isinstance(reducer, Reducer) or reducer.needs_versions or isinstance(reducer, Own):
        raise DefinitionError(
            f"{what} {reducer!r}. Use a reducer that combines all values without versions, such as kl.Sum()."
        )
