"""The rules of the house, each a test: what lies where, who may import whom, and what no file may say."""

import ast
import re
import subprocess
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks import figures

MOST_LINES = 400  # of code
ROOT = Path(__file__).parents[1]
JAVA = ROOT / "server_plugins"

MADE_BY_BUILDS = {
    ".git",
    ".venv",
    ".build",
    "target",
    "jars",
    "dist",
    "lake",
    "out",
    "spark-warehouse",
    "__pycache__",
}
ROOMS = {
    ".": {
        "pyproject.toml",
        "sdk",
        "server_plugins",
        "examples",
        "tests",
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "Makefile",
    },
    "sdk": {"docs", "keylake", "keylake_pipelines", "README.md", "requirements.lock"},
    "server_plugins": {"merge", "tables", "spark", "pipelines", "plain_deletes", "release", "conformance"}
    | {"pom.xml", "mvnw", "pyproject.toml", "wheel_of_jars.py", "NOTICE"},
    "tests": {
        "cases",
        "public",
        "unit",
        "model",
        "integration",
        "pipelines",
        "deletes",
        "benchmarks",
        "conftest.py",
        "rooms.py",
        "coverage_of_rooms.py",
    }
    | {"test_house.py", "test_house_documents.py", "test_house_java.py", "test_house_python.py"},
}

# Tests on a server lie in these; helpers that several of them use lie beside them.
ROOMS_OF_TESTS = {
    "writing",
    "streams",
    "checks",
    "statements",
    "reading",
    "layout",
    "time",
    "log",
    "lateness",
    "quarantine",
    "branches",
    "serving",
    "faults",
    "damage",
    "packaging",
    "schema",
    "access",
    "clients",
    "catalogs",
    "rest",
    "golden",
    "reducers",
    "notebooks",
    "documents",
}


def is_written_by_hand(path: Path) -> bool:
    return not any(
        part in MADE_BY_BUILDS or part.endswith("_cache") or part == ".hypothesis"
        for part in path.relative_to(ROOT).parts
    )


@cache
def files(*endings: str) -> tuple[Path, ...]:
    def walk(folder: Path) -> Iterator[Path]:
        for path in sorted(folder.iterdir()):
            if is_written_by_hand(path):
                yield from walk(path) if path.is_dir() else [path]

    return tuple(path for path in walk(ROOT) if not endings or path.suffix in endings)


def pom(folder: Path) -> dict[str, str]:
    properties = ElementTree.parse(folder / "pom.xml").getroot().find("{*}properties")
    return {} if properties is None else {re.sub("{.*}", "", each.tag): each.text or "" for each in properties}


PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCKED = dict(
    re.findall(r"^([a-z0-9-]+)(?:\[.*\])?==(\S+)", (ROOT / "sdk/requirements.lock").read_text(), flags=re.MULTILINE)
)


# ------------------------------------------------------------------------------------------------------ what lies where


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_holds_what_the_house_names(room: str) -> None:
    here = {path.name for path in (ROOT / room).iterdir() if is_written_by_hand(path) and not path.name.startswith(".")}
    assert here <= ROOMS[room], f"{sorted(here - ROOMS[room])} in {room}: put it into a room, or name it in the house"


def test_every_test_on_a_server_lies_in_a_room() -> None:
    sizes = Counter(path.parent.name for path in (ROOT / "tests/integration").rglob("test_*.py"))
    assert sizes.keys() <= ROOMS_OF_TESTS
    assert not {room: size for room, size in sizes.items() if size > 20}


def test_every_test_has_a_name_of_its_own() -> None:
    """A name says what is tested, also where a list of failures shows nothing else."""
    texts = [path.read_text() for path in (ROOT / "tests").rglob("test_*.py")]
    named = Counter(name for text in texts for name in re.findall(r"^def (test_\w+)\(", text, flags=re.MULTILINE))
    assert not [name for name, times in named.items() if times > 1]


def test_no_test_is_imported_by_another() -> None:
    """What several of them use lies beside them, so that a test can be changed without a look at the others."""
    imported = re.compile(r"^ *(?:from|import) .*\btest_\w+", flags=re.MULTILINE)
    found = {str(path.relative_to(ROOT)): imported.findall(path.read_text()) for path in (ROOT / "tests").rglob("*.py")}
    assert not {path: lines for path, lines in found.items() if lines}


def test_a_shared_thing_has_a_noun() -> None:
    vague = re.compile(r"\b(utils?|common|helpers?|misc)\b", re.IGNORECASE)
    named = [
        path
        for path in files()
        if vague.search(" ".join(path.relative_to(ROOT).parts).replace("_", " ").replace(".", " "))
    ]
    assert not named, "give it a noun, or leave it with its owner"


def lines_of_code(path: Path) -> int:
    """The lines of a file without those of its comments and docstrings.

    Code is what makes a file hard to hold in one's head. If explanations counted, too, the way to name one more error
    of a verb would be to cut its class in two, or to leave the error out.
    """
    text = path.read_text()
    return text.count("\n") - (explained_in_java(text) if path.suffix == ".java" else explained_in_python(text))


def explained_in_python(text: str) -> int:
    """How many lines are in docstrings, or have a comment alone."""
    explained = {
        token.start[0]
        for token in tokenize.generate_tokens(StringIO(text).readline)
        if token.type == tokenize.COMMENT and token.line.lstrip().startswith("#")
    }
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            explained.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(explained)


def explained_in_java(text: str) -> int:
    """How many lines have nothing but a comment or a part of one."""
    literal_or_comment = re.compile(r'("(?:\\.|[^"\\\n])*")|/\*.*?\*/|//[^\n]*', flags=re.DOTALL)
    marked = literal_or_comment.sub(lambda found: found[1] or "\n".join("\0" * (found[0].count("\n") + 1)), text)
    return sum(set(line.strip()) == {"\0"} for line in marked.split("\n"))


def test_a_file_is_read_in_one_go() -> None:
    long = [path for path in files(".py", ".java") if path.read_text().count("\n") > MOST_LINES]
    assert not {str(path.relative_to(ROOT)): lines for path in long if (lines := lines_of_code(path)) > MOST_LINES}


def test_lines_that_explain_are_not_counted(tmp_path: Path) -> None:
    python, java = tmp_path / "a.py", tmp_path / "A.java"
    python.write_text('"""What it is.\n\nMore.\n"""\n\n# why\nname = """one\n# two\n"""  # three\n')
    java.write_text('/**\n * What it is.\n */\nclass A {\n  // why\n\n  String url = "http://a/*"; // which\n}\n')
    assert lines_of_code(python) == 4
    assert lines_of_code(java) == 4


# A comment that begins so is a fragment, such as "Of delete files." and "Null for main.", or has its subject last.
WITHOUT_SUBJECT = re.compile(
    r"(?:After|Also|As|At|Before|By|Empty|False|For|From|In|It|None|Not|Null|Of|So|That|They|Those|To|True|Until|With|Without)\b"
)
# A question has no subject either. What is true or false is described by the sentence that holds where it is true.
QUESTION = re.compile(r"(?:How|What|When|Where|Whether|Which|Why)\b")


@pytest.mark.parametrize("module", ["merge", "tables", "spark", "pipelines", "plain_deletes"])
def test_a_comment_in_java_begins_with_its_subject(module: str) -> None:
    found = []
    for path in files(".java"):
        if path.is_relative_to(JAVA / module / "src/main"):
            texts = re.findall(r"^ */\*\*\s+(?:\* )?(.*)", path.read_text(), flags=re.MULTILINE)
            found += [f"{path.name}: {text}" for text in texts if WITHOUT_SUBJECT.match(text) or QUESTION.match(text)]
    assert not found


def test_a_docstring_begins_with_its_subject() -> None:
    found = []
    for path in files(".py"):
        if path.is_relative_to(ROOT / "sdk"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                    text = ast.get_docstring(node) or ""
                    if WITHOUT_SUBJECT.match(text) or QUESTION.match(text):
                        found.append(f"{path.name}: {text.splitlines()[0]}")
    assert not found


def test_the_readme_is_short() -> None:
    assert (ROOT / "README.md").read_text().count("\n") <= 90


def test_the_page_of_figures_is_generated_from_the_results() -> None:
    assert (ROOT / "sdk/docs/figures.md").read_text() == figures.page(), "run `make figures`"


# -------------------------------------------------------------------------------------------------- who may import whom


# ------------------------------------------------------------------------------------------------- what no file may say

UNSAID = {
    "a path of one machine": r"(?<![\w.:])/(?:work|root|home/\w+|Users/\w+)/",
    "a host of a package registry": r"pypi\.org|pythonhosted\.org|repo1?\.maven\.|registry\.npmjs",
    "the number of a task": r"\b[Ii]ssue #?\d",
    "the virtual machine behind a session": r"\._jv[m]\b",
}
# Maven has to come from somewhere: the standard file of its wrapper says it in its one line.
MAY_SAY = {JAVA / ".mvn/wrapper/maven-wrapper.properties"}


@pytest.mark.parametrize("what", UNSAID)
def test_no_file_says(what: str) -> None:
    said = re.compile(UNSAID[what])
    packed = {".png", ".jar", ".parquet", ".avro", ".xz"}
    texts = [path for path in files() if path not in MAY_SAY and path.suffix not in packed]
    found = [f"{path.relative_to(ROOT)}: {match.group()}" for path in texts if (match := said.search(path.read_text()))]
    assert not found


# --------------------------------------------------------------------------------------------------- numbers that agree


def test_one_version() -> None:
    assert (
        PYPROJECT["project"]["version"] == pom(JAVA)["revision"] == version("keylake") == version("keylake-pipelines")
    )


def test_the_plugin_is_compiled_for_the_spark_that_is_installed() -> None:
    assert LOCKED["pyspark"] == pom(JAVA)["spark.version"]


def test_every_package_we_ask_for_is_locked() -> None:
    pipelines = tomllib.loads((ROOT / "sdk/keylake_pipelines/pyproject.toml").read_text())["project"]["dependencies"]
    asked = [
        *PYPROJECT["project"]["dependencies"],
        *[each for each in pipelines if not each.startswith("keylake==")],
        *PYPROJECT["dependency-groups"]["dev"],
        *PYPROJECT["build-system"]["requires"],
    ]
    assert {re.split(r"[^\w-]", each)[0] for each in asked} <= LOCKED.keys()
    for_site = (ROOT / "sdk/docs/requirements.lock").read_text()
    assert all(
        f"\n{re.split(r'[^a-z-]', each)[0]}==" in f"\n{for_site}" for each in PYPROJECT["dependency-groups"]["site"]
    )


def test_the_checks_of_a_change_are_bounded() -> None:
    """They only end what hangs; a machine that is busy with others may take twice as long as an idle one."""
    minutes = re.findall(r"^step (\d+) ", (ROOT / ".ci/run").read_text(), flags=re.MULTILINE)
    assert 0 < sum(map(int, minutes)) < 85


def test_a_part_of_the_tests_that_is_none_is_refused() -> None:
    tried = subprocess.run(["make", "--dry-run", "test", "PART=cores"], cwd=ROOT, capture_output=True, text=True)
    assert "PART=cores is no part: core, pipelines or deletes" in tried.stderr
