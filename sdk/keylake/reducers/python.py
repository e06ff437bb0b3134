"""Accumulators that users write in Python."""

# pyarrow carries no types.
# pyright: reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from keylake.errors import DefinitionError, check_type
from keylake.reducers.registers import Reducer

if TYPE_CHECKING:
    import pyarrow as pa


class Steps(Protocol):
    """The steps of a reducer in Python, for many keys in one call: element i of each array belongs to one key.

    No element depends on another element of its array. States are structs and never null; contributions are not null.
    """

    def contribute(self, values: pa.Array) -> pa.Array:
        """The state of each contribution."""
        ...

    def combine(self, older: pa.Array, newer: pa.Array) -> pa.Array:
        """The state of each two states, the first of which came before the second where the order matters."""
        ...

    def value(self, states: pa.Array) -> pa.Array:
        """The value of each state, which readers of the column see."""
        ...


@dataclass(frozen=True)
class Python(Reducer):
    """A value that a class of yours in Python makes of all contributions; `kl.reducer` makes one of the class.

    `name` is the class with its module, which Spark's Python workers import where the server's setting
    `spark.keylake.reducers` names it; `state` is the struct it keeps, as Spark writes types.

    >>> Python("features.Range", "struct<least:bigint,most:bigint>").text
    'Python(name=features.Range, state=`struct<least:bigint,most:bigint>`)'
    """

    name: str
    state: str

    ordered: ClassVar[bool] = False
    """The order of contributions matters."""

    def __post_init__(self) -> None:
        """The name of a class and a struct.

        >>> Python("Range", "struct<least:bigint>")
        Traceback (most recent call last):
        keylake.errors.DefinitionError: The name of Python is 'Range'. Write the class with its module, as in \
'features.Range'.
        """
        check_type("name of Python", self.name, str, "a class with its module")
        check_type("state of Python", self.state, str, "a struct as Spark writes it")
        parts = self.name.split(".")
        if len(parts) < 2 or not all(part.isidentifier() for part in parts):
            raise DefinitionError(
                f"The name of Python is {self.name!r}. Write the class with its module, as in 'features.Range'."
            )

    @property
    def steps(self) -> Steps:
        """The steps of the class; only where the reducer was made of the class."""
        found: Steps = self.__dict__["_steps"]
        return found


def reducer(*, state: pa.DataType, ordered: bool = False) -> Callable[[type[Steps]], Python]:
    """Make a reducer of a class that combines contributions with Arrow arrays, for the columns of a table.

    The class has `contribute`, `combine` and `value`, each for many keys at once. `state` is the struct that it keeps
    of contributions. `ordered=True` says that the order of contributions matters: it is that of commits, and within a
    commit that of versions. The class stands in a module that Spark's Python workers can import, and the server's
    setting `spark.keylake.reducers` names it. Before a column has the reducer, the server tries it with samples of the
    type and refuses one that gives other values where contributions are grouped in another way.

    Example::

        @kl.reducer(state=pa.struct([("least", pa.int64()), ("most", pa.int64())]))
        class Range:
            def contribute(self, values):
                return pa.StructArray.from_arrays([values, values], ["least", "most"])

            def combine(self, older, newer):
                least = pc.min_element_wise(pc.struct_field(older, 0), pc.struct_field(newer, 0))
                most = pc.max_element_wise(pc.struct_field(older, 1), pc.struct_field(newer, 1))
                return pa.StructArray.from_arrays([least, most], ["least", "most"])

            def value(self, states):
                return pc.subtract(pc.struct_field(states, 1), pc.struct_field(states, 0))

        spread: Int64 | None = column(reduce=Range)

    >>> import pyarrow as pa
    >>> reducer(state=pa.int64())
    Traceback (most recent call last):
    keylake.errors.DefinitionError: The state is int64. Use a struct, as in pa.struct([("count", pa.int64())]).
    """
    import pyarrow as pa
    from pyspark.sql.pandas.types import from_arrow_type

    if not isinstance(state, pa.StructType) or state.num_fields == 0:
        raise DefinitionError(f'The state is {state}. Use a struct, as in pa.struct([("count", pa.int64())]).')
    text = from_arrow_type(state).simpleString()

    def made(steps: type[Steps]) -> Python:
        missing = [name for name in ("contribute", "combine", "value") if not callable(getattr(steps, name, None))]
        if missing:
            raise DefinitionError(
                f"The reducer {steps.__name__} has no {missing[0]}. Define contribute, combine and value."
            )
        if steps.__module__ == "__main__" or "<locals>" in steps.__qualname__:
            raise DefinitionError(
                f"The reducer {steps.__qualname__} is defined in {steps.__module__}, where Spark's Python workers do "
                "not find it. Define it at the top of a module that they can import."
            )
        found = Python(f"{steps.__module__}.{steps.__qualname__}", text)
        found.__dict__.update(_steps=steps(), ordered=ordered, __doc__=steps.__doc__)
        return found

    return made
