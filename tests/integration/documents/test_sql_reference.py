"""The SQL reference names all that the plug-in adds, with the arguments and columns that it has."""

import re
from pathlib import Path

import pytest

import keylake as kl
from integration.documents.blocks import blocks

ROOT = Path(__file__).parents[3]
JAVA = ROOT / "server_plugins"
PAGE = ROOT / "sdk/docs/sql.md"
TEXT = PAGE.read_text()
EXAMPLES = "".join(block.text for block in blocks(PAGE) if block.language == "sql")


def section(heading: str) -> str:
    """What stands below a heading, up to the next one of its rank."""
    (found,) = re.findall(rf"^## {heading}\n(.*?)(?=^## |\Z)", TEXT, flags=re.MULTILINE | re.DOTALL)
    return found


def first_cells(heading: str) -> set[str]:
    """What is named as code in the first column of the tables of a section."""
    cells = re.findall(r"^\| (.+?) \|", section(heading), flags=re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def in_java(pattern: str, file: str = "*.java") -> set[str]:
    sources = [path for path in JAVA.rglob(file) if "src/main" in str(path)]
    return {name for path in sources for name in re.findall(pattern, path.read_text())}


@pytest.mark.slow
def test_procedures(lake: kl.Lake) -> None:
    said = dict(re.findall(r"^- `(\w+)`: .+\n  (`\(.*)$", section("Procedures"), flags=re.MULTILINE))
    have = {}
    for row in lake.spark.sql("SHOW PROCEDURES IN lake.system").collect():
        described = lake.spark.sql(f"DESCRIBE PROCEDURE lake.system.{row.procedure_name}").collect()
        description = described[1][0].removeprefix("Description: ")
        if description.startswith("("):  # Iceberg's own say the name of a class
            have[row.procedure_name] = description
    assert {name: text.replace("`", "") for name, text in said.items()} == have
    # The pages have neither brokers nor damage; the tests of pipelines and of damage call these.
    elsewhere = {"kafka_offsets", "restore_metadata"}
    assert {name for name in have if f"CALL lake.system.{name}(" not in EXAMPLES} == elsewhere


@pytest.mark.slow
def test_functions(lake: kl.Lake) -> None:
    said = {re.split(r"[.(]", name.removeprefix("system."))[0] for name in first_cells("Functions")}
    said |= {re.split(r"\(", name)[0] for name in re.findall(r"`((?:average|moments_\w+)[^`]*)`", section("Functions"))}
    listed = {row.function for row in lake.spark.sql("SHOW USER FUNCTIONS").collect()}
    have = {name for name in listed if "." not in name} | {"key_bucket"}
    assert said == have
    assert not [name for name in have if f"{name}(" not in EXAMPLES]


def test_settings() -> None:
    assert first_cells("Settings") == in_java(r'"(spark\.keylake\.[a-z.-]+)"') - {"spark.keylake.reducers.worker"}


def test_properties() -> None:
    words = in_java(r'String [A-Z_]+ = "([a-z_]+\.?)";', "SpecProperties.java")
    policies = in_java(r'PROPERTY = "(keylake\.(?:spec|compaction|retention|lateness|equality-deletes))"')
    said = {re.sub(r"<.*", "", name) for name in first_cells("Properties")}
    levels = {f"write.{verb}.isolation-level" for verb in ("update", "delete", "merge")}
    assert said == words | policies | levels | in_java(r'PROPERTY = "([\w.-]+)"', "Retries.java")


def test_options() -> None:
    written = in_java(r'(?:options?(?:\.get(?:Boolean)?|, )\(?|(?:_DELAY|_TIME) = )"([a-z_-]+)"', "WriteOptions.java")
    written |= {"version_of.<column>"} | in_java(r'(?:REQUIRE|ON_FAILURE) = "(\w+)"', "Requirement.java")
    assert first_cells("Options of writes") == written
    read = in_java(r'= "(after|until|freshness)"', "RelationOptions.java") | in_java(
        r'= "([a-z-]+-[a-z-]+)"', "ChangesScan.java"
    )
    assert read | {"consumer"} <= first_cells("Names beside a table")


def test_names_beside_a_table() -> None:
    parts = {name.lower() for name in in_java(r"\n  ([A-Z_]+)\(\w+Row\.class, ", "Part.java")}
    parts |= in_java(r'NAME = "(\w+)"', "ChangesTable.java")
    said = {name.removeprefix("t.") for name in first_cells("Names beside a table") if name.startswith("t.")}
    assert {"runs", "changes"} <= parts <= said


def test_procedures_of_iceberg_that_are_refused() -> None:
    (table,) = re.findall(
        r"INSTEAD =\s+Map\.of\((.*?)\);", (next(JAVA.rglob("IcebergProcedure.java"))).read_text(), flags=re.DOTALL
    )
    refused = re.findall(r'"([a-z_]+)",\n', table)
    assert len(refused) > 5
    assert not [name for name in refused if f"`{name}`" not in section("Procedures of Iceberg")]
