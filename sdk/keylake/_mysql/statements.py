"""What statements of the log do to tables, as values: CREATE, ALTER, RENAME, TRUNCATE and DROP of tables.

The log has no other word of a renamed column, of a comment, or of a table without rows. Only what names columns is
understood; the rest of a statement is passed over. What a statement makes of the columns is checked before the next
rows, by what the log says of them there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

Name = tuple[str, str]  # of a database and a table


@dataclass(frozen=True)
class Defined:
    """A column as a statement defines it."""

    name: str
    definition: str
    comment: str = ""
    filled: bool = False  # rows that are there get a value by the statement, of which the log has no row
    key: bool = False


@dataclass(frozen=True)
class Add:
    column: Defined
    after: str | None = None


@dataclass(frozen=True)
class Drop:
    name: str


@dataclass(frozen=True)
class Change:
    """A column gets another name, another definition, or both."""

    name: str
    column: Defined


@dataclass(frozen=True)
class RenameColumn:
    name: str
    to: str


@dataclass(frozen=True)
class RenameTable:
    table: Name
    to: Name


@dataclass(frozen=True)
class Alter:
    table: Name
    actions: tuple[Add | Drop | Change | RenameColumn, ...]
    to: Name | None = None


@dataclass(frozen=True)
class Create:
    table: Name
    columns: tuple[Defined, ...] = ()
    key: tuple[str, ...] = ()
    like: Name | None = None
    replaces: bool = False


@dataclass(frozen=True)
class Renames:
    renames: tuple[RenameTable, ...]


@dataclass(frozen=True)
class Drops:
    tables: tuple[Name, ...]


@dataclass(frozen=True)
class Truncate:
    table: Name


@dataclass(frozen=True)
class DropDatabase:
    name: str


Statement = Alter | Create | Renames | Drops | Truncate | DropDatabase

_TOKEN = re.compile(
    r"""(?P<space>\s+|--[\s].*?(?:\n|$)|\#.*?(?:\n|$)|/\*[^!M].*?\*/|/\*\*/)
      | (?P<opened>/\*M?!\d*)|(?P<closed>\*/)
      | `(?P<quoted>(?:[^`]|``)*)`
      | (?P<text>'(?:[^'\\]|''|\\.)*')
      | (?P<double>"(?:[^"\\]|""|\\.)*")
      | (?P<word>[\w$\u0080-\uffff]+)
      | (?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "Z": "\x1a"}
_NO_COLUMN = frozenset(
    {"INDEX", "KEY", "UNIQUE", "FULLTEXT", "SPATIAL", "PRIMARY", "CONSTRAINT", "FOREIGN", "CHECK", "PARTITION"}
    | {"PERIOD", "SYSTEM", "VECTOR"}
)
_BEHIND_TYPES = frozenset(
    {"NOT", "NULL", "DEFAULT", "COMMENT", "PRIMARY", "UNIQUE", "KEY", "AUTO_INCREMENT", "AS", "GENERATED", "CHECK"}
    | {"REFERENCES", "ON", "INVISIBLE", "WITH", "REF_SYSTEM_ID"}
)


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str

    def says(self, *words: str) -> bool:
        return self.kind in ("word", "sign") and self.text.upper() in words

    @property
    def sql(self) -> str:
        return "'" + self.text.replace("'", "''") + "'" if self.kind == "text" else self.text


def _unquoted(text: str) -> str:
    quote = text[0]
    inner = text[1:-1].replace(quote * 2, quote)
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), inner, flags=re.DOTALL)


def _tokens(statement: str) -> Iterator[_Token]:
    for found in _TOKEN.finditer(statement):
        kind, text = found.lastgroup or "", found[0]
        if kind in ("space", "opened", "closed"):
            continue
        if kind == "quoted":
            yield _Token("name", (found["quoted"] or "").replace("``", "`"))
        elif kind in ("text", "double"):
            yield _Token("text", _unquoted(text))
        else:
            yield _Token(kind, text)


@dataclass
class _Reader:
    """Tokens, and how far they were read."""

    tokens: list[_Token]
    database: str
    at: int = 0
    _end: _Token = field(default=_Token("end", ""))

    @property
    def next(self) -> _Token:
        return self.tokens[self.at] if self.at < len(self.tokens) else self._end

    def take(self) -> _Token:
        token = self.next
        self.at += 1
        return token

    def skip(self, *words: str) -> bool:
        """Passes over these words, if they come next in this order."""
        for i, word in enumerate(words):
            if self.at + i >= len(self.tokens) or not self.tokens[self.at + i].says(word):
                return False
        self.at += len(words)
        return True

    def table(self) -> Name:
        first = self.take().text
        return (first, self.take().text) if self.skip(".") else (self.database, first)

    def part(self) -> list[_Token]:
        """The tokens up to a comma or a bracket that closes what was opened before."""
        depth = 0
        begin = self.at
        while self.next.kind != "end":
            if depth == 0 and self.next.says(",", ")"):
                break
            depth += self.next.says("(") - self.next.says(")")
            self.at += 1
        return self.tokens[begin : self.at]

    def names(self) -> tuple[str, ...]:
        """The first names of what stands in brackets, between commas."""
        found: list[str] = []
        if self.skip("("):
            while True:
                part = self.part()
                if part:
                    found.append(part[0].text)
                if not self.skip(","):
                    break
            self.skip(")")
        return tuple(found)


def _definition(tokens: list[_Token], words: list[str]) -> str:
    """The type alone, as the catalog writes it."""
    end = next((i for i, word in enumerate(words) if word in _BEHIND_TYPES), len(words))
    text = ""
    for token in tokens[:end]:
        word = token.sql if token.kind == "text" else token.text.lower()
        spaced = text and not text.endswith(("(", ",")) and word not in ("(", ")", ",")
        text += f" {word}" if spaced else word
    return text


def _defined(name: str, tokens: list[_Token]) -> tuple[Defined, str | None]:
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
    filled = ("NOT", "NULL") in pairs or ("DEFAULT" in words and not empty_by_default) or computed
    column = Defined(
        name=name,
        definition=_definition(tokens, words),
        comment=comment,
        filled=filled or is_now or "SERIAL" in words or "AUTO_INCREMENT" in words,
        key=("PRIMARY", "KEY") in pairs or "SERIAL" in words,
    )
    return column, after


def _added(reader: _Reader) -> Iterator[Add]:
    reader.skip("COLUMN")
    reader.skip("IF", "NOT", "EXISTS")
    if reader.skip("("):
        while True:
            name = reader.take().text
            yield Add(_defined(name, reader.part())[0])
            if not reader.skip(","):
                break
        reader.skip(")")
    else:
        name = reader.take().text
        yield Add(*_defined(name, reader.part()))


def _alter(reader: _Reader) -> Alter:
    reader.skip("IF", "EXISTS")
    table = reader.table()
    actions: list[Add | Drop | Change | RenameColumn] = []
    to: Name | None = None
    while reader.next.kind != "end":
        if reader.skip("ADD"):
            if not (reader.next.kind == "word" and reader.next.says(*_NO_COLUMN)):
                actions.extend(_added(reader))
        elif reader.skip("DROP"):
            if not (reader.next.kind == "word" and reader.next.says(*_NO_COLUMN)):
                reader.skip("COLUMN")
                reader.skip("IF", "EXISTS")
                actions.append(Drop(reader.take().text))
        elif reader.skip("MODIFY") or reader.skip("CHANGE"):
            changed = reader.tokens[reader.at - 1].says("CHANGE")
            reader.skip("COLUMN")
            reader.skip("IF", "EXISTS")
            name = reader.take().text
            new = reader.take().text if changed else name
            actions.append(Change(name, _defined(new, reader.part())[0]))
        elif reader.skip("RENAME", "COLUMN"):
            reader.skip("IF", "EXISTS")
            name = reader.take().text
            reader.skip("TO")
            actions.append(RenameColumn(name, reader.take().text))
        elif reader.skip("RENAME") and not reader.next.says("INDEX", "KEY"):
            _ = reader.skip("TO") or reader.skip("AS") or reader.skip("=")
            to = reader.table()
        reader.part()
        if not reader.skip(",") and reader.next.kind != "end":
            reader.take()
    return Alter(table, tuple(actions), to)


def _create(reader: _Reader, replaces: bool) -> Create:
    reader.skip("IF", "NOT", "EXISTS")
    table = reader.table()
    if reader.skip("LIKE") or reader.skip("(", "LIKE"):
        return Create(table, like=reader.table(), replaces=replaces)
    columns: list[Defined] = []
    key: tuple[str, ...] = ()
    if reader.skip("("):
        while reader.next.kind != "end":
            if reader.next.kind == "word" and reader.next.says(*_NO_COLUMN):
                if reader.skip("CONSTRAINT") and not reader.next.says("PRIMARY", "UNIQUE", "FOREIGN", "CHECK"):
                    reader.take()
                if reader.skip("PRIMARY", "KEY"):
                    while reader.at < len(reader.tokens) and not reader.next.says("("):
                        reader.take()
                    key = reader.names()
                reader.part()
            else:
                columns.append(_defined(reader.take().text, reader.part())[0])
            if not reader.skip(","):
                break
    return Create(table, tuple(columns), key or tuple(each.name for each in columns if each.key), replaces=replaces)


def statement_of(text: str, database: str) -> Statement | None:
    """What a statement does to tables, or None if it does nothing to their columns or rows."""
    reader = _Reader(list(_tokens(text)), database)
    if reader.skip("ALTER"):
        while reader.skip("ONLINE") or reader.skip("OFFLINE") or reader.skip("IGNORE"):
            pass
        return _alter(reader) if reader.skip("TABLE") else None
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
    if reader.skip("DROP", "TABLE") or reader.skip("DROP", "TABLES"):
        reader.skip("IF", "EXISTS")
        tables = [reader.table()]
        while reader.skip(","):
            tables.append(reader.table())
        return Drops(tuple(tables))
    return None


def _renames(reader: _Reader) -> Iterator[RenameTable]:
    while reader.next.kind != "end":
        table = reader.table()
        if reader.next.says("WAIT"):
            reader.take()
            reader.take()
        elif reader.next.says("NOWAIT"):
            reader.take()
        reader.skip("TO")
        yield RenameTable(table, reader.table())
        if not reader.skip(","):
            break
