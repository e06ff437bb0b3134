"""Names that are written as text in the sources: settings, variables of the environment, properties of tables."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]

SETTING = r"spark\.keylake\.[\w.-]+"
VARIABLE = r"KEYLAKE_[A-Z_]+"
PROPERTY = r"keylake\.[\w.-]+"


@cache
def texts(folder: str, ending: str) -> frozenset[str]:
    """Every literal of the sources below a folder that is one word."""
    sources = [
        path for path in (ROOT / folder).rglob(f"*{ending}") if {"docs", "test", "target"}.isdisjoint(path.parts)
    ]
    return frozenset(word for path in sources for word in re.findall(r'"([\w.-]+)"', path.read_text()))


def settings(conditions: Iterable[str]) -> list[str]:
    """Settings of servers and sessions, and variables of the environment, which are not error conditions."""
    named = texts("sdk", ".py") | texts("server_plugins", ".java")
    variables = {each for each in named if re.fullmatch(VARIABLE, each)} - set(conditions)
    return sorted(variables) + sorted(each for each in named if re.fullmatch(SETTING, each))


def properties() -> list[str]:
    """Properties of tables and of snapshots, and options of reads, that begin with the package's name."""
    return sorted(each for each in texts("server_plugins", ".java") if re.fullmatch(PROPERTY, each))
