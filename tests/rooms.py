"""The rooms of the code, and which of them name which.

`python tests/rooms.py` draws each part, the foundation at the bottom; `--lines` lists the lines of each room instead.
The tests of the house hold their rules by the same functions.
"""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
SDK = ROOT / "sdk"
JAVA = ROOT / "server_plugins"
DRAWINGS = SDK / "docs"
PACKAGES = ("keylake", "keylake_pipelines")
CORE = ("merge", "tables", "spark")
GUESTS = ("plain_deletes", "pipelines")  # jars of their own, which the core does without

Arrows = dict[str, set[str]]


# ------------------------------------------------------------------------------------------------------------- Python


@cache
def modules_of(package: str) -> tuple[Path, ...]:
    """The modules of a package, relative to the folder of the packages; without `__init__`."""
    paths = (SDK / package).rglob("*.py")
    return tuple(sorted(path.relative_to(SDK) for path in paths if path.name != "__init__.py"))


def room_of(module: Path) -> str:
    return module.parts[1].removesuffix(".py")


def imports(path: Path, *, for_types: bool) -> Iterator[str]:
    """What a module imports when it runs, and for type checkers if that is asked for."""
    tree = ast.parse(path.read_text())
    for_types_only = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if node in for_types_only and not for_types:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("keylake"):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "."


@cache
def own_imports(module: Path, *, for_types: bool = False) -> frozenset[Path]:
    """The modules of its package that a module imports."""
    found: set[Path] = set()
    for name in imports(SDK / module, for_types=for_types):
        parts = name.split(".") if name.startswith(f"{module.parts[0]}.") else []
        paths = (Path(*parts[:end]).with_suffix(".py") for end in range(2, len(parts) + 1))
        found.update(path for path in paths if path in modules_of(module.parts[0]))
    return frozenset(found)


def of_package(package: str) -> Arrows:
    """The rooms of a package, each with those that it imports when it runs."""
    arrows: Arrows = defaultdict(set)
    for module in modules_of(package):
        arrows[room_of(module)] |= {room_of(other) for other in own_imports(module)} - {room_of(module)}
    return arrows


# --------------------------------------------------------------------------------------------------------------- Java


def package_of(module: str) -> str:
    return module.replace("_", "")


@cache
def classes_of(module: str) -> dict[str, list[Path]]:
    """The classes of each room, by file; the room of the module's own package has no name.

    A room may have rooms inside, as `reducers.builtin`: each of them is a room of its own.
    """
    top = JAVA / module / "src/main/java/io/keylake" / package_of(module)
    rooms: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(top.rglob("[A-Z]*.java")):
        rooms[".".join(path.relative_to(top).parts[:-1])].append(path)
    return rooms


def rooms_named_by(module: str, room: str) -> set[str]:
    """The other rooms of the module whose classes this one names."""
    named = re.compile(rf"\bio\.keylake\.{package_of(module)}\.((?:[a-z]\w*\.)*)[A-Z]")
    found = {
        match.removesuffix(".")
        for path in classes_of(module)[room]
        for match in named.findall(re.sub(r'"[^"\n]*"', "", path.read_text()))
    }
    return found - {room}


def of_module(module: str) -> Arrows:
    """The rooms of a module, each with those that it names; a room with what is inside counts as one."""
    arrows: Arrows = defaultdict(set)
    for room in classes_of(module):
        outer = room.partition(".")[0]
        arrows[outer] |= {other.partition(".")[0] for other in rooms_named_by(module, room)} - {outer}
    return arrows


# ------------------------------------------------------------------------------------------------------------ drawings


def parts() -> dict[str, Arrows]:
    """What is drawn: all parts of the product, then the rooms of each."""
    whole: Arrows = {
        "keylake": set(),
        "keylake_pipelines": {"keylake"},
        "merge": set(),
        "tables": {"merge"},
        "spark": {"tables"},
        "pipelines": {"spark"},
        "plain_deletes": {"spark"},
    }
    rooms = {package: of_package(package) for package in PACKAGES}
    rooms |= {module: of_module(module) for module in (*CORE[1:], *GUESTS)}
    return {"parts": whole} | rooms


def needed(arrows: Mapping[str, set[str]]) -> Arrows:
    """The arrows without those that say no more than others do on the way."""
    reached: Arrows = {}

    def below(room: str) -> set[str]:
        if room not in reached:
            reached[room] = set().union(*({each} | below(each) for each in arrows.get(room, ())))
        return reached[room]

    return {room: {each for each in of if not any(each in below(other) for other in of)} for room, of in arrows.items()}


def drawing(arrows: Mapping[str, set[str]]) -> str:
    """The rooms as boxes in rows: each stands above all that it names."""
    rows: dict[str, int] = {}

    def row_of(room: str) -> int:
        if room not in rows:
            rows[room] = 1 + max((row_of(each) for each in arrows.get(room, ())), default=-1)
        return rows[room]

    shown = {room or "(top)": {each or "(top)" for each in of} for room, of in arrows.items()}
    arrows = needed(shown)
    lines = [sorted(room for room in arrows if row_of(room) == row) for row in range(max(map(row_of, arrows)) + 1)]
    wide = {room: 7 * len(room) + 20 for room in arrows}
    width = max(sum(wide[room] + 24 for room in line) for line in lines) + 24
    height = 70 * len(lines) + 10
    middle: dict[str, tuple[float, float]] = {}
    for row, line in enumerate(lines):  # beneath each other as far as that goes
        line.sort(key=lambda room: sum(middle[each][0] for each in arrows[room]) / (len(arrows[room]) or 1))
        left = (width - sum(wide[room] + 24 for room in line)) / 2 + 12
        for room in line:
            middle[room] = (left + wide[room] / 2, height - 70 * row - 40)
            left += wide[room] + 24
    drawn = []
    for upper, lower in sorted((room, each) for room, of in arrows.items() for each in of):
        (x, y), (below_x, below_y) = middle[upper], middle[lower]
        drawn.append(
            f'<path d="M{x:.0f} {y + 15:.0f} L{below_x:.0f} {below_y - 17:.0f}" fill="none" stroke="#8a94a6" '
            'marker-end="url(#tip)"/>'
        )
    for room, (x, y) in sorted(middle.items()):
        drawn.append(
            f'<rect x="{x - wide[room] / 2:.0f}" y="{y - 15:.0f}" width="{wide[room]}" height="30" rx="6" '
            f'fill="#eef2f8" stroke="#41577f"/><text x="{x:.0f}" y="{y + 4:.0f}">{escape(room)}</text>'
        )
    tip = (
        '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="6" refY="3" orient="auto">'
        '<path d="M0 0 L6 3 L0 6 z" fill="#8a94a6"/></marker></defs>'
    )
    style = "<style>text{font:12px ui-monospace,monospace;text-anchor:middle;fill:#16233d}</style>"
    begin = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}">'
    return "\n".join([begin, style, tip, *drawn, "</svg>", ""])


def lines() -> Iterator[tuple[str, str, int]]:
    """The part, the room and the lines of each room."""
    for package in PACKAGES:
        counted: dict[str, int] = defaultdict(int)
        for module in modules_of(package):
            counted[room_of(module)] += (SDK / module).read_text().count("\n")
        yield from ((package, room, count) for room, count in counted.items())
    for module in (*CORE, *GUESTS):
        for room, paths in classes_of(module).items():
            yield module, room, sum(path.read_text().count("\n") for path in paths)


def main() -> None:
    if "--lines" in sys.argv:
        for part, room, count in lines():
            sys.stdout.write(f"{count:7,}  {part}  {room}\n")
        return
    for part, arrows in parts().items():
        (DRAWINGS / f"rooms_{part}.svg").write_text(drawing(arrows))


if __name__ == "__main__":
    main()
