"""The statements of principals: each is answered as the policy says, and as a text that people read."""

import re
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from pyspark.errors import PySparkException

import keylake as kl
from integration.access.guarded_server import Guarded, signed

CASES = Path(__file__).parents[2] / "cases" / "access" / "statements.txt"
TRIED = Path(__file__).parents[2] / "cases" / "access" / "tried.sql"


def test_statements_are_answered_as_agreed(guarded: Guarded, agreed: Callable[[Path, Iterable[str]], None]) -> None:
    agreed(CASES, answers(guarded))


def answers(guarded: Guarded) -> Iterator[str]:
    """Each statement of the file of those that are tried, and what its principal gets."""
    lake = guarded.of("owner")
    for line in TRIED.read_text().splitlines():
        if line.startswith("-- "):
            name = line.removeprefix("-- ")
            lake = (
                guarded.with_token(signed(sub="dan", iss="tests", exp=int(time.time()) + 3600))
                if name == "dan"
                else guarded.of(name)
            )
        elif line:
            yield f"{line}  ->  {answer(lake, line)}"
        if line.startswith("-- "):
            yield line


def answer(lake: kl.Lake, statement: str) -> str:
    try:
        rows = lake.spark.sql(statement).collect()
    except (kl.KeylakeError, PySparkException) as error:
        return re.sub(r"\s+", " ", f"{type(error).__name__}: {error}").replace(" SQLSTATE: 42501", "")[:170]
    is_read = statement.startswith(("SELECT", "SHOW", "WITH"))
    return f"rows {sorted(tuple(row) for row in rows)}" if is_read else "done"
