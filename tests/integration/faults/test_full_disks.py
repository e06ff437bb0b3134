"""A disk that is full in the middle of any verb: the table is as before it or as after it, and later calls work."""

from pathlib import Path

import pytest

from integration.faults.small_disks import run_alone
from integration.random_runs import seeds

HISTORIES = Path(__file__).with_name("histories_on_full_disks.py")
VERBS = 30


@pytest.mark.parametrize("seed", seeds(0, 12))
def test_a_disk_is_full_in_any_verb(tmp_path: Path, seed: int) -> None:
    """In a mount namespace of its own, where a small disk needs no rights."""
    run_alone(HISTORIES, tmp_path, seed, VERBS)
