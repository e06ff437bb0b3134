"""Foreign keys that change rows of other tables: the log of InnoDB has no word of those changes.

    parent ── DELETE, or UPDATE of a referenced column ──▶ child ──▶ child of the child ──▶ ...

The children are read once more when such a change of a parent comes in the log.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from keylake.extension import quoted
from keylake_pipelines.mysql.server import Server, rows_of
from keylake_pipelines.mysql.words import Name, Token, Words, words_of

_RULES = ("CASCADE", "SET NULL", "SET DEFAULT")
_SEES_TRIGGERS = re.compile(r"\b(?:TRIGGER|ALL PRIVILEGES)\b.* ON \*\.\*")


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


def foreign_keys(child: Name, text: str) -> Iterator[ForeignKey]:
    """The foreign keys in a definition, or a statement, that change rows of its table.

    >>> [key] = foreign_keys(("s", "b"), "FOREIGN KEY (`A`) REFERENCES `a` (`id`) ON DELETE SET NULL")
    >>> key.parent, key.columns, key.on_delete, key.on_update
    (('s', 'a'), frozenset({'a'}), 'SET NULL', '')
    >>> [key] = foreign_keys(("s", "b"), "ALTER TABLE b ADD c DECIMAL(9, 0) REFERENCES t.a(id) ON UPDATE CASCADE")
    >>> key.parent, key.columns, key.on_delete, key.on_update
    (('t', 'a'), frozenset({'c'}), '', 'CASCADE')
    """
    tokens = words_of(text, child[0]).tokens
    for at, token in enumerate(tokens):
        if not token.says("REFERENCES"):
            continue
        words = Words(tokens, child[0], at + 1)
        parent = words.table()
        referenced = _small(words.names())
        rules = _rules(words)
        if rules and referenced:
            columns = _small(_columns(tokens[:at]))
            yield ForeignKey(child, parent, columns, referenced, rules.get("DELETE", ""), rules.get("UPDATE", ""))


def _rules(words: Words) -> dict[str, str]:
    """The rules of a foreign key, by event: DELETE or UPDATE of a row of the parent."""
    found: dict[str, str] = {}
    while True:
        if words.skip("MATCH"):
            words.take()
        elif words.skip("ON"):
            event, rule = words.take().text.upper(), words.take().text.upper()
            if rule in ("SET", "NO"):
                rule += f" {words.take().text.upper()}"
            if rule in _RULES:
                found[event] = rule
        else:
            return found


def _columns(before: list[Token]) -> list[str]:
    """The columns of a foreign key, from the tokens before REFERENCES: in brackets, or one that is being defined."""
    depth, at = 0, len(before)
    while at and (depth or not before[at - 1].says(",", "(")):
        at -= 1
        depth += before[at].says(")") - before[at].says("(")
    part = before[at:]  # of the statement: what stands between commas
    foreign = next((i for i, token in enumerate(part) if token.says("FOREIGN")), None)
    if foreign is not None:
        opened = next(i for i, token in enumerate(part) if i > foreign and token.says("("))
        return list(Words(part, "", opened).names())
    verb = max((i for i, token in enumerate(part) if token.says("ADD", "MODIFY", "CHANGE")), default=-1)
    words = Words(part, "", verb + 1)
    words.skip("COLUMN")
    _ = words.skip("IF", "NOT", "EXISTS") or words.skip("IF", "EXISTS")
    if verb >= 0 and part[verb].says("CHANGE"):
        words.take()
    return [words.take().text]


def _small(names: Iterable[str]) -> frozenset[str]:
    return frozenset(each.lower() for each in names)


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


def may_have_triggers(server: Server, tables: Set[Name]) -> bool:
    """Some of these tables have triggers, or nobody can know: the catalog shows them to users with TRIGGER alone."""
    with server.asked("asking for its triggers"), closing(server.connect()) as connection:
        grants = [str(row[0]) for row in rows_of(connection, "SHOW GRANTS")]
        if not any(_SEES_TRIGGERS.search(each) for each in grants):
            return True
        statement = "SELECT DISTINCT event_object_schema, event_object_table FROM information_schema.triggers"
        return not tables.isdisjoint(rows_of(connection, statement))


def _definition(connection: Any, name: Name) -> str:
    import pymysql

    try:
        answer = rows_of(connection, f"SHOW CREATE TABLE {quoted(name[0])}.{quoted(name[1])}")[0][1]
    except pymysql.err.ProgrammingError:  # it was dropped meanwhile
        return ""
    return answer.decode() if isinstance(answer, bytes) else str(answer)
