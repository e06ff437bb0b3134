"""Commands that sentences of pipelines name: each exists, with as many arguments, and a test runs it.

A command is found in the texts of the sources: `keylake WORD`, and the values that are put in behind it.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from keylake.cli.app import app

ROOT = Path(__file__).parents[3]
GUEST = ROOT / "sdk" / "keylake_pipelines"
PIPELINES = "tests/pipelines/"
# What a sentence names, by its file: the tests that are there when it is said, and do it.
RUN_BY = {
    ("mysql/known.py", "resnapshot"): "mariadb/test_ways_on.py::test_a_table_that_a_session_of_statements_made",
    # No healthy server writes an event that cannot be read: the same command goes on where the log is gone.
    ("mysql/log.py", "resnapshot"): "mariadb/test_ways_on.py::test_a_log_that_is_gone",
    ("mysql/maps.py", "resnapshot"): "mariadb/test_groups_of_events.py::test_rows_without_the_names_of_columns",
    ("mysql/server.py", "resnapshot"): "mariadb/test_ways_on.py::test_a_log_that_is_gone",
    ("pipeline/checking.py", "resnapshot"): "checks/test_checks.py::test_rows_that_were_changed_by_hand",
    ("pipeline/checking.py", "resume"): "test_processes.py::test_a_pipeline_that_runs_is_asked_for_this_and_that",
    ("pipeline/retyping.py", "stop"): "test_processes.py::test_a_pipeline_that_runs_is_asked_for_this_and_that",
    ("postgres/publications.py", "resnapshot"): "postgres/test_postgres_unlogged.py::test_a_publication_that_is_gone",
    ("postgres/rows.py", "resnapshot"): "postgres/test_postgres_unlogged.py::test_values_that_no_column_holds",
    ("postgres/slots.py", "resnapshot"): "test_unlogged.py::test_a_slot_that_is_gone",
    ("runner/asides.py", "forget"): "mariadb/test_between_runs.py::test_tables_that_go",
    ("runner/asides.py", "resume"): "kafka/test_other_kinds.py::test_a_fraction_in_whole_numbers",
    ("runner/asides.py", "resnapshot"): "mariadb/test_ways_on.py::test_types_and_keys_that_iceberg_does_not_change",
    ("runner/changes.py", "resnapshot"): "mariadb/test_ways_on.py::test_types_and_keys_that_iceberg_does_not_change",
    (
        "runner/evolution.py",
        "resnapshot",
    ): "mariadb/test_ways_on.py::test_types_and_keys_that_iceberg_does_not_change",
    ("runner/evolution.py", "retype"): "kafka/test_other_kinds.py::test_a_fraction_in_whole_numbers",
    ("runner/life.py", "stop"): "test_processes.py::test_a_pipeline_that_runs_is_asked_for_this_and_that",
    ("runner/rereads.py", "resume"): "kafka/test_other_kinds.py::test_kinds_in_files",
    ("runner/state.py", "status"): "test_processes.py::test_a_pipeline_that_runs_is_asked_for_this_and_that",
    ("runner/targets.py", "resnapshot"): "test_table_changes.py::test_a_table_that_is_made_anew_with_another_key",
}


def texts(file: Path) -> Iterator[str]:
    """The texts of a source, without docstrings; a value that is put in is {}."""
    if file.suffix == ".java":
        for found in re.findall(r'"(?:[^"\\]|\\.)*"(?:\s*\+\s*"(?:[^"\\]|\\.)*")*', file.read_text()):
            yield re.sub(r'"\s*\+\s*"', "", found).replace("%s", "{}")
        return
    tree = ast.parse(file.read_text())
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare | inside:
            yield node.value


def named() -> list[tuple[str, str, int]]:
    """The file, the command, and how many values stand behind it."""
    java = ROOT / "server_plugins" / "pipelines" / "src" / "main" / "java"
    files = [file for file in sorted(GUEST.rglob("*.py")) if file.parent != GUEST and file.parent.name != "cli"]
    files += sorted(java.rglob("*.java"))
    found: list[tuple[str, str, int]] = []
    for file in files:
        for text in texts(file):
            for word, values in re.findall(r"(?<![\w\"'.])keylake ([a-z]+(?:-[a-z]+)?)((?: (?:\{\})+)*)", text):
                found.append((f"{file.parent.name}/{file.name}", word, values.count(" ")))
    threads = {("pipeline/periodic.py", "check", 0), ("runner/signs.py", "signs", 0)}  # their names
    return sorted(set(found) - threads)


NAMED = named()


def test_commands_are_found() -> None:
    assert ("runner/asides.py", "resume", 2) in NAMED
    assert {word for _, word, _ in NAMED} >= {"resume", "resnapshot", "retype", "stop", "status"}


@pytest.mark.parametrize(("file", "word", "values"), NAMED)
def test_each_command_is_there_with_its_arguments(file: str, word: str, values: int) -> None:
    commands = getattr(get_command(app), "commands")  # noqa: B009
    assert word in commands, f"{file} names keylake {word}, which is no command"
    arguments = [each for each in commands[word].params if each.param_type_name == "argument"]
    needed = sum(each.required for each in arguments)
    assert values == 0 or needed <= values <= len(arguments), f"{file}: keylake {word} takes {needed} arguments"
    assert CliRunner().invoke(app, [word, "--help"]).exit_code == 0


@pytest.mark.parametrize(("file", "word"), sorted({(file, word) for file, word, _ in NAMED}))
def test_each_command_is_run_by_a_test(file: str, word: str) -> None:
    assert (file, word) in RUN_BY, f"{file} names keylake {word}: which test runs it where the sentence is said?"
    where, _, name = RUN_BY[file, word].partition("::")
    tree = ast.parse((ROOT / PIPELINES / where).read_text())
    [test] = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
    assert word in ast.unparse(test), f"{name} does not run keylake {word}"


def test_no_test_is_named_for_nothing() -> None:
    assert not RUN_BY.keys() - {(file, word) for file, word, _ in NAMED}
