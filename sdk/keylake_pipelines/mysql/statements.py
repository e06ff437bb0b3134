"""The effects of statements of the log on tables, as values: CREATE, ALTER, RENAME, TRUNCATE and DROP of tables.

The log has no other word of a renamed column, of a comment, or of a table without rows. Only what names columns is
understood, and what is known to leave columns and rows as they are is passed over. Where a statement moves rows of
which the log has nothing (partitions), or has a word that is not known, its tables are named: they are read once more.
What a statement makes of the columns is checked before the next rows, by what the log says of them there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from keylake_pipelines.mysql.words import Name, Token, Words, names_in, words_of


@dataclass(frozen=True)
class Defined:
    """A column as a statement defines it."""

    name: str
    definition: str
    comment: str = ""
    filled: bool = False  # rows that are there get a value by the statement, of which the log has no row
    computed: bool = False  # of other columns
    required: bool = False  # NOT NULL
    key: bool = False
    period: str = ""  # START or END, of the columns that say when a row of a system-versioned table is current


@dataclass(frozen=True)
class Add:
    """ALTER adds a column."""

    column: Defined
    after: str | None = None


@dataclass(frozen=True)
class Drop:
    """ALTER drops a column."""

    name: str


@dataclass(frozen=True)
class Change:
    """A column gets another name, another definition, or both."""

    name: str
    column: Defined


@dataclass(frozen=True)
class RenameColumn:
    """ALTER renames a column."""

    name: str
    to: str


Action = Add | Drop | Change | RenameColumn


@dataclass(frozen=True)
class RenameTable:
    """A table gets another name."""

    table: Name
    to: Name


@dataclass(frozen=True)
class Alter:
    """ALTER TABLE, with its actions in order."""

    table: Name
    actions: tuple[Action, ...]
    to: Name | None = None
    key: tuple[str, ...] | None = None  # another primary key; () if it has none any more
    unlogged: tuple[Name, ...] = ()  # tables whose rows may be others now, without a word of them in the log
    made: Name | None = None  # a table that a partition was made to
    taken: Name | None = None  # a table that was made to a partition
    unversioned: bool = False  # system versioning was dropped, or its period


@dataclass(frozen=True)
class Create:
    """CREATE TABLE."""

    table: Name
    columns: tuple[Defined, ...] = ()
    key: tuple[str, ...] = ()
    like: Name | None = None
    replaces: bool = False
    selects: bool = False  # it has rows of a query


@dataclass(frozen=True)
class Renames:
    """RENAME TABLE, in order."""

    renames: tuple[RenameTable, ...]


@dataclass(frozen=True)
class Drops:
    """DROP TABLE."""

    tables: tuple[Name, ...]


@dataclass(frozen=True)
class Truncate:
    """TRUNCATE TABLE."""

    table: Name


@dataclass(frozen=True)
class DropDatabase:
    """DROP DATABASE."""

    name: str


@dataclass(frozen=True)
class Unknown:
    """A statement that is not known, and the names in it that may be those of tables."""

    tables: tuple[Name, ...]


Statement = Alter | Create | Renames | Drops | Truncate | DropDatabase | Unknown

_NO_COLUMN = frozenset(
    {"INDEX", "KEY", "UNIQUE", "FULLTEXT", "SPATIAL", "PRIMARY", "CONSTRAINT", "FOREIGN", "CHECK", "PARTITION"}
)
_OR_COLUMN = {"PERIOD": ("FOR",), "SYSTEM": ("VERSIONING",), "VECTOR": ("INDEX", "KEY")}  # by the word behind
_BEHIND_TYPES = frozenset(
    {"NOT", "NULL", "DEFAULT", "COMMENT", "PRIMARY", "UNIQUE", "KEY", "AUTO_INCREMENT", "AS", "GENERATED", "CHECK"}
    | {"REFERENCES", "ON", "INVISIBLE", "WITH", "REF_SYSTEM_ID"}
)
# First words of clauses of ALTER TABLE that leave columns, keys and rows as they are.
_OF_NO_ROWS = frozenset(
    {"ALGORITHM", "ALTER", "ANALYZE", "AUTO_INCREMENT", "AUTOEXTEND_SIZE", "AVG_ROW_LENGTH", "CHARACTER", "CHARSET"}
    | {"CHECK", "CHECKSUM", "COALESCE", "COLLATE", "COMMENT", "COMPRESSION", "CONNECTION", "DATA", "DEFAULT"}
    | {"DELAY_KEY_WRITE", "DISABLE", "ENABLE", "ENCRYPTED", "ENCRYPTION", "ENCRYPTION_KEY_ID", "ENGINE", "FORCE"}
    | {"INDEX", "INSERT_METHOD", "KEY_BLOCK_SIZE", "LOCK", "MAX_ROWS", "MIN_ROWS", "OPTIMIZE", "ORDER", "PACK_KEYS"}
    | {"PAGE_CHECKSUM", "PAGE_COMPRESSED", "PAGE_COMPRESSION_LEVEL", "PARTITION", "PASSWORD", "REBUILD", "REMOVE"}
    | {"REORGANIZE", "REPAIR", "ROW_FORMAT", "STATS_AUTO_RECALC", "STATS_PERSISTENT", "STATS_SAMPLE_PAGES"}
    | {"STORAGE", "TABLESPACE", "TRANSACTIONAL", "UNION", "WITH", "WITHOUT"}
)
_CHANGES_OF_ROWS = ("INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD", "SELECT", "DO", "CALL", "WITH")
# First words of statements that change neither columns nor rows of tables, or whose rows the log has.
_OF_NO_TABLE = frozenset(
    {"ALTER", "ANALYZE", "BEGIN", "CALL", "CHANGE", "CHECK", "COMMIT", "CREATE", "DELETE", "DO", "DROP", "EXECUTE"}
    | {"FLUSH", "GRANT", "INSERT", "INSTALL", "KILL", "LOAD", "LOCK", "OPTIMIZE", "PURGE", "RELEASE", "RENAME"}
    | {"REPAIR", "REPLACE", "RESET", "REVOKE", "ROLLBACK", "SAVEPOINT", "SELECT", "SET", "SHUTDOWN", "START", "STOP"}
    | {"UNINSTALL", "UNLOCK", "UPDATE", "USE", "WITH", "XA"}
)


def _definition(tokens: list[Token], words: list[str]) -> str:
    """The type alone, as the catalog writes it."""
    end = next((i for i, word in enumerate(words) if word in _BEHIND_TYPES), len(words))
    text = ""
    for token in tokens[:end]:
        word = token.sql if token.kind == "text" else token.text.lower()
        spaced = text and not text.endswith(("(", ",")) and word not in ("(", ")", ",")
        text += f" {word}" if spaced else word
    return text


def _defined(name: str, tokens: list[Token]) -> tuple[Defined, str | None]:
    """A column from what follows its name, and the column that it is to stand behind."""
    after: str | None = None
    if len(tokens) > 1 and tokens[-2].says("AFTER"):
        after, tokens = tokens[-1].text, tokens[:-2]
    elif tokens and tokens[-1].says("FIRST"):
        tokens = tokens[:-1]
    words = [
        token.text.upper() if token.kind == "word" else token.text if token.kind == "sign" else "" for token in tokens
    ]
    comment = next((tokens[i + 1].text for i, word in enumerate(words[:-1]) if word == "COMMENT"), "")
    pairs = {(words[i], words[i + 1]) for i in range(len(words) - 1)}
    computed = "AS" in words or "GENERATED" in words
    is_now = words[:1] == ["TIMESTAMP"] and "NULL" not in words  # where explicit_defaults_for_timestamp is off
    empty_by_default = ("DEFAULT", "NULL") in pairs
    required = ("NOT", "NULL") in pairs
    filled = required or ("DEFAULT" in words and not empty_by_default) or computed
    column = Defined(
        name=name,
        definition=_definition(tokens, words),
        comment=comment,
        filled=filled or is_now or "SERIAL" in words or "AUTO_INCREMENT" in words,
        computed=computed,
        required=required,
        key=any(word == "KEY" and words[i - 1 : i] != ["UNIQUE"] for i, word in enumerate(words)),
        period=next((each for each in ("START", "END") if computed and ("ROW", each) in pairs), ""),
    )
    return column, after


def _is_no_column(reader: Words) -> bool:
    """A key, a constraint or the like comes next, and no name of a column."""
    if reader.next.kind != "word":
        return False
    if behind := _OR_COLUMN.get(reader.next.text.upper()):
        return reader.at + 1 < len(reader.tokens) and reader.tokens[reader.at + 1].says(*behind)
    return reader.next.says(*_NO_COLUMN)


def _primary_key(reader: Words) -> tuple[str, ...]:
    """The columns of a primary key that is named beside columns; of other keys and constraints none."""
    if reader.skip("CONSTRAINT") and not reader.next.says("PRIMARY", "UNIQUE", "FOREIGN", "CHECK"):
        reader.take()
    if not reader.skip("PRIMARY", "KEY"):
        return ()
    while reader.at < len(reader.tokens) and not reader.next.says("("):
        reader.take()
    return reader.names()


def _column_list(reader: Words) -> tuple[list[Defined], tuple[str, ...]]:
    """The columns between brackets, and their primary key."""
    columns: list[Defined] = []
    key: tuple[str, ...] = ()
    while reader.next.kind != "end":
        if _is_no_column(reader):
            key = _primary_key(reader) or key
            reader.part()
        else:
            columns.append(_defined(reader.take().text, reader.part())[0])
        if not reader.skip(","):
            break
    return columns, key or tuple(each.name for each in columns if each.key)


@dataclass
class _Altered:
    """The effects that the clauses of an ALTER TABLE were found to have."""

    table: Name
    actions: list[Action] = field(default_factory=list["Action"])
    to: Name | None = None
    key: tuple[str, ...] | None = None
    unlogged: list[Name] = field(default_factory=list[Name])
    made: Name | None = None
    taken: Name | None = None
    unversioned: bool = False


def _alter(reader: Words, *, drops_rows: bool = False) -> Alter:
    reader.skip("IF", "EXISTS")
    found = _Altered(reader.table())
    if drops_rows:
        found.unlogged.append(found.table)
    while reader.next.kind != "end":
        _clause(reader, found)
        reader.part()
        if not reader.skip(",") and reader.next.kind != "end":
            reader.take()
    unlogged = tuple(dict.fromkeys(found.unlogged))
    return Alter(
        found.table, tuple(found.actions), found.to, found.key, unlogged, found.made, found.taken, found.unversioned
    )


def _clause(reader: Words, found: _Altered) -> None:
    """Read one clause; the caller passes over what is left of it."""
    if reader.skip("ADD"):
        _add(reader, found)
    elif reader.skip("DROP"):
        _drop(reader, found)
    elif reader.skip("MODIFY"):
        _modify(reader, found, renames=False)
    elif reader.skip("CHANGE"):
        _modify(reader, found, renames=True)
    elif reader.skip("RENAME", "COLUMN"):
        reader.skip("IF", "EXISTS")
        name = reader.take().text
        reader.skip("TO")
        found.actions.append(RenameColumn(name, reader.take().text))
    elif reader.skip("RENAME"):
        if not reader.next.says("INDEX", "KEY"):
            _ = reader.skip("TO") or reader.skip("AS") or reader.skip("=")
            found.to = reader.table()
    elif not (reader.next.kind == "word" and reader.next.says(*_OF_NO_ROWS)):
        found.unlogged.append(found.table)
        _move_partition(reader, found)


def _drop(reader: Words, found: _Altered) -> None:
    if not _is_no_column(reader):
        reader.skip("COLUMN")
        reader.skip("IF", "EXISTS")
        found.actions.append(Drop(reader.take().text))
    elif reader.skip("PRIMARY") or _is_primary_index(reader):
        found.key = found.key or ()
    elif reader.next.says("PARTITION", "SYSTEM", "PERIOD"):
        found.unversioned = not reader.next.says("PARTITION")
        found.unlogged.append(found.table)


def _is_primary_index(reader: Words) -> bool:
    """The index that is dropped next is that of the primary key, whose name no other index has."""
    if not (reader.skip("INDEX") or reader.skip("KEY") or reader.skip("CONSTRAINT")):
        return False
    reader.skip("IF", "EXISTS")
    return reader.take().text.upper() == "PRIMARY"


def _modify(reader: Words, found: _Altered, *, renames: bool) -> None:
    reader.skip("COLUMN")
    reader.skip("IF", "EXISTS")
    name = reader.take().text
    column = _defined(reader.take().text if renames else name, reader.part())[0]
    found.actions.append(Change(name, column))
    found.key = (column.name,) if column.key else found.key


def _move_partition(reader: Words, found: _Altered) -> None:
    """Move a partition between tables; another clause that is not known moves rows of this table alone."""
    if reader.skip("EXCHANGE", "PARTITION"):
        reader.take()
        _ = reader.skip("WITH", "TABLE")
        found.unlogged.append(reader.table())
    elif reader.skip("CONVERT", "PARTITION"):
        reader.take()
        _ = reader.skip("TO", "TABLE")
        found.made = reader.table()
    elif reader.skip("CONVERT", "TABLE"):
        found.taken = reader.table()


def _add(reader: Words, found: _Altered) -> None:
    if _is_no_column(reader):
        found.key = _primary_key(reader) or found.key
        return
    reader.skip("COLUMN")
    reader.skip("IF", "NOT", "EXISTS")
    if reader.skip("("):
        columns, key = _column_list(reader)
        reader.skip(")")
        found.actions += [Add(column) for column in columns]
    else:
        name = reader.take().text
        column, after = _defined(name, reader.part())
        found.actions.append(Add(column, after))
        key = (column.name,) if column.key else ()
    found.key = key or found.key


def _create(reader: Words, replaces: bool) -> Create:
    reader.skip("IF", "NOT", "EXISTS")
    table = reader.table()
    if reader.skip("LIKE") or reader.skip("(", "LIKE"):
        return Create(table, like=reader.table(), replaces=replaces)
    columns, key = _column_list(reader) if reader.skip("(") else ([], ())
    selects = any(each.says("SELECT") for each in reader.tokens[reader.at :])
    return Create(table, tuple(columns), key, replaces=replaces, selects=selects)


def _begun(text: str, database: str) -> Words:
    """The words of a statement behind the settings that hold for it alone."""
    reader = words_of(text, database)
    if reader.skip("SET", "STATEMENT"):
        while reader.next.kind != "end" and not reader.skip("FOR"):
            reader.take()
    return reader


def changes_rows(text: str) -> bool:
    """A statement changes rows, or calls what may, and stands in the log in place of them.

    >>> changes_rows("/* nightly */ (SELECT f())"), changes_rows("SET STATEMENT max_statement_time=1 FOR DELETE FROM t")
    (True, True)
    """
    reader = _begun(text, "")
    while reader.skip("("):
        pass
    return reader.next.kind == "word" and reader.next.says(*_CHANGES_OF_ROWS)


def statement_of(text: str, database: str) -> Statement | None:
    """The effect of a statement on tables, or None if it does nothing to their columns or rows."""
    reader = _begun(text, database)
    if reader.skip("ALTER"):
        _ = reader.skip("ONLINE") or reader.skip("OFFLINE")
        drops_rows = reader.skip("IGNORE")  # that a new key has twice
        return _alter(reader, drops_rows=drops_rows) if reader.skip("TABLE") else None
    if reader.skip("CREATE"):
        replaces = reader.skip("OR", "REPLACE")
        return _create(reader, replaces) if reader.skip("TABLE") else None
    if reader.skip("RENAME", "TABLE") or reader.skip("RENAME", "TABLES"):
        reader.skip("IF", "EXISTS")
        return Renames(tuple(_renames(reader)))
    if reader.skip("TRUNCATE"):
        reader.skip("TABLE")
        return Truncate(reader.table())
    if reader.skip("DROP", "DATABASE") or reader.skip("DROP", "SCHEMA"):
        reader.skip("IF", "EXISTS")
        return DropDatabase(reader.take().text)
    if reader.skip("DROP", "INDEX"):
        reader.at -= 1
        if not _is_primary_index(reader):
            return None
        reader.skip("ON")
        return Alter(reader.table(), (), key=())
    if reader.skip("DROP", "TABLE") or reader.skip("DROP", "TABLES"):
        reader.skip("IF", "EXISTS")
        tables = [reader.table()]
        while reader.skip(","):
            tables.append(reader.table())
        return Drops(tuple(tables))
    if reader.next.kind == "end" or reader.next.says(*_OF_NO_TABLE):
        return None
    return Unknown(tuple(names_in(reader)))


def _renames(reader: Words) -> Iterator[RenameTable]:
    while reader.next.kind != "end":
        table = reader.table()
        reader.skip("TO")
        yield RenameTable(table, reader.table())
        if not reader.skip(","):
            break
