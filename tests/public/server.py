"""What a server offers to SQL, as lines of text: procedures, functions, and tables beside a keyed table."""

import re
from collections.abc import Iterator

from pyspark.errors import PySparkException

import keylake as kl

BESIDE = ("keyed_files", "runs", "sections", "commits", "branches", "consumers", "changes")


def procedures(lake: kl.Lake) -> Iterator[str]:
    """Our procedures with what they take and give; those of Iceberg say the name of a class instead."""
    place = f"{lake.catalog}.system"
    for name in sorted(row.procedure_name for row in lake.spark.sql(f"SHOW PROCEDURES IN {place}").collect()):
        described = lake.spark.sql(f"DESCRIBE PROCEDURE {place}.{name}").collect()
        text = described[1][0].removeprefix("Description: ")
        if text.startswith("("):
            yield f"{name}{text}"


def functions(lake: kl.Lake) -> Iterator[str]:
    """Our functions, with what their refusal of a call without arguments says that they take."""
    named = sorted(row.function for row in lake.spark.sql("SHOW USER FUNCTIONS").collect() if "." not in row.function)
    for name in named:
        described = lake.spark.sql(f"DESCRIBE FUNCTION {name}").collect()
        if any("io.keylake." in row.function_desc for row in described):
            yield called(lake, name)


def called(lake: kl.Lake, name: str) -> str:
    """A function with its arguments."""
    try:
        lake.spark.sql(f"SELECT {name}()").collect()
    except PySparkException as refusal:
        sentence = str(refusal).replace(f"{name} was given ()", "")
        form = re.search(rf"\b{name}\([^()]*(?:\([^()]*\)[^()]*)*\)", sentence)
        return form[0] if form else f"{name}(...)"
    return f"{name}()"


def tables_beside(lake: kl.Lake, table: str) -> Iterator[str]:
    """The columns of the tables that a keyed table has beside it."""
    for part in BESIDE:
        for field in lake.spark.table(f"{lake.catalog}.{table}.{part}").schema:
            yield f"{part}.{field.name}: {field.dataType.simpleString()}"
