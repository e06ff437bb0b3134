"""Errors: one tree, and the line of the server found in whatever it is wrapped."""

import pytest

import keylake
from keylake.errors import KeylakeError, from_server

KINDS = {
    "DEFINITION": keylake.DefinitionError,
    "SCHEMA_MISMATCH": keylake.SchemaMismatch,
    "BAD_ROWS": keylake.BadRows,
    "VERSION_MISSING": keylake.VersionMissing,
    "COMMIT_CONFLICT": keylake.CommitConflict,
    "TABLE_EXISTS": keylake.TableExists,
    "NOT_FOUND": keylake.TableNotFound,
    "NOT_KEYED": keylake.NotKeyed,
    "SNAPSHOT_EXPIRED": keylake.SnapshotExpired,
    "UNSUPPORTED": keylake.Unsupported,
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_its_error(kind: str) -> None:
    error = from_server(f"[KEYLAKE_{kind}] Something is wrong.")
    assert type(error) is KINDS[kind]
    assert str(error) == "Something is wrong."


def test_every_error_is_one_of_ours() -> None:
    without_kind = [keylake.ServerMissingPlugin, keylake.ServerUnreachable, keylake.GateFailed, keylake.TriggerFailed]
    ours = [*without_kind, *KINDS.values()]
    defined = {error for error in KeylakeError.__subclasses__() if error.__module__ == KeylakeError.__module__}
    assert defined == set(ours)
    assert {error.__name__ for error in ours} <= set(keylake.__all__)


@pytest.mark.parametrize(
    "text",
    [
        "[KEYLAKE_BAD_ROWS] Key 'id' is null.",
        "Job aborted: Lost task 3.0: X: [KEYLAKE_BAD_ROWS] Key 'id' is null.\n\tat Check.key(Check.java:17)\n\nDriver:",
        "[USER_RAISED_EXCEPTION] [KEYLAKE_BAD_ROWS] Key 'id' is null. SQLSTATE: P0001",
        "<_InactiveRpcError ...\n\tdetails = \"[KEYLAKE_BAD_ROWS] Key 'id' is null.\"\n".replace('."', ".\n"),
        "b'...' \\n[KEYLAKE_BAD_ROWS] Key 'id' is null.\\n\\tat java.base/...",
        "one\r\n[KEYLAKE_BAD_ROWS]   Key 'id' is null.\r\ntwo",
    ],
)
def test_the_sentence_is_found(text: str) -> None:
    error = from_server(RuntimeError(text))
    assert type(error) is keylake.BadRows
    assert str(error) == "Key 'id' is null."


def test_the_first_line_counts() -> None:
    assert str(from_server("[KEYLAKE_NOT_FOUND] One.\nCaused by: [KEYLAKE_BAD_ROWS] Two.")) == "One."


def test_an_exception_may_be_wrapped_in_others() -> None:
    def wrapped() -> None:
        try:
            raise ValueError("[KEYLAKE_NOT_KEYED] A plain table.")
        except ValueError as error:
            raise RuntimeError("it failed") from error

    with pytest.raises(RuntimeError) as raised:
        wrapped()
    assert isinstance(from_server(raised.value), keylake.NotKeyed)


def test_other_errors_are_not_ours() -> None:
    assert from_server(RuntimeError("[TABLE_OR_VIEW_NOT_FOUND] The table cannot be found.")) is None
    assert from_server("") is None


def test_a_kind_of_a_newer_server_keeps_its_sentence() -> None:
    error = from_server("[KEYLAKE_TOO_LATE] The door is closed.")
    assert type(error) is KeylakeError
    assert str(error) == "The door is closed."
