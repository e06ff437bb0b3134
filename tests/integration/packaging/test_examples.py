"""Every example runs from end to end, as its reader would run it."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[3] / "examples"


def run(story: str, *options: str | Path, cwd: Path) -> str:
    command = [sys.executable, EXAMPLES / story, *options]
    ran = subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.slow
def test_the_flights_are_right_and_leave_a_picture(tmp_path: Path) -> None:
    said = run("01_flights.py", "--first-month", "12", "--live-days", "2", "--out", tmp_path, cwd=tmp_path)
    assert "airline.flights: 28,135 rows × 15 columns, all as computed in plain Arrow." in said
    assert (tmp_path / "flights.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_quick_start_can_be_run_twice(tmp_path: Path) -> None:
    said = [run("02_quick_start.py", cwd=tmp_path) for _ in range(2)]
    assert said[0] == said[1]
    assert "city='Bergen' clicks=4" in said[0]


@pytest.mark.slow
def test_files_stay_few(tmp_path: Path) -> None:
    said = run("03_few_files.py", cwd=tmp_path)
    assert "12 files are below half the target size, over the limit of 8" in said
    assert "2 buckets, nothing to merge" in said
    assert "723 sensors" in said


@pytest.mark.slow
def test_a_mistake_is_taken_back(tmp_path: Path) -> None:
    said = run("04_repair.py", cwd=tmp_path)
    assert "2026-11-01: 80 at 10, 20 at 11" in said
    assert "2026-11-02: 40 at 10, 10 at 11, 70 at 12" in said
    assert "is 20, and must be 0. Nothing was published." in said
    assert "now: 20 at 8, 20 at 10, 10 at 11, 69 at 12, 1 at 15" in said


@pytest.mark.slow
def test_a_service_needs_no_spark(tmp_path: Path) -> None:
    said = run("05_without_spark.py", cwd=tmp_path)
    assert said.splitlines()[-3:] == [
        "user_id=7 city='Oslo' clicks=6",
        "[6, 3, None]",
        "[{'city': 'Oslo', 'clicks_sum': 106}]",
    ]


def test_the_map_names_every_story() -> None:
    stories = {path.name for path in EXAMPLES.glob("*.py")}
    assert {name for name in stories if f"]({name})" in (EXAMPLES / "README.md").read_text()} == stories
