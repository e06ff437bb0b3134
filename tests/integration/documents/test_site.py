"""The site builds without a warning: each link of a page and each name of the reference is found."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    python = ROOT / ".build/documents/bin/python"
    if not python.exists():
        pytest.skip("run `make site` once, which installs the packages that the site is built with")
    options = ["--quiet", "--fresh-env", "--fail-on-warning", "--keep-going", "--doctree-dir", tmp_path / "doctrees"]
    command = [python, "-m", "sphinx", *options, ROOT / "sdk/docs", tmp_path / "site"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert built.returncode == 0, built.stderr
    assert 'id="keylake.KeyedTable.upsert"' in (tmp_path / "site/reference/table.html").read_text()
    assert (tmp_path / "site/_images/settling.svg").exists()
