"""The page of compatibility has the versions that the project is built and tested with."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

from keylake._definition.spec_json import SPEC_VERSION
from keylake._server.embedded import NEWEST_JAVA, OLDEST_JAVA
from keylake.cli.doctor import OLDEST_PYTHON

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "sdk/docs/compatibility.md").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCKED = dict(
    re.findall(
        r"^([a-z0-9-]+)(?:\[[\w,-]+\])?==([^ ;]+)", (ROOT / "sdk/requirements.lock").read_text(), flags=re.MULTILINE
    )
)


def row(part: str) -> list[str]:
    """The cells of the line of a part, the first of which begins so."""
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line[:1] == "|"]
    (found,) = [cells for cells in lines if re.match(rf"{part}(?!\w| 4)", cells[0])]
    return found


def of_pom(path: str, name: str) -> str:
    (version,) = re.findall(rf"<{name}>([^<]+)</{name}>", (ROOT / path).read_text())
    return version


def least(package: str) -> str:
    """The oldest version of a package with which the project, or an extra of it, goes."""
    extras = PROJECT["project"]["optional-dependencies"].values()
    given = "\n".join([*PROJECT["project"]["dependencies"], *(each for extra in extras for each in extra)])
    (found,) = set(re.findall(rf"^{package}(?:\[[\w,-]+\])?>=([\d.]+)", given, flags=re.MULTILINE))
    return str(found)


@pytest.mark.parametrize(
    ("part", "version"),
    [
        ("Spark", of_pom("server_plugins/pom.xml", "spark.version")),
        ("Iceberg", of_pom("server_plugins/pom.xml", "iceberg.version")),
        ("MariaDB", of_pom("tests/pipelines/mariadb/pom.xml", "mariadb.version")),
        ("PostgreSQL", of_pom("tests/pipelines/postgres/pom.xml", "postgres.version").removesuffix(".0")),
        ("Kafka", of_pom("tests/pipelines/kafka/pom.xml", "kafka.version")),
        ("pyspark", LOCKED["pyspark"]),
        ("DuckDB", LOCKED["duckdb"]),
        ("PyIceberg", least("pyiceberg")),
        ("pyiceberg", least("pyiceberg")),
    ],
)
def test_a_tested_version_is_the_one_of_the_tests(part: str, version: str) -> None:
    assert version in " ".join(row(part))


@pytest.mark.parametrize("package", ["pyarrow", "pandas", "polars", "pandera", "dataframely"])
def test_a_least_version_is_that_of_the_package(package: str) -> None:
    (line,) = [each for each in PAGE.splitlines() if re.search(rf"\b{package} from|\| {package} \| from", each)]
    (said,) = re.findall(rf"(?:{package} from|\| {package} \| from) ([\d.]+) on", line)
    assert said == least(package)


def test_java_and_python_are_those_that_are_checked() -> None:
    assert row("Java")[1].startswith(f"{OLDEST_JAVA} to {NEWEST_JAVA};")
    versions = [each.rpartition(" ")[2] for each in PROJECT["project"]["classifiers"] if "Python :: 3." in each]
    assert row("Python")[1] == f"{versions[0]} to {versions[-1]}"
    assert versions[0] == ".".join(map(str, OLDEST_PYTHON))
    assert sys.version_info >= OLDEST_PYTHON
    assert f"`spec_version`, now {SPEC_VERSION}" in PAGE
