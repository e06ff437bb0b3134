"""Every error keylake raises, as one small tree.

A sentence names the value, the limit and the next step. Errors of the server are error conditions of Spark, with a name
and an SQLSTATE. Spark passes on those of its tasks as text, `[KEYLAKE_BAD_ROWS] <sentence> SQLSTATE: 22000` inside a
longer one: `from_server` knows both, and gives the error of that condition.
"""

# ruff: noqa: N818 - the names are those of the public API

from __future__ import annotations

import re
import sysconfig
import traceback
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from types import TracebackType, UnionType
from typing import TYPE_CHECKING, ClassVar, get_args

if TYPE_CHECKING:
    from keylake._outcomes.commits import CommitEvent
    from keylake._outcomes.findings import Finding
    from keylake._outcomes.intervals import Interval


_MOST_CHARACTERS = 4000


class KeylakeError(Exception):
    """The root of all errors of keylake; its text is one sentence for a person.

    >>> isinstance(TableNotFound("There is no table 'features.user_profile'."), KeylakeError)
    True

    A sentence that has a long value in it is shown with its beginning and its end:

    >>> len(str(TableNotFound(f"There is no table {'x' * 10_000!r}.")))
    4040
    """

    condition: ClassVar[str | None] = None  # its name on the server
    sqlstate: ClassVar[str | None] = None

    def __str__(self) -> str:
        said = super().__str__()
        left_out = len(said) - _MOST_CHARACTERS
        half = _MOST_CHARACTERS // 2
        return said if left_out <= 0 else f"{said[:half]} ... ({left_out} characters are left out) ... {said[-half:]}"

    def _details(self) -> tuple[str, ...]:
        """The lines that a notebook shows below the sentence."""
        return ()

    def _render_traceback_(self) -> list[str]:
        """The lines that IPython prints: the sentence, and the places in one's own code that led here."""
        lines = [f"{type(self).__name__}: {self}", *(f"  {each}" for each in self._details())]
        lines += [f"  {place}" for place in _own_places(self.__traceback__)]
        if (cause := self.__cause__) is not None:
            lines += [f"Caused by {type(cause).__name__}: {cause}"]
            lines += [f"  {place}" for place in _own_places(cause.__traceback__)]
        return lines

    def _repr_html_(self) -> str:
        details = "".join(f"<li>{escape(each)}</li>" for each in self._details())
        return (
            '<div style="border-left: 4px solid #c9504a; padding: 2px 10px; color: inherit">'
            f"<b>{type(self).__name__}</b>: {escape(str(self))}{details and f'<ul>{details}</ul>'}</div>"
        )


class DefinitionError(KeylakeError):
    """A table, or a pipeline, is defined in a way that cannot work."""

    condition = "KEYLAKE_DEFINITION"
    sqlstate = "42000"


class SchemaMismatch(KeylakeError):
    """A table exists, but not with the definition at hand."""

    condition = "KEYLAKE_SCHEMA_MISMATCH"
    sqlstate = "42804"


class BadRows(KeylakeError):
    """Rows to be written do not fit the table; nothing was written."""

    condition = "KEYLAKE_BAD_ROWS"
    sqlstate = "22000"


class VersionMissing(KeylakeError):
    """A write does not say which version its rows have, or says it twice."""

    condition = "KEYLAKE_VERSION_MISSING"
    sqlstate = "22004"


class CommitConflict(KeylakeError):
    """Another writer committed in between, and the two commits cannot both stand."""

    condition = "KEYLAKE_COMMIT_CONFLICT"
    sqlstate = "40001"


class TableExists(KeylakeError):
    """A table of that name is there already."""

    condition = "KEYLAKE_TABLE_EXISTS"
    sqlstate = "42P07"


class TableNotFound(KeylakeError):
    """There is no table, branch or tag of that name."""

    condition = "KEYLAKE_NOT_FOUND"
    sqlstate = "42P01"


class NothingToDo(KeylakeError):
    """There is nothing that could be published, picked, undone, merged or archived."""

    condition = "KEYLAKE_NOTHING_TO_DO"
    sqlstate = "02000"


class NotKeyed(KeylakeError):
    """The table is there, but it is a plain Iceberg table without a key."""

    condition = "KEYLAKE_NOT_KEYED"
    sqlstate = "42809"


class SnapshotExpired(KeylakeError):
    """A snapshot, or a file it needs, has expired."""

    condition = "KEYLAKE_SNAPSHOT_EXPIRED"
    sqlstate = "55019"


class ForeignCommit(KeylakeError):
    """Another engine changed files of the table; roll back to the commit before, or adopt the foreign commit."""

    condition = "KEYLAKE_FOREIGN_COMMIT"
    sqlstate = "55000"


class Unsupported(KeylakeError):
    """The request makes sense, but this version of keylake cannot do it."""

    condition = "KEYLAKE_UNSUPPORTED"
    sqlstate = "0A000"


class AccessDenied(KeylakeError):
    """The access policy of the server does not allow this to the principal whose token the client has."""

    condition = "KEYLAKE_ACCESS_DENIED"
    sqlstate = "42501"


class ServerMissingPlugin(KeylakeError):
    """The Spark server runs without the keylake plug-in, or with another version of it."""


class ServerUnreachable(KeylakeError):
    """No Spark server answers, or no catalog, where there is no server."""


class ServerRefused(ServerUnreachable):
    """A Spark server answers, and refuses the token."""


class StoreFailed(KeylakeError):
    """Files could not be read or written: the disk is full or read-only, or a file is not there or damaged."""

    condition = "KEYLAKE_STORE_FAILED"
    sqlstate = "58030"


class Unavailable(StoreFailed):
    """The catalog or the store cannot serve a call for now: it does not answer, is busy, or has no room.

    The same call may succeed later. Pipelines wait for that.
    """

    condition = "KEYLAKE_UNAVAILABLE"
    sqlstate = "57011"


class OutcomeUnknown(StoreFailed):
    """A catalog did not say whether it has taken a change, and could not be asked: nothing was deleted.

    The error says how to find out: `history()` has the snapshot that it names, or has not. A write with an
    `idempotency_key` or `offsets` may be sent again without a look.
    """

    condition = "KEYLAKE_OUTCOME_UNKNOWN"
    sqlstate = "08007"


class PipelineBusy(KeylakeError):
    """Another process runs the pipeline, or has begun to."""


class SourceFailed(KeylakeError):
    """A source of a pipeline cannot be read on: it does not answer, refuses, or has lost what was not read."""


class Cancelled(KeylakeError):
    """The call was cancelled before its end."""


class GateFailed(KeylakeError):
    """A branch was not published because a check on its changes failed; `findings` has what all checks found."""

    def __init__(self, sentence: str, findings: Sequence[Finding] = ()) -> None:
        super().__init__(sentence)
        self.findings: tuple[Finding, ...] = tuple(findings)

    def _details(self) -> tuple[str, ...]:
        return tuple(f"{'passed' if each.passed else 'failed'}: {each}" for each in self.findings)


class TriggerFailed(KeylakeError):
    """A run of a trigger has failed: `what` is its interval or commit event, and the cause is what was raised."""

    def __init__(self, sentence: str, what: Interval | CommitEvent | None = None) -> None:
        super().__init__(sentence)
        self.what = what


def _with_subclasses(error: type[KeylakeError]) -> Iterator[type[KeylakeError]]:
    yield error
    for each in error.__subclasses__():
        yield from _with_subclasses(each)


_OF_CONDITION: dict[str, type[KeylakeError]] = {
    error.condition: error for error in _with_subclasses(KeylakeError) if error.condition is not None
}
# Wrappers quote the text at times, so that its line breaks arrive as the two characters \n.
_LINE = re.compile(r"\[(KEYLAKE_[A-Z_]+)\] *(.*?)(?= *SQLSTATE: *\w{5}\b|\\n|\\r|\\t|[\r\n]|$)")


def of_condition(condition: str, sentence: str) -> KeylakeError:
    """The error of a condition that the plug-in named.

    >>> of_condition("KEYLAKE_BAD_ROWS", "Key 'id' is null.")
    BadRows("Key 'id' is null.")
    """
    return class_of(condition)(sentence)


def class_of(condition: str | None) -> type[KeylakeError]:
    """The class of the errors of a condition; the root for one that a newer server has.

    >>> class_of("KEYLAKE_BAD_ROWS").__name__
    'BadRows'
    """
    return _OF_CONDITION.get(condition or "", KeylakeError)


def from_server(error: BaseException | str) -> KeylakeError | None:
    r"""The error the plug-in meant, in whatever text or exception it is wrapped; None when there is none.

    >>> from_server("Job aborted:\n java.lang.X: [KEYLAKE_BAD_ROWS] Key 'id' is null. SQLSTATE: 22000\n\tat ...")
    BadRows("Key 'id' is null.")
    >>> from_server("UNAVAILABLE: connection refused") is None
    True
    """
    for text, condition in _told(error):
        for named, sentence in _LINE.findall(text):
            if condition in (None, named):
                # A newer server may know conditions this client does not: the sentence still tells.
                return of_condition(named, sentence.strip())
    return None


def _told(error: BaseException | str) -> list[tuple[str, str | None]]:
    """The text of an error and of those behind it, each with the condition that it names if that is one of ours."""
    told: list[tuple[str, str | None]] = []
    seen: set[int] = set()
    current: BaseException | str | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        condition = getattr(current, "getCondition", lambda: None)()
        told.append((str(current), condition if str(condition).startswith("KEYLAKE_") else None))
        current = None if isinstance(current, str) else current.__cause__ or current.__context__
    return told


_OF_OTHERS = (str(Path(__file__).parent), sysconfig.get_path("stdlib"), "<frozen")
_PACKAGES = re.compile(r"[/\\](?:site|dist)-packages[/\\]")
_CELL = re.compile(r"ipykernel_\d+|<ipython-input")  # what notebooks call their cells as files


def _own_places(trace: TracebackType | None) -> Iterator[str]:
    """The lines of a trace that lie neither in this package nor in others nor in Python itself."""
    for frame in traceback.extract_tb(trace):
        if not frame.filename.startswith(_OF_OTHERS) and not _PACKAGES.search(frame.filename):
            place = "cell" if _CELL.search(frame.filename) else Path(frame.filename).name
            function = "" if frame.name.startswith("<") else f", in {frame.name}"
            yield f"{place}, line {frame.lineno}{function}: {frame.line}"


def check_type(what: str, value: object, types: type | UnionType, may_be: str) -> None:
    """Refuses a value of another type, with what it may be; True and False are no numbers.

    >>> check_type("stream", 5, str | None, "the name of a stream")
    Traceback (most recent call last):
    keylake.errors.DefinitionError: stream is 5. Use the name of a stream.
    """
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in (get_args(types) or (types,))):
        raise DefinitionError(f"{what} is {value!r}. Use {may_be}.")


def check_if_exists(value: object) -> None:
    """Refuses what does not say how a table that is there already is met.

    >>> check_if_exists("replace")
    Traceback (most recent call last):
    keylake.errors.DefinitionError: if_exists='replace' is neither 'error' nor 'match'.
    """
    if value not in ("error", "match"):
        raise DefinitionError(f"if_exists={value!r} is neither 'error' nor 'match'.")


def check_count(what: str, value: object, least: int = 0) -> None:
    """Refuses what is no whole number from `least` to the largest that the server counts to.

    >>> check_count("at_most", -1)
    Traceback (most recent call last):
    keylake.errors.DefinitionError: at_most is -1. Use a whole number from 0 to 2147483647.
    """
    may_be = f"a whole number from {least} to {_MOST}"
    check_type(what, value, int, may_be)
    if isinstance(value, int) and not least <= value <= _MOST:
        raise DefinitionError(f"{what} is {value}. Use {may_be}.")


_MOST = 2**31 - 1
