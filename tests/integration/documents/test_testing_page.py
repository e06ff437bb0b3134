"""The page about tests: its files run as a project of somebody who has installed keylake."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from integration.documents.blocks import blocks
from integration.documents.preparations import modules_of

SDK = Path(__file__).parents[3] / "sdk"
MODULES = modules_of(blocks(SDK / "docs" / "testing.md"))


def run(folder: Path, *names: str) -> str:
    """The output of pytest over some files of a folder that has all of the page, in a process of its own."""
    for name, text in MODULES.items():
        (folder / f"{name}.py").write_text(text)
    words = ["-p", "keylake.testing", "-p", "no:cacheprovider", "--rootdir", folder, "-W", "error", "-v"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, *(f"{name}.py" for name in names)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(SDK)},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_page_of_tests_without_a_server(tmp_path: Path) -> None:
    assert "2 passed" in run(tmp_path, "test_profiles")
    assert not list(tmp_path.glob("**/.keylake"))


@pytest.mark.slow
def test_tests_on_a_server_leave_nothing_to_the_next(tmp_path: Path) -> None:
    (tmp_path / "test_order.py").write_text(
        """
import pytest
import keylake as kl
from profiles import Profile


def test_a_makes(lake, everybody):
    lake.sql("CREATE NAMESPACE `a-b`").collect()
    lake.sql("CREATE NAMESPACE `a-b`.c").collect()
    lake.sql("CREATE TABLE `a-b`.c.plain (id BIGINT) USING iceberg").collect()
    lake.create(Profile, if_exists="match")
    with pytest.raises(kl.TableNotFound):
        lake.table("features.other")


def test_b_finds_what_the_module_has(session_lake, everybody):
    assert [listed.name for listed in session_lake.tables()] == ["features.profile"]
    assert [row.namespace for row in session_lake.sql("SHOW NAMESPACES").collect()] == ["features"]
    assert session_lake.spark.conf.get("spark.sql.session.timeZone") == "Asia/Shanghai"
"""
    )
    assert "4 passed" in run(tmp_path, "test_profiles_on_a_server", "test_order")
