"""Accumulators of bytes: bitmaps and sketches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from keylake.errors import DefinitionError
from keylake.reducers.registers import Reducer, check_size


@dataclass(frozen=True)
class BitmapOr(Reducer):
    """The union of Roaring bitmaps of 32-bit numbers, in a binary column, in the portable form of the Roaring format.

    `pages` takes the pages that Spark's `bitmap_construct_agg(bitmap_bit_position(value))` makes instead: 4,096 bytes
    of bits, one page for each `bitmap_bucket_number(value)`, which `bitmap_count(column)` reads. Make the number of the
    page a key column, or keep all pages in a map with `MapMerge(of=BitmapOr(pages=True))`.

    >>> BitmapOr(pages=True).text
    'BitmapOr(pages)'
    """

    pages: bool = False

    def __post_init__(self) -> None:
        """Refuse options that cannot be met.

        >>> BitmapOr(pages="yes")
        Traceback (most recent call last):
        keylake.errors.DefinitionError: The option pages of BitmapOr is 'yes'. Use True or False.
        """
        if not isinstance(self.pages, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise DefinitionError(f"The option pages of BitmapOr is {self.pages!r}. Use True or False.")


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
        """Refuse options that cannot be met.

        >>> Hll(lg_k=40)
        Traceback (most recent call last):
        keylake.errors.DefinitionError: The lg_k of Hll is 40. Use a whole number from 4 to 21.
        """
        check_size("lg_k of Hll", self.lg_k, 4, 21)


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
        """Refuse options that cannot be met.

        >>> Theta(lg_nominal=3)
        Traceback (most recent call last):
        keylake.errors.DefinitionError: The lg_nominal of Theta is 3. Use a whole number from 4 to 26.
        """
        check_size("lg_nominal of Theta", self.lg_nominal, 4, 26)


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
        """Refuse options that cannot be met.

        >>> Kll(values="decimal")
        Traceback (most recent call last):
        keylake.errors.DefinitionError: The values of Kll are 'decimal'. Use 'long', 'float' or 'double'.
        """
        check_size("k of Kll", self.k, 8, 65_535)
        if self.values not in ("long", "float", "double"):
            raise DefinitionError(f"The values of Kll are {self.values!r}. Use 'long', 'float' or 'double'.")
