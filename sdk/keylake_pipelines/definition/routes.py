"""The keyed tables that the rows of a source table go to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from keylake.extension import table_name
from keylake_pipelines.definition.patterns import parts_of, pattern
from keylake_pipelines.definition.pipeline import Pipeline, Route, Transform
from keylake_pipelines.definition.sources import MySql, Postgres
from keylake_pipelines.source.tables import SourceTable


def route(pipeline: Pipeline, table: SourceTable) -> tuple[str, ...]:
    """The keyed tables of a source table, each once; without a route one of its own name.

    A name has two parts, the namespace first: that of the sink, or the part before the table in the source.
    """
    found: list[str] = []
    for each in pipeline.route:
        if pattern(each.source_table).matches(table):
            found.append(_sink_table(each, table))
            if pipeline.pipeline.route_mode == "FIRST_MATCH":
                break
    if not found:
        database, name = (pipeline.source.type, *table.parts)[-2:]
        found.append(table_name((pipeline.sink.namespace or database, name)))
    return tuple(dict.fromkeys(found))


def transforms_of(pipeline: Pipeline, table: SourceTable) -> tuple[Transform, ...]:
    """The transforms of a source table, in their order."""
    return tuple(each for each in pipeline.transform if pattern(each.source_table).matches(table))


def is_captured(source: MySql | Postgres, table: SourceTable) -> bool:
    """A table of a database is one of those that its source reads."""
    exclude = source.tables_exclude
    return pattern(source.tables).matches(table) and not (exclude and pattern(exclude).matches(table))


def unmatched(pipeline: Pipeline, tables: Sequence[SourceTable]) -> tuple[str, ...]:
    """The parts of a definition that mean no table of its source: patterns, keys, routes, transforms.

    They may be about tables that are still to come, so each is told, and refused by nobody.
    """
    source = pipeline.source
    asked = [(f"source.tables {each!r}", each) for each in parts_of(getattr(source, "tables", ""))]
    asked += [(f"route.source-table {each.source_table!r}", each.source_table) for each in pipeline.route]
    asked += [(f"transform.source-table {each.source_table!r}", each.source_table) for each in pipeline.transform]
    found = [what for what, text in asked if not any(pattern(text).matches(table) for table in tables)]
    names = [f".{table}" for table in tables]
    key = getattr(source, "key", ())
    named = [("source.keys", each) for each in getattr(source, "keys", ())]
    named += [("source.key", each) for each in key] if isinstance(key, Mapping) else []
    keys = [f"{what} {each!r}" for what, each in named if not any(name.endswith(f".{each}") for name in names)]
    return (*found, *keys)


def shared(pipeline: Pipeline, tables: Sequence[SourceTable]) -> dict[str, tuple[SourceTable, ...]]:
    """The keyed tables that rows of several source tables go to by their names alone, and no route says so."""
    found: dict[str, tuple[SourceTable, ...]] = {}
    for table in tables:
        if not any(pattern(each.source_table).matches(table) for each in pipeline.route):
            [target] = route(pipeline, table)
            found[target] = (*found.get(target, ()), table)
    return {target: of for target, of in found.items() if len(of) > 1}


def _sink_table(rule: Route, table: SourceTable) -> str:
    if rule.replace_symbol:
        return rule.sink_table.replace(rule.replace_symbol, table.parts[-1])
    return pattern(rule.source_table).filled(table, rule.sink_table)
