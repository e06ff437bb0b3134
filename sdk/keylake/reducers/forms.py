"""Reducers as specs name them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields

from keylake.errors import DefinitionError
from keylake.reducers.collections import ArraySum, Collect, Daily, LatestN, MapMerge, TopN
from keylake.reducers.numbers import BoolAnd, BoolOr, Count, First, Max, Min, Sum
from keylake.reducers.own import Own
from keylake.reducers.python import Python
from keylake.reducers.registers import Latest, LatestNotNull, Reducer
from keylake.reducers.structs import Average, Moments, Struct
from keylake.reducers.unions import BitmapOr, Hll, Kll, Theta

_KINDS: tuple[type[Reducer], ...] = (
    *(Latest, LatestNotNull, Sum, Min, Max, Count, First, BoolAnd, BoolOr),
    *(Collect, ArraySum, MapMerge, Daily, TopN, LatestN, Average, Moments, Struct),
    *(BitmapOr, Hll, Theta, Kll, Own, Python),
)
REDUCERS: dict[str, type[Reducer]] = {kind.__name__: kind for kind in _KINDS}


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
    needed = {field.name for field in fields(kind) if field.default is MISSING}
    lacking = sorted(needed - options.keys())
    if lacking:
        raise DefinitionError(f"Reducer {name} of column {column!r} lacks the option {lacking[0]!r}, which it needs.")
    if "of" in options:
        options["of"] = from_json(column, options["of"])
    members = options.get("members")
    if isinstance(members, Mapping):
        options["members"] = {str(member): from_json(f"{column}.{member}", of) for member, of in members.items()}
    try:
        return kind(**options)
    except DefinitionError as error:
        raise DefinitionError(f"The reducer of column {column!r} is not valid. {error}") from None
