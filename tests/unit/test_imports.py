"""What an import costs is what it needs: rooms that few use are imported when a name of theirs is used."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import keylake as kl
from keylake import local
from keylake.extension import extensions

NAMES = Path(kl.__file__).with_name("_public.py")


def modules_after(code: str) -> set[str]:
    ran = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(ran.stdout.split())


def test_extensions_are_imported_when_they_are_used() -> None:
    assert not {name for name in modules_after("import keylake") if name.startswith("keylake_pipelines.")}
    assert "keylake_pipelines.definition.pipeline" in modules_after("import keylake\nkeylake.Pipeline")


def test_names_are_imported_with_the_first_that_is_asked_for() -> None:
    """Modules of the package are found without them, also by `from keylake import`."""
    assert not {name for name in modules_after("import keylake") if name.startswith("keylake.")}
    assert "keylake.table" not in modules_after("from keylake import errors\nimport keylake\nkeylake.errors.BadRows")
    assert "keylake.table" in modules_after("import keylake\nkeylake.connect")


def test_commands_import_no_verbs_of_tables() -> None:
    """`keylake get` of a directory needs neither a session's verbs nor joins."""
    assert not {"keylake.lake", "keylake._joins.joins", "keylake_pipelines.pipeline.retyping"} & modules_after(
        "import keylake.cli.app\nimport keylake.local"
    )


def test_the_lake_of_a_directory_is_read_without_pandas_and_spark() -> None:
    code = "import keylake.local\nfrom keylake.local.disk import Disk"
    assert not {"pandas", "sqlalchemy", "pyspark.sql.connect.session", "pyiceberg.io.pyarrow"} & modules_after(code)


class _Colour(kl.Table, name="shop.colours", buckets=2):
    name: str = kl.key()
    code: int | None


@pytest.mark.parametrize("typed", [["get", "shop.colours", "red"], ["tables"]], ids=["get", "tables"])
def test_a_command_reads_a_directory_without_pandas(tmp_path: Path, typed: list[str]) -> None:
    """Of the packages that take long to import, what lists tables needs SQLAlchemy, and a look-up none."""
    local.create(_Colour, tmp_path).upsert([{"name": "red", "code": 7}])
    words = ["keylake", *typed, "--lake", str(tmp_path), "--json"]
    code = f"import sys\nsys.argv = {words}\nfrom keylake.cli.app import main\ntry: main()\nexcept SystemExit: print()"
    modules = modules_after(code)
    assert {"keylake.local.table", "pyarrow.lib"} <= modules
    assert "pandas" not in modules
    assert ("sqlalchemy" in modules) == (typed == ["tables"])


def test_pandas_is_there_after_a_command_has_done_without_it() -> None:
    """Arrow has looked for it in vain, and takes and gives its frames all the same."""
    code = """
from keylake.cli.without_pandas import without_pandas
with without_pandas():
    import pyarrow as pa
    pa.array([1]).to_numpy()
import sys
assert "pandas" not in sys.modules
import pandas as pd
frame = pa.Table.from_pandas(pd.DataFrame({"at": [pd.NaT, pd.Timestamp("2026-01-01")]})).to_pandas()
assert frame["at"].isna().tolist() == [True, False]
assert pa.array(pd.Series([1.0, None])).null_count == 1
"""
    assert "pandas" in modules_after(code)


def test_names_that_come_late_are_those_that_checkers_see() -> None:
    """The names under TYPE_CHECKING, with their modules, are those that are looked up."""
    tree = ast.parse(NAMES.read_text())
    seen = {
        alias.name: node.module
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == {name: module for each in extensions() for name, module in each.names.items()}
    assert set(dir(kl)) >= set(kl.__all__)
    assert all(getattr(kl, name) is not None for name in kl.__all__)


def test_a_clone_on_the_path_has_its_extension(monkeypatch: pytest.MonkeyPatch) -> None:
    extensions.cache_clear()
    monkeypatch.setattr("keylake.extension.entry_points", lambda group: ())
    try:
        assert [each.commands for each in extensions()] == ["keylake_pipelines.cli.commands"]
    finally:
        extensions.cache_clear()
