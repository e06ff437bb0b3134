"""Every example runs from end to end, as its reader would run it."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import keylake as kl

EXAMPLES = Path(__file__).parents[3] / "examples"

# Runs an example and gives the lines that it prints.
Run = Callable[..., list[str]]


def run(example: str, *options: str | Path, cwd: Path, remote: str | None = None) -> list[str]:
    command = [sys.executable, EXAMPLES / example, *options]
    environment = os.environ if remote is None else os.environ | {"SPARK_REMOTE": remote}
    ran = subprocess.run(
        command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


@pytest.fixture(scope="module")
def on_a_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Runs examples on one server, which SPARK_REMOTE names and whose lake is ./lake."""
    folder = tmp_path_factory.mktemp("examples")
    with kl.connect(warehouse=folder / "lake", memory="2g") as lake:
        assert lake._server is not None
        remote = lake._server.url
        yield lambda example: run(example, cwd=folder, remote=remote)


@pytest.mark.slow
def test_a_first_table_can_be_made_twice(on_a_server: Run) -> None:
    said = [on_a_server("01_first_table.py") for _ in range(2)]
    assert "1,458 rows" in said[0][0]
    assert "nothing was written" in said[1][0]
    assert said[0][1:] == said[1][1:]
    assert said[0][1:3] == ["code='JFK' name='John F. Kennedy Intl' altitude=13 time_zone='America/New_York'", "None"]


@pytest.mark.slow
def test_two_streams_are_one_row(on_a_server: Run) -> None:
    said = on_a_server("02_two_streams.py")
    assert said[1].endswith("status='landed' destination=None departure_delay=None arrival_delay=12")
    assert said[3].endswith("status='landed' destination='LAX' departure_delay=27 arrival_delay=12")
    assert "'status': 'arrivals', 'destination': 'departures', 'departure_delay': 'departures'" in said[4]
    assert said[5] == "lost: [('departed', 'departures', 'older version')]"
    assert said[-1].split() == ["landed", "6.8", "-1.0"]


@pytest.mark.slow
def test_late_data_corrects_what_it_should(on_a_server: Run) -> None:
    assert on_a_server("03_late_data.py") == [
        "21 to 24 h: 2.8 °C at 23:00, gusts of None m/s",
        " 0 to 12 h: 2.8 °C at 23:00, gusts of 11.8 m/s",
        "12 to 21 h: 2.8 °C at 23:00, gusts of 10.8 m/s",
        "before: {'2013-12-25': 2.8, '2013-12-26': 2.8, '2013-12-27': 1.7}",
        "after:  {'2013-12-25': 2.8, '2013-12-26': -2.2, '2013-12-27': 1.7}",
    ]


@pytest.mark.slow
def test_a_gate_holds_a_load_back(on_a_server: Run) -> None:
    said = on_a_server("04_quality_gate.py")
    assert "1 of 5 checks" in said[0]
    assert said[0].endswith("null_rate('airline') is 0.218242, and must be below 0.2. Nothing was published.")
    assert said[1] == "main has 0 planes, the branch has 3322"
    assert said[2].endswith(": 2 commits are published, 5 checks passed")
    assert said[-1] == "main has 3322 planes"


@pytest.mark.slow
def test_bad_hours_are_taken_back(on_a_server: Run) -> None:
    said = on_a_server("05_undo.py")
    assert said[0] == "worst delays: N279PQ 7200, N947UW 5160, N958WN 3120"
    assert said[1] == "2 commits of the release, 83 rows"
    assert said[2].startswith("plan: 2 commits with 83 rows of airport, delay, reported_at are taken back in 2 buckets")
    assert said[3] == "worst delays: N374AA 286, N3ANAA 251, N26123 210"
    assert said[4] == "an online store has to set 64 rows; the writes of the crews are kept:"
    assert said[6].split() == ["N279PQ", "7200", "NaN", "LGA", "12"]
    assert said[-1] == said[3]


@pytest.mark.slow
def test_samples_have_what_was_known(on_a_server: Run) -> None:
    said = on_a_server("06_backfill_samples.py")
    assert said[0] == "2 shuffles, no sorts."
    assert said[3] == "1386 samples of 1386, 0 with weather from later"
    assert [line.split()[-1] for line in said[-3:]] == ["27.0", "53.7", "16.5"]


@pytest.mark.slow
def test_a_store_has_the_rows_of_the_table(on_a_server: Run) -> None:
    said = on_a_server("07_publish_to_a_store.py")
    assert "3,322 rows and 0 tombstones in 4 files" in said[0]
    assert said[1] == "('N104UW', 'A320-214', 182) ('N10156', 'EMB-145XR', 55)"
    assert "1 rows and 104 tombstones" in said[2]
    assert said[3] == "('N104UW', 'A320-214', 190) None"
    assert said[4] == "the store has the rows of the table: True"


@pytest.mark.slow
def test_features_of_the_last_days(on_a_server: Run) -> None:
    said = on_a_server("08_features.py")
    assert [" 35 rows" in line for line in said[:2]] == [True, True]
    assert "nothing was written" in said[10]
    assert said[11] == "4243 samples, 3 of them without a feature"
    # What an aggregation of the events themselves in pandas gives.
    assert [line.split()[-1] for line in said[13:16]] == ["0.13", "0.10", "0.16"]
    assert [line.split()[-1] for line in said[-4:]] == ["3.7", "17.1", "14.4", "19.0"]


@pytest.mark.slow
def test_a_service_reads_and_writes(on_a_server: Run) -> None:
    said = on_a_server("10_service.py")
    assert said[0] == "GET /users/7 404 null"
    assert [line.split()[2] for line in said[1:4]] == ["201", "201", "201"]
    assert ['"repeated": true' in line for line in said[1:4]] == [False, True, False]
    assert said[4] == 'GET /users/7 200 {"user_id":7,"at":"2026-11-01T12:00:00Z","city":"Oslo","clicks":6}'
    assert said[5].startswith("POST /events 400")
    assert "Input should be a valid integer" in said[5]
    assert said[6].startswith("a look-up takes ")


@pytest.mark.slow
def test_workers_of_a_service_share_a_lake(tmp_path: Path) -> None:
    said = run("10_service_in_fastapi.py", cwd=tmp_path)
    assert said[:2] == ["POST 201 1", "POST 201 1"]
    assert said[2].startswith(
        'GET 200 {"person_id":"00000000-0000-0000-0000-000000000007","at":"2026-11-01T12:00:00Z",'
    )
    assert said[2].endswith('"plan":"paid","picture":"iVBORw=="}')
    assert said[3].startswith("POST 422")
    assert "Input should be 'free' or 'paid'" in said[3]
    assert said[4].startswith("a request takes ")


@pytest.mark.slow
def test_a_service_needs_no_spark(tmp_path: Path) -> None:
    said = run("09_without_spark.py", cwd=tmp_path)
    assert said[-3:] == [
        "user_id=7 city='Oslo' clicks=6",
        "[6, 3, None]",
        "[{'city': 'Oslo', 'clicks_sum': 106}]",
    ]


@pytest.mark.slow
def test_files_stay_few(on_a_server: Run) -> None:
    said = "\n".join(on_a_server("11_few_files.py"))
    assert "12 files are below half the target size, over the limit of 8" in said
    assert "lake.plant.sensors: merged, 26 files became 4 in" in said
    assert "2 buckets, nothing to merge" in said
    assert "723 sensors" in said


@pytest.mark.slow
def test_the_flights_are_right_and_leave_a_picture(tmp_path: Path) -> None:
    said = run("12_flights.py", "--first-month", "12", "--live-days", "2", "--out", tmp_path, cwd=tmp_path)
    assert "airline.flights: 28,135 rows × 15 columns, all as computed in plain Arrow." in said
    assert (tmp_path / "flights.png").read_bytes().startswith(b"\x89PNG")


def test_the_map_names_every_example() -> None:
    examples = {path.name for path in EXAMPLES.iterdir() if path.suffix in {".py", ".ipynb"}}
    assert {name for name in examples if f"]({name})" in (EXAMPLES / "README.md").read_text()} == examples


def test_every_example_is_short() -> None:
    """All but the last one, which is a whole job."""
    lines = {path.name: len(path.read_text().splitlines()) for path in sorted(EXAMPLES.glob("*.py"))[:-1]}
    assert not {name: number for name, number in lines.items() if number > 80}
