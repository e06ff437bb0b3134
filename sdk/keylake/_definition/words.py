"""The words that define a table, each declared once: its type, its meaning, and what an error says it may be.

A table option has three places in Python: its word here, its field in `TableSpec`, and its member in the JSON form.
Classes, schemas, checks of types, comparison and JSON follow from these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any

from pydantic import ConfigDict, TypeAdapter, ValidationError
from typing_extensions import Required, TypedDict, get_type_hints

from keylake._definition.columns import ColumnGroup, Versions
from keylake._definition.definition import MOST_BUCKETS, hint
from keylake.errors import DefinitionError, check_type
from keylake.reducers import Reducer

# On a class of a table an attribute such as P.clicks is the name of its column, which checkers take for a value.
Name = str | Any
Names = str | Sequence[Any]
Texts = str | Sequence[str]  # names where a definition is made, of which no class has attributes yet

# Enough that the cores of one machine all work, few enough that a small table does not fall into crumbs.
DEFAULT_BUCKETS = 16

_NAMES = "the name of a key column, or a list of names"


class TableWords(TypedDict, total=False):
    """The options of a table, the same for a class and for every kind of schema."""

    buckets: Annotated[int, f"a whole number from 1 to {MOST_BUCKETS}"]
    bucket_by: Annotated[Texts | None, _NAMES]  # default: the whole key
    versions: Annotated[Versions | None, "'ordering', 'commit' or 'explicit'"]  # default: from the ordering column
    partition_by: Annotated[Texts, _NAMES]
    groups: Annotated[int | None, f"a whole number from 1 to {MOST_BUCKETS}"]  # of keys, as an online store has them
    hash: Annotated[str | None, "the name of a hash, such as 'crc32', or the full name of a Java class"]


class Definition(TableWords, total=False):
    """The words that define a table whose columns come from a schema."""

    name: Required[Annotated[str, "text such as 'namespace.table'"]]
    key: Required[Annotated[Texts, "the name of a column, or a list of names"]]
    ordering: Annotated[str | None, "the name of the column whose value is the version of a row"]
    reducers: Annotated[Mapping[str, Reducer] | None, "a mapping such as {'clicks': kl.LatestNotNull()}"]
    column_groups: Annotated[
        Mapping[str, Texts] | Sequence[ColumnGroup],
        "a mapping such as {'behaviour': ['clicks', 'last_page']}, or a list of ColumnGroup",
    ]
    comment: Annotated[str, "text"]


def check_words(words: Mapping[str, object], declared: type = Definition, what: str = "A table") -> None:
    """Refuse words that are not declared, or whose values have another type. What values mean is checked elsewhere.

    >>> check_words({"buckets": 1.5})
    Traceback (most recent call last):
    keylake.errors.DefinitionError: buckets is 1.5. Use a whole number from 1 to 1000000.
    >>> check_words({"bucket": 8})
    Traceback (most recent call last):
    keylake.errors.DefinitionError: A table has no option 'bucket'. Did you mean 'buckets'?
    """
    known = _known(declared)
    for word, value in words.items():
        if word not in known:
            raise DefinitionError(f"{what} has no option {word!r}. {hint(word, list(known))}")
        adapter, may_be = known[word]
        try:
            adapter.validate_python(value)
        except ValidationError:
            raise DefinitionError(f"{word} is {value!r}. Use {may_be}.") from None


def names_of(names: Names | None, word: str = "columns") -> tuple[str, ...]:
    """One name or several as a tuple.

    >>> names_of("clicks"), names_of(["clicks", "spend"])
    (('clicks',), ('clicks', 'spend'))
    """
    check_type(word, names, str | Sequence | None, "a name, or a list of names")
    several = (names,) if isinstance(names, str) else tuple(names or ())
    for name in several:
        check_type(f"A name of {word}", name, str, "text")
    return several


@cache
def _known(declared: type) -> dict[str, tuple[TypeAdapter[Any], str]]:
    """The check of the type of each word, and what it may be."""
    strict = ConfigDict(strict=True, arbitrary_types_allowed=True)
    types, texts = get_type_hints(declared), get_type_hints(declared, include_extras=True)
    return {word: (TypeAdapter(types[word], config=strict), _text(texts[word])) for word in types}


def _text(annotated: Any) -> str:
    inner = annotated.__args__[0] if not hasattr(annotated, "__metadata__") else annotated
    return str(inner.__metadata__[0])
