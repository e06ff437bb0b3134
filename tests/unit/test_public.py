"""Everything public of the package, the command line and pipelines is what the texts in tests/public say."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

import keylake
from keylake.errors import KeylakeError
from keylake.local import LocalLake, LocalTable
from public import command_line, python_names, sources, yaml_keys

TEXTS = Path(__file__).parents[1] / "public"
DOCUMENTS = Path(__file__).parents[2] / "sdk" / "docs"
CALLED = re.compile(r"`(lake|table)\.(\w+)\(")


def conditions() -> list[str]:
    """The error conditions, with their SQLSTATE and the error that each becomes."""
    errors = [getattr(keylake, name) for name in keylake.__all__]
    kinds = [each for each in errors if isinstance(each, type) and issubclass(each, KeylakeError) and each.condition]
    return sorted(f"{each.condition} {each.sqlstate} {each.__name__}" for each in kinds)


def settings() -> list[str]:
    return sources.settings(line.split()[0] for line in conditions())


PUBLIC: dict[str, Callable[[], list[str]]] = {
    "names": python_names.names,
    "modules": python_names.modules,
    "commands": command_line.commands,
    "yaml_keys": yaml_keys.keys,
    "conditions": conditions,
    "settings": settings,
    "properties": sources.properties,
}


@pytest.mark.parametrize("kind", PUBLIC)
def test_public_text_is_agreed(kind: str, agreed: Callable[[Path, Iterable[str]], None]) -> None:
    agreed(TEXTS / f"{kind}.txt", PUBLIC[kind]())


def test_documents_name_verbs_that_are_there() -> None:
    verbs = {"lake": {*dir(keylake.Lake), *dir(LocalLake)}, "table": {*dir(keylake.KeyedTable), *dir(LocalTable)}}
    called = {
        (page.name, *found.groups()) for page in DOCUMENTS.glob("*.md") for found in CALLED.finditer(page.read_text())
    }
    assert called
    assert not [each for each in called if each[2] not in verbs[each[1]]]
