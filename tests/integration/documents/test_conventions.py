"""The page of conventions says what the programs are: each line that is typed is in one, and all lines are counted."""

import re
from pathlib import Path

from benchmarks.conventions import __main__ as programs

PAGE = (Path(__file__).parents[3] / "sdk/docs/conventions.md").read_text()
NAMES = {"delta-rs": "deltalake", "delta-spark": "delta_spark", "LanceDB": "lancedb"}


def rows(heading: str) -> dict[str, str]:
    """What a table says, by the library that its row is about."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    found = re.findall(r"^\| ([\w-]+) \| (.+) \|$", section, flags=re.MULTILINE)
    return {NAMES.get(name, name): cells for name, cells in found}


def test_lines_are_counted() -> None:
    said = {name: [int(cell) for cell in cells.split(" | ")] for name, cells in rows("Lines typed").items()}
    counted = {name: list(programs.lines(name).values()) for name in programs.PACKAGES}
    assert said == {name: [*lines, sum(lines)] for name, lines in counted.items()}


def test_what_is_typed_is_in_the_programs() -> None:
    for part in programs.PARTS[:-1]:
        told = rows(part.capitalize())
        assert set(told) == set(programs.PACKAGES)
        for name, cells in told.items():
            typed = cells.removeprefix("`").partition("` | ")[0]
            assert typed.rstrip("` |") in programs.parts(name)[part], (name, part)
