"""What dbt's tests, which are written for PostgreSQL, say in Spark's SQL."""

import re

# Of files of a project and of statements that tests run themselves.
EVERYWHERE = [
    (r"(?i)\btimestamp without time zone\b", "timestamp"),
    (r"::text\b|\bTEXT\b", lambda found: found.group().replace("text", "string").replace("TEXT", "STRING")),
    (r"(?<=schema )text\b|(?<=db )text\b", "string"),
    (r"\{+\s*(target\.)?database\s*\}+\.", ""),
    (r"\bNone\.", ""),  # the name of the database of a project that has none
    (r"(?<=data_type: )text\b", "string"),
    (r'(?<=as )"(\w+)"', r"`\1`"),
    (r"(?i)\bvacuum \{\{ this.schema \}\}\.\w+", "select 1"),
]
# Of statements alone: in PostgreSQL a text in quotation marks is a name, and texts are cast to times where they go.
OF_STATEMENTS = [
    *EVERYWHERE,
    (r'"(\w+)"', r"`\1`"),
    (r"(?i)(\badd column .+) default ('\w*'|null)", r"\1"),  # Iceberg's Spark has no values for rows that are there
    (r"(?<!date )'\d{4}-\d\d-\d\d'", r"date \g<0>"),
    (r"(?<!timestamp )'\d{4}-\d\d-\d\d \d\d:\d\d:\d\d'", r"timestamp \g<0>"),
]


def statements(sql: str) -> list[str]:
    """The statements of a text, without what has comments alone."""
    parts = re.split(r";[ \t]*(?:\n|$)", in_spark(sql, OF_STATEMENTS))
    return [part for part in parts if re.sub(r"(?m)^\s*--.*$", "", part).strip()]


def in_spark(text: str, rules: list = EVERYWHERE) -> str:
    for pattern, replacement in rules:
        text = re.sub(pattern, replacement, text)
    return text
