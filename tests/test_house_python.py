"""The rules of the Python package, each a test: its rooms, their sizes, and who may import whom."""

import ast
import inspect
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import keylake
import keylake.local
from keylake import KeyedTable, KeylakeError, errors
from keylake._table.handle import Namespace, Verbs
from rooms import ROOT, SDK, imports, modules_of, own_imports, room_of

# A module imports from its own room and from earlier ones only, so rooms form no circle. A module at the top of the
# core, which people import, is a room of its own.
CORE = (
    "errors",
    "_display",
    "_outcomes",
    "_texts",
    "conditions",
    "types",
    "reducers",
    "results",
    "explanations",
    "_values",
    "_definition",
    "_frames",
    "_server",
    "_rows",
    "schema",
    "_maintenance",
    "checks",
    "health",
    "_gate",
    "_log",
    "_table",
    "_json",
    "_streams",
    "table",
    "_joins",
    "_triggers",
    "lake",
    "local",
    "testing",
    "extension",
    "_public",
    "cli",
    "__main__",
)
PIPELINES = (
    "source",
    "files",
    "kafka",
    "multi_table",
    "rate_control",
    "mysql",
    "postgres",
    "runner",
    "comparison",
    "definition",
    "pipeline",
    "cli",
    "extension",
)
ROOMS = {"keylake": CORE, "keylake_pipelines": PIPELINES}
# Extras of the core whose packages it imports where they are asked for.
EXTRAS = ("client", "kafka", "plots", "pandas", "polars", "pandera", "dataframely")
# What an extension may import of the core: what people import, and what is there for extensions.
FOR_EXTENSIONS = {
    "keylake",
    "keylake.errors",
    "keylake.types",
    "keylake.reducers",
    "keylake.results",
    "keylake.lake",
    "keylake.table",
    "keylake.extension",
    "keylake.cli.checking",
    "keylake.cli.opened",
    "keylake.cli.shown",
}
MOST_FILES_OF_A_ROOM = 20
MODULES = tuple(module for package in ROOMS for module in modules_of(package))
INIT_FILES = tuple(sorted(path.relative_to(SDK) for package in ROOMS for path in (SDK / package).rglob("__init__.py")))


@cache
def stands_on(module: Path) -> frozenset[Path]:
    """Every module of the package that this one needs, directly or through others; what types need counts."""
    imported = own_imports(module, for_types=True)
    return imported.union(*map(stands_on, imported))


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_imports_point_one_way(module: Path) -> None:
    try:
        assert module not in stands_on(module)
    except RecursionError:
        pytest.fail(f"{module} is part of a circle of imports")


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_a_room_imports_from_earlier_rooms_only(module: Path) -> None:
    own, rooms = room_of(module), ROOMS[module.parts[0]]
    assert own in rooms, f"{own} has no place among the rooms: add it to them, after the rooms that it imports from"
    later = [str(other) for other in own_imports(module) if rooms.index(room_of(other)) > rooms.index(own)]
    assert not later


@pytest.mark.parametrize("module", [each for each in MODULES if each.parts[0] != "keylake"], ids=str)
def test_an_extension_imports_what_is_there_for_it(module: Path) -> None:
    named = {name for name in imports(SDK / module, for_types=True) if name.partition(".")[0] == "keylake"}
    assert not [name for name in named if name not in FOR_EXTENSIONS and name.rpartition(".")[0] not in FOR_EXTENSIONS]


@pytest.mark.parametrize("module", [each for each in MODULES if each.parts[0] == "keylake"], ids=str)
def test_the_core_imports_nothing_of_an_extension(module: Path) -> None:
    """But for the list of public names, which checkers have to see."""
    if module.stem == "_public":
        return
    assert not [name for name in imports(SDK / module, for_types=True) if name.startswith("keylake_")]


def test_no_place_is_kept_for_a_room_that_is_not_there() -> None:
    assert {name: set(rooms) for name, rooms in ROOMS.items()} == {
        name: {room_of(module) for module in MODULES if module.parts[0] == name} for name in ROOMS
    }


def test_a_room_has_few_files() -> None:
    sizes = Counter(module.parent for module in MODULES if module.parts[:2] != ("keylake", "local"))
    assert not {room: files for room, files in sizes.items() if files > MOST_FILES_OF_A_ROOM}


def test_the_map_names_every_room() -> None:
    text = (ROOT / "sdk/README.md").read_text()
    rooms = [*CORE, *PIPELINES]
    assert not [room for room in rooms if f"| `{room}`" not in text and f", `{room}`" not in text]


def verbs() -> Iterator[tuple[str, str]]:
    """What users call that can fail, with its docstring."""
    tables = (KeyedTable, *Namespace.__subclasses__(), keylake.local.LocalTable)
    for kind in (*tables, keylake.Lake, keylake.Triggers, keylake.local.LocalLake):
        for name, verb in inspect.getmembers(kind, inspect.isfunction):
            if name == "__call__" or not name.startswith("_"):
                yield f"{kind.__name__}.{name}", inspect.getdoc(verb) or ""
    functions = (keylake.connect, keylake.join, keylake.run_pipeline, keylake.check_pipeline, keylake.register_steps)
    for function in (*functions, keylake.local.open, keylake.local.create, keylake.Pipeline.load):
        yield function.__qualname__, inspect.getdoc(function) or ""


ERRORS = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, KeylakeError)}
CANNOT_FAIL = {"Lake.close", "LocalLake.close", "Triggers.stop"}


@pytest.mark.parametrize(("verb", "text"), [pytest.param(*verb, id=verb[0]) for verb in verbs()])
def test_a_verb_names_its_errors(verb: str, text: str) -> None:
    """In a paragraph that begins with "Raises"; those that any verb may raise are named by its class."""
    raised = [paragraph for paragraph in text.split("\n\n") if paragraph.startswith("Raises ")]
    named = {name for paragraph in raised for name in re.findall(r"`([A-Z]\w+)`", paragraph)}
    assert named <= ERRORS
    assert bool(named) == (verb not in CANNOT_FAIL)


def test_no_family_of_verbs_inherits_from_another() -> None:
    families = [base for base in KeyedTable.__mro__ if issubclass(base, Verbs) and base not in (KeyedTable, Verbs)]
    assert families
    assert all(Verbs in family.__bases__ for family in families)


def test_only_tests_in_python_are_called_tests() -> None:
    trees = [ast.parse((SDK / path).read_text()) for path in MODULES]
    classes = [node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    assert not [name for name in classes if name.endswith(("Test", "Tests"))], (
        "a class that ships is no test: rename it"
    )


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
    extras = [project["optional-dependencies"][name] for name in EXTRAS]
    pipelines = tomllib.loads((SDK / "keylake_pipelines/pyproject.toml").read_text())["project"]
    packages = [*project["dependencies"], *pipelines["dependencies"], *(each for extra in extras for each in extra)]
    asked = {re.split(r"[^\w-]", each)[0].removesuffix("-client").replace("-", "_") for each in packages}
    asked |= {"yaml", "pymysql", "pymysqlreplication"}  # of pyyaml and mysql-replication
    asked |= {"pytest"}  # loads the fixtures, and nothing else does
    imported = {
        name.partition(".")[0] for path in [*MODULES, *INIT_FILES] for name in imports(SDK / path, for_types=False)
    }
    assert imported - sys.stdlib_module_names - ROOMS.keys() <= asked
