"""Reducers: how several writes of one column become one value. Plain value objects.

- *registers* keep one of the values, the newest by version: `Latest`, which every column has unless said, and
  `LatestNotNull`.
- *accumulators* combine all of them: `Sum`, `Min`, ... They are named here so that a definition can be written down;
  a table that uses one is refused until the server can keep it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import ClassVar

from keylake.errors import DefinitionError


@dataclass(frozen=True)
class Reducer:
    """What all reducers share: a name, and whether a table may use them already."""

    supported: ClassVar[bool] = False

    @property
    def type(self) -> str:
        """The name of the reducer, the same in Python, JSON and Java.

        >>> Sum().type
        'Sum'
        """
        return type(self).__name__

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

    supported: ClassVar[bool] = True


@dataclass(frozen=True)
class LatestNotNull(Reducer):
    """The newest value that is not null wins: writing null says nothing.

    >>> LatestNotNull().to_json()
    {'type': 'LatestNotNull'}
    """

    supported: ClassVar[bool] = True


@dataclass(frozen=True)
class Sum(Reducer):
    """The sum of all contributions."""


@dataclass(frozen=True)
class Min(Reducer):
    """The smallest contribution."""


@dataclass(frozen=True)
class Max(Reducer):
    """The largest contribution."""


@dataclass(frozen=True)
class Count(Reducer):
    """How many contributions there were that are not null."""


@dataclass(frozen=True)
class First(Reducer):
    """The contribution of the earliest version."""


@dataclass(frozen=True)
class BoolAnd(Reducer):
    """True when all contributions are true."""


@dataclass(frozen=True)
class BoolOr(Reducer):
    """True when any contribution is true."""


@dataclass(frozen=True)
class Collect(Reducer):
    """All contributions as a list, or each once with `distinct`; at most `limit` of them."""

    distinct: bool = False
    limit: int | None = None


@dataclass(frozen=True)
class ArraySum(Reducer):
    """The sum of arrays, element by element."""


@dataclass(frozen=True)
class MapMerge(Reducer):
    """The union of maps; of one map key the later value."""


@dataclass(frozen=True)
class BitmapOr(Reducer):
    """The union of bitmaps."""


LATEST = Latest()
REDUCERS: dict[str, type[Reducer]] = {kind.__name__: kind for kind in Reducer.__subclasses__()}
SUPPORTED = " or ".join(f"{name}()" for name, kind in REDUCERS.items() if kind.supported)


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
    return replace(kind(), **options)
