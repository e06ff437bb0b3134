"""Explanations of rows: frozen values that show themselves."""

from dataclasses import FrozenInstanceError
from datetime import UTC, datetime
from pathlib import Path

import pytest

import keylake as kl

OPERATIONS = Path(__file__).parents[2] / "sdk" / "docs" / "operations.md"
NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
EARLY = kl.StoredValue(value=3, version=4, snapshot_id=16, committed_at=NOON, stream="late")
EXPLAINED = kl.RowExplanation(
    table="features.profile",
    key=(("user_id", 7),),
    exists=True,
    newest_write=kl.Origin(version=5, snapshot_id=17, stream="web"),
    columns=(
        kl.CellOrigin(
            column="city",
            reducer=kl.Latest(),
            value="Oslo",
            version=5,
            snapshot_id=17,
            committed_at=NOON,
            stream="web",
            lost=(
                kl.StoredValue(
                    value="Bergen",
                    version=4,
                    snapshot_id=16,
                    committed_at=NOON,
                    stream="late",
                    lost_because="older version",
                ),
            ),
        ),
        kl.CellOrigin(
            column="clicks",
            reducer=kl.Sum(),
            value=12,
            version=4,
            snapshot_id=16,
            committed_at=NOON,
            stream="late",
            contribution_count=2,
            contributions=(
                EARLY,
                kl.StoredValue(value=9, version=2, commit_order=8, is_merged=True, files_merged=4),
            ),
        ),
    ),
)


def test_the_document_shows_what_is_printed() -> None:
    assert f"```text\n{EXPLAINED}\n```" in OPERATIONS.read_text()


def test_a_notebook_shows_a_table() -> None:
    shown = EXPLAINED._repr_html_()
    assert "<caption>features.profile, user_id=7: newest write" in shown
    assert "<td>&#x27;Oslo&#x27;</td>" in shown
    assert "<td>version</td><td>4</td>" in EARLY._repr_html_()


def test_it_is_frozen_and_equal_by_value() -> None:
    with pytest.raises(FrozenInstanceError):
        EXPLAINED.exists = False  # type: ignore[misc]
    assert EXPLAINED["clicks"].contributions[0] == EARLY
    assert EXPLAINED["clicks"] != EXPLAINED["city"]
    with pytest.raises(kl.SchemaMismatch, match=r"no column 'click'\. Its columns are city, clicks"):
        EXPLAINED["click"]


@pytest.mark.parametrize(
    ("origin", "said"),
    [
        (kl.Origin(version=1, snapshot_id=17), "17"),
        (kl.Origin(version=1, commit_order=3), "expired, number 3"),
        (kl.Origin(version=1, is_merged=True, commit_order=3), "merged"),
        (kl.Origin(version=1, is_merged=True, files_merged=2), "one of 2 files that were merged"),
        (kl.Origin(version=None), ""),
    ],
)
def test_a_commit_in_words(origin: kl.Origin, said: str) -> None:
    assert origin.commit == said


def test_long_values_are_cut() -> None:
    cell = kl.CellOrigin(column="a", reducer=None, value="x" * 100, version=1)
    row = kl.RowExplanation(table="a.b", key=(), exists=True, newest_write=cell, columns=(cell,))
    assert f"'{'x' * 56}..." in str(row)
    assert "x" * 60 not in str(row)
