"""Commands for servers: one for a directory, and the settings of those that run elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import secrets
import shlex
import signal
import socket
import stat
from pathlib import Path
from typing import Annotated, Literal

import typer

from keylake._definition.names import Setting
from keylake._server.address import DEFAULT_PORT, TOKEN
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
from keylake._server.tls import LOOPBACK, Protocol, TlsEnd
from keylake.cli.deployment import AWS_BUNDLE, AWS_BUNDLE_JAR, IMAGE_FOLDER, Deployment, Form
from keylake.cli.opened import USUAL_CATALOG, USUAL_LAKE
from keylake.cli.shown import JsonOption, show, tell
from keylake.errors import DefinitionError, KeylakeError, StoreFailed

TOKEN_FILE = "token"

ServedLake = Annotated[str, typer.Option("--lake", envvar="KEYLAKE_LAKE", help="The directory of the lake.")]
ServedCatalog = Annotated[str, typer.Option("--catalog", envvar="KEYLAKE_CATALOG", help="The catalog in Spark.")]
Cluster = Literal["standalone", "yarn", "kubernetes"]
CatalogType = Literal["rest", "jdbc", "hive", "hadoop"]
Store = Literal["s3"]

# Where the processes of a cluster find a jar that its image or its machines have.
_PREFIXES: dict[Cluster, str] = {"standalone": "", "yarn": "", "kubernetes": "local://"}


def serve(
    lake: ServedLake = USUAL_LAKE,
    catalog: ServedCatalog = USUAL_CATALOG,
    host: Annotated[str, typer.Option(help="The address to listen on; others than this need TLS.")] = LOOPBACK,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = DEFAULT_PORT,
    tls_certificate: Annotated[
        Path | None, typer.Option(help="The certificate in PEM, with those of its authorities behind it.")
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option(help="The key of the certificate in PEM, without a passphrase.")
    ] = None,
    memory: Annotated[
        str | None, typer.Option(help="The heap, as in 4g; a third of the machine's unless said.")
    ] = None,
    policy: Annotated[
        Path | None, typer.Option(help="The access policy in YAML; clients have tokens of their own then.")
    ] = None,
    catalog_port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, help="The port of Iceberg's REST catalog for other engines; 0 takes a free one."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Serve a directory to other processes. They come by Spark Connect, until the command is ended.

    Clients need the token, which is that of KEYLAKE_TOKEN or one that is made and kept in a file of the lake that only
    its owner reads. Other machines need TLS: --host 0.0.0.0 --tls-certificate FILE --tls-key FILE. Engines without the
    plug-in come by Iceberg's REST catalog, with the same token: --catalog-port 8181.
    """
    if policy is not None and catalog_port is not None:
        raise typer.BadParameter("--catalog-port does not go with --policy, which that catalog does not enforce yet")
    end = _tls_end(host, port, tls_certificate, tls_key, "h2", "--port")
    catalog_end = None
    if catalog_port is not None:
        catalog_end = _tls_end(host, catalog_port, tls_certificate, tls_key, "http/1.1", "--catalog-port")
    warehouse = checked_warehouse(lake)
    token, file = os.environ.get(TOKEN), None
    if policy is None and not token:
        token, file = _kept_token(warehouse)
    settings: tuple[tuple[str, str], ...] = (("spark.connect.grpc.binding.port", str(0 if end else port)),)
    if catalog_port is not None:
        settings += ((Setting.CATALOG_PORT, str(0 if catalog_end else catalog_port)),)
    if policy is not None:
        settings += ((Setting.ACCESS_POLICY, str(policy.absolute())),)
        token = token or secrets.token_urlsafe(32)  # of no principal: the command asks its server nothing
    server = EmbeddedServer(Setup(warehouse, check_catalog_name(catalog), memory, settings), token)
    signal.signal(signal.SIGTERM, lambda *_: server.stop())
    try:
        address = f"sc://{end.name}:{end.port}/;use_ssl=true" if end else f"sc://localhost:{server.port}"
        uri = None if catalog_port is None else _catalog_uri(server, catalog_end)
        if as_json:
            show(
                {
                    "lake": address,
                    "token_file": file and str(file),
                    "log": str(server.log),
                    "catalog_uri": uri,
                    "warehouse": catalog,
                },
                as_json,
            )
        else:
            said = f"$(cat {shlex.quote(str(file))})" if file else f"${{{TOKEN}}}"
            typer.echo(f"export KEYLAKE_LAKE={shlex.quote(address)}{'' if policy else f' {TOKEN}={said}'}")
            if uri is not None:
                typer.echo(_for_pyiceberg(catalog, uri, said))
        tell(f"serving {warehouse}; Ctrl-C ends it, and its log is {server.log}")
        ends = [(end, server.port)] if end else []
        ends += [(catalog_end, server.catalog_port)] if catalog_end else []
        asyncio.run(_until_it_ends(server, ends))
    finally:
        server.stop()


def token(as_json: JsonOption = False) -> None:
    """Make a token for a principal of an access policy. The policy has its SHA-256 only."""
    made = secrets.token_urlsafe(32)
    digest = hashlib.sha256(made.encode()).hexdigest()
    if as_json:
        show({"token": made, "token_sha256": digest}, as_json)
    else:
        typer.echo(f"token         {made}\ntoken_sha256  {digest}")


def _catalog_uri(server: EmbeddedServer, end: TlsEnd | None) -> str:
    """The address of Iceberg's REST catalog, as clients name it."""
    return f"https://{end.name}:{end.port}" if end else f"http://{LOOPBACK}:{server.catalog_port}"


def _for_pyiceberg(catalog: str, uri: str, token: str) -> str:
    """The line that lets `pyiceberg.catalog.load_catalog` open the catalog by its name, in lower case.

    >>> _for_pyiceberg("lake", "http://127.0.0.1:8181", "${KEYLAKE_TOKEN}").count("PYICEBERG_CATALOG__LAKE__")
    3
    """
    words = {"URI": shlex.quote(uri), "WAREHOUSE": shlex.quote(catalog), "TOKEN": token}
    return "export " + " ".join(f"PYICEBERG_CATALOG__{catalog.upper()}__{word}={is_}" for word, is_ in words.items())


def _tls_end(
    host: str, port: int, certificate: Path | None, key: Path | None, protocol: Protocol, option: str
) -> TlsEnd | None:
    """The TLS end at which clients come in; none where only this machine is served."""
    if certificate is not None and key is not None:
        return TlsEnd(host, port, certificate, key, protocol=protocol, option=option)
    if certificate is not None or key is not None:
        raise typer.BadParameter("TLS needs both --tls-certificate and --tls-key")
    if host not in (LOOPBACK, "localhost"):
        raise typer.BadParameter(
            f"{host} can be reached from elsewhere, and tokens would cross the network in plain text: "
            f"add --tls-certificate and --tls-key, or leave out --host, which is {LOOPBACK} then"
        )
    _check_port(port, option)
    return None


async def _until_it_ends(server: EmbeddedServer, ends: list[tuple[TlsEnd, int]]) -> None:
    """Passes connections on, from each end to its port of the server, for as long as the server runs."""
    async with contextlib.AsyncExitStack() as passing:
        for end, port in ends:
            await passing.enter_async_context(end.passing_on_to(port))
        while server.is_alive:
            await asyncio.sleep(0.5)
            try:
                renewed = [end.is_renewed() for end, _ in ends]
                if any(renewed):
                    tell("new connections get the new certificate")
            except KeylakeError as error:
                tell(f"the certificate stays as it was: {error}")


def _kept_token(warehouse: Path) -> tuple[str, Path]:
    """A token in a file, so that it stands neither in a terminal nor among the arguments of a process.

    It is that of the last server, if nobody else could read it: a second server of a lake leaves clients of the first
    their token.
    """
    file = warehouse / LOG_DIRECTORY / TOKEN_FILE
    try:
        if _is_private(file) and (token := file.read_text().strip()):
            return token, file
        file.unlink(missing_ok=True)
        file.touch(mode=0o600)
        token = secrets.token_urlsafe(32)
        file.write_text(token)
    except OSError as error:
        raise StoreFailed(
            f"The token cannot be kept in {str(file)!r}: {error.strerror}. Give one in {TOKEN}, or name a directory "
            "that can be written to."
        ) from None
    return token, file


def _is_private(file: Path) -> bool:
    """A file is one that only this user reads."""
    if not file.is_file():
        return False
    found = file.stat()
    return found.st_uid == os.getuid() and not found.st_mode & (stat.S_IRWXG | stat.S_IRWXO)


def _check_port(port: int, option: str) -> None:
    """A port that is taken is told before a server is started."""
    try:
        socket.create_server((LOOPBACK, port)).close()
    except OSError as error:
        raise DefinitionError(
            f"The server cannot listen on {LOOPBACK}, port {port}: {error.strerror}. Name a port that is free with "
            f"{option}; 0 takes one."
        ) from None


def _of_s3(prefix: str, endpoint: str | None, region: str | None) -> dict[str, str]:
    """Iceberg's FileIO for S3, with limits: of a store that does not answer."""
    elsewhere = {f"{prefix}.s3.endpoint": endpoint, f"{prefix}.s3.path-style-access": "true"} if endpoint else {}
    return {
        f"{prefix}.io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        **elsewhere,
        **({f"{prefix}.client.region": region} if region else {}),
        f"{prefix}.s3.retry.num-retries": "4",
        f"{prefix}.s3.retry.max-wait-ms": "5000",
        f"{prefix}.http-client.apache.connection-timeout-ms": "5000",
        f"{prefix}.http-client.apache.socket-timeout-ms": "30000",
    }


def _check_form(form: Form, cluster: Cluster, jars: str | None, as_json: bool) -> None:
    if as_json:
        raise DefinitionError(f"--json prints settings, not a {form}. Leave --json or --print {form} out.")
    if jars is not None:
        raise DefinitionError(
            f"--jars {jars} does not go with --print {form}: the image has its jars in {IMAGE_FOLDER}."
        )
    wanted: dict[Form, Cluster] = {"compose": "standalone", "spark-connect": "kubernetes"}
    if wanted.get(form, cluster) != cluster:
        raise DefinitionError(f"--print {form} is for another place than --for {cluster}: say --for {wanted[form]}.")


def server_conf(
    cluster: Annotated[Cluster, typer.Option("--for", help="Where Spark runs.")] = "standalone",
    catalog: ServedCatalog = USUAL_CATALOG,
    catalog_type: Annotated[CatalogType, typer.Option(help="What lists the tables.")] = "rest",
    uri: Annotated[str | None, typer.Option(help="Where the catalog is, as in https://catalog:8181.")] = None,
    warehouse: Annotated[str | None, typer.Option(help="Where tables lie, as in s3://bucket/lake.")] = None,
    jars: Annotated[
        str | None, typer.Option(help="The folder of the jars there; that of this package unless said.")
    ] = None,
    store: Annotated[Store | None, typer.Option(help="What files lie in, where Hadoop is not to open them.")] = None,
    endpoint: Annotated[
        str | None, typer.Option(help="The address of a store that is not AWS's own, as in https://minio:9000.")
    ] = None,
    region: Annotated[str | None, typer.Option(help="The region of the store.")] = None,
    form: Annotated[
        Form,
        typer.Option("--print", help="The settings alone, or a file that starts the server with them in containers."),
    ] = "settings",
    as_json: JsonOption = False,
) -> None:
    """Print a server's settings, or a file for containers.

    Settings belong into the spark-defaults.conf of a Spark Connect server. SPARK_CONNECT_AUTHENTICATE_TOKEN in its
    environment is the token that clients need.
    """
    if store is None and (endpoint or region):
        raise DefinitionError("--endpoint and --region are those of a store. Say which kind it is: --store s3.")
    if form != "settings":
        _check_form(form, cluster, jars, as_json)
    elif warehouse is not None and catalog_type != "rest" and ":" not in warehouse:
        warehouse = str(Path(warehouse).absolute())  # the server, and whoever reads files, run in other directories
    folder = IMAGE_FOLDER if form != "settings" else jars or find_jars()[0].parent
    names = [jar.name for jar in find_jars() if catalog_type == "jdbc" or not jar.name.startswith("sqlite")]
    prefix = f"spark.sql.catalog.{check_catalog_name(catalog)}"
    if store is not None and form != "settings":
        names.append(AWS_BUNDLE_JAR)  # it is in the image
    settings = {
        "spark.jars": ",".join(f"{_PREFIXES[cluster]}{folder}/{name}" for name in names),
        **({"spark.jars.packages": AWS_BUNDLE} if store is not None and form == "settings" else {}),
        "spark.plugins": PLUGIN_CLASS,
        "spark.sql.extensions": EXTENSIONS,
        prefix: CATALOG_CLASS,
        f"{prefix}.type": catalog_type,
        **({f"{prefix}.uri": uri} if uri else {}),
        **({f"{prefix}.jdbc.schema-version": "V1"} if catalog_type == "jdbc" else {}),
        **({f"{prefix}.warehouse": warehouse} if warehouse else {}),
        **({} if store is None else _of_s3(prefix, endpoint, region)),
        f"{prefix}.cache-enabled": "false",
        "spark.sql.defaultCatalog": catalog,
        **JOINED_WHERE_THEY_LIE,
    }
    if form != "settings":
        typer.echo(Deployment(settings, store).text(form), nl=False)
    elif as_json:
        show(settings, as_json)
    else:
        for name, value in settings.items():
            typer.echo(f"{name}    {value}")
    if form == "dockerfile":
        return  # it has no settings
    if catalog_type != "hadoop" and uri is None:
        tell(f"the catalog needs --uri, the address of its {catalog_type} service; it is left out here.")
    if catalog_type == "hadoop" and warehouse is None:
        tell("the catalog needs --warehouse, the folder of its tables; it is left out here.")
