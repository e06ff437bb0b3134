"""Projects of dbt's own tests over tables of Iceberg, keyed ones if `DBT_KEYED` is 1, run in the environment of dbt."""

import inspect
import os
import shutil
from pathlib import Path
from typing import Any

import dialect
import keys
import pytest
import yaml
from dbt.tests import util

KEYED = os.environ["DBT_KEYED"] == "1"
FORMATS: dict[str, Any] = {kind: {"+file_format": "iceberg"} for kind in ("models", "seeds", "snapshots")}


def write_file(contents: str, *path: str) -> None:
    """What tests write into their projects, in Spark's SQL."""
    written(dialect.in_spark(contents) if str(path[-1]).endswith((".sql", ".yml")) else contents, *path)


# Modules of tests take this function as they are imported, which is after this.
written, util.write_file = util.write_file, write_file


def merged(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Both dictionaries as one, with the values of `above` where both have one."""
    both = dict(below)
    for name, value in above.items():
        there = both.get(name)
        both[name] = merged(there, value) if isinstance(there, dict) and isinstance(value, dict) else value
    return both


@pytest.fixture(scope="class")
def dbt_profile_target() -> dict[str, Any]:
    return {
        "type": "spark",
        "method": "thrift",
        "host": "localhost",
        "port": int(os.environ["THRIFT_PORT"]),
        "threads": 2,
        "poll_interval": 1,
        "user": "root",
    }


@pytest.fixture(scope="class")
def dbt_project_yml(request: pytest.FixtureRequest, project_root: Any, project_config_update: Any) -> dict[str, Any]:
    """The project of the test and the macros of `examples/dbt`; tables are Iceberg's, and have keys if asked."""
    of_test = yaml.safe_load(project_config_update) if isinstance(project_config_update, str) else project_config_update
    project = {"name": "test", "profile": "test", "flags": {"send_anonymous_usage_stats": False}}
    project = merged(merged(project, FORMATS), of_test or {})
    if KEYED:
        project = merged(project, keys.of_tables(request.cls.__name__, project["name"]))
    project["macro-paths"] = [*project.get("macro-paths", ["macros"]), "macros_of_keylake"]
    Path(project_root, "dbt_project.yml").write_text(dialect.in_spark(yaml.safe_dump(project, width=10_000)))
    shutil.copytree(os.environ["DBT_MACROS"], Path(project_root, "macros_of_keylake"))
    return project


@pytest.fixture(scope="class")
def project_files(project_files: None, project_root: Any) -> None:
    """The files of the test in Spark's SQL."""
    for file in Path(project_root).rglob("*"):
        if file.suffix in (".sql", ".yml"):
            file.write_text(dialect.in_spark(file.read_text()))


@pytest.fixture(scope="class")
def project(project: Any) -> Any:
    """The project, whose statements are Spark's, one at a time."""
    run_sql = project.run_sql

    def in_spark(sql: str, fetch: str | None = None) -> Any:
        answers = [run_sql(statement, fetch) for statement in dialect.statements(sql)]
        return answers[-1] if answers else None

    project.run_sql = in_spark
    return project


@pytest.fixture(scope="class")
def test_data_dir(request: pytest.FixtureRequest) -> str:
    """The files beside the Base class of a test."""
    return str(Path(inspect.getfile(request.cls.__bases__[-1])).parent / "data")


@pytest.fixture(scope="session", autouse=True)
def schemas_are_dropped_with_their_tables() -> None:
    """Catalogs of Iceberg drop no namespace that has tables, so dbt's `drop schema ... cascade` fails.

    What kind of table each was is written beside the outcomes.
    """
    from dbt.adapters.spark import SparkAdapter

    drop_schema = SparkAdapter.drop_schema

    def with_tables(adapter: Any, schema: Any) -> None:
        name = schema.schema
        if name in adapter.list_schemas(None):
            with Path(os.environ["DBT_OUTCOMES"]).with_suffix(".tables").open("a") as tables:
                for row in adapter.execute(f"show table extended in {name} like '*'", fetch=True)[1].rows:
                    tables.write(f"{row[1]} {'keyed' if 'Provider: keylake' in row[3] else 'plain'}\n")
            for kind in ("view", "table"):
                for row in adapter.execute(f"show {kind}s in {name}", fetch=True)[1].rows:
                    adapter.execute(f"drop {kind} if exists {name}.{row[1]}")
        drop_schema(adapter, schema)

    SparkAdapter.drop_schema = with_tables


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Adds a line to the file of outcomes: for each test that passed, and for what failed, with the errors of dbt."""
    if report.when == "call" or report.failed:
        with Path(os.environ["DBT_OUTCOMES"]).open("a") as outcomes:
            outcomes.write(f"{report.nodeid.partition('::')[2]} {report.when} {report.outcome} {errors(report)!r}\n")


def errors(report: pytest.TestReport) -> str:
    """What the trace of a test and dbt's messages say of its errors."""
    raised = [line.removeprefix("E") for line in report.longreprtext.splitlines() if line.startswith("E ")]
    told = [line for line in report.capstdout.splitlines() if "Exception:" in line or "Error" in line]
    return " ".join(" ".join([*raised[:3], *told]).split())[:1200]
