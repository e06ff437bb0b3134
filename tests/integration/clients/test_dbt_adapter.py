"""dbt's own tests of adapters over keyed tables, and over plain ones of Iceberg in the same server."""

import os
import subprocess
from pathlib import Path

import pytest

import keylake as kl
from integration.clients.thrift_server import ThriftServer

ROOT = Path(__file__).parents[3]
TESTS = Path(__file__).parent / "dbt_adapter"
PYTHON = ROOT / ".build" / "clients" / "bin" / "python"

pytestmark = pytest.mark.nightly


def outcomes(server: ThriftServer, folder: Path, keyed: bool) -> dict[str, str]:
    """Name of each test of `dbt_adapter` -> `passed` or `failed`."""
    assert PYTHON.exists(), "dbt has an environment of its own: run `make clients`"
    folder.mkdir()
    settings = {
        "DBT_KEYED": str(int(keyed)),
        "DBT_MACROS": str(ROOT / "examples" / "dbt" / "macros"),
        "DBT_OUTCOMES": str(folder / "outcomes"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "THRIFT_PORT": str(server.thrift_port),
    }
    # Of pytest's own settings, those of the project do not apply.
    words = ["-c", os.devnull, "--rootdir", folder, "--basetemp", folder / "projects", "--confcutdir", "."]
    ran = subprocess.run(
        [
            PYTHON,
            "-m",
            "pytest",
            *words,
            "-p",
            "dbt.tests.fixtures.project",
            "-p",
            "no:cacheprovider",
            "-q",
            "base_classes.py",
        ],
        cwd=TESTS,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | settings,
        capture_output=True,
        text=True,
        timeout=3600,
    )
    assert ran.returncode in (0, 1), ran.stdout[-4000:] + ran.stderr  # all passed, or some failed
    tables = (folder / "outcomes.tables").read_text().split()
    assert tables.count("keyed") > 50 if keyed else "keyed" not in tables
    found: dict[str, str] = {}
    for line in (folder / "outcomes").read_text().splitlines():
        name, _, outcome, *why = line.split(" ", 3)
        if outcome == "failed":
            print("keyed:" if keyed else "plain:", name, *why)
        found[name] = "failed" if "failed" in (outcome, found.get(name)) else "passed"
    return found


def expected() -> dict[str, tuple[str, str]]:
    """The outcomes of plain and of keyed tables for each test in the list of those that fail with one of them."""
    lines = (TESTS / "failures.txt").read_text().splitlines()
    rows = [line.split(maxsplit=3) for line in lines if line and not line.startswith("#")]
    return {f"Test_{name}": (plain, keyed) for name, plain, keyed, _ in rows}


def test_what_passes_over_plain_tables_passes_over_keyed_ones(
    thrift_server: ThriftServer, thrift_lake: kl.Lake, tmp_path: Path
) -> None:
    """But for the tests in the list, each of which says why."""
    plain = outcomes(thrift_server, tmp_path / "plain", keyed=False)
    keyed = outcomes(thrift_server, tmp_path / "keyed", keyed=True)
    assert len(plain) > 140
    assert plain.keys() == keyed.keys()
    found = {name: (plain[name], keyed[name]) for name in plain if "failed" in (plain[name], keyed[name])}
    assert found == expected()
