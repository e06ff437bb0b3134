"""Accumulators that users write in Java."""

from __future__ import annotations

import re
from dataclasses import dataclass

from keylake.errors import DefinitionError, check_type
from keylake.reducers.registers import Reducer


@dataclass(frozen=True)
class Own(Reducer):
    """A value that a Java class of yours makes of all contributions: an implementation of `io.keylake.merge.Reducer`.

    The server's setting `spark.keylake.reducers` names the classes that it may load, and `spark.jars` their jar. The
    class says which types it takes. Before a column has it, the server tries it with samples of the type, and refuses
    one that gives other values where contributions are grouped in another way, with the smallest example.

    >>> Own("com.acme.GeometricMean").text
    'Own(name=com.acme.GeometricMean)'
    """

    name: str

    def __post_init__(self) -> None:
        """The name of a class.

        >>> Own("geometric mean")
        Traceback (most recent call last):
        keylake.errors.DefinitionError: The name of Own is 'geometric mean'. Write the class with its package, as in \
'com.acme.GeometricMean'.
        """
        check_type("name of Own", self.name, str, "a Java class with its package")
        if not re.fullmatch(r"[\w$]+(\.[\w$]+)*", self.name):
            raise DefinitionError(
                f"The name of Own is {self.name!r}. Write the class with its package, as in 'com.acme.GeometricMean'."
            )
