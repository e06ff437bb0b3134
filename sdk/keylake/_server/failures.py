"""Failures of the store, and calls that were cancelled, as Spark and Java tell them: in one sentence each."""

from __future__ import annotations

import re

from keylake.errors import Cancelled, DefinitionError, KeylakeError, StoreFailed

_AS_BEFORE = "A write that failed is not in the table, which is as before."
_FILES_ARE_GONE = (
    "Nothing was changed. Put the file back from a backup, or go back to a commit that did not need it: rollback()."
)

# What Java says somewhere in a long text, what that means, and what is as before and to be done.
_MEANINGS: tuple[tuple[str, str, str], ...] = (
    (
        r"No space left on device|Disk quota exceeded|SQLITE_FULL|database or disk is full",
        "the disk of the server is full",
        f"{_AS_BEFORE} Make room, and write again.",
    ),
    (
        r"Read-only file system|SQLITE_READONLY|attempt to write a readonly database",
        "the disk of the server is read-only",
        f"{_AS_BEFORE} Make it writable, and write again.",
    ),
    (
        r"Permission denied|AccessDenied",
        "the server may not read or write there",
        f"{_AS_BEFORE} Give its user the permission, and try again.",
    ),
    (
        r"FileNotFoundException|NoSuchFileException|FILE_NOT_EXIST|\bNotFoundException|File does not exist",
        "a file of the table is not there",
        _FILES_ARE_GONE,
    ),
    (
        r"is not a Parquet file|Could not read footer|EOFException|expected magic number",
        "a file of the table is damaged",
        _FILES_ARE_GONE,
    ),
)
_PLACE = re.compile(r"(?:file:|[a-z][a-z0-9]*://)?/[^\s:()'\",\\\]]+\.(?:parquet|avro|json|puffin|db)\b")
_CANCELLED = re.compile(r"OPERATION_CANCELED|JOB_CANCELLED|Job \d+ cancelled", re.IGNORECASE)


def meant(text: str) -> KeylakeError | None:
    """The failure that a text of Spark tells of; None for any other.

    >>> meant("Job aborted: FSError: java.io.IOException: No space left on device")  # doctest: +ELLIPSIS
    StoreFailed('The call failed because the disk of the server is full. A write that failed is not in the table, ...')
    >>> meant("[DIVIDE_BY_ZERO] Division by zero.") is None
    True
    """
    if _CANCELLED.search(text):
        return Cancelled(
            "The call was cancelled before its end. A write is either whole in the table or not at all: history() "
            "tells which. Call it again if it is still wanted."
        )
    for signs, what, next_step in _MEANINGS:
        if re.search(signs, text):
            place = _PLACE.search(text)
            where = "" if place is None else f" ({place[0]})"
            return StoreFailed(f"The call failed because {what}{where}. {next_step}")
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
