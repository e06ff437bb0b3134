"""Files that start a shared server in containers: an image, a composition, and a resource of a Spark operator."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from keylake._server.server import VERSION

Form = Literal["settings", "dockerfile", "compose", "spark-connect"]

IMAGE_FOLDER = "/opt/keylake"  # where the jars lie in the image
SPARK = "4.1.3"
AWS_BUNDLE = "org.apache.iceberg:iceberg-aws-bundle:1.12.0"
AWS_BUNDLE_JAR = "iceberg-aws-bundle-1.12.0.jar"
IMAGE = f"keylake-server:{VERSION}"

# The names of a secret's keys are those of the variables that hold them: no file holds a secret itself.
SECRET = "keylake-server"
TOKEN_VARIABLE = "SPARK_CONNECT_AUTHENTICATE_TOKEN"
STORE_VARIABLES = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")

_DOCKERFILE = """\
# keylake {version} on Spark {spark}. Put the wheel keylake-server into the folder dist beside this file, then:
#   docker build --tag {image} .
{fetch}FROM apache/spark:{spark}
USER root
COPY dist/ /tmp/dist/
RUN python3 -m pip install --no-cache-dir --no-deps --no-index --find-links /tmp/dist --target /tmp/wheel \\
    keylake-server=={version}
RUN mv /tmp/wheel/keylake/jars {folder} && rm -rf /tmp/wheel /tmp/dist
{copy}USER spark
EXPOSE 15002
"""
_FETCH = """\
FROM maven:3-eclipse-temurin-17 AS store
RUN mvn --batch-mode org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy \\
    -Dartifact={bundle} -DoutputDirectory=/tmp/store

"""
_COPY = "COPY --from=store --chmod=644 /tmp/store/{jar} {folder}/\n"

_COMPOSE = """\
# One machine: the server and its tasks are one container. The environment has KEYLAKE_TOKEN{others},
# or the file .env, which only its owner reads, has them.
services:
  server:
    build: .
    image: {image}
    command:
      - /opt/spark/bin/spark-submit
      - --class
      - org.apache.spark.sql.connect.service.SparkConnectServer
      - spark-internal
    environment:
{environment}
    ports:
      - 127.0.0.1:15002:15002
    configs:
      - source: settings
        target: /opt/spark/conf/spark-defaults.conf
configs:
  settings:
    content: |
{settings}
"""

_SPARK_CONNECT = """\
# A SparkConnect of the Kubeflow Spark operator. The secret has the keys
# {keys}:
#   kubectl create secret generic {secret} --from-env-file=secrets.env
apiVersion: sparkoperator.k8s.io/v1alpha1
kind: SparkConnect
metadata:
  name: keylake
spec:
  sparkVersion: {spark}
  image: {image}
  sparkConf:
{settings}
  server:
    cores: 2
    memory: 4g
    template:
      spec:
        serviceAccountName: spark-operator-spark
        containers:
          - name: spark-kubernetes-driver
            image: {image}
            env:
{of_server}
  executor:
    instances: 2
    cores: 2
    memory: 4g
    template:
      spec:
        containers:
          - name: spark-kubernetes-executor
            image: {image}
{of_executor}
"""


@dataclass(frozen=True)
class Deployment:
    """A shared server in containers: its settings, and whether its store takes keys of AWS.

    Example:
        >>> print(Deployment({"spark.plugins": "io.keylake.spark.KeylakePlugin"}).spark_connect().splitlines()[4])
        kind: SparkConnect

    """

    settings: Mapping[str, str]
    store: Literal["s3"] | None = None

    def text(self, form: Literal["dockerfile", "compose", "spark-connect"]) -> str:
        """The file of this form."""
        files = {"dockerfile": self.dockerfile, "compose": self.compose, "spark-connect": self.spark_connect}
        return files[form]()

    def dockerfile(self) -> str:
        """An image of Spark with the jars of the wheel keylake-server, and of the store's client where it is needed."""
        return _DOCKERFILE.format(
            version=VERSION,
            spark=SPARK,
            image=IMAGE,
            folder=IMAGE_FOLDER,
            fetch=_FETCH.format(bundle=AWS_BUNDLE) if self.store else "",
            copy=_COPY.format(jar=AWS_BUNDLE_JAR, folder=IMAGE_FOLDER) if self.store else "",
        )

    def compose(self) -> str:
        """A composition for Docker Compose from 2.23.1 on; secrets are variables of the environment."""
        asked = {TOKEN_VARIABLE: "KEYLAKE_TOKEN", **{name: name for name in self._store_variables}}
        # Compose puts values of the environment in the place of `$`: in a setting it is a character.
        lines = [f"{name} {value}".replace("$", "$$") for name, value in self.settings.items()]
        return _COMPOSE.format(
            image=IMAGE,
            others="".join(f", {name}" for name in self._store_variables),
            environment=_indented(
                [f"{name}: ${{{source}:?is not in the environment}}" for name, source in asked.items()], 6
            ),
            settings=_indented(lines, 6),
        )

    def spark_connect(self) -> str:
        """A resource for the operator, which starts the server and its executors; secrets are keys of one secret."""
        # The variable of another name would be read by no one: Spark and AWS's SDK look for these.
        of_executor = _indented(["env:", *_indented(_from_secret(self._store_variables), 2).split("\n")], 12)
        return _SPARK_CONNECT.format(
            keys=", ".join((TOKEN_VARIABLE, *self._store_variables)),
            secret=SECRET,
            spark=SPARK,
            image=IMAGE,
            settings=_indented([f"{name}: {json.dumps(value)}" for name, value in self.settings.items()], 4),
            of_server=_indented(_from_secret((TOKEN_VARIABLE, *self._store_variables)), 14),
            of_executor=of_executor if self.store else "",
        ).replace("\n\n", "\n")

    @property
    def _store_variables(self) -> tuple[str, ...]:
        return STORE_VARIABLES if self.store else ()


def _from_secret(names: tuple[str, ...]) -> list[str]:
    return [
        line
        for name in names
        for line in (
            f"- name: {name}",
            "  valueFrom:",
            "    secretKeyRef:",
            f"      name: {SECRET}",
            f"      key: {name}",
        )
    ]


def _indented(lines: list[str], spaces: int) -> str:
    return "\n".join(" " * spaces + line for line in lines)
