"""Hadoop's YARN, as `make yarn` installs it: a ResourceManager and a NodeManager, each in a process of its own."""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from integration.spark_processes import free_port, running, wait_for

BUILT = Path(__file__).parents[3] / ".build" / "yarn"
_SERVER = "org.apache.hadoop.yarn.server"
_LOG = """log4j.rootLogger=WARN,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d %p %c{1}: %m%n
"""


@contextmanager
def yarn(folder: Path) -> Iterator[dict[str, str]]:
    """A YARN on the loopback interface, on the local file system; gives the environment by which Spark finds it."""
    assert BUILT.exists(), "YARN is installed for the tests: run `make yarn`"
    java = shutil.which("java")
    assert java is not None
    java_home = os.environ.get("JAVA_HOME") or str(Path(java).resolve().parents[1])
    settings = folder / "conf"
    settings.mkdir(parents=True)
    client = free_port()
    _write(settings / "yarn-site.xml", _yarn_site(folder, client))
    _write(settings / "core-site.xml", {"hadoop.tmp.dir": str(folder / "tmp")})
    queues = "yarn.scheduler.capacity.root"
    _write(settings / "capacity-scheduler.xml", {f"{queues}.queues": "default", f"{queues}.default.capacity": "100"})
    (settings / "log4j.properties").write_text(_LOG)
    own = {"JAVA_HOME": java_home}  # containers take it from the NodeManager's environment
    command = [
        *(f"{java_home}/bin/java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
        *("--add-opens", "java.base/java.lang=ALL-UNNAMED", "-cp", f"{settings}{os.pathsep}{BUILT}/jars/*"),
    ]
    with (
        running(folder / "resourcemanager", [*command, f"{_SERVER}.resourcemanager.ResourceManager"], own),
        running(folder / "nodemanager", [*command, f"{_SERVER}.nodemanager.NodeManager"], own),
    ):
        wait_for(client)
        yield own | {"HADOOP_CONF_DIR": str(settings)}


def _yarn_site(folder: Path, client: int) -> dict[str, str]:
    manager = {name: f"127.0.0.1:{free_port()}" for name in ("scheduler", "resource-tracker", "admin", "webapp")}
    return {
        "yarn.resourcemanager.address": f"127.0.0.1:{client}",
        **{f"yarn.resourcemanager.{name}.address": address for name, address in manager.items()},
        "yarn.nodemanager.hostname": "127.0.0.1",
        **{f"yarn.nodemanager.{name}address": "127.0.0.1:0" for name in ("", "localizer.", "webapp.")},
        "yarn.nodemanager.local-dirs": str(folder / "local"),
        "yarn.nodemanager.log-dirs": str(folder / "containers"),
        "yarn.nodemanager.resource.memory-mb": "4096",
        "yarn.nodemanager.resource.cpu-vcores": "4",
        "yarn.nodemanager.vmem-check-enabled": "false",  # a JVM reserves far more than it uses
        # A machine with a full disk is no machine for YARN.
        "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "100",
        "yarn.scheduler.minimum-allocation-mb": "128",
    }


def _write(file: Path, settings: Mapping[str, str]) -> None:
    lines = (f"<property><name>{name}</name><value>{value}</value></property>" for name, value in settings.items())
    file.write_text("\n".join(("<configuration>", *lines, "</configuration>", "")))
