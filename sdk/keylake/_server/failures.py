"""Failures of the store, and calls that were cancelled, as Spark and Java tell them: in one sentence each."""

from __future__ import annotations

import re

from keylake._server.address import Address
from keylake.errors import (
    Cancelled,
    DefinitionError,
    KeylakeError,
    SchemaMismatch,
    ServerUnreachable,
    SnapshotExpired,
    StoreFailed,
    TableNotFound,
    Unavailable,
)

_AS_BEFORE = "A write that failed is not in the table, which is as before."
_FILES_ARE_GONE = (
    "Nothing was changed. Put the file back from a backup, or go back to a commit that did not need it: rollback()."
)

# What Java says somewhere in a long text, what that means, what is as before and to be done, and the error for it.
_MEANINGS: tuple[tuple[str, str, str, type[StoreFailed]], ...] = (
    (
        r"No space left on device|Disk quota exceeded|SQLITE_FULL|database or disk is full",
        "the disk of the server is full",
        f"{_AS_BEFORE} Make room, and write again.",
        Unavailable,
    ),
    (
        r"Read-only file system|SQLITE_READONLY|attempt to write a readonly database",
        "the disk of the server is read-only",
        f"{_AS_BEFORE} Make it writable, and write again.",
        StoreFailed,
    ),
    (
        r"Permission denied|AccessDenied",
        "the server may not read or write there",
        f"{_AS_BEFORE} Give its user the permission, and try again.",
        StoreFailed,
    ),
    (
        (
            r"Connection (refused|reset)|ConnectException|UnknownHostException|SocketTimeoutException"
            r"|TTransportException|UncheckedSQLException|RESTException|Error occurred while processing [A-Z]+ request"
            r"|SQLITE_BUSY|Service(Failure|Unavailable)Exception|SdkClientException|Unable to execute HTTP request"
        ),
        "the catalog or the store of the lake does not answer",
        f"{_AS_BEFORE} See whether they run, and try again.",
        Unavailable,
    ),
    (
        r"FileNotFoundException|NoSuchFileException|FILE_NOT_EXIST|\bNotFoundException|File does not exist",
        "a file of the table is not there",
        _FILES_ARE_GONE,
        StoreFailed,
    ),
    (
        r"is not a Parquet file|Could not read footer|EOFException|expected magic number",
        "a file of the table is damaged",
        _FILES_ARE_GONE,
        StoreFailed,
    ),
)
# How Spark and Iceberg begin a sentence that means one of our errors.
_BEGINNINGS: tuple[tuple[str, type[KeylakeError]], ...] = (
    ("[TABLE_OR_VIEW_NOT_FOUND", TableNotFound),
    ("Cannot find matching snapshot ID or reference name", TableNotFound),
    ("Cannot find snapshot with ID", SnapshotExpired),
    ("Cannot find a snapshot older than", SnapshotExpired),
    ("[UNRESOLVED_COLUMN", SchemaMismatch),
    ("[FIELD_NOT_FOUND", SchemaMismatch),
    ("[INCOMPATIBLE_DATA_FOR_TABLE", SchemaMismatch),
    ("[DATATYPE_MISMATCH", DefinitionError),
    ("[UNRESOLVED_ROUTINE", DefinitionError),
    ("[INVALID_WHERE_CONDITION", DefinitionError),
)
_TASK_FAILED = re.compile(
    r"Job aborted due to stage failure: .*?: (?:[\w$]+\.)+(?P<kind>[\w$]*(?:Exception|Error)): (?P<what>.*?)"
    r"(?= at (?:[\w$]+\.)+[\w$<>]+\(|$)"
)
_SESSION_IS_OVER = (
    *("NO_ACTIVE_SESSION", "INVALID_HANDLE.SESSION", "SESSION_CLOSED", "SESSION_CHANGED", "RESPONSE_ALREADY_RECEIVED"),
    *("INVALID_HANDLE.OPERATION", "SparkContext was shut", "SparkContext has been shut", "stopped SparkContext"),
)

_PLACE = re.compile(r"(?:file:|[a-z][a-z0-9]*://)?/[^\s:()'\",\\\]]+\.(?:parquet|avro|json|puffin|db)\b")
_CANCELLED = re.compile(r"OPERATION_CANCELED|JOB_CANCELLED|Job \d+ cancelled", re.IGNORECASE)


def meant(text: str) -> KeylakeError | None:
    """The failure that a text of Spark tells of; None for any other.

    >>> meant("Job aborted: FSError: java.io.IOException: No space left on device")  # doctest: +ELLIPSIS
    Unavailable('The call failed because the disk of the server is full. A write that failed is not in the table, ...')
    >>> meant("[DIVIDE_BY_ZERO] Division by zero.") is None
    True
    """
    if _CANCELLED.search(text):
        return Cancelled(
            "The call was cancelled before its end. A write is either whole in the table or not at all: history() "
            "tells which. Call it again if it is still wanted."
        )
    for signs, what, next_step, kind in _MEANINGS:
        if re.search(signs, text):
            place = _PLACE.search(text)
            where = "" if place is None else f" ({place[0]})"
            return kind(f"The call failed because {what}{where}. {next_step}")
    return None


def syntax_error(said: str) -> DefinitionError | None:
    """The error for what Spark's parser cannot read, a condition or statement of the caller's; None for any other.

    >>> syntax_error("[PARSE_SYNTAX_ERROR] Syntax error at or near 'b'. == SQL (line 1, position 3) == a b")
    DefinitionError("This SQL cannot be read: Syntax error at or near 'b'. Write it as Spark's SQL has it.")
    """
    found = re.search(r"\[PARSE_\w+\] (.*?)(?= SQLSTATE| == SQL|$)", said)
    if found is None:
        return None
    said = found[1].rstrip(".")
    return DefinitionError(f"This SQL cannot be read: {said}. Write it as Spark's SQL has it.")


def finished(sentence: str) -> str:
    """A sentence with a capital and a full stop, as the SDK's own have them.

    >>> finished("column 'a' is null")
    "Column 'a' is null."
    """
    first = sentence.partition(" ")[0]
    if first.isalpha() and len(first) > 2:  # a word, and not the name of an option
        sentence = sentence[0].upper() + sentence[1:]
    return sentence if sentence.endswith((".", "?", "!")) else f"{sentence}."


def details(said: str) -> str:
    """The reason inside the text of a gRPC error.

    >>> details('<RPC that terminated with: status = X details = "no route" debug_error_string = "...">')
    'no route'
    """
    _, found, rest = said.partition('details = "')
    return rest.partition('" debug_error_string')[0] if found else said


def understood(error: Exception, said: str, address: Address) -> KeylakeError:
    """Our error for what Spark has answered: `said` is its sentence."""
    if any(sign in str(error) for sign in _SESSION_IS_OVER):
        return ServerUnreachable(
            f"The session with the server at {address} is over: it was closed, or the server began anew. "
            "Connect again with kl.connect()."
        )
    kind = next((kind for beginning, kind in _BEGINNINGS if beginning in said), None)
    failure = (syntax_error(said) or meant(str(error))) if kind is None else None
    return failure or (kind or KeylakeError)(re.sub(r"^\[[A-Z0-9_.]+\] ", "", _of_task(said) or said))


def _of_task(said: str) -> str | None:
    """The failure of a task in one sentence; None for another text.

    >>> _of_task("(java.lang.IllegalStateException) Job aborted due to stage failure: Task 0 in stage 8.0 failed "
    ...          "1 times, most recent failure: Lost task 0.0 in stage 8.0 (TID 9) (localhost executor driver): "
    ...          "java.lang.IllegalArgumentException: hint of 1 at org.acme.Check.that(Check.java:87) at org.acme.Main")
    'A task of the server failed: hint of 1 (IllegalArgumentException). The log of the server has more.'
    >>> _of_task("Division by zero.")
    """
    found = _TASK_FAILED.search(said)
    if found is None:
        return None
    what = found["what"].strip().rstrip(".") or "it says no more"
    return f"A task of the server failed: {what} ({found['kind']}). The log of the server has more."


def sentence(error: Exception) -> str:
    """The text of an error, without the trace of the server and on one line."""
    return " ".join(str(error).partition("\n\nJVM stacktrace:")[0].partition(" SQLSTATE: ")[0].split())
