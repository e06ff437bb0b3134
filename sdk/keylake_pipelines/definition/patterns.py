r"""Patterns of source tables, as Flink CDC has them.

A pattern is regular expressions with commas between them, for the whole name of a table. A dot stands between the parts
of a name, and `\.` for any character, so that `shop.\.*` is every table of shop.
"""

from __future__ import annotations

import re
from functools import cache

from keylake_pipelines.source.tables import SourceTable

_COMMA = re.compile(r",(?![^{}]*\})")  # not that of a quantifier, {1,2}
_ESCAPED_OR_DOT = re.compile(r"\\.|\.", re.DOTALL)
_GROUP = re.compile(r"\$(\d)")


class Pattern:
    r"""Source tables by their names.

    >>> Pattern(r"shop.\.*, crm.order_\d+").matches(SourceTable(("crm", "order_17")))
    True
    >>> Pattern("shop.orders").matches(SourceTable(("shop_orders",)))
    False
    """

    def __init__(self, text: str) -> None:
        self.text = text
        parts = parts_of(text)
        if not parts:
            raise ValueError(f"is {text!r}, and names no table. Use one such as shop.orders.")
        try:
            self._regex = re.compile("|".join(f"(?:{_ESCAPED_OR_DOT.sub(_swapped, part)})" for part in parts))
        except re.error as error:
            raise ValueError(
                rf"is {text!r}, which is no regular expression: {error}. A dot stands between the parts of a name, "
                r"and \. for any character."
            ) from None

    @property
    def regex(self) -> str:
        """The pattern for the whole name, as Python has it."""
        return self._regex.pattern

    def matches(self, table: SourceTable) -> bool:
        """The pattern is that of the table."""
        return self._regex.fullmatch(str(table)) is not None

    def filled(self, table: SourceTable, text: str) -> str:
        r"""The text with the groups of the pattern in it.

        >>> Pattern(r"shop_(\.*).(\.*)_old").filled(SourceTable(("shop_no", "orders_old")), "lake_$1.$2")
        'lake_no.orders'
        """
        found = self._regex.fullmatch(str(table))
        if found is None:
            return text
        return _GROUP.sub(lambda number: found[int(number[1])] or "", text)


def parts_of(text: str) -> tuple[str, ...]:
    r"""The patterns that have commas between them.

    >>> parts_of(r"shop.\.*, crm.order_\d{1,2}")
    ('shop.\\.*', 'crm.order_\\d{1,2}')
    """
    return tuple(part.strip() for part in _COMMA.split(text) if part.strip())


@cache
def pattern(text: str) -> Pattern:
    """The pattern of a text, which is compiled once."""
    return Pattern(text)


def _swapped(found: re.Match[str]) -> str:
    r"""A dot as a dot, `\.` as any character, and whatever else is escaped as it is."""
    return {".": r"\.", r"\.": "."}.get(found[0], found[0])
