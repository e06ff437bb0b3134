r"""Which keyed tables the rows of a source table go to.

Patterns are those of Flink CDC: regular expressions with commas between them, for the whole name of a table. A dot
stands between the parts of a name, and `\.` for any character, so that `shop.\.*` is every table of shop.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from keylake.extension import table_name
from keylake_pipelines.source.tables import SourceTable

if TYPE_CHECKING:
    from keylake_pipelines.definition.pipeline import Pipeline, Route, Transform
    from keylake_pipelines.definition.sources import MySql, Postgres

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
        """Whether the pattern is that of the table."""
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


def route(pipeline: Pipeline, table: SourceTable) -> tuple[str, ...]:
    """The keyed tables of a source table, each once; without a route one of its own name.

    A name has two parts, the namespace first: that of the sink, or the part before the table in the source.
    """
    found: list[str] = []
    for each in pipeline.route:
        if _pattern(each.source_table).matches(table):
            found.append(_sink_table(each, table))
            if pipeline.pipeline.route_mode == "FIRST_MATCH":
                break
    if not found:
        database, name = (pipeline.source.type, *table.parts)[-2:]
        found.append(table_name((pipeline.sink.namespace or database, name)))
    return tuple(dict.fromkeys(found))


def transforms_of(pipeline: Pipeline, table: SourceTable) -> tuple[Transform, ...]:
    """The transforms of a source table, in their order."""
    return tuple(each for each in pipeline.transform if _pattern(each.source_table).matches(table))


def is_captured(source: MySql | Postgres, table: SourceTable) -> bool:
    """Whether a table of a database is one of those that its source reads."""
    exclude = source.tables_exclude
    return _pattern(source.tables).matches(table) and not (exclude and _pattern(exclude).matches(table))


def unmatched(pipeline: Pipeline, tables: Sequence[SourceTable]) -> tuple[str, ...]:
    """What of a definition is about no table that its source has: patterns, keys, routes, transforms.

    They may be about tables that are still to come, so each is told, and refused by nobody.
    """
    source = pipeline.source
    asked = [(f"source.tables {each!r}", each) for each in parts_of(getattr(source, "tables", ""))]
    asked += [(f"route.source-table {each.source_table!r}", each.source_table) for each in pipeline.route]
    asked += [(f"transform.source-table {each.source_table!r}", each.source_table) for each in pipeline.transform]
    found = [what for what, text in asked if not any(_pattern(text).matches(table) for table in tables)]
    names = [f".{table}" for table in tables]
    key = getattr(source, "key", ())
    named = [("source.keys", each) for each in getattr(source, "keys", ())]
    named += [("source.key", each) for each in key] if isinstance(key, Mapping) else []
    keys = [f"{what} {each!r}" for what, each in named if not any(name.endswith(f".{each}") for name in names)]
    return (*found, *keys)


def parts_of(text: str) -> tuple[str, ...]:
    r"""The patterns that have commas between them.

    >>> parts_of(r"shop.\.*, crm.order_\d{1,2}")
    ('shop.\\.*', 'crm.order_\\d{1,2}')
    """
    return tuple(part.strip() for part in _COMMA.split(text) if part.strip())


def _sink_table(rule: Route, table: SourceTable) -> str:
    if rule.replace_symbol:
        return rule.sink_table.replace(rule.replace_symbol, table.parts[-1])
    return _pattern(rule.source_table).filled(table, rule.sink_table)


@cache
def _pattern(text: str) -> Pattern:
    return Pattern(text)


def _swapped(found: re.Match[str]) -> str:
    r"""A dot as a dot, `\.` as any character, and whatever else is escaped as it is."""
    return {".": r"\.", r"\.": "."}.get(found[0], found[0])
