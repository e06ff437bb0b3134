"""The documents, each rule a test: links lead somewhere, and the reference has every public name."""

import json
import re
from functools import cache
from pathlib import Path

import pytest

import keylake
import keylake.local
import rooms
from keylake import errors

ROOT = Path(__file__).parents[1]
DOCUMENTS = ROOT / "sdk" / "docs"
PAGES = tuple(
    str(path.relative_to(ROOT))
    for path in sorted(ROOT.rglob("*.md"))
    if not any(part.startswith(".") or part in {"target", "dist"} for part in path.relative_to(ROOT).parts)
)
CODE = re.compile(r"^(`{3,}).*?^\1|``.+?``|`[^`\n]*`", flags=re.MULTILINE | re.DOTALL)


@cache
def prose(page: Path) -> str:
    """A page without what is written as code."""
    return CODE.sub("", page.read_text())


@cache
def anchors(page: Path) -> frozenset[str]:
    """Where a link into a page can lead: its headings, as forges and the site name them."""
    blocks = re.compile(r"^(`{3,}).*?^\1", flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ +(.+)$", blocks.sub("", page.read_text()), flags=re.MULTILINE)
    return frozenset(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings)


def leads_somewhere(page: Path, link: str) -> bool:
    if link.startswith(("http://", "https://")):
        return re.fullmatch(r"https://[\w.-]+(/[\w./#?=&%~+-]*)?", link) is not None
    target, _, anchor = link.partition("#")
    path = (page.parent / target) if target else page
    return path.exists() and (not anchor or anchor in anchors(path.resolve()))


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    path = (ROOT / page).resolve()
    links = re.findall(r"\]\(([^)\s]+)\)", prose(path))
    assert not [link for link in links if not leads_somewhere(path, link)]


@pytest.mark.parametrize("page", PAGES)
def test_paths_that_are_named_are_there(page: str) -> None:
    named = re.findall(r"`((?:sdk|tests|server_plugins|examples)/[\w./-]+?)`", (ROOT / page).read_text())
    assert not [path for path in named if not any(ROOT.glob(path.replace("/.../", "/**/")))]


def test_commands_name_tests_that_are_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    files = re.findall(r"pytest \"?((?:sdk|tests)/[\w/]+\.py)", text)
    classes = re.findall(r"-Dtest=(\w+)", text)
    assert files
    assert classes
    assert not [path for path in files if not (ROOT / path).exists()]
    assert not [name for name in classes if not any(ROOT.glob(f"server_plugins/*/src/test/java/**/{name}.java"))]


def test_an_index_names_every_page() -> None:
    for index in DOCUMENTS.rglob("index.md"):
        linked = {(index.parent / link).resolve() for link in re.findall(r"\]\(([\w./]+\.md)\)", prose(index))}
        assert not [page.name for page in index.parent.glob("*.md") if page != index and page not in linked]


def test_only_pages_drawings_and_the_configuration_lie_there() -> None:
    here = {path for path in DOCUMENTS.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    others = {path.name for path in here if path.suffix not in {".md", ".svg"}}
    assert others == {"conf.py", "requirements.lock", "pipeline.schema.json"}


def test_the_reference_has_every_public_name() -> None:
    public = {f"keylake.{name}" for name in keylake.__all__}
    public |= {f"keylake.local.{name}" for name in keylake.local.__all__}
    pages = "".join(page.read_text() for page in (DOCUMENTS / "reference").glob("*.md"))
    named = re.findall(r"^\.\. auto(?:class|data|exception|function):: (\S+)$", pages, flags=re.MULTILINE)
    assert sorted(set(named)) == sorted(named), "a name is described once"
    assert public - set(named) == set()


def test_the_page_of_errors_has_each_with_its_condition_and_state() -> None:
    page = (DOCUMENTS / "troubleshooting.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \|([^|]*)\|", page, flags=re.MULTILINE))
    classes = [
        each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, errors.KeylakeError)
    ]
    kinds = {each.__name__ for each in classes}
    assert rows.keys() == kinds - {"KeylakeError"}
    for line in (ROOT / "tests/public/conditions.txt").read_text().splitlines():
        condition, state, kind = line.split()
        assert rows[kind].strip() == f"`{condition}`, `{state}`"


def test_what_is_written_by_hand_is_there() -> None:
    section = (ROOT / "CONTRIBUTING.md").read_text().partition("## Written by hand")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")][1:]
    assert not [row for row in rows if len(row) != 3]
    sources = [
        ROOT / "sdk/keylake",
        ROOT / "sdk/keylake_pipelines",
        *ROOT.glob("server_plugins/*/src/main/java/io/keylake"),
    ]
    modules = {path.relative_to(source) for source in sources for path in source.rglob("*")}
    known = {str(path.with_suffix("")) for path in modules} | {path.stem for path in modules}
    text = "".join(path.read_text() for path in (ROOT / "sdk").rglob("*.py"))
    named = [name for row in rows for name in re.findall(r"`([^` ]+)`", row[0])]
    assert len(named) > 30
    assert not [name for name in named if name not in known and not re.search(rf"\b{re.escape(name)}\b", text)]


def test_the_tour_names_classes_and_methods_that_are_there() -> None:
    """The tour is what stands before the glossary. A class is known by a name with capitals, such as `KeyedTable`."""
    tour = (ROOT / "sdk/README.md").read_text().partition("\n## Words")[0]
    named = set(re.findall(r"\b((?:[A-Z][a-z]+){2,}|Session|Section|Sieve|Commits)(?:\.(\w+))?\b", tour))
    named -= {("ColumnarBatch", "")}  # of Spark
    texts = {path.stem: path.read_text() for path in ROOT.glob("server_plugins/*/src/main/java/**/*.java")}
    for path in (ROOT / "sdk/keylake").rglob("*.py"):
        for name in re.findall(r"^class (\w+)", path.read_text(), flags=re.MULTILINE):
            texts[name] = texts.get(name, "") + path.read_text()
    assert len(named) > 40
    assert not [
        f"{name}.{method}"
        for name, method in named
        if name not in texts or (method and not re.search(rf"\b{method}\(", texts[name]))
    ]


def test_every_missed_target_is_told() -> None:
    told = (DOCUMENTS / "missed_targets.md").read_text()
    results = [json.loads(path.read_text()) for path in (ROOT / "tests/benchmarks/results").glob("*.json")]
    missed = {result["benchmark"] for result in results if any(each["met"] is False for each in result["figures"])}
    assert not [name for name in missed if f"`NAME={name}`" not in told]


@pytest.mark.parametrize("part", rooms.parts())
def test_rooms_are_drawn_as_they_are(part: str) -> None:
    drawn = (DOCUMENTS / f"rooms_{part}.svg").read_text()
    assert drawn == rooms.drawing(rooms.parts()[part]), "run `make rooms`"


# Names that no table or commit keeps: of plans, of options, and of a process.
NOT_STORED = {"bucket_of", "buckets", "by_bucket", "key_range", "reducers.worker", "said", "source", "tasks"}


def test_the_format_names_what_is_stored() -> None:
    """Properties of tables and of summaries of snapshots, which Java and Python both write."""
    literal = re.compile(r'"keylake\.([a-z_.-]+)"')
    java = {name for path in rooms.JAVA.glob("*/src/main/java/**/*.java") for name in literal.findall(path.read_text())}
    python = {name for path in rooms.SDK.glob("keylake/**/names.py") for name in literal.findall(path.read_text())}
    assert java >= NOT_STORED
    families = tuple(name for name in java if name.endswith("."))
    known = {name for name in python if name.startswith(families) or any(each.startswith(name) for each in java)}
    assert known == python, "the server has other names"
    specified = (DOCUMENTS / "format.md").read_text()
    assert not [name for name in sorted(java - NOT_STORED) if f"keylake.{name}" not in specified]
