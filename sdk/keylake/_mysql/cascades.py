"""Foreign keys that change rows of other tables: the log of InnoDB has no word of those changes.

    parent ── DELETE, or UPDATE of a referenced column ──▶ child ──▶ child of the child ──▶ ...

The children are read once more when such a change of a parent comes in the log.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from keylake._mysql.server import Server, rows_of
from keylake._mysql.words import Name
from keylake._server.statements import quoted

_NAME = r"`(?:[^`]|``)+`"
_FOREIGN_KEY = re.compile(
    rf"FOREIGN KEY \((?P<columns>[^\n]*?)\) REFERENCES (?:(?P<database>{_NAME})\.)?(?P<table>{_NAME})"
    r" \((?P<referenced>[^\n]*?)\)(?P<rules>[^\n]*)"
)
_RULE = re.compile(r"ON (DELETE|UPDATE) (CASCADE|SET NULL|SET DEFAULT)")


@dataclass(frozen=True)
class ForeignKey:
    """A foreign key of a child, and what the database does to the child's rows."""

    child: Name
    parent: Name
    columns: frozenset[str]  # of the child, in small letters as the next ones
    referenced: frozenset[str]
    on_delete: str = ""  # CASCADE, SET NULL, SET DEFAULT, or nothing
    on_update: str = ""


@dataclass(frozen=True)
class Cascades:
    """The foreign keys by which rows of tables that are read change with rows of others."""

    keys: tuple[ForeignKey, ...] = ()
    parents: frozenset[Name] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parents", frozenset(key.parent for key in self.keys))

    @cached_property
    def _referenced(self) -> dict[Name, frozenset[str]]:
        found: dict[Name, frozenset[str]] = {}
        for key in self.keys:
            if key.on_update:
                found[key.parent] = found.get(key.parent, frozenset()) | key.referenced
        return found

    def referenced(self, parent: Name) -> frozenset[str]:
        """The columns of a parent whose change changes others."""
        return self._referenced.get(parent, frozenset())

    def changed(self, parent: Name, columns: frozenset[str] | None) -> frozenset[Name]:
        """The tables whose rows change when these columns of a parent's row do; None: when its row is deleted.

        >>> key = ForeignKey(("s", "b"), ("s", "a"), frozenset({"a"}), frozenset({"id"}), "CASCADE", "")
        >>> cascades = Cascades((key,))
        >>> sorted(cascades.changed(("s", "a"), None)), cascades.changed(("s", "a"), frozenset({"id"}))
        ([('s', 'b')], frozenset())
        """
        found: set[Name] = set()
        todo = [(parent, columns)]
        seen = set(todo)
        while todo:
            table, of_table = todo.pop()
            for key in self.keys:
                rule = key.on_delete if of_table is None else key.on_update if of_table & key.referenced else ""
                if key.parent != table or not rule:
                    continue
                found.add(key.child)
                effect = (key.child, None if of_table is None and rule == "CASCADE" else key.columns)
                if effect not in seen:
                    seen.add(effect)
                    todo.append(effect)
        return frozenset(found)


def foreign_keys(child: Name, definition: str) -> Iterator[ForeignKey]:
    """The foreign keys of a definition that change rows of its table.

    >>> [key] = foreign_keys(("s", "b"), "FOREIGN KEY (`A`) REFERENCES `a` (`id`) ON DELETE SET NULL")
    >>> key.parent, key.columns, key.on_delete, key.on_update
    (('s', 'a'), frozenset({'a'}), 'SET NULL', '')
    """
    for found in _FOREIGN_KEY.finditer(definition):
        rules = dict(_RULE.findall(found["rules"]))
        if rules:
            columns, referenced = (
                frozenset(_unquoted(each).lower() for each in re.findall(_NAME, found[part]))
                for part in ("columns", "referenced")
            )
            database = _unquoted(found["database"]) if found["database"] else child[0]
            parent = (database, _unquoted(found["table"]))
            yield ForeignKey(child, parent, columns, referenced, rules.get("DELETE", ""), rules.get("UPDATE", ""))


def cascades_of(server: Server, connection: Any, tables: Set[Name]) -> Cascades:
    """The foreign keys by which rows of these tables change, with those of their parents, and so on."""
    # The catalog shows their rules to those who may do more than read, so they are read from definitions.
    with server.asked("asking for its foreign keys"):
        # MySQL 9.6 and newer cascade above InnoDB, and log it, unless they are told not to.
        said = rows_of(connection, "SHOW GLOBAL VARIABLES LIKE 'innodb_native_foreign_keys'")
        if said and said[0][1] == "OFF":
            return Cascades()
        referring: set[Name] = {
            (database, table)
            for database, table in rows_of(
                connection,
                "SELECT DISTINCT table_schema, table_name FROM information_schema.key_column_usage"
                " WHERE referenced_table_name IS NOT NULL",
            )
        }
        keys: list[ForeignKey] = []
        seen: set[Name] = set()
        todo = sorted(referring & tables)
        while todo:
            name = todo.pop()
            seen.add(name)
            found = list(foreign_keys(name, _definition(connection, name)))
            keys += found
            todo += sorted({key.parent for key in found} & referring - seen - set(todo))
    return Cascades(tuple(keys))


def _definition(connection: Any, name: Name) -> str:
    import pymysql

    try:
        answer = rows_of(connection, f"SHOW CREATE TABLE {quoted(name[0])}.{quoted(name[1])}")[0][1]
    except pymysql.err.ProgrammingError:  # it was dropped meanwhile
        return ""
    return answer.decode() if isinstance(answer, bytes) else str(answer)


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`")
