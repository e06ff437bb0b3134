"""Errors: one tree, and the line of the server found in whatever it is wrapped."""

import json
from pathlib import Path

import pytest

import keylake
from keylake.errors import KeylakeError, from_server

CASES = json.loads((Path(__file__).parents[1] / "cases" / "errors.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["condition"]))
def test_each_condition_has_its_error(case: dict[str, str]) -> None:
    error = from_server(f"[{case['condition']}] Something is wrong. SQLSTATE: {case['sqlstate']}")
    assert type(error) is getattr(keylake, case["error"])
    assert (error.condition, error.sqlstate) == (case["condition"], case["sqlstate"])
    assert str(error) == "Something is wrong."


def defined(error: type[KeylakeError] = KeylakeError) -> set[type[KeylakeError]]:
    """The errors of keylake below one of them; those that are pyspark's, too, are made when a server has sent one."""
    below = {each for each in error.__subclasses__() if getattr(keylake.errors, each.__name__, None) is each}
    return below.union(*(defined(each) for each in below))


def test_the_list_of_conditions_is_whole() -> None:
    ours = {error.condition for error in defined() if error.condition is not None}
    assert ours == {case["condition"] for case in CASES}


def test_every_error_is_one_of_ours() -> None:
    without_condition = [
        keylake.ServerMissingPlugin,
        keylake.ServerUnreachable,
        keylake.ServerRefused,
        keylake.StoreFailed,
        keylake.Cancelled,
        keylake.GateFailed,
        keylake.TriggerFailed,
        keylake.PipelineBusy,
        keylake.SourceFailed,
    ]
    ours = [*without_condition, *(getattr(keylake, case["error"]) for case in CASES)]
    assert defined() == set(ours)
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


def test_what_may_pass_by_itself_is_a_failure_of_the_store() -> None:
    """So that code that catches failures of the store catches these, too."""
    assert issubclass(keylake.Unavailable, keylake.StoreFailed)


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


def test_a_condition_of_a_newer_server_keeps_its_sentence() -> None:
    error = from_server("[KEYLAKE_TOO_LATE] The door is closed.")
    assert type(error) is KeylakeError
    assert str(error) == "The door is closed."
