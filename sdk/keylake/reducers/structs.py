"""Accumulators of structs: an average, moments, and members with reducers of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from keylake.errors import DefinitionError, check_type
from keylake.reducers.collections import check_part
from keylake.reducers.registers import Reducer


@dataclass(frozen=True)
class Average(Reducer):
    """A sum and how many values it is of, of a column struct<sum: number, count: long>.

    In SQL, `average_of(value)` makes a contribution of one value, and `average(column)` reads the average. Sums are
    exact, as those of `Sum`.

    >>> Average().to_json()
    {'type': 'Average'}
    """


@dataclass(frozen=True)
class Moments(Reducer):
    """The number of values and the sums of their first four powers, for variance, skewness and kurtosis.

    The column is a struct<count: long, sum: double, sum2: double, sum3: double, sum4: double>. In SQL,
    `moments_of(value)` makes a contribution of one value; `moments_avg(column)`, `moments_var_samp`, `moments_var_pop`,
    `moments_stddev_samp`, `moments_stddev_pop`, `moments_skewness` and `moments_kurtosis` read it. The sums are exact;
    what is made of them loses digits where the mean is much larger than the deviation: subtract a constant first.

    >>> Moments().to_json()
    {'type': 'Moments'}
    """


@dataclass(frozen=True)
class Struct(Reducer):
    """A struct whose members have reducers of their own, each one that combines all values without versions.

    A contribution is such a struct; what is null in it contributes nothing to that member.

    >>> from keylake.reducers import Max, Sum
    >>> Struct({"spend": Sum(), "longest": Max()}).text
    'Struct(longest=Max, spend=Sum)'
    """

    states_defaults: ClassVar[bool] = True
    members: Mapping[str, Reducer] = field(hash=False)

    def __post_init__(self) -> None:
        """Refuse options that cannot be met.

        >>> Struct({})
        Traceback (most recent call last):
        keylake.errors.DefinitionError: The members of Struct are {}. Give each member of the struct a reducer, \
as in kl.Struct({"clicks": kl.Sum()}).
        """
        check_type("members of Struct", self.members, Mapping, 'reducers by name: kl.Struct({"clicks": kl.Sum()})')
        if not self.members:
            raise DefinitionError(
                f"The members of Struct are {self.members!r}. Give each member of the struct a reducer, "
                'as in kl.Struct({"clicks": kl.Sum()}).'
            )
        for name, reducer in self.members.items():
            check_part(f"The member {name!r} of Struct is", reducer)
        object.__setattr__(self, "members", dict(sorted(self.members.items())))
