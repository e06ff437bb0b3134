"""Reads the merge cases of tests/cases/merge; the grammar stands in tests/cases/README.md."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from model.model import KeyedTable, Stamps, Versions, Written
from model.reducers import rule_of

DIRECTORY = Path(__file__).parent.parent / "cases" / "merge"
VERSIONS: dict[str, Versions] = {"explicit": "explicit", "commit": "commit", "ordering": "ordering"}


@dataclass(frozen=True)
class Expected:
    """What a read must give, after `runs` of the case's runs."""

    runs: int
    rows: dict[int, dict[str, int | None]] = field(default_factory=dict)
    stamps: dict[int, Stamps] = field(default_factory=dict)


@dataclass
class Case:
    """One merge case: its header, its runs, and the reads between them."""

    file: str
    title: str
    header: dict[str, str] = field(default_factory=dict)
    runs: list[tuple[Written, ...]] = field(default_factory=list)
    reads: list[Expected] = field(default_factory=list)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.header.get("columns", "a b").split())

    def table(self) -> KeyedTable:
        """An empty table of the case's definition."""
        reducers, groups = (dict(_pair(w) for w in self.header.get(n, "").split()) for n in ("reducers", "groups"))
        return KeyedTable(
            key=("k",),
            columns=self.columns,
            versions=VERSIONS[self.header.get("versions", "explicit")],
            ordering=self.header.get("ordering"),
            reducers={column: rule_of({"type": name}) for column, name in reducers.items()},
            groups={name: tuple(columns.split(",")) for name, columns in groups.items()},
        )

    def __str__(self) -> str:
        return f"{self.file}: {self.title}"


def read_cases() -> list[Case]:
    """Every case of every file, in order."""
    return [case for path in sorted(DIRECTORY.glob("*.txt")) for case in _parse(path)]


def _parse(path: Path) -> Iterator[Case]:
    case = Case(path.stem, "")
    for number, raw in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        line = raw.strip()
        word, colon, rest = line.partition(": ")
        if not line or line.startswith("#"):
            continue
        if word == "case" and colon:
            if case.title:
                yield case
            case = Case(path.stem, rest)
        elif word == "run" and colon:
            case.runs.append(tuple(_written(case, text) for text in rest.split(";")))
        elif word in ("columns", "versions", "ordering", "reducers", "groups") and colon and not case.runs:
            case.header[word] = rest
        elif line == "read":
            case.reads.append(Expected(len(case.runs)))
        elif line.startswith("! "):
            key, stamps = _stamps(line)
            case.reads[-1].stamps[key] = stamps
        elif line.startswith("k="):
            (_, key_text), *pairs = (_pair(text) for text in line.split())
            case.reads[-1].rows[int(key_text)] = {name: _value(text) for name, text in pairs}
        else:
            assert line == "----", f"{path.name}:{number}: {line}"
    yield case


def _written(case: Case, text: str) -> Written:
    words = text.split()
    key = int(words[0].removeprefix("k="))
    pairs = dict(_pair(word) for word in words if "=" in word[1:] and not word.startswith("k="))
    if words[-1].startswith("@"):
        version = int(words[-1][1:])
    elif case.header.get("versions") == "commit":
        version = len(case.runs) + 1
    else:
        version = int(pairs[case.header["ordering"]])
    columns: dict[str, tuple[int, object]] = {}
    for name, word in pairs.items():
        value, at, own = word.partition("@")
        columns[name] = (int(own) if at else version, _value(value))
    return Written((key,), version, "delete" in words, columns)


def _stamps(line: str) -> tuple[int, Stamps]:
    _, *words = line.split()
    found = {name: int(text) for name, text in (_pair(word) for word in words)}
    key, version = found.pop("k"), found.pop("version")
    return key, Stamps(version, found.pop("written", None), found.pop("deleted", None), found)


def _pair(word: str) -> tuple[str, str]:
    name, _, text = word.partition("=")
    return name, text


def _value(text: str) -> int | None:
    return None if text == "null" else int(text)
