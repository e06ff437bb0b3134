"""Commands for servers: one for a directory, and the settings of those that run elsewhere."""

from __future__ import annotations

import os
import secrets
import signal
import time
from pathlib import Path
from typing import Annotated, Literal

import typer

from keylake._server.address import DEFAULT_PORT
from keylake._server.embedded import LOG_DIRECTORY, EmbeddedServer, checked_warehouse
from keylake._server.server import (
    CATALOG_CLASS,
    EXTENSIONS,
    JOINED_WHERE_THEY_LIE,
    PLUGIN_CLASS,
    Setup,
    check_catalog_name,
    find_jars,
)
from keylake.cli.opened import TOKEN, USUAL_CATALOG, USUAL_LAKE
from keylake.cli.shown import JsonOption, show, tell

TOKEN_FILE = "token"

ServedLake = Annotated[str, typer.Option("--lake", envvar="KEYLAKE_LAKE", help="The directory of the lake.")]
ServedCatalog = Annotated[str, typer.Option("--catalog", envvar="KEYLAKE_CATALOG", help="The catalog in Spark.")]
Cluster = Literal["standalone", "yarn", "kubernetes"]
CatalogType = Literal["rest", "jdbc", "hive", "hadoop"]

# Where the processes of a cluster find a jar that its image or its machines have.
_PREFIXES: dict[Cluster, str] = {"standalone": "", "yarn": "", "kubernetes": "local://"}


def serve(
    lake: ServedLake = USUAL_LAKE,
    catalog: ServedCatalog = USUAL_CATALOG,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = DEFAULT_PORT,
    memory: Annotated[
        str | None, typer.Option(help="The heap, as in 4g; a third of the machine's unless said.")
    ] = None,
) -> None:
    """Serve a directory to other processes of this machine, over Spark Connect, until the command is ended.

    Clients need the token, which is that of KEYLAKE_TOKEN or one that is made and kept in a file of the lake that only
    its owner reads. Spark 4.1 has no TLS of its own for Connect: for other machines put a proxy in front that ends TLS.
    """
    warehouse = checked_warehouse(lake)
    token = os.environ.get(TOKEN)
    said = f"${{{TOKEN}}}"
    if token is None:
        token, file = _kept_token(warehouse)
        said = f"$(cat {file})"
    settings = (("spark.connect.grpc.binding.port", str(port)),)
    server = EmbeddedServer(Setup(warehouse, check_catalog_name(catalog), memory, settings), token)
    signal.signal(signal.SIGTERM, lambda *_: server.stop())
    try:
        typer.echo(f"export KEYLAKE_LAKE=sc://localhost:{server.port} {TOKEN}={said}")
        tell(f"serving {warehouse}; Ctrl-C ends it, and its log is {server.log}")
        while server.is_alive:
            time.sleep(0.5)
    finally:
        server.stop()


def _kept_token(warehouse: Path) -> tuple[str, Path]:
    """A token in a file, so that it stands neither in a terminal nor among the arguments of a process."""
    file = warehouse / LOG_DIRECTORY / TOKEN_FILE
    file.unlink(missing_ok=True)
    file.touch(mode=0o600)
    token = secrets.token_urlsafe(32)
    file.write_text(token)
    return token, file


def server_conf(
    cluster: Annotated[Cluster, typer.Option("--for", help="Where Spark runs.")] = "standalone",
    catalog: ServedCatalog = USUAL_CATALOG,
    catalog_type: Annotated[CatalogType, typer.Option(help="What lists the tables.")] = "rest",
    uri: Annotated[str | None, typer.Option(help="Where the catalog is, as in https://catalog:8181.")] = None,
    warehouse: Annotated[str | None, typer.Option(help="Where tables lie, as in s3://bucket/lake.")] = None,
    jars: Annotated[
        str | None, typer.Option(help="The folder of the jars there; that of this package unless said.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print the settings of a Spark Connect server on a cluster, for its spark-defaults.conf."""
    folder = find_jars()[0].parent
    names = [jar.name for jar in find_jars() if catalog_type == "jdbc" or not jar.name.startswith("sqlite")]
    prefix = f"spark.sql.catalog.{check_catalog_name(catalog)}"
    settings = {
        "spark.jars": ",".join(f"{_PREFIXES[cluster]}{jars or folder}/{name}" for name in names),
        "spark.plugins": PLUGIN_CLASS,
        "spark.sql.extensions": EXTENSIONS,
        prefix: CATALOG_CLASS,
        f"{prefix}.type": catalog_type,
        **({f"{prefix}.uri": uri} if uri else {}),
        **({f"{prefix}.warehouse": warehouse} if warehouse else {}),
        f"{prefix}.cache-enabled": "false",
        "spark.sql.defaultCatalog": catalog,
        **JOINED_WHERE_THEY_LIE,
    }
    if as_json:
        show(settings, as_json)
    else:
        for name, value in settings.items():
            typer.echo(f"{name}    {value}")
    if catalog_type != "hadoop" and uri is None:
        tell(f"the catalog needs --uri, the address of its {catalog_type} service; it is left out here.")
