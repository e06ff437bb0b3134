"""The order of files with late ones, by the cases that the server's tests have, too."""

from pathlib import Path

import pytest

from keylake.local.lateness import Mark, ages_of

TEXT = (Path(__file__).parents[1] / "cases/planning/file_order.txt").read_text()
CASES = dict(part.split("\n", 1) for part in TEXT.split("case: ")[1:])


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_files_with_late_ones_are_in_their_order(case: str) -> None:
    *given, _, expected = case.strip().splitlines()
    files = [(f"data-late_7/0-{mark}-1.parquet", int(number)) for number, mark in map(str.split, given)]
    ordered = sorted(zip(ages_of(files), (number for _, number in files), strict=True))
    assert " ".join(str(number) for _, number in ordered) == expected


@pytest.mark.parametrize("limit", [17, -3, -(2**63), None])
@pytest.mark.parametrize("since", [4, None])
@pytest.mark.parametrize("is_late", [True, False])
def test_a_mark_is_read_as_it_is_written(is_late: bool, limit: int | None, since: int | None) -> None:
    mark = Mark(is_late, limit, since)
    assert Mark.of(f"data/00000-1-{mark}compact-1f.parquet") == mark
