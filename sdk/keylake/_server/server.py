"""The configuration of a Spark server that serves keyed tables. Pure text; the processes are in `embedded`."""

from __future__ import annotations

import importlib.metadata
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from keylake._definition.names import Setting
from keylake.errors import DefinitionError, ServerMissingPlugin, check_type

VERSION = importlib.metadata.version("keylake")
JARS = Path(__file__).parents[1] / "jars"
EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions,io.keylake.spark.KeylakeExtensions"
CATALOG_CLASS = "io.keylake.spark.KeylakeCatalog"
PLUGIN_CLASS = "io.keylake.spark.KeylakePlugin"
PORT_FILE = "port"  # in the scratch folder
CATALOG_PORT_FILE = "catalog-port"  # in the same folder, of a server that serves its catalog to other engines

_JAR_PATTERNS = (f"keylake-server-{VERSION}.jar", "iceberg-spark-runtime-*.jar", "sqlite-jdbc-*.jar")
# A server without these works, and refuses what needs them. First our own, then Spark's reader of Kafka.
GUEST_JARS = (f"keylake-plain-deletes-{VERSION}.jar", f"keylake-pipelines-{VERSION}.jar")
_GUEST_JAR_PATTERNS = (
    *GUEST_JARS,
    "spark-sql-kafka-0-10_*.jar",
    "spark-token-provider-kafka-0-10_*.jar",
    "kafka-clients-*.jar",
    "commons-pool2-*.jar",
)
# Settings to which those of a setup are added, and the sign between.
# Joins by key use that tables lie in buckets. Other switches of this kind stay off: this Spark gets them wrong.
JOINED_WHERE_THEY_LIE = {
    "spark.sql.sources.v2.bucketing.enabled": "true",
    "spark.sql.sources.v2.bucketing.pushPartValues.enabled": "true",
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
    "spark.sql.iceberg.planning.preserve-data-grouping": "true",
}
# Hadoop would start a process for each file that it makes, to set its permissions.
LOCAL_FILES = {
    "spark.hadoop.fs.file.impl": "io.keylake.spark.localfiles.LocalFiles",
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "io.keylake.spark.localfiles.LocalFilesContext",
}
_ADDED = {
    "spark.jars": ",",
    "spark.sql.extensions": ",",
    "spark.plugins": ",",
    "spark.driver.extraClassPath": os.pathsep,
    "spark.driver.extraJavaOptions": " ",
}
_LEAST_MEMORY_MIB, _MOST_MEMORY_MIB = 1024, 16 * 1024
_CGROUP_MEMORY_LIMIT = Path("/sys/fs/cgroup/memory.max")


@dataclass(frozen=True)
class Setup:
    """The settings that an embedded server is started with. Equal setups of one process share a server.

    >>> Setup(Path("/data/lake"), memory="4 GB")
    Traceback (most recent call last):
    keylake.errors.DefinitionError: memory='4 GB' is no size. Write a number and a unit: '900m' or '4g'.
    """

    warehouse: Path
    catalog: str = "lake"
    memory: str | None = None
    settings: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        check_type("memory", self.memory, str | None, "a number and a unit: '900m' or '4g'")
        for name, value in self.settings:
            check_type("The name of a setting", name, str, "text such as 'spark.sql.shuffle.partitions'")
            check_type(f"The setting {name}", value, str, "text, as Spark has it")
        if self.memory is not None and not re.fullmatch(r"[1-9]\d*[kmgt]", self.memory, re.IGNORECASE):
            raise DefinitionError(f"memory={self.memory!r} is no size. Write a number and a unit: '900m' or '4g'.")


def check_catalog_name(catalog: str) -> str:
    """The name, if it can stand in the name of a setting.

    >>> check_catalog_name("my lake")
    Traceback (most recent call last):
    keylake.errors.DefinitionError: The catalog name 'my lake' cannot be part of a setting. Use letters, digits and _.
    """
    check_type("catalog", catalog, str, "a name of letters, digits and _")
    if not re.fullmatch(r"[A-Za-z_]\w*", catalog, re.ASCII):
        raise DefinitionError(f"The catalog name {catalog!r} cannot be part of a setting. Use letters, digits and _.")
    return catalog


def catalog_settings(catalog: str, implementation: str, warehouse: Path) -> dict[str, str]:
    """The settings of a catalog whose tables are listed in an SQLite file inside the warehouse.

    >>> catalog_settings("lake", CATALOG_CLASS, Path("/data/lake"))["spark.sql.catalog.lake.uri"]
    'jdbc:sqlite:/data/lake/catalog.db?busy_timeout=30000'
    """
    prefix = f"spark.sql.catalog.{catalog}"
    return {
        prefix: implementation,
        f"{prefix}.type": "jdbc",
        f"{prefix}.uri": f"jdbc:sqlite:{warehouse}/catalog.db?busy_timeout=30000",
        f"{prefix}.jdbc.schema-version": "V1",
        f"{prefix}.warehouse": str(warehouse),
        # Another process may write to the same warehouse: what it has committed must be seen at once.
        f"{prefix}.cache-enabled": "false",
    }


def embedded_settings(setup: Setup, jars: tuple[Path, ...], scratch: Path) -> dict[str, str]:
    """Every setting of an embedded server. Those of the setup win; its jars, extensions and Java options are added.

    >>> settings = embedded_settings(Setup(Path("/data/lake"), memory="2g"), (Path("a.jar"),), Path("/tmp/x"))
    >>> settings["spark.driver.memory"], settings["spark.connect.grpc.binding.port"]
    ('2g', '0')
    """
    master = dict(setup.settings).get("spark.master", "local[*]")
    own = {
        "spark.app.name": "keylake",
        "spark.master": master,
        "spark.driver.memory": setup.memory or f"{default_memory_mib()}m",
        # A server without memory would answer nobody for minutes; one that has ended says so at once.
        "spark.driver.extraJavaOptions": "-XX:+ExitOnOutOfMemoryError",
        **_class_path(master, jars),
        "spark.plugins": PLUGIN_CLASS,
        Setting.OWNER_PID: str(os.getpid()),
        Setting.OWNER_SCRATCH: str(scratch),
        Setting.MAINTENANCE_ENABLED: "true",
        "spark.sql.extensions": EXTENSIONS,
        **catalog_settings(setup.catalog, CATALOG_CLASS, setup.warehouse),
        # A table created without a catalog name would otherwise live in memory only, and vanish with the server.
        "spark.sql.defaultCatalog": setup.catalog,
        "spark.sql.warehouse.dir": str(scratch / "spark-warehouse"),
        "spark.sql.session.timeZone": "UTC",  # times without a zone mean the same on every machine
        "spark.sql.shuffle.partitions": str(max(8, 4 * (os.cpu_count() or 1))),
        **JOINED_WHERE_THEY_LIE,
        **_authentication(master),
        # Spark would otherwise open its ports on the network.
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        # The system chooses the port when it is bound: one that is chosen before may be another process's by then.
        "spark.connect.grpc.binding.port": "0",
        Setting.PORT_FILE: str(scratch / PORT_FILE),
        Setting.CATALOG_PORT_FILE: str(scratch / CATALOG_PORT_FILE),
        "spark.local.dir": str(scratch),
        # Hadoop sets the permissions of each file, and takes 022 for granted.
        "spark.hadoop.fs.permissions.umask-mode": f"{_umask():03o}",
        "spark.ui.enabled": "false",
        "spark.log.level": "WARN",
    }
    for name, value in setup.settings:
        between = _ADDED.get(name)
        own[name] = f"{own[name]}{between}{value}" if between and name in own else value
    return own


def _class_path(master: str, jars: tuple[Path, ...]) -> dict[str, str]:
    """The settings by which the jars come to processes: one process has them from its start, executors fetch them.

    >>> sorted(_class_path("local[2]", (Path("a.jar"),)))[:2], _class_path("spark://host:7077", (Path("a.jar"),))
    (['spark.driver.extraClassPath', 'spark.hadoop.fs.AbstractFileSystem.file.impl'], {'spark.jars': 'a.jar'})
    """
    if _is_one_process(master):
        return {"spark.driver.extraClassPath": os.pathsep.join(map(str, jars)), **LOCAL_FILES}
    return {"spark.jars": ",".join(map(str, jars))}


def _authentication(master: str) -> dict[str, str]:
    """Spark's RPC and block manager ports want a secret, which Spark makes by itself and keeps in memory.

    Without it, they deserialize Java objects of every local process. A cluster has a secret of its own, the same for
    all of its processes: whoever starts it says it in the settings.

    >>> _authentication("local[2]"), _authentication("spark://127.0.0.1:7077")
    ({'spark.authenticate': 'true'}, {})
    """
    return {"spark.authenticate": "true"} if _is_one_process(master) else {}


def _umask() -> int:
    """The bits of permissions that files of this process do not get, which only a change of them tells."""
    found = os.umask(0o077)
    os.umask(found)
    return found


def _is_one_process(master: str) -> bool:
    return re.fullmatch(r"local(\[[\d*, ]+\])?", master) is not None


def properties_text(settings: Mapping[str, str]) -> str:
    r"""Settings as a Java properties file, in ASCII, so that no locale can spoil a path.

    >>> properties_text({"spark.local.dir": "/tmp/größe 1"})
    'spark.local.dir=/tmp/gr\\u00f6\\u00dfe\\u00201\n'
    """

    def escaped(text: str) -> str:
        units = text.encode("utf-16-be")
        codes = (int.from_bytes(units[i : i + 2], "big") for i in range(0, len(units), 2))
        return "".join(chr(code) if chr(code) in _PLAIN_SIGNS else f"\\u{code:04x}" for code in codes)

    return "".join(f"{escaped(name)}={escaped(value)}\n" for name, value in settings.items())


_PLAIN_SIGNS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/,[]*?()")


def default_memory_mib() -> int:
    """A third of the memory of the machine, or of the container: the caller's Python and the page cache need theirs.

    >>> 1024 <= default_memory_mib() <= 16384
    True
    """
    available = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if _CGROUP_MEMORY_LIMIT.is_file() and (limit := _CGROUP_MEMORY_LIMIT.read_text().strip()).isdigit():
        available = min(available, int(limit))
    return min(max(available // 3 // 2**20, _LEAST_MEMORY_MIB), _MOST_MEMORY_MIB)


def find_jars(directory: Path = JARS) -> tuple[Path, ...]:
    """The jars of the plug-in and its guests, of Iceberg, of SQLite and of Kafka; the wheel keylake-server has them."""
    found = [sorted(directory.glob(pattern)) for pattern in _JAR_PATTERNS]
    missing = [pattern for pattern, paths in zip(_JAR_PATTERNS, found, strict=True) if not paths]
    if missing:
        is_without = len(missing) == len(_JAR_PATTERNS)
        what = "the wheel keylake-server is not installed" if is_without else f"{directory} has no {missing[0]}"
        raise ServerMissingPlugin(
            f"The embedded server's jars are not there: {what}. "
            "Install them: pip install 'keylake[server]'; in a clone run `make build`."
        )
    found += [sorted(directory.glob(pattern)) for pattern in _GUEST_JAR_PATTERNS]
    return tuple(paths[-1] for paths in found if paths)


def jars_lie_in() -> str:
    """A sentence that says where the jars for a server are."""
    return f"The jars lie in {JARS}." if JARS.is_dir() else "The jars are in the wheel keylake-server."


def lines_to_add(catalog: str) -> str:
    """The lines that the configuration of a server needs, ready to be pasted into spark-defaults.conf.

    A properties file takes all that follows a name as the value, so that a comment has a line of its own.

    >>> print(lines_to_add("lake").splitlines()[2])
    spark.sql.catalog.lake    io.keylake.spark.KeylakeCatalog
    """
    prefix = f"spark.sql.catalog.{catalog}"
    return "\n".join(
        (
            f"spark.jars    keylake-server-{VERSION}.jar,iceberg-spark-runtime-4.1_2.13-1.12.0.jar",
            f"spark.sql.extensions    {EXTENSIONS}",
            f"{prefix}    {CATALOG_CLASS}",
            "# rest, hive, hadoop or jdbc: any catalog of Iceberg, with its own options",
            f"{prefix}.type    rest",
            "# a read sees what other servers have committed",
            f"{prefix}.cache-enabled    false",
            *(f"{name}    {value}" for name, value in JOINED_WHERE_THEY_LIE.items()),
        )
    )
