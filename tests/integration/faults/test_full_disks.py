"""A disk that is full in the middle of any verb: the table is as before it or as after it, and later calls work."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from integration.random_runs import seeds

HISTORIES = Path(__file__).with_name("histories_on_full_disks.py")
VERBS = 30


@pytest.mark.parametrize("seed", seeds(0, 12))
def test_a_disk_is_full_in_any_verb(tmp_path: Path, seed: int) -> None:
    """In a mount namespace of its own, where a small disk needs no rights."""
    alone = ["unshare", "--map-root-user", "--mount"]
    if shutil.which(alone[0]) is None or subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        pytest.skip("it needs a mount namespace, and `unshare --map-root-user --mount` gives none here")
    command = [*alone, sys.executable, str(HISTORIES), str(tmp_path), str(seed), str(VERBS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
