"""The plug-in on other releases of Spark and Iceberg: every patch release of its minors, and no other minor."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import keylake as kl
from integration.random_runs import DAY
from keylake._server import embedded
from keylake._server.server import JARS, find_jars

HERE = Path(__file__).parent
ROOT = Path(__file__).parents[3]
LINKAGE = ROOT / "server_plugins/spark/src/test/java/io/keylake/spark/engine/Linkage.java"

# The locked release runs every other test. The last one is the newest, which a bare environment gets. The slow run has
# another one each day.
RELEASES = ("==4.1.0", "==4.1.1", "==4.1.2", "==4.1.*")
of_every_release = pytest.mark.parametrize(
    "pyspark",
    [
        pytest.param(each, marks=[] if each == RELEASES[DAY % len(RELEASES)] else pytest.mark.nightly)
        for each in RELEASES
    ],
    indirect=True,
)
NEXT_MINOR = "==4.2.*"
OTHER_ICEBERG = "iceberg-spark-runtime-4.1_2.13:1.11.0"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def pyspark(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with this release of pyspark alone; what else it needs is beside this test."""
    folder = tmp_path_factory.mktemp("pyspark")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "--no-compile", "--target", folder, f"pyspark{request.param}"], check=True)
    return folder


def run(pyspark: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    """Python and Spark find this release before the locked one."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SPARK", "PYTEST"))}
    environment = kept | {"PYTHONPATH": str(pyspark)}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=900)


@of_every_release
def test_the_plug_in_finds_everything_it_refers_to(pyspark: Path) -> None:
    classes = f"{pyspark}/pyspark/jars/*{os.pathsep}{JARS}/*"
    ours = sorted(JARS.glob("keylake-*.jar"))
    assert ours
    for plugin in ours:
        linked = run(pyspark, "java", "-cp", classes, LINKAGE, plugin)
        assert linked.returncode == 0, linked.stderr
        assert re.search(r"^[1-9]\d* classes, 0 missing$", linked.stdout, flags=re.MULTILINE), linked.stdout


@of_every_release
def test_every_verb_and_join(pyspark: Path) -> None:
    ran = run(pyspark, sys.executable, "-m", "pytest", "-q", "-x", HERE / "every_verb.py")
    assert ran.returncode == 0, ran.stdout


@pytest.mark.parametrize("pyspark", [NEXT_MINOR], indirect=True)
def test_another_minor_release_is_refused_by_the_client_and_when_the_server_starts(
    pyspark: Path, tmp_path: Path
) -> None:
    connect = f"import keylake; keylake.connect(warehouse={str(tmp_path / 'lake')!r}, memory='1g')"
    start = "; ".join(
        (
            "from pathlib import Path",
            "from keylake._server.embedded import EmbeddedServer, Setup",
            f"EmbeddedServer(Setup(Path({str(tmp_path)!r}), memory='1g'))",
        )
    )
    client, server = (run(pyspark, sys.executable, "-c", program) for program in (connect, start))
    assert client.returncode != 0
    assert "keylake needs pyspark 4.1, and pyspark 4.2" in client.stderr.strip().splitlines()[-1], client.stderr
    assert server.returncode != 0
    last = server.stderr.strip().splitlines()[-1]
    assert "runs on Spark 4.1, and this server has Spark 4.2" in last, server.stderr


def test_another_minor_release_of_iceberg_is_refused_when_the_server_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jars = tmp_path / "jars"
    jars.mkdir()
    for jar in find_jars():
        if not jar.name.startswith("iceberg"):
            (jars / jar.name).symlink_to(jar)
    plugins = ROOT / "server_plugins"
    fetch = [plugins / "mvnw", "--quiet", "--file", plugins / "pom.xml", "--non-recursive", "dependency:copy"]
    artifact = [f"-Dartifact=org.apache.iceberg:{OTHER_ICEBERG}", f"-DoutputDirectory={jars}"]
    subprocess.run([*fetch, *artifact], cwd=ROOT, check=True, timeout=600)
    monkeypatch.setattr(embedded, "find_jars", lambda: find_jars(jars))
    refused = "runs on Iceberg 1.12, and this server has Iceberg 1.11.0; start it with a release 1.12.x of Iceberg"
    with pytest.raises(kl.ServerUnreachable) as raised:
        kl.connect(warehouse=tmp_path / "lake", memory="700m")
    assert refused in str(raised.value)
    assert "\n" not in str(raised.value)
