"""The rules of the Python package, each a test: its rooms, their sizes, and who may import whom."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from keylake import KeyedTable
from keylake._table.handle import Verbs

ROOT = Path(__file__).parents[1]
SDK = ROOT / "sdk" / "keylake"

# A module imports from its own room and from earlier ones only, so rooms form no circle. A module at the top, which
# people import, is a room of its own.
ROOMS = (
    "errors",
    "_display",
    "types",
    "reducers",
    "results",
    "explanations",
    "_values",
    "_definition",
    "schema",
    "_server",
    "_maintenance",
    "health",
    "_table",
    "_json",
    "_streams",
    "table",
    "_joins",
    "_triggers",
    "lake",
    "_captured",
    "_files",
    "_kafka",
    "_many_tables",
    "_load",
    "_mysql",
    "_postgres",
    "_running",
    "_check",
    "_pipelines",
    "local",
    "cli",
    "__main__",
)
MOST_FILES_OF_A_ROOM = 20
MODULES = tuple(sorted(path.relative_to(SDK) for path in SDK.rglob("*.py") if path.name != "__init__.py"))
INIT_FILES = tuple(sorted(path.relative_to(SDK) for path in SDK.rglob("__init__.py")))


def room_of(module: Path) -> str:
    return module.parts[0].removesuffix(".py")


def imports_at_run_time(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text())
    for_types_only = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if node in for_types_only:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("keylake"):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "."


@cache
def own_imports(module: Path) -> frozenset[Path]:
    """The modules of the package that this one imports."""
    found: set[Path] = set()
    for name in imports_at_run_time(SDK / module):
        parts = name.split(".")[1:] if name.startswith("keylake.") else []
        found.update(
            path for end in range(1, len(parts) + 1) if (path := Path(*parts[:end]).with_suffix(".py")) in MODULES
        )
    return frozenset(found)


@cache
def stands_on(module: Path) -> frozenset[Path]:
    """Every module of the package that this one needs, directly or through others."""
    imported = own_imports(module)
    return imported.union(*map(stands_on, imported))


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_imports_point_one_way(module: Path) -> None:
    try:
        assert module not in stands_on(module)
    except RecursionError:
        pytest.fail(f"{module} is part of a circle of imports")


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_a_room_imports_from_earlier_rooms_only(module: Path) -> None:
    own = room_of(module)
    assert own in ROOMS, f"{own} has no place among the rooms: add it to ROOMS, after the rooms that it imports from"
    later = [str(other) for other in own_imports(module) if ROOMS.index(room_of(other)) > ROOMS.index(own)]
    assert not later


def test_no_place_is_kept_for_a_room_that_is_not_there() -> None:
    assert set(ROOMS) == set(map(room_of, MODULES))


def test_a_room_has_few_files() -> None:
    sizes = {room: sum(module.parts[0] == room for module in MODULES) for room in ROOMS if room.startswith("_")}
    sizes["keylake"] = sum(len(module.parts) == 1 for module in MODULES)
    assert not {room: files for room, files in sizes.items() if files > MOST_FILES_OF_A_ROOM}


def test_the_map_names_every_room() -> None:
    text = (ROOT / "sdk/README.md").read_text()
    assert not [room for room in ROOMS if f"| `{room}`" not in text and f", `{room}`" not in text]


def test_no_family_of_verbs_inherits_from_another() -> None:
    families = [base for base in KeyedTable.__mro__ if issubclass(base, Verbs) and base not in (KeyedTable, Verbs)]
    assert families
    assert all(Verbs in family.__bases__ for family in families)


def test_names_that_the_server_shares_stand_in_one_list() -> None:
    named = re.compile(r'"(?:spark\.)?keylake\.[a-z]+(?:[.-][a-z]+)*"')
    found = [str(path) for path in MODULES if path.stem != "names" and named.search((SDK / path).read_text())]
    assert not found


@pytest.mark.parametrize("init", INIT_FILES, ids=str)
def test_a_package_defines_nothing_itself(init: Path) -> None:
    """But how its names are found, where they come from a room that is not always imported."""
    tree = ast.parse((SDK / init).read_text())
    defined = [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    assert set(defined) <= {"__getattr__", "__dir__"}


def test_every_package_we_import_is_asked_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    # The lack of an extra has an error of its own. pyspark-client has the module of pyspark.
    extras = [project["optional-dependencies"][name] for name in ("client", "plots", "pandas", "polars", "pipelines")]
    packages = [*project["dependencies"], *(each for extra in extras for each in extra)]
    asked = {re.split(r"[^\w-]", each)[0].removesuffix("-client").replace("-", "_") for each in packages}
    asked |= {"yaml", "pymysql", "pymysqlreplication"}  # of pyyaml and mysql-replication
    imported = {name.partition(".")[0] for path in SDK.rglob("*.py") for name in imports_at_run_time(path)}
    assert imported - sys.stdlib_module_names - {"keylake"} <= asked
