"""Files of a table that somebody has changed on purpose: reads and checks without a server give rows or our errors."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from integration.random_runs import DAY, MORE

PROGRAM = Path(__file__).parent / "hostile_files.py"
QUICK, NIGHTLY, AT_ONCE = 150, 6000, 500
SECONDS = 280  # a run of so many has minutes; each input has a limit of its own


def run(first: int, count: int) -> None:
    command = [sys.executable, str(PROGRAM), str(DAY), str(first), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=dict(os.environ), check=False)
    assert (done.returncode, done.stdout) == (0, ""), (done.stdout or done.stderr)[-2000:]


def test_changed_files_of_every_kind() -> None:
    run(0, QUICK)


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(QUICK, NIGHTLY * MORE, AT_ONCE))
def test_more_changed_files(first: int) -> None:
    run(first, AT_ONCE)
