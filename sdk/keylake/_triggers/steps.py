"""Files of SQL that are run for every closed interval: a script that was run once a day becomes one of five minutes.

SqlStep ── statements of the file ── each is parsed by the server ── a trigger, whose statements share a session
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from keylake._display.html_table import ShownFields
from keylake._outcomes.intervals import Interval
from keylake._server.session import Session
from keylake._triggers.intervals import length_micros
from keylake._triggers.trigger import Trigger
from keylake._triggers.triggers import Triggers
from keylake.errors import DefinitionError, KeylakeError, check_type

if TYPE_CHECKING:
    from keylake.lake import Lake

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


@dataclass(frozen=True)
class SqlStep(ShownFields):
    """A file of SQL statements that is run for each closed interval of a table's event time.

    `every` are the minutes of an interval. `name` is that of its position in the table: the file's without its ending
    unless said. `stream` is the one whose watermark counts; None: the lowest of all. With `corrections`, the file is
    run again for an interval that late rows have come into.

    >>> SqlStep("steps/hot.sql", every=5, table="shop.clicks").trigger
    'hot'
    """

    path: str | os.PathLike[str]
    every: int
    table: str
    stream: str | None = None
    name: str | None = None
    corrections: bool = False

    @property
    def trigger(self) -> str:
        """The name of its trigger."""
        return self.name or Path(self.path).stem

    def statements(self) -> tuple[Statement, ...]:
        """The statements of the file as it is now."""
        try:
            text = Path(self.path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is no UTF-8"
            raise DefinitionError(f"Step {self.trigger!r} cannot read {str(self.path)!r}: {why}.") from error
        found = statements(text)
        if not found:
            raise DefinitionError(f"Step {self.trigger!r}: the file {str(self.path)!r} has no statement.")
        return found


@dataclass(frozen=True)
class Statement:
    """One statement, and the line on which it begins."""

    text: str
    line: int


def statements(text: str) -> tuple[Statement, ...]:
    r"""A script in its statements: semicolons part them, but not those in texts, quoted names and comments.

    A script that begins with BEGIN is one statement.

    >>> [each.text for each in statements("SELECT ';' -- a; b\n; /* ; */ SELECT `x;y`;")]
    ["SELECT ';' -- a; b", '/* ; */ SELECT `x;y`']
    """
    found: list[Statement] = []
    begin, has_words = 0, False
    for start, end, kind in _pieces(text):
        if kind == "word" and not has_words and not found and text[start:end].upper() == "BEGIN":
            return (Statement(text[start:].strip().removesuffix(";").rstrip(), text.count("\n", 0, start) + 1),)
        if kind == ";":
            if has_words:
                found.append(_statement(text, begin, start))
            begin, has_words = end, False
        elif kind != "comment":
            has_words = True
    return (*found, _statement(text, begin, len(text))) if has_words else tuple(found)


def _statement(text: str, begin: int, end: int) -> Statement:
    whole = text[begin:end]
    return Statement(whole.strip(), text.count("\n", 0, begin + len(whole) - len(whole.lstrip())) + 1)


def _pieces(text: str) -> Iterator[tuple[int, int, str]]:
    """Beginning, end and kind of what is in a script: word, quoted, comment, ";" or another character."""
    at = 0
    while at < len(text):
        start, mark = at, text[at]
        if mark.isspace():
            at += 1
            continue
        if text.startswith("--", at):
            at = _after(text, "\n", at)
        elif text.startswith("/*", at):
            at = _after_comment(text, at)
        elif mark in "'\"`":
            before = text[max(at - 2, 0) : at]
            is_raw = before[-1:] in ("r", "R") and not (before[:-1].isalnum() or before[:-1] == "_")
            at = _after_quoted(text, at, escapes=mark != "`" and not is_raw)
        elif mark.isalnum() or mark == "_":
            while at < len(text) and (text[at].isalnum() or text[at] == "_"):
                at += 1
            yield start, at, "word"
            continue
        else:
            at += 1
            yield start, at, ";" if mark == ";" else "other"
            continue
        yield start, at, "quoted" if mark in "'\"`" else "comment"


def _after(text: str, mark: str, at: int) -> int:
    found = text.find(mark, at)
    return len(text) if found < 0 else found + len(mark)


def _after_comment(text: str, at: int) -> int:
    depth = 0
    while at < len(text):
        if text.startswith("/*", at):
            depth, at = depth + 1, at + 2
        elif text.startswith("*/", at):
            depth, at = depth - 1, at + 2
            if depth == 0:
                break
        else:
            at += 1
    return at


def _after_quoted(text: str, at: int, *, escapes: bool) -> int:
    quote = text[at]
    at += 1
    while at < len(text) and text[at] != quote:
        at += 2 if escapes and text[at] == "\\" else 1
    return min(at + 1, len(text))  # a doubled quote begins another quoted piece, right behind


def register_steps(
    lake: Lake,
    steps: Iterable[SqlStep],
    *,
    since: datetime.datetime | None = None,
    triggers: Triggers | None = None,
) -> tuple[Trigger, ...]:
    """Register steps as triggers of a lake, for `lake.triggers.start()` or `run_due()`; check all of them before.

    `triggers` are those of the lake unless said.

    Statements have `:start` and `:end` of the interval as timestamps, `:snapshot_id` as text, and `:late`; views cannot
    have parameters, and take the same as `${start}`, `${end}`, `${snapshot_id}` and `${late}`. All statements of a file
    run in one copy of the session. Each is run again if one of the same interval fails; what they insert into keyed
    tables counts once.

    Raises `DefinitionError` for a file that cannot be read or has no statement, a statement that cannot be parsed, two
    steps of one name and minutes that do not fill a day, `TableNotFound` if there is no such table, and `NotKeyed` if
    it is a plain one.

    Example::

        kl.register_steps(lake, [kl.SqlStep("steps/hot.sql", every=5, table="shop.clicks")])
        lake.triggers.start()
    """
    triggers = lake.triggers if triggers is None else triggers
    session = lake._session  # pyright: ignore[reportPrivateUsage]
    chosen = tuple(steps)
    names = [step.trigger for step in chosen]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise DefinitionError(f"Two steps are called {twice!r}. Give one of them another name.")
    ready = [(step, lake.table(step.table), _Run(session, _checked(session, step))) for step in chosen]
    return tuple(
        triggers.every(
            step.every,
            table,
            run,
            name=step.trigger,
            stream=step.stream,
            since=since,
            corrections=step.corrections,
        )
        for step, table, run in ready
    )


def _checked(session: Session, step: SqlStep) -> tuple[str, ...]:
    length_micros(step.every)
    check_type("The name of a stream", step.stream, str | None, "text such as 'web'")
    nothing = _said(Interval(_EPOCH, _EPOCH, 0, ""))
    found = step.statements()
    for number, statement in enumerate(found, start=1):
        try:
            session.parse(statement.text, *nothing)
        except KeylakeError as error:
            raise DefinitionError(
                f"Step {step.trigger!r}, statement {number} of {len(found)}, line {statement.line} of "
                f"{str(step.path)!r}: {error}"
            ) from error
    return tuple(statement.text for statement in found)


@dataclass(frozen=True)
class _Run:
    session: Session
    statements: Sequence[str]

    def __call__(self, interval: Interval) -> None:
        parameters, variables = _said(interval)
        self.session.run_once(self.statements, parameters, interval.key, variables)


def _said(interval: Interval) -> tuple[dict[str, object], dict[str, str]]:
    """An interval as parameters, and as variables."""
    # As text, since VERSION AS OF takes no bigint where a parameter stands.
    snapshot_id = str(interval.snapshot_id)
    variables = {
        "start": interval.start.isoformat(" "),
        "end": interval.end.isoformat(" "),
        "snapshot_id": snapshot_id,
        "late": "true" if interval.late else "false",
    }
    parameters: dict[str, object] = {
        "start": interval.start,
        "end": interval.end,
        "snapshot_id": snapshot_id,
        "late": interval.late,
    }
    return parameters, variables
