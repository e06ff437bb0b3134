"""The mapping of a payload's fields to columns, as its owner says it: which fields, names, types, and how many.

payload {"id": 7, "userName": "ann", "home": {"zip": 1}}
JsonMapping(rename={"userName": "name", "home.zip": "zip"}, exclude=["home"])
columns  name = 'ann', zip = 1
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from pyiceberg.types import IcebergType

from keylake._definition.definition import hint
from keylake._definition.spec import Names, names_of
from keylake._table.columns import ColumnType, iceberg_type
from keylake.errors import DefinitionError, check_count, check_type

DEFAULT_RESCUE = "_rescued"
DEFAULT_MOST_NEW_COLUMNS = 100

FieldPath = tuple[str, ...]

_PART = re.compile(r"(?:`((?:[^`]|``)+)`|([^`.]+))(?:\.|$)")


def field_path(text: str) -> FieldPath:
    """The names of the fields that lead to a value; a name with a dot stands between backticks.

    >>> field_path("home.zip"), field_path("`a.b`.c")
    (('home', 'zip'), ('a.b', 'c'))
    """
    parts: list[str] = []
    end = 0
    for part in _PART.finditer(text):
        if part.start() != end:
            break
        parts.append(part[1].replace("``", "`") if part[1] else part[2])
        end = part.end()
    if end != len(text) or not parts or (text.endswith(".") and not text.endswith("`.")):
        raise DefinitionError(
            f"rename names the field {text!r}. Use a name, or a path such as 'home.zip' or '`a.b`.c'."
        )
    return tuple(parts)


@dataclass(frozen=True)
class JsonMapping:
    """A mapping of a payload's fields to columns, their names and types; what is not said follows the general rules.

    - `include`: these fields of the payload, and those that `rename` names, and no others.
    - `exclude`: these fields are left out. What `include` and `exclude` leave out is not rescued.
    - `rename`: from fields to columns. A path such as "home.zip" leads into objects, a name with a dot stands between
      backticks. The object is a field of its own besides: exclude it if its members are all that is wanted.
    - `types`: from columns to the types that they get if they have to be made, as in `alter(add=)`.
    - `most_new_columns`: a batch that needs more of them, members of structs counted, is refused whole.
    - `rescue`: the column for values that fit nowhere.

    >>> JsonMapping(rename={"home.zip": "zip"}, exclude="home").paths
    {('home', 'zip'): 'zip'}
    >>> JsonMapping(most_new_columns=-1)
    Traceback (most recent call last):
    keylake.errors.DefinitionError: most_new_columns is -1. Use a whole number from 0 to 2147483647.
    """

    include: Names | None = None
    exclude: Names = ()
    rename: Mapping[str, str] = field(default_factory=dict[str, str])
    types: Mapping[str, ColumnType] = field(default_factory=dict[str, ColumnType])
    most_new_columns: int = DEFAULT_MOST_NEW_COLUMNS
    rescue: str = DEFAULT_RESCUE

    def __post_init__(self) -> None:
        if self.include is not None:
            object.__setattr__(self, "include", names_of(self.include, "include"))
        object.__setattr__(self, "exclude", names_of(self.exclude, "exclude"))
        for word, may_be in (
            ("rename", "a mapping from fields to columns"),
            ("types", "a mapping from columns to types"),
        ):
            check_type(word, getattr(self, word), Mapping, may_be)
            for name in getattr(self, word):
                check_type(f"A name in {word}", name, str, "text")
            object.__setattr__(self, word, MappingProxyType(dict(getattr(self, word))))
        for name, column in self.rename.items():
            check_type(f"rename of {name!r}", column, str, "the name of a column")
        check_count("most_new_columns", self.most_new_columns)
        check_type("rescue", self.rescue, str, "the name of a column")
        self._check_names()
        _ = self.column_types  # so that a wrong type is told now

    def _check_names(self) -> None:
        both = sorted({*self.exclude} & {*(self.include or ()), *(path[0] for path in self.paths if len(path) == 1)})
        if both:
            raise DefinitionError(
                f"exclude has the field {both[0]!r}, which include or rename names, too. Leave it out of one."
            )
        for word, names in (("rename", list(self.rename.values())), ("types", list(self.types))):
            seen: dict[str, str] = {}
            for name in (*names, self.rescue):
                other = seen.get(name.lower())
                if other is not None:
                    which = f"{other!r} and {name!r}" if other != name else f"{name!r} twice"
                    raise DefinitionError(f"{word} and rescue name the column {which}. Give each a name of its own.")
                seen[name.lower()] = name

    @property
    def paths(self) -> dict[FieldPath, str]:
        """The fields that `rename` names, with their columns."""
        return {field_path(name): column for name, column in self.rename.items()}

    @property
    def column_types(self) -> dict[str, IcebergType]:
        """The types that are said, by the names of columns in lower case."""
        return {name.lower(): iceberg_type(each, f"types: column {name!r}") for name, each in self.types.items()}

    @property
    def listed(self) -> tuple[str, ...] | None:
        """The fields of the payload itself that count; None: all of them."""
        if self.include is None:
            return None
        return tuple(dict.fromkeys((*names_of(self.include), *(path[0] for path in self.paths if len(path) == 1))))

    def __hash__(self) -> int:
        return hash((self.include, self.exclude, tuple(self.rename.items()), self.most_new_columns, self.rescue))


def check_mapping(mapping: object) -> JsonMapping:
    """A mapping that is one; none is the general rules.

    >>> check_mapping({"rename": {}})
    Traceback (most recent call last):
    keylake.errors.DefinitionError: mapping is {'rename': {}}. Use kl.JsonMapping(...).
    """
    if mapping is None:
        return JsonMapping()
    if not isinstance(mapping, JsonMapping):
        raise DefinitionError(f"mapping is {mapping!r}. Use kl.JsonMapping(...).")
    return mapping


def payload_column(column: object, columns: Sequence[str]) -> str:
    """The column of the rows that holds the payloads, as the rows write it.

    >>> payload_column("payload", ("id", "Payload"))
    'Payload'
    """
    check_type("column", column, str, "the name of a column of the rows")
    found = [name for name in columns if name.lower() == str(column).lower()]
    if not found:
        raise DefinitionError(f"column names {column!r}, which the rows do not have. {hint(str(column), columns)}")
    return found[0]
