"""The page of what is tried has the numbers of the tests."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLUGINS = ROOT / "server_plugins"
(NIGHT,) = (int(runs) for runs in re.findall(r"-Dkeylake\.runs=(\d{2,})", (ROOT / "Makefile").read_text()))
ROW = re.compile(r"^\| (?!what |-)([^|]+) \| ([\d,]+) \| ([\d,]+) \|", flags=re.MULTILINE)
STATED = {
    name: tuple(int(number.replace(",", "")) for number in numbers)
    for name, *numbers in ROW.findall((ROOT / "sdk/docs/trust.md").read_text())
}


def java(name: str) -> str:
    (file,) = PLUGINS.glob(f"*/src/test/java/**/{name}.java")
    return file.read_text()


def in_enum(text: str) -> int:
    """How many members an enum has, by its text up to what it says beside them."""
    members = re.findall(r"^    ([A-Z]+)\b(?:\(|,|$|;)", text, flags=re.MULTILINE)
    return len(members)


def seeds(text: str) -> tuple[int, int]:
    """The seeds that tests have in every run, and at night."""
    found = re.findall(r"\bseeds\((?:few=)?(\d+), (?:many=)?(\d+)\)", text)
    few, many = (sum(int(each[at]) for each in found) for at in (0, 1))
    return few, few + many


def python(name: str) -> str:
    (file,) = (ROOT / "tests" / "integration").glob(f"*/{name}.py")
    return file.read_text()


def constant(text: str, name: str) -> int:
    (number,) = re.findall(rf"^{name} = (\d+)", text, flags=re.MULTILINE)
    return int(number)


def each_seed(text: str, times: int) -> tuple[int, int]:
    few, night = seeds(text)
    return few * times, night * times


def of_test(text: str, name: str) -> str:
    """The decorator of a test."""
    return str(re.findall(rf"@pytest[^@]*?def {name}\(", text)[0])


def random_runs(name: str, each: str) -> tuple[int, int]:
    text = java(name)
    (runs,) = re.findall(r"RandomRuns\.of\(\s*(\d+),", text)
    (times,) = re.findall(rf"int {each} = (\d+);", text)
    return int(runs) * int(times), int(runs) * int(times) * NIGHT


def simulated() -> tuple[int, int]:
    numbers = re.findall(r"SEEDS = TIMES > 3 \? ([\d_]+) : TIMES > 1 \? 400 : ([\d_]+)", java("SimulatorTest"))
    ((night, quick),) = numbers
    return int(quick), int(night) * NIGHT


SERVER = "\n".join(path.read_text() for path in sorted((ROOT / "tests").rglob("test_*.py")) if path != Path(__file__))
KINDS = in_enum(java("Operation").partition("enum Kind")[2].partition("private")[0])
FAULTS = in_enum(java("Event").partition("enum What")[2].partition("  }\n")[0]) - 1  # TO is no fault
MUTANTS = len(re.findall(r"^- ", (ROOT / "tests/cases/mutants.txt").read_text(), flags=re.MULTILINE))
CASES = sum(len(re.findall(r"^----", path.read_text(), re.MULTILINE)) for path in (ROOT / "tests/cases").rglob("*.txt"))
FILES, CHECKS = map(python, ("test_hostile_files", "test_hostile_checks"))
CALLS, MATRIX = map(python, ("test_hostile_calls", "test_damage_matrix"))


def of_inputs(text: str, names: str) -> tuple[int, int]:
    """The inputs that a test has in every run, and at night, by the names of its numbers."""
    ((quick, night),) = re.findall(rf"^{names} = (\d+), (\d+)", text, flags=re.MULTILINE)
    return int(quick), int(night)


def kinds(name: str) -> int:
    """How many members a mapping of the matrix has."""
    return len(re.findall(r'^    "', MATRIX.partition(f"\n{name}: dict")[2].partition("\n}")[0], flags=re.MULTILINE))


DAMAGE = MATRIX.partition("\nQUICK = {")[2].partition("}")[0].count("("), kinds("DAMAGE") * kinds("VERBS")
TRIED = {
    "simulated runs": simulated(),
    "kinds of operations": (KINDS, KINDS),
    "kinds of faults": (FAULTS, FAULTS),
    "faults put into": (0, MUTANTS),
    "seeds of random": seeds(SERVER),
    "cases as text": (CASES, CASES),
    "changed files of a table that are read": of_inputs(FILES, "QUICK, NIGHTLY, AT_ONCE"),
    "changed files of a table that a server": of_inputs(CHECKS, "QUICK, NIGHTLY, AT_ONCE"),
    "changed Parquet files": of_inputs(FILES, "QUICK_REGISTERED, NIGHTLY_REGISTERED, REGISTERED_AT_ONCE"),
    "calls of procedures": each_seed(of_test(CALLS, "test_hostile_arguments_of_procedures"), constant(CALLS, "CALLS")),
    "calls of verbs": each_seed(of_test(CALLS, "test_hostile_arguments_of_verbs"), 100),
    "messages of topics": random_runs("HostileMessagesTest", "MESSAGES"),
    "rows of pipelines": random_runs("HostileRowsTest", "ROWS"),
    "kinds of damage": DAMAGE,
}


@pytest.mark.parametrize("stated", STATED)
def test_a_number_of_what_is_tried_is_that_of_the_tests(stated: str) -> None:
    (meant,) = [numbers for name, numbers in TRIED.items() if stated.startswith(name)]
    assert STATED[stated] == meant


def test_each_kind_of_trial_has_a_line() -> None:
    assert len(STATED) == len(TRIED)
