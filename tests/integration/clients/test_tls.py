"""TLS in front of a server: real clients, many connections, slow readers, and certificates that cannot be used."""

import asyncio
import json
import os
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
import trustme
from typer.testing import CliRunner

import keylake as kl
from keylake._server.tls import TlsEnd
from keylake.cli.app import app

LOOPBACK = "127.0.0.1"
MIB = 1 << 20


class Files:
    """A certificate and its key, of an authority, in a folder."""

    def __init__(self, folder: Path, authority: trustme.CA, *names: str, expires: datetime | None = None) -> None:
        self.certificate, self.key = folder / "certificate.pem", folder / "key.pem"
        self.roots = folder / "roots.pem"
        authority.cert_pem.write_to_path(self.roots)
        self.issue(authority, *names, expires=expires)

    def issue(self, authority: trustme.CA, *names: str, expires: datetime | None = None) -> None:
        issued = authority.issue_cert(*names, not_after=expires)
        for path, blobs in ((self.certificate, issued.cert_chain_pems), (self.key, [issued.private_key_pem])):
            path.write_bytes(b"".join(blob.bytes() for blob in blobs))


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def files(tmp_path: Path, authority: trustme.CA) -> Files:
    return Files(tmp_path, authority, "localhost")


# --------------------------------------------------------------------------------------------------------- real clients


@contextmanager
def in_front_of(port: int, files: Files) -> Iterator[TlsEnd]:
    """A TLS end in a thread of its own."""
    end = TlsEnd(LOOPBACK, 0, files.certificate, files.key)
    loop, over = asyncio.new_event_loop(), asyncio.Event()

    async def passing() -> None:
        async with end.passing_on_to(port):
            await over.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(passing(),))
    thread.start()
    try:
        yield end
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(10)
        loop.close()


ATTEMPTS = """
import sys, keylake as kl
for url in sys.argv[1:]:
    try:
        with kl.connect(url) as lake:
            print(lake.spark.range(100_000).toArrow().num_rows)
    except kl.ServerUnreachable as error:
        print(error)
"""


def attempts(files: Files | None, *urls: str) -> list[str]:
    """What a process that trusts the authority is told at each address."""
    trusted = {"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": str(files.roots)} if files else {}
    kept = {name: value for name, value in os.environ.items() if name != "SPARK_REMOTE"}
    ran = subprocess.run(
        [sys.executable, "-c", ATTEMPTS, *urls], env=kept | trusted, capture_output=True, text=True, timeout=120
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


@pytest.mark.slow
def test_clients_that_trust_the_certificate_and_have_the_token(lake: kl.Lake, files: Files) -> None:
    assert lake._server is not None
    token = lake._server._token
    with in_front_of(lake._server.port, files) as end:
        place = f"sc://localhost:{end.port}/"
        right, wrong, missing, plain = attempts(
            files,
            f"{place};use_ssl=true;token={token}",
            f"{place};use_ssl=true;token=x",
            f"{place};use_ssl=true",
            place,
        )
    assert right == "100000"
    assert "refuses the token" in wrong
    assert "refuses the token" in missing
    assert f"sc://localhost:{end.port} cannot be spoken with: it speaks TLS. Add ';use_ssl=true'" in plain


@pytest.mark.slow
def test_clients_that_do_not_trust_it(lake: kl.Lake, files: Files) -> None:
    assert lake._server is not None
    with in_front_of(lake._server.port, files) as end:
        address = f"{{}}:{end.port}/;use_ssl=true;token={lake._server._token}"
        (stranger,) = attempts(None, address.format("sc://localhost"))
        misnamed, untold = attempts(
            files,
            address.format("sc://127.0.0.1"),
            f"sc://localhost:{lake._server.port}/;use_ssl=true;token={lake._server._token}",
        )
    for told in (stranger, misnamed):
        assert "does not trust its certificate" in told
        assert "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH" in told
        assert lake._server._token not in told
    assert "cannot be spoken with: it does not speak TLS" in untold


@pytest.mark.slow
def test_the_command_serves_other_machines_over_tls(tmp_path: Path, files: Files) -> None:
    environment = {**os.environ, "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": str(files.roots), "KEYLAKE_TOKEN": "sesame"}
    keylake = [sys.executable, "-m", "keylake"]
    options = ["--lake", tmp_path / "lake", "--host", "0.0.0.0", "--port", "0", "--memory", "900m"]
    tls = ["--tls-certificate", files.certificate, "--tls-key", files.key]
    command = [*keylake, "serve", "--json", *options, *tls]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as serving:
        try:
            assert serving.stdout is not None
            told = json.loads("".join(iter(serving.stdout.readline, "}\n")) + "}")
            address = told["lake"]
            assert address.startswith("sc://localhost:")
            assert address.endswith("/;use_ssl=true")
            assert told["token_file"] is None
            client = {**environment, "KEYLAKE_LAKE": address}
            listed = subprocess.run([*keylake, "tables", "--json"], env=client, capture_output=True, text=True)
            assert (listed.returncode, listed.stdout.strip()) == (0, "[]"), listed.stderr
        finally:
            serving.terminate()
    assert serving.returncode == 0


# --------------------------------------------------------------------------------------------------------------- bytes


Served = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Opened = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]


@asynccontextmanager
async def connections(files: Files, served: Served) -> AsyncGenerator[Opened]:
    """Opens connections by TLS to something that is served on a plain port."""
    end = TlsEnd(LOOPBACK, 0, files.certificate, files.key)
    trusting = ssl.create_default_context(cafile=files.roots)
    trusting.set_alpn_protocols(["h2"])
    ends: list[asyncio.StreamWriter] = []

    async def served_here(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends.append(writer)
        await served(reader, writer)

    async def opened() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("localhost", end.port, ssl=trusting, family=socket.AF_INET)
        ends.append(writer)
        return reader, writer

    inner = await asyncio.start_server(served_here, LOOPBACK, 0)
    async with inner, end.passing_on_to(inner.sockets[0].getsockname()[1]):
        yield opened
        for writer in ends:
            writer.transport.abort()
        await asyncio.sleep(0.1)  # the loop closes sockets in its next round; left open, they would be warned of later


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(MIB):
        writer.write(piece)
        await writer.drain()
    writer.close()


def test_bytes_of_many_connections_come_back_as_they_were(files: Files) -> None:
    async def said(opened: Opened, sent: bytes) -> bytes:
        reader, writer = await opened()
        chosen: ssl.SSLObject = writer.get_extra_info("ssl_object")
        assert chosen.selected_alpn_protocol() == "h2"
        assert chosen.version() in ("TLSv1.2", "TLSv1.3")
        writer.write(sent)
        answer = await reader.readexactly(len(sent))
        writer.close()
        return answer

    async def all_of_them() -> None:
        async with connections(files, echo) as opened:
            sent = [os.urandom(100_000 + each) for each in range(150)] + [os.urandom(20 * MIB)]
            assert await asyncio.gather(*(said(opened, each) for each in sent)) == sent

    asyncio.run(all_of_them())


def test_a_slow_reader_makes_the_server_wait(files: Files) -> None:
    """What nobody reads is not kept in memory: the server can write so much and no more."""
    written = 0

    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal written
        while written < 512 * MIB:
            writer.write(bytes(MIB))
            await writer.drain()
            written += MIB

    async def not_read() -> None:
        async with connections(files, endless) as opened:
            reader, writer = await opened()
            before = -1
            while before < written:
                before = written
                await asyncio.sleep(0.5)
            assert 0 < written < 64 * MIB
            first = written
            await reader.readexactly(first)
            await asyncio.sleep(0.2)
            assert written > first
            writer.transport.abort()

    asyncio.run(not_read())


def test_an_end_of_either_side_is_an_end_for_the_other_after_what_was_said(files: Files) -> None:
    heard: asyncio.Queue[bytes] = asyncio.Queue()

    async def parting(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await reader.readexactly(3) == b"you":
            writer.write(bytes(4 * MIB))
            writer.write_eof()
        heard.put_nowait(await reader.read())
        writer.close()

    async def ends() -> None:
        async with connections(files, parting) as opened:
            reader, writer = await opened()
            writer.write(b"you")
            assert await reader.read() == bytes(4 * MIB)
            assert await asyncio.wait_for(heard.get(), 10) == b""
            reader, writer = await opened()
            writer.write(b"me." + bytes(4 * MIB))
            writer.close()
            assert await asyncio.wait_for(heard.get(), 10) == bytes(4 * MIB)
            assert await reader.read() == b""

    asyncio.run(ends())


def test_a_client_in_plain_text_and_a_server_that_is_gone(files: Files) -> None:
    async def refused() -> None:
        end = TlsEnd(LOOPBACK, 0, files.certificate, files.key)
        async with await asyncio.start_server(echo, LOOPBACK, 0) as inner:
            gone = inner.sockets[0].getsockname()[1]
        async with end.passing_on_to(gone):
            reader, writer = await asyncio.open_connection(LOOPBACK, end.port)
            writer.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            assert await asyncio.wait_for(reader.read(), 10) == b""
            writer.close()
            trusting = ssl.create_default_context(cafile=files.roots)
            reader, writer = await asyncio.open_connection("localhost", end.port, ssl=trusting, family=socket.AF_INET)
            with pytest.raises((OSError, EOFError)):  # reset, or an end without TLS's farewell
                assert await asyncio.wait_for(reader.readexactly(1), 10)
            writer.close()

    asyncio.run(refused())


# -------------------------------------------------------------------------------------------------------- certificates


def test_a_renewed_certificate_is_used_without_a_new_start(files: Files, authority: trustme.CA) -> None:
    end = TlsEnd(LOOPBACK, 0, files.certificate, files.key)
    assert (end.name, end.is_renewed()) == ("localhost", False)
    files.issue(authority, "*.example.org", "spark.example.org")
    assert (end.is_renewed(), end.name) == (True, "spark.example.org")
    files.certificate.write_text("half of it")
    with pytest.raises(kl.DefinitionError, match="no pair in PEM"):
        end.is_renewed()
    assert not end.is_renewed()
    end.close()


def test_certificates_that_cannot_be_used(tmp_path: Path, files: Files, authority: trustme.CA) -> None:
    def told(certificate: Path, key: Path) -> str:
        with pytest.raises(kl.DefinitionError) as refused:
            TlsEnd(LOOPBACK, 0, certificate, key)
        assert "\n" not in str(refused.value)
        return str(refused.value)

    other = tmp_path / "other"
    other.mkdir()
    expired = Files(other, authority, "localhost", expires=datetime.now(timezone.utc) - timedelta(days=1))
    none = tmp_path / "none.pem"
    assert f"certificate {str(none)!r} cannot be read: No such file" in told(none, files.key)
    assert f"key {str(none)!r} cannot be read" in told(files.certificate, none)
    assert "does not belong to the certificate" in told(files.certificate, expired.key)
    assert "certificate has expired" in told(expired.certificate, expired.key)
    none.write_text("no PEM")
    assert "no pair in PEM" in told(none, files.key)
    locked = tmp_path / "locked.pem"
    subprocess.run(
        ["openssl", "pkey", "-aes256", "-passout", "pass:x", "-in", files.key, "-out", locked],
        check=True,
        capture_output=True,
    )
    assert "has a passphrase" in told(files.certificate, locked)
    with TlsEnd(LOOPBACK, 0, files.certificate, files.key)._socket as taken, pytest.raises(kl.DefinitionError) as busy:
        TlsEnd(LOOPBACK, taken.getsockname()[1], files.certificate, files.key)
    assert "cannot listen" in str(busy.value)
    assert "--port" in str(busy.value)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--host", "0.0.0.0"], "--tls-certificate and --tls-key"),
        (["--tls-certificate", "a.pem"], "both"),
        (["--tls-key", "a.pem"], "both"),
    ],
)
def test_nobody_else_is_served_in_plain_text(words: list[str], says: str, tmp_path: Path) -> None:
    told = CliRunner().invoke(app, ["serve", "--lake", str(tmp_path / "lake"), *words], env={"COLUMNS": "400"})
    assert told.exit_code == 2
    assert says in told.output
    assert not (tmp_path / "lake").exists()
