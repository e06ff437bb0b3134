"""Scripts of SQL in their statements."""

import pytest

from keylake._triggers.steps import statements

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
