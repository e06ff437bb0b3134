"""Every error keylake raises, as one small tree.

A sentence names the value, the limit and the next step. Errors of the server arrive as a line
`[KEYLAKE_<KIND>] <sentence>` somewhere inside a longer text; `from_server` finds it and gives the error of that kind.
"""

# ruff: noqa: N818 - the names are those of the public API

from __future__ import annotations

import re
from collections.abc import Sequence
from types import UnionType
from typing import TYPE_CHECKING, ClassVar, get_args

if TYPE_CHECKING:
    from keylake._table.gate import Finding
    from keylake._triggers.commit_events import CommitEvent
    from keylake._triggers.intervals import Interval


class KeylakeError(Exception):
    """The root of all errors of keylake; its text is one sentence for a person.

    >>> isinstance(TableNotFound("There is no table 'features.user_profile'."), KeylakeError)
    True
    """

    kind: ClassVar[str | None] = None


class DefinitionError(KeylakeError):
    """A table is defined in a way that cannot work."""

    kind = "DEFINITION"


class SchemaMismatch(KeylakeError):
    """A table exists, but not with the definition at hand."""

    kind = "SCHEMA_MISMATCH"


class BadRows(KeylakeError):
    """Rows to be written do not fit the table; nothing was written."""

    kind = "BAD_ROWS"


class VersionMissing(KeylakeError):
    """A write does not say which version its rows have, or says it twice."""

    kind = "VERSION_MISSING"


class CommitConflict(KeylakeError):
    """Another writer committed in between, and the two commits cannot both stand."""

    kind = "COMMIT_CONFLICT"


class TableExists(KeylakeError):
    """A table of that name is there already."""

    kind = "TABLE_EXISTS"


class TableNotFound(KeylakeError):
    """There is no table, branch or tag of that name."""

    kind = "NOT_FOUND"


class NotKeyed(KeylakeError):
    """The table is there, but it is a plain Iceberg table without a key."""

    kind = "NOT_KEYED"


class SnapshotExpired(KeylakeError):
    """A snapshot, or a file it needs, has expired."""

    kind = "SNAPSHOT_EXPIRED"


class Unsupported(KeylakeError):
    """The request makes sense, but this version of keylake cannot do it."""

    kind = "UNSUPPORTED"


class ServerMissingPlugin(KeylakeError):
    """The Spark server runs without the keylake plug-in, or with another version of it."""


class ServerUnreachable(KeylakeError):
    """No Spark server answers."""


class GateFailed(KeylakeError):
    """A branch was not published because a check on its changes failed; `findings` has what all checks found."""

    def __init__(self, sentence: str, findings: Sequence[Finding] = ()) -> None:
        super().__init__(sentence)
        self.findings: tuple[Finding, ...] = tuple(findings)


class TriggerFailed(KeylakeError):
    """What a trigger ran has failed: `what` is the interval or commit event, and the error's cause what was raised."""

    def __init__(self, sentence: str, what: Interval | CommitEvent | None = None) -> None:
        super().__init__(sentence)
        self.what = what


_OF_KIND: dict[str, type[KeylakeError]] = {
    error.kind: error for error in KeylakeError.__subclasses__() if error.kind is not None
}
# Wrappers quote the text at times, so that its line breaks arrive as the two characters \n.
_LINE = re.compile(r"\[KEYLAKE_([A-Z_]+)\] *(.*?)(?= *SQLSTATE: *\w{5}\b|\\n|\\r|\\t|[\r\n]|$)")


def from_server(error: BaseException | str) -> KeylakeError | None:
    r"""The error the plug-in meant, in whatever text or exception it is wrapped; None when there is none.

    >>> from_server("Job aborted:\n java.lang.X: [KEYLAKE_BAD_ROWS] Key 'id' is null in row 3.\n\tat ...")
    BadRows("Key 'id' is null in row 3.")
    >>> from_server("UNAVAILABLE: connection refused") is None
    True
    """
    for text in _texts(error):
        for kind, sentence in _LINE.findall(text):
            # A newer server may know kinds this client does not: the sentence still tells.
            return _OF_KIND.get(kind, KeylakeError)(sentence.strip())
    return None


def _texts(error: BaseException | str) -> list[str]:
    texts: list[str] = []
    seen: set[int] = set()
    current: BaseException | str | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        texts.append(str(current))
        current = None if isinstance(current, str) else current.__cause__ or current.__context__
    return texts


def check_type(what: str, value: object, types: type | UnionType, may_be: str) -> None:
    """Refuses a value of another type, with what it may be; True and False are no numbers.

    >>> check_type("stream", 5, str | None, "the name of a stream")
    Traceback (most recent call last):
    keylake.errors.DefinitionError: stream is 5. Use the name of a stream.
    """
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in (get_args(types) or (types,))):
        raise DefinitionError(f"{what} is {value!r}. Use {may_be}.")
