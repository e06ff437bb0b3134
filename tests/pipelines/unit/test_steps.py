"""Scripts of SQL in their statements, and the event times that close intervals for them."""

import json
from datetime import datetime, timedelta, timezone

import pyarrow as pa
import pytest

from keylake._triggers.steps import statements
from keylake_pipelines.runner.steps import newest_of
from keylake_pipelines.source.source import CHANGES

NOON = datetime(2026, 11, 1, 12, tzinfo=timezone.utc)
CASES: dict[str, tuple[str, list[tuple[str, int]]]] = {
    "one": ("SELECT 1", [("SELECT 1", 1)]),
    "no end": ("SELECT 1;\nSELECT 2", [("SELECT 1", 1), ("SELECT 2", 2)]),
    "empty": (";;\n -- a;\n/* b; */;", []),
    "texts": ("SELECT 'a;''b;', \"c;\", `d``;`;SELECT 2", [("SELECT 'a;''b;', \"c;\", `d``;`", 1), ("SELECT 2", 1)]),
    "escapes": (r"SELECT 'a\';b'; SELECT r'\'", [(r"SELECT 'a\';b'", 1), (r"SELECT r'\'", 1)]),
    "comments": ("SELECT 1 -- it's;\n;/* /*;*/; */ SELECT 3", [("SELECT 1 -- it's;", 1), ("/* /*;*/; */ SELECT 3", 2)]),
    "script": ("-- x\nBEGIN\n SELECT 1; SELECT 2;\nEND;", [("BEGIN\n SELECT 1; SELECT 2;\nEND", 2)]),
    "not closed": ("SELECT 'a; SELECT 2", [("SELECT 'a; SELECT 2", 1)]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "found"), CASES.values(), ids=CASES)
def test_a_script_in_its_statements(text: str, found: list[tuple[str, int]]) -> None:
    assert [(each.text, each.line) for each in statements(text)] == found


def changes(*rows: tuple[str, str, str | None, int]) -> pa.Table:
    """Rows of a batch: op, partition, event time, and minute of the change in the source."""
    whole = [
        {
            "op": op,
            "partition": partition,
            "row": json.dumps({"id": 1, "Paid": paid}),
            "at": NOON + timedelta(minutes=at),
        }
        for op, partition, paid, at in rows
    ]
    empty = dict.fromkeys(CHANGES.names)
    return pa.Table.from_pylist([{**empty, **row} for row in whole], schema=CHANGES)


NEWEST: dict[str, tuple[list[tuple[str, str, str | None, int]], str | None, float | None]] = {
    "in the source": ([("u", "p", None, 1), ("c", "p", None, 3), ("d", "p", None, 2)], None, 3),
    "a column": (
        [("u", "p", "2026-11-01T12:07:30.5Z", 1), ("c", "p", "2026-11-01T12:05:00Z", 2)],
        "paid",
        7 + 30.5 / 60,
    ),
    "without a zone": ([("u", "p", "2026-11-01T12:07:30.25", 1)], "Paid", 7 + 30.25 / 60),
    "dates": ([("u", "p", "2026-11-02", 1)], "paid", 12 * 60),
    "nothing": ([("d", "p", None, 1)], "paid", None),
    "no time": ([("u", "p", "soon", 1)], "paid", None),
    "rows that lay in the source": ([("r", "p", "2026-11-01T12:07:00Z", 1)], "paid", None),
    "a partition that lags": ([("u", "p", None, 9), ("u", "q", None, 1), ("u", "q", None, 2)], None, 2),
    "no rows": ([], "paid", None),
}


@pytest.mark.parametrize(("rows", "column", "minutes"), NEWEST.values(), ids=NEWEST)
def test_the_newest_event_time_of_a_batch(
    rows: list[tuple[str, str, str | None, int]], column: str | None, minutes: float | None
) -> None:
    assert newest_of(changes(*rows), column) == (None if minutes is None else NOON + timedelta(minutes=minutes))
