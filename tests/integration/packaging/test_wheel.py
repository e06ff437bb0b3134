"""The wheels are enough: empty environments with the client alone, with Spark's client, and with a server."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pyarrow as pa
import pytest

import keylake as kl
from integration.twin import fresh_name

ROOT = Path(__file__).parents[3]
# All other tests run on this one.
OTHER_PYTHONS = [f"3.{minor}" for minor in (10, 11, 12, 13) if minor != sys.version_info.minor]
OLDEST_AND_NEWEST = (OTHER_PYTHONS[0], OTHER_PYTHONS[-1])
EVERY_VERB = Path(__file__).with_name("every_verb.py")
BUILD = ["pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]


_OF_TESTS = ("KEYLAKE", "PYTHON", "SPARK", "PYTEST")


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Runs `command` as a newcomer would: without the variables that this test session may have set."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OF_TESTS)}
    return subprocess.run(
        command, cwd=cwd, env=kept, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600
    )


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The wheels of the client, of pipelines and of the server, by their names, in one folder."""
    folder = tmp_path_factory.mktemp("wheels")
    projects = (ROOT, ROOT / "sdk" / "keylake_pipelines", ROOT / "server_plugins")
    built = run(sys.executable, "-m", *BUILD, "--wheel-dir", folder, *projects, cwd=folder)
    assert built.returncode == 0, built.stderr
    return {path.name.partition("-")[0]: path for path in folder.glob("*.whl")}


def files_of(wheel: Path) -> list[str]:
    return [name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name]


def test_the_client_has_its_types_and_no_jars(wheels: dict[str, Path]) -> None:
    names = files_of(wheels["keylake"])
    assert "keylake/py.typed" in names
    assert not [name for name in names if not name.startswith("keylake/") or name.endswith(".jar")]
    assert wheels["keylake"].stat().st_size < 1_000_000


def test_pipelines_have_their_types_and_nothing_of_the_client(wheels: dict[str, Path]) -> None:
    names = files_of(wheels["keylake_pipelines"])
    assert {"keylake_pipelines/py.typed", "keylake_pipelines/extension.py"} <= set(names)
    assert not [name for name in names if not name.startswith("keylake_pipelines/")]


def test_the_server_has_the_jars_beside_the_client(wheels: dict[str, Path]) -> None:
    names = files_of(wheels["keylake_server"])
    assert sorted(re.sub(r"-[\d.]+jar$", "", name) for name in names) == [
        "keylake/jars/LICENSE",
        "keylake/jars/NOTICE",
        "keylake/jars/commons-pool2",
        "keylake/jars/iceberg-spark-runtime-4.1_2.13",
        "keylake/jars/kafka-clients",
        "keylake/jars/keylake-pipelines",
        "keylake/jars/keylake-plain-deletes",
        "keylake/jars/keylake-server",
        "keylake/jars/spark-sql-kafka-0-10_2.13",
        "keylake/jars/spark-token-provider-kafka-0-10_2.13",
        "keylake/jars/sqlite-jdbc",
    ]


def test_all_have_one_version(wheels: dict[str, Path]) -> None:
    (client,) = (name for name in ZipFile(wheels["keylake"]).namelist() if name.endswith("/METADATA"))
    said = ZipFile(wheels["keylake"]).read(client).decode()
    (version,) = re.findall(r"^Version: (.+)$", said, flags=re.MULTILINE)
    assert f"Requires-Dist: keylake-server=={version}; extra == 'server'" in said
    assert f"Requires-Dist: keylake-pipelines=={version}; extra == 'pipelines'" in said
    assert wheels["keylake_pipelines"].name.startswith(f"keylake_pipelines-{version}-")
    assert wheels["keylake_server"].name.startswith(f"keylake_server-{version}-")


def test_the_server_is_not_built_without_the_jars(tmp_path: Path) -> None:
    shutil.copy(ROOT / "LICENSE", tmp_path)
    project = tmp_path / "server_plugins"
    project.mkdir()
    for name in ("pyproject.toml", "wheel_of_jars.py", "NOTICE"):
        shutil.copy(ROOT / "server_plugins" / name, project)
    built = run(sys.executable, "-m", *BUILD, "--wheel-dir", tmp_path / "dist", project, cwd=tmp_path)
    assert built.returncode != 0
    assert "run `make build` first" in built.stderr
    assert not list(tmp_path.glob("dist/*"))


def installed(interpreter: str | Path, folder: Path, *packages: str | Path) -> Path:
    """A Python with these packages and what they need; the versions are the lock's, whatever was released since."""
    made = run(interpreter, "-m", "venv", "--without-pip", folder, cwd=folder.parent)
    assert made.returncode == 0, made.stderr
    locked = re.findall(
        r"^([a-z0-9-]+)(?:\[.*\])?(==\S+(?: ; .+)?) \\$",
        (ROOT / "sdk/requirements.lock").read_text(),
        flags=re.MULTILINE,
    )
    (folder / "locked.txt").write_text("\n".join(map("".join, locked)))
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile"]
    beside = ["--find-links", next(package.parent for package in packages if isinstance(package, Path))]
    done = run(*pip, "--constraint", folder / "locked.txt", *beside, *packages, cwd=folder)
    assert done.returncode == 0, done.stderr
    return python


@pytest.mark.slow
def test_the_readme_runs_in_an_empty_environment(wheels: dict[str, Path], tmp_path: Path) -> None:
    python = installed(sys.executable, tmp_path / "environment", with_extra(wheels, "server"))
    blocks = r"^```python\n(.*?)^```\n\n^```\n(.*?)^```"
    ((example, printed),) = re.findall(blocks, (ROOT / "README.md").read_text(), flags=re.MULTILINE | re.DOTALL)
    (tmp_path / "example.py").write_text(example)
    ran = run(python, "example.py", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == printed
    assert (tmp_path / "lake" / "catalog.db").exists()


ON_A_SERVER = """
import sys, pyarrow as pa, keylake as kl
with kl.connect(sys.argv[1]) as lake:
    schema = pa.schema([("id", pa.int64()), ("n", pa.int64())])
    table = lake.create(kl.TableSpec.from_arrow(schema, name=sys.argv[2], key="id"))
    first = table.upsert([{"id": 1, "n": 10}, {"id": 2, "n": 20}])
    last = table.update(pa.table({"id": [2], "n": [21]}))
    print(table.get(id=2), table.read(where="n > 10").toPandas()["n"].tolist())
    print(table.changes(after=first, until=last).count(), len(table.history()), lake.spark.range(3).count())
"""


@pytest.mark.slow
def test_the_client_needs_no_spark(wheels: dict[str, Path], tmp_path: Path, lake: kl.Lake) -> None:
    assert lake._server is not None
    python = installed(sys.executable, tmp_path / "environment", with_extra(wheels, "client"))
    ran = run(python, "-c", ON_A_SERVER, lake._server.url, fresh_name("client"), cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == ["id=2 n=21 [21]", "1 2 3"]
    (tmp_path / "lake").mkdir()
    refused = run(python, "-c", "import keylake; keylake.connect()", cwd=tmp_path)
    assert "pip install 'keylake[server]'" in refused.stderr.splitlines()[-1]
    doctor = run(python, "-m", "keylake", "doctor", cwd=tmp_path)
    assert doctor.returncode == 1
    assert "keylake[server]" in doctor.stdout


READ_LOCALLY = """
import sys, keylake, keylake.local
with keylake.local.open(sys.argv[1]) as lake:
    print(lake.table(sys.argv[2]).get(id=1), lake.table(sys.argv[2]).read().to_arrow().num_rows)
    try:
        lake.table(sys.argv[2]).read().to_pandas()
    except keylake.KeylakeError as error:
        print(error)
keylake.connect()
"""


@pytest.mark.slow
def test_reads_without_spark_need_no_extra(
    wheels: dict[str, Path], tmp_path: Path, lake: kl.Lake, warehouse: Path
) -> None:
    schema = pa.schema([("id", pa.int64()), ("n", pa.int64())])
    table = lake.create(kl.TableSpec.from_arrow(schema, name=fresh_name("alone"), key="id"))
    table.upsert([{"id": 1, "n": 10}])
    table.update([{"id": 1, "n": 11}])
    python = installed(sys.executable, tmp_path / "environment", wheels["keylake"])
    ran = run(python, "-c", READ_LOCALLY, warehouse, table.name, cwd=tmp_path)
    no_pandas = "to_pandas() needs pandas, which is not installed: pip install 'keylake[pandas]'."
    assert ran.stdout.splitlines() == [f"{table.get(id=1)} 1", no_pandas]
    assert "pip install 'keylake[client]'" in ran.stderr.splitlines()[-1]


WITHOUT_PIPELINES = """
import keylake
from keylake import *
print(connect, "Pipeline" in globals())
keylake.Pipeline
"""


@pytest.mark.slow
def test_pipelines_are_an_extension(wheels: dict[str, Path], tmp_path: Path) -> None:
    alone = installed(sys.executable, tmp_path / "alone", wheels["keylake"])
    wanted = "Names and commands of pipelines come with: pip install 'keylake[pipelines]'."
    ran = run(alone, "-c", WITHOUT_PIPELINES, cwd=tmp_path)
    assert ran.stdout.endswith("False\n")
    assert ran.stderr.splitlines()[-1] == f"AttributeError: module 'keylake' has no attribute 'Pipeline'. {wanted}"
    typed = run(alone, "-m", "keylake", "run", "pipeline.yaml", cwd=tmp_path)
    assert (typed.returncode, typed.stderr.splitlines()[-1]) == (2, f"keylake: {wanted}")
    assert run(alone, "-m", "keylake", "--version", cwd=tmp_path).returncode == 0

    both = installed(sys.executable, tmp_path / "both", with_extra(wheels, "pipelines"))
    ran = run(both, "-c", "import keylake as kl; print(kl.Pipeline.__name__, kl.run_pipeline.__name__)", cwd=tmp_path)
    assert ran.stdout == "Pipeline run_pipeline\n", ran.stderr
    schema = run(both, "-m", "keylake", "run", "--schema", cwd=tmp_path)
    assert schema.stdout == (ROOT / "sdk/docs/pipeline.schema.json").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    "version",
    [pytest.param(each, marks=[] if each in OLDEST_AND_NEWEST else pytest.mark.nightly) for each in OTHER_PYTHONS],
)
def test_every_verb_on_another_python(wheels: dict[str, Path], tmp_path: Path, version: str) -> None:
    packages = (with_extra(wheels, "server"), "pytest", "hypothesis")
    python = installed(interpreter(version), tmp_path / "environment", *packages)
    place = run(python, "-c", "import keylake; print(keylake.__file__)", cwd=tmp_path)
    assert place.stdout.startswith(str(tmp_path)), "the wheel is tested, not the clone"
    ran = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", EVERY_VERB, cwd=ROOT)
    assert ran.returncode == 0, ran.stdout


def with_extra(wheels: dict[str, Path], extra: str) -> Path:
    """The client's wheel as pip wants it named with an extra."""
    return wheels["keylake"].with_name(f"{wheels['keylake'].name}[{extra}]")


def interpreter(version: str) -> Path:
    """An interpreter of this version: one that is found by its name, or one that pyenv has."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    named = shutil.which(f"python{version}")
    for path in (*([Path(named)] if named else []), *sorted(pyenv.glob(f"{version}.*/bin/python"))):
        if run(path, "-c", "import venv", cwd=ROOT).returncode == 0:
            return path
    pytest.skip(f"python{version} is not on this machine: what the wheel does on it was not tested")
