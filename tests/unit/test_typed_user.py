"""Type checkers see what rows, labels and policies may be, in the code of a user."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
USER = Path(__file__).with_name("typed_user.py")
MYPY = ["-m", "mypy", "--strict", "--config-file=", "--cache-dir", str(ROOT / ".mypy_cache")]
BASEDPYRIGHT = ["-m", "basedpyright", "--level", "error", "--pythonpath", sys.executable]


@pytest.mark.slow
@pytest.mark.parametrize("checker", [MYPY, BASEDPYRIGHT], ids=["mypy --strict", "pyright strict"])
def test_a_checker_finds_what_is_wrong_and_nothing_else(checker: list[str], tmp_path: Path) -> None:
    copy = shutil.copy(USER, tmp_path)  # away from the settings of this project
    wrong = [number for number, line in enumerate(USER.read_text().splitlines(), 1) if line.endswith("# wrong")]
    said = subprocess.run([sys.executable, *checker, copy], cwd=tmp_path, capture_output=True, text=True).stdout
    found = re.findall(r"typed_user\.py:(\d+)(?::\d+)?(?: -|:) error", said)
    assert sorted(set(map(int, found))) == wrong, said
