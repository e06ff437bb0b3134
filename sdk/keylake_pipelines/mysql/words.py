"""Statements as words: what stands between quotes, comments and spaces, and how far it was read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from keylake_pipelines.source.tables import SourceTable

Name = tuple[str, str]  # of a database and a table
Xid = tuple[int, bytes, bytes]  # of an XA transaction: its format, the global name, and that of a branch

_TOKEN = re.compile(
    r"""(?P<space>\s+|--[\s].*?(?:\n|$)|\#.*?(?:\n|$)|/\*(?!M?!).*?\*/)
      | (?P<opened>/\*M?!\d*)|(?P<closed>\*/)
      | `(?P<quoted>(?:[^`]|``)*)`
      | (?P<text>'(?:[^'\\]|''|\\.)*')
      | (?P<double>"(?:[^"\\]|""|\\.)*")
      | (?P<word>[\w$\u0080-\uffff]+)
      | (?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)
_XA = re.compile(
    r"XA\s+(?P<verb>\w+)\s+X'(?P<name>[0-9A-F]*)'(?:\s*,\s*X'(?P<branch>[0-9A-F]*)'(?:\s*,\s*(?P<format>\d+))?)?"
)
_QUOTED = re.compile(r"`(?:[^`]|``)*`|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "Z": "\x1a"}


def name_of(table: SourceTable) -> Name:
    """The database and the name of a table."""
    return (table.parts[0], table.parts[-1])


@dataclass(frozen=True)
class Token:
    """A name, a text, a word or a sign."""

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


def _tokens(statement: str) -> Iterator[Token]:
    for found in _TOKEN.finditer(statement):
        kind, text = found.lastgroup or "", found[0]
        if kind in ("space", "opened", "closed"):
            continue
        if kind == "quoted":
            yield Token("name", (found["quoted"] or "").replace("``", "`"))
        elif kind in ("text", "double"):
            yield Token("text", _unquoted(text))
        else:
            yield Token(kind, text)


@dataclass
class Words:
    """The words of a statement, and how far they were read."""

    tokens: list[Token]
    database: str
    at: int = 0
    _end: Token = field(default=Token("end", ""))

    @property
    def next(self) -> Token:
        return self.tokens[self.at] if self.at < len(self.tokens) else self._end

    def take(self) -> Token:
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
        """A name, and MariaDB's words for how long the statement waits for its lock."""
        first = self.take().text
        name = (first, self.take().text) if self.skip(".") else (self.database, first)
        if self.skip("WAIT"):
            self.take()
        self.skip("NOWAIT")
        return name

    def part(self) -> list[Token]:
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


def words_of(statement: str, database: str) -> Words:
    """The words of a statement; names without a database are of this one."""
    return Words(list(_tokens(statement)), database)


def with_escapes(statement: str) -> str:
    r"""A statement of a session with NO_BACKSLASH_ESCAPES as others write it, with two backslashes for one.

    >>> print(with_escapes(r"ALTER TABLE t COMMENT '\', ADD `a\b` INT"))
    ALTER TABLE t COMMENT '\\', ADD `a\b` INT
    """
    return _QUOTED.sub(lambda found: found[0] if found[0][0] == "`" else found[0].replace("\\", "\\\\"), statement)


def xa_of(text: str) -> tuple[str, Xid]:
    """The verb of a statement XA of the log, in capital letters, and the transaction; of another form: no one.

    >>> xa_of("XA COMMIT X'61',X'6263',1")
    ('COMMIT', (1, b'a', b'bc'))
    """
    if (found := _XA.match(text)) is None:
        return text.split()[1], (0, b"", b"")
    xid = (int(found["format"] or 1), bytes.fromhex(found["name"]), bytes.fromhex(found["branch"] or ""))
    return found["verb"], xid


def names_of(text: str, database: str) -> set[Name]:
    """The names in a statement that may be those of tables."""
    return set(names_in(words_of(text, database)))


def names_in(reader: Words) -> Iterator[Name]:
    """The pairs of words that may be the name of a table."""
    while reader.next.kind != "end":
        first = reader.take()
        if first.kind in ("word", "name"):
            yield (reader.database, first.text)
            if reader.next.says("."):
                yield (first.text, reader.tokens[reader.at + 1].text if reader.at + 1 < len(reader.tokens) else "")
