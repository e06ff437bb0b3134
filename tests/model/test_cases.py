"""The merge cases, read by the naive model."""

from collections import Counter

import pytest

from model.cases import DIRECTORY, Case, read_cases

CASES = read_cases()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_model_agrees(case: Case) -> None:
    table = case.table()
    for rows in case.runs:
        table.append(rows)
    assert case.reads, "a case without a read says nothing"
    for expected in case.reads:
        read = {key: row for (key,), row in table.read(at=expected.runs).items()}
        assert read == expected.rows
        assert {key: table.merge_info((key,), expected.runs) for key in expected.stamps} == expected.stamps


@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_column_is_the_projection_of_the_whole(case: Case) -> None:
    table = case.table()
    for rows in case.runs:
        table.append(rows)
    whole = table.read()
    for name in case.columns:
        assert table.read([name]) == {key: {name: row[name]} for key, row in whole.items()}


def test_cases_are_well_formed() -> None:
    assert not [title for title, times in Counter(str(case) for case in CASES).items() if times > 1]
    for case in CASES:
        assert case.header.get("versions") == "ordering" if "ordering" in case.header else True
        for expected in case.reads:
            assert list(expected.rows) == sorted(expected.rows), case
            assert list(expected.stamps) == sorted(expected.stamps), case
            assert all(tuple(row) == case.columns for row in expected.rows.values()), case


def test_every_file_is_read() -> None:
    assert {case.file for case in CASES} == {path.stem for path in DIRECTORY.iterdir()}
