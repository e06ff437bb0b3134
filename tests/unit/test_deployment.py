"""Files that start a server in containers, which `keylake server-conf --print` writes."""

import re
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from keylake._server.server import VERSION
from keylake.cli.app import app
from keylake.cli.deployment import AWS_BUNDLE, AWS_BUNDLE_JAR, SPARK

ROOT = Path(__file__).parents[2]
CATALOG = ["--uri", "https://catalog:8181", "--warehouse", "s3://bucket/lake$1"]
S3 = ["--store", "s3", "--endpoint", "https://minio:9000", "--region", "eu-central-1"]
KEYS = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}
TOKEN = "SPARK_CONNECT_AUTHENTICATE_TOKEN"


def printed(form: str, *words: str) -> str:
    place = "kubernetes" if form == "spark-connect" else "standalone"
    said = CliRunner().invoke(app, ["server-conf", "--for", place, "--print", form, *CATALOG, *words])
    assert said.exit_code == 0, said.output
    assert str(ROOT) not in said.stdout
    return said.stdout


def jars_of(settings: dict[str, str]) -> list[str]:
    return settings["spark.jars"].split(",")


@pytest.mark.parametrize("store", [[], S3], ids=["no store", "s3"])
def test_a_resource_of_the_operator(store: list[str]) -> None:
    resource = yaml.safe_load(printed("spark-connect", *store))
    assert (resource["apiVersion"], resource["kind"]) == ("sparkoperator.k8s.io/v1alpha1", "SparkConnect")
    spec = resource["spec"]
    assert set(spec) == {"sparkVersion", "image", "sparkConf", "server", "executor"}
    assert spec["sparkVersion"] == SPARK
    assert all(isinstance(value, str) for value in spec["sparkConf"].values()), "the schema has no other type"
    assert spec["sparkConf"]["spark.sql.catalog.lake.warehouse"] == "s3://bucket/lake$1"
    jars = jars_of(spec["sparkConf"])
    assert all(jar.startswith("local:///opt/keylake/") for jar in jars)
    assert f"local:///opt/keylake/{AWS_BUNDLE_JAR}" in jars or not store
    for role, name, wanted in (
        ("server", "spark-kubernetes-driver", {TOKEN} | (KEYS if store else set())),
        ("executor", "spark-kubernetes-executor", KEYS if store else set()),
    ):
        (container,) = spec[role]["template"]["spec"]["containers"]
        assert container["name"] == name
        assert container["image"] == spec["image"] == f"keylake-server:{VERSION}"
        env = container.get("env", [])
        assert {each["name"] for each in env} == wanted
        references = [each["valueFrom"]["secretKeyRef"] for each in env]
        assert references == [{"name": "keylake-server", "key": each["name"]} for each in env]


def test_a_composition() -> None:
    file = yaml.safe_load(printed("compose", *S3))
    server = file["services"]["server"]
    assert server["environment"] == {
        TOKEN: "${KEYLAKE_TOKEN:?is not in the environment}",
        **{name: f"${{{name}:?is not in the environment}}" for name in KEYS},
    }
    assert server["ports"] == ["127.0.0.1:15002:15002"], "other machines come by TLS"
    lines = file["configs"]["settings"]["content"].splitlines()
    settings = dict(line.split(" ", 1) for line in lines)
    assert settings["spark.sql.catalog.lake.warehouse"] == "s3://bucket/lake$$1", "Compose reads $$ as $"
    assert settings["spark.sql.catalog.lake.s3.endpoint"] == "https://minio:9000"
    assert all(jar.startswith("/opt/keylake/") for jar in jars_of(settings))
    assert set(yaml.safe_load(printed("compose"))["services"]["server"]["environment"]) == {TOKEN}


def test_an_image() -> None:
    plain = printed("dockerfile")
    assert f"FROM apache/spark:{SPARK}\n" in plain
    assert f"keylake-server=={VERSION}\n" in plain
    assert "maven" not in plain
    stored = printed("dockerfile", *S3)
    assert f"-Dartifact={AWS_BUNDLE} " in stored
    assert stored.endswith("USER spark\nEXPOSE 15002\n")
    said = {line.split()[0] for line in stored.splitlines() if line and line[0] not in "# "}
    assert said <= {"FROM", "USER", "COPY", "RUN", "EXPOSE"}


def test_an_image_needs_no_catalog() -> None:
    said = CliRunner().invoke(app, ["server-conf", "--print", "dockerfile"])
    assert (said.exit_code, said.stderr) == (0, "")


def test_versions_of_the_image_are_those_of_the_plugin() -> None:
    pom = (ROOT / "server_plugins/pom.xml").read_text()
    (iceberg,) = re.findall(r"<iceberg.version>(.*)</", pom)
    assert AWS_BUNDLE.rpartition(":")[2] == iceberg
    assert f"iceberg-aws-bundle-{iceberg}.jar" == AWS_BUNDLE_JAR
    assert f"<spark.version>{SPARK}</" in pom


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--print", "compose", "--for", "kubernetes"], "say --for standalone"),
        (["--print", "spark-connect"], "say --for kubernetes"),
        (["--print", "dockerfile", "--jars", "/jars"], "the image has its jars in /opt/keylake"),
        (["--print", "compose", "--json"], "Leave --json or --print compose out"),
        (["--print", "compose", "--region", "eu-central-1"], "--store s3"),
    ],
)
def test_words_that_do_not_go_with_a_file(words: list[str], sentence: str) -> None:
    said = CliRunner().invoke(app, ["server-conf", *CATALOG, *words])
    assert said.exit_code != 0
    assert sentence in said.output + str(said.exception)
    assert "FROM" not in said.stdout
