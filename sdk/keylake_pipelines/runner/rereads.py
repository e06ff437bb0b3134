"""Source tables that are read once more, and the rows of keyed tables that are gone when they were.

    reread ── rows of a new snapshot ── TableReread of each source table of a keyed table ── older rows are removed

A keyed table with rows of several source tables does not say whose a row is. So all of them are read once more, and
what is older than the first of these readings is removed after the last. What is known of readings under way is not
kept: a run that was cut off asks for what is missing again. What was asked for is kept until positions say it.
"""

from __future__ import annotations

import logging

from keylake.errors import Unsupported
from keylake_pipelines.runner.settings import RunSettings
from keylake_pipelines.runner.state import StateTable
from keylake_pipelines.runner.targets import Targets
from keylake_pipelines.source.source import Source
from keylake_pipelines.source.tables import SourceSchema, SourceTable, TableReread

LOG = logging.getLogger("keylake")


class Rereads:
    """The readings under way."""

    def __init__(self, settings: RunSettings, state: StateTable, source: Source, targets: Targets) -> None:
        self._settings = settings
        self._state = state
        self._source = source
        self._targets = targets
        self._asked: dict[str, set[str]] = {}  # source tables by keyed table
        self._read: dict[str, dict[str, int]] = {}  # since when, by keyed table and source table

    def ask(self, target: str) -> None:
        """Have all source tables of a keyed table read once more."""
        self._read.pop(target, None)
        self._asked[target] = set()
        for schema in self._sources(target):
            self._ask(target, schema.table)

    def done(self, change: TableReread, target: str) -> None:
        """A source table was read; where it was the last of its keyed table, remove what is gone."""
        read = self._read.setdefault(target, {})
        read[str(change.table)] = change.version
        missing = [schema.table for schema in self._sources(target) if str(schema.table) not in read]
        for table in missing:
            if str(table) not in self._asked.setdefault(target, set()):
                self._ask(target, table)
        if missing:
            return
        self._asked.pop(target, None)
        since = min(self._read.pop(target).values())
        gone = self._targets.remove_older(target, since)
        LOG.info("%s: %s was read once more; %s rows of %s are gone", self._settings.name, change.table, gone, target)

    def _ask(self, target: str, table: SourceTable) -> None:
        if not self._source.reread(table):
            raise Unsupported(
                f"{table} cannot be read once more: topics and files have what comes. keylake resume "
                f"{self._settings.name} {target} goes on with rows that were kept; a pipeline of another name, with "
                "other tables, reads from the beginning."
            )
        self._asked[target].add(str(table))
        self._state.asked.add(str(table))
        LOG.info("%s: %s is read once more", self._settings.name, table)

    def _sources(self, target: str) -> list[SourceSchema]:
        return [each.schema for (_, to), each in self._state.tables.items() if to == target]
