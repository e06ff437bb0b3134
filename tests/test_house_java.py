"""The rooms of the Java modules: how large they are, who may import whom, and what only one of them may name."""

import re
from pathlib import Path

import pytest

from rooms import CORE, GUESTS, JAVA, SDK, classes_of, of_module, package_of, rooms_named_by

MAP = SDK / "README.md"
MODULES = (*CORE, *GUESTS)
MOST_FILES_OF_A_ROOM = 20

# What Spark, Iceberg and Parquet keep to themselves and may change between patch releases. Not listed, because no rule
# or scan can be written without them: the connector API, catalyst's expressions, plans and rules, physical plans,
# metrics and vectors.
INTERNALS = [
    "java.lang.reflect",  # opens what is not public, which no compiler checks
    "org.apache.iceberg.spark.ScanTaskSetManager",  # files staged for a rewrite
    "org.apache.iceberg.spark.SparkTableUtil",  # helpers of Iceberg's own tables
    "org.apache.iceberg.spark.source.SparkRewriteTable",  # the table that reads staged files
    "org.apache.parquet.internal",  # indexes of pages, and rows by them
    "org.apache.spark.SparkEnv",  # the services of a running process
    "org.apache.spark.api.python",  # workers in Python, and how they are asked
    "org.apache.spark.memory",  # memory that Spark counts
    "org.apache.spark.network",  # helpers of Spark's own transport
    "org.apache.spark.rdd.ZippedPartitions",  # made for Spark's own zips
    "org.apache.spark.sql.catalyst.expressions.XXH64",  # the code behind a function
    "org.apache.spark.sql.catalyst.json",  # the writer behind to_json, with the options of that
    "org.apache.spark.sql.catalyst.plans.physical.KeyGroupedPartitioning",  # patch releases changed its constructor
    "org.apache.spark.sql.catalyst.util.RebaseDateTime",  # a parameter of the Parquet reader
    "org.apache.spark.sql.classic",  # the session and frames behind the public ones
    "org.apache.spark.sql.execution.CommandExecutionMode",  # a parameter of how plans are run
    "org.apache.spark.sql.execution.KeyGroupedPartitionedScan",  # how Spark knows scans in buckets
    "org.apache.spark.sql.execution.QueryExecution",  # how plans are run
    "org.apache.spark.sql.execution.datasources.SparkExpressionConverter",  # Iceberg's, in a package of Spark
    "org.apache.spark.sql.execution.datasources.parquet",  # the Parquet reader
    "org.apache.spark.sql.execution.exchange",  # shuffles, and where they are added
    "org.apache.spark.sql.execution.joins.StoragePartitionJoinParams",  # what joins say to scans
    "org.apache.spark.sql.execution.vectorized",  # the vectors behind the public one
    "org.apache.spark.sql.internal",  # settings, as code has them
    "org.apache.spark.storage",  # blocks, as owners of memory
    "org.apache.spark.unsafe.Platform",  # memory by address
    "org.apache.spark.util.Utils",  # helpers of all kinds
]


def imports(path: Path) -> list[str]:
    return re.findall(r"^import (?:static )?([\w.]+)", path.read_text(), flags=re.MULTILINE)


@pytest.mark.parametrize("module", MODULES)
def test_a_room_is_small(module: str) -> None:
    sizes = {room: len(paths) for room, paths in classes_of(module).items()}
    assert not {room: size for room, size in sizes.items() if size > MOST_FILES_OF_A_ROOM}


@pytest.mark.parametrize("module", MODULES)
def test_only_tests_in_java_are_called_tests(module: str) -> None:
    declared = re.compile(r"\b(?:class|enum|interface|record) (\w+Tests?)\b")
    texts = [path.read_text() for paths in classes_of(module).values() for path in paths]
    assert not [name for text in texts for name in declared.findall(text)], "a class that ships is no test: rename it"


@pytest.mark.parametrize("module", MODULES)
def test_the_map_names_every_room_and_no_other(module: str) -> None:
    """A table `| room of `<module>` | ... |` of the map; a room within a room is `outer/inner` there."""
    rows = MAP.read_text().partition(f"| room of `{module}` |")[2].partition("\n\n")[0].splitlines()
    named = [name for row in rows[2:] for name in re.findall(r"`([^`]+)`", row.split(" | ")[0])]
    rooms = {room.replace(".", "/") for room in classes_of(module) if room}
    assert sorted(named) == sorted(rooms)


def rooms_in_a_circle(named: dict[str, set[str]]) -> set[str]:
    """Rooms that name themselves, directly or through others, or name such a room."""
    left = named
    while free := {room for room, below in left.items() if not below & left.keys()}:
        left = {room: below for room, below in left.items() if room not in free}
    return set(left)


@pytest.mark.parametrize("module", MODULES)
def test_rooms_form_no_circle(module: str) -> None:
    assert not rooms_in_a_circle({room: rooms_named_by(module, room) for room in classes_of(module)})


@pytest.mark.parametrize("module", MODULES)
def test_rooms_with_what_is_inside_form_no_circle(module: str) -> None:
    """A room with its inner rooms taken as one: what `reducers.user` names, `reducers` names."""
    assert not rooms_in_a_circle(of_module(module))


@pytest.mark.parametrize(
    ("module", "own"),
    [
        ("merge", ["java", "org.jspecify", "io.keylake.merge"]),
        ("tables", ["java", "org.jspecify", "io.keylake.merge", "io.keylake.tables", "org.apache.iceberg"]),
    ],
)
def test_java_imports_point_one_way(module: str, own: list[str]) -> None:
    for paths in classes_of(module).values():
        for path in paths:
            foreign = [name for name in imports(path) if not any(name.startswith(f"{root}.") for root in own)]
            if path.stem == "KeylakeException":  # errors have the form that Spark's clients know
                foreign.remove("org.apache.spark.SparkRuntimeException")
                foreign.remove("org.apache.spark.QueryContext")
            assert not [name for name in foreign if module == "merge" or "spark" in name], path.name


@pytest.mark.parametrize("room", ["index", "conversion"])
def test_rooms_of_a_guest_that_know_iceberg_only(room: str) -> None:
    for path in classes_of("plain_deletes")[room]:
        assert not [name for name in imports(path) if "spark" in name], path.name


@pytest.mark.parametrize("module", CORE)
def test_the_core_knows_no_guest(module: str) -> None:
    guest = re.compile(rf"\bio\.keylake\.(?:{'|'.join(map(package_of, GUESTS))})\b")
    paths = [path for paths in classes_of(module).values() for path in paths]
    assert not [path.name for path in paths if guest.search(path.read_text())]


@pytest.mark.parametrize("guest", GUESTS)
def test_a_guest_uses_what_the_core_marks_for_guests(guest: str) -> None:
    own = f"io.keylake.{package_of(guest)}."
    paths = [path for paths in classes_of(guest).values() for path in paths]
    texts = [re.sub(r'"[^"\n]*"', "", path.read_text()) for path in paths]
    named = {name for text in texts for name in re.findall(r"\bio\.keylake\.(?:[a-z]\w*\.)+[A-Z]\w*", text)}
    assert "io.keylake.spark.extension.KeylakeExtension" in named
    assert sorted(name for name in named if not name.startswith(own) and not is_marked(name)) == []


def test_marks_for_guests_are_needed() -> None:
    texts = [path.read_text() for guest in GUESTS for paths in classes_of(guest).values() for path in paths]
    for module in CORE:
        for room, paths in classes_of(module).items():
            name = ".".join(filter(None, ("io.keylake", module, room)))
            marked = [path.stem for path in paths if is_marked(f"{name}.{path.stem}")]
            assert not [each for each in marked if not any(re.search(rf"\b{each}\b", text) for text in texts)]


def is_marked(name: str) -> bool:
    """The core has the type, and says above its declaration that guests may use it."""
    module = name.split(".")[2]
    path = JAVA / module / "src/main/java" / (name.replace(".", "/") + ".java")
    return path.exists() and re.search(r"^@GuestApi$", path.read_text(), flags=re.MULTILINE) is not None


def test_internals_are_named_in_one_room() -> None:
    internal = re.compile(rf"\b(?:{'|'.join(map(re.escape, INTERNALS))})\w*\.?")
    found = {
        path.name: names
        for module in ("spark", *GUESTS)
        for room, paths in classes_of(module).items()
        if (module, room) != ("spark", "engine")
        for path in paths
        if (names := set(internal.findall(path.read_text())))
    }
    assert not found


@pytest.mark.parametrize("module", MODULES)
def test_copies_of_libraries_inside_of_iceberg_are_not_used(module: str) -> None:
    paths = [path for room in classes_of(module).values() for path in room]
    copies = ("org.apache.iceberg.relocated.", "org.apache.iceberg.shaded.")
    assert not [path.name for path in paths if any(copy in path.read_text() for copy in copies)]


@pytest.mark.parametrize("module", MODULES)
def test_nullness_is_checked_in_every_room(module: str) -> None:
    for paths in classes_of(module).values():
        package = paths[0].with_name("package-info.java")
        assert package.exists(), package
        assert "\n@NullMarked\npackage " in package.read_text(), package
