"""The base of all reducers, and the registers, which keep one of the values that were written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import ClassVar

from keylake.errors import DefinitionError


@dataclass(frozen=True)
class Reducer:
    """The base of all reducers: a name, and the form that specs keep."""

    states_defaults: ClassVar[bool] = False
    """Specs keep the options that are left out, too."""
    accumulates: ClassVar[bool] = True
    """Every contribution counts, not only the newest."""
    needs_versions: ClassVar[bool] = False
    """Versions decide, so that the reducer cannot be a part of another one."""

    @property
    def type(self) -> str:
        """The name of the reducer, the same in Python, JSON and Java.

        >>> LatestNotNull().type
        'LatestNotNull'
        """
        return type(self).__name__

    @property
    def text(self) -> str:
        """The reducer as SQL's property `reduce.<column>` has it, with the options that differ from their defaults.

        >>> from keylake.reducers import Collect
        >>> Collect(distinct=True, limit=100).text
        'Collect(distinct, limit=100)'
        """
        options = [option for name, value in self.options.items() for option in _texts(name, value)]
        return f"{self.type}({', '.join(options)})" if options else self.type

    def to_json(self) -> dict[str, object]:
        """The reducer as it stands in a spec: its type and its options; of some only those that are no defaults.

        >>> from keylake.reducers import Collect, Daily
        >>> Collect(distinct=True).to_json()
        {'type': 'Collect', 'distinct': True}
        >>> Daily().to_json()
        {'type': 'Daily', 'days': 90, 'of': {'type': 'Sum'}}
        """
        return {"type": self.type} | {name: _json(value) for name, value in self.options.items()}

    @property
    def options(self) -> dict[str, object]:
        """The options of the reducer, as specs keep them.

        >>> from keylake.reducers import Collect
        >>> Collect(distinct=True).options
        {'distinct': True}
        """
        given = {field.name: (getattr(self, field.name), field.default) for field in fields(self)}
        return {name: value for name, (value, usual) in given.items() if self.states_defaults or value != usual}


def _json(value: object) -> object:
    if isinstance(value, Mapping):
        return {name: _json(of) for name, of in value.items()}
    return value.to_json() if isinstance(value, Reducer) else value


def _texts(name: str, value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for member, of in value.items():
            yield from _texts(member, of)
    elif value is True:
        yield name
    else:
        said = value.text if isinstance(value, Reducer) else _word(value) if isinstance(value, str) else value
        yield f"{_word(name)}={said}"


def _word(word: str) -> str:
    """A name as properties have it: in backticks where it is no plain word."""
    return word if re.fullmatch(r"[A-Za-z_][\w.$]*", word, flags=re.ASCII) else "`" + word.replace("`", "``") + "`"


@dataclass(frozen=True)
class Latest(Reducer):
    """The newest value wins, null included. The reducer of every column that names none.

    >>> Latest()
    Latest()
    """

    accumulates: ClassVar[bool] = False
    needs_versions: ClassVar[bool] = True


@dataclass(frozen=True)
class LatestNotNull(Reducer):
    """The newest value that is not null wins: writing null says nothing.

    >>> LatestNotNull().to_json()
    {'type': 'LatestNotNull'}
    """

    accumulates: ClassVar[bool] = False
    needs_versions: ClassVar[bool] = True


LATEST = Latest()


def check_size(what: str, value: object, least: int, most: int) -> None:
    """A whole number of a range.

    >>> check_size("n of LatestN", 0, 1, 10_000)
    Traceback (most recent call last):
    keylake.errors.DefinitionError: The n of LatestN is 0. Use a whole number from 1 to 10000.
    """
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise DefinitionError(f"The {what} is {value!r}. Use a whole number from {least} to {most}.")
