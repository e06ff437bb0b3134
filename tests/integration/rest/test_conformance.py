"""Iceberg's own tests of catalogs, by Iceberg's own client, upon the catalog that a server serves."""

import os
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from integration.spark_processes import connect_server

ROOT = Path(__file__).parents[3]
EXPECTED = ROOT / "tests" / "cases" / "conformance.txt"
SAID = {"unique-table-location": "true"} | {  # what the tests expect of the catalog behind
    f"{kind}-{rule}.{prefix}key{number}": f"catalog-{rule}-key{number}"
    for rule, numbers in (("default", (1, 2)), ("override", (3, 4)))
    for kind, prefix in (("table", f"{rule}-"), ("view", ""))
    for number in numbers
}
MODULE = ROOT / "server_plugins" / "conformance"


@pytest.mark.nightly
def test_icebergs_tests_of_catalogs_pass_but_for_those_that_are_listed(tmp_path: Path) -> None:
    reports = MODULE / "target" / "surefire-reports"
    shutil.rmtree(reports, ignore_errors=True)
    settings = {f"spark.sql.catalog.lake.{name}": value for name, value in SAID.items()}
    with connect_server(tmp_path / "lake", settings | {"spark.keylake.catalog.port": "0"}) as server:
        place = {
            "KEYLAKE_CATALOG": f"http://127.0.0.1:{server.catalog_port}",
            "KEYLAKE_TOKEN": server.url.partition(";token=")[2],
        }
        maven = [MODULE.parent / "mvnw", "--file", MODULE.parent / "pom.xml", "--batch-mode", "--quiet"]
        chosen = ["--activate-profiles", "conformance", "--projects", "conformance", "test"]
        subprocess.run(
            [*maven, *chosen, "-Dmaven.test.failure.ignore=true"], env=os.environ | place, check=True, timeout=1800
        )
    outcomes = _outcomes(reports)
    assert len(outcomes) > 150
    expected = dict(line.split(": ", 1) for line in EXPECTED.read_text().splitlines() if not line.startswith("#"))
    failed = {name: words for name, words in outcomes.items() if words}
    assert failed.keys() == expected.keys(), "\n".join(f"{name}: {words}" for name, words in failed.items())


def _outcomes(reports: Path) -> dict[str, str]:
    """What each test has said when it failed; nothing, where it passed or does not apply."""
    return {
        f"{case.get('classname', '').rpartition('.')[2]}.{case.get('name', '')}": " ".join(
            (found.get("message") or found.get("type") or "").split()
        )[:300]
        for report in reports.glob("TEST-*.xml")
        for case in ElementTree.parse(report).iter("testcase")
        for found in [next((each for each in case if each.tag in ("failure", "error")), ElementTree.Element("none"))]
    }
