"""The TLS end of a server: what clients of other machines connect to, since Spark's Connect server has no TLS.

    client ── TLS 1.2 or newer, HTTP/2 ──▶ TlsEnd in this process ── loopback ──▶ Connect server
    engine ── the same, HTTP/1.1 ────────▶ another TlsEnd ────────── loopback ──▶ its catalog for other engines

It passes bytes on and looks at none of them: the token is checked by the server behind. Of each direction of a
connection it holds no more than the buffers of both sockets' streams; then it stops reading until they are drained.
"""

from __future__ import annotations

import asyncio
import contextlib
import platform
import socket
import ssl
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Literal, NoReturn, cast

from keylake.errors import DefinitionError

PIECE_BYTES = 1 << 16
HANDSHAKE_LIMIT_SECONDS = 10.0
# What the other side had said when one side ended is delivered within this time.
LINGER_SECONDS = 5.0
LOOPBACK = "127.0.0.1"

# What the server behind speaks: HTTP/2 or HTTP/1.1, by the names that TLS has for them.
Protocol = Literal["h2", "http/1.1"]


class TlsEnd:
    """Listens with a certificate; connections wait until `passing_on_to` says where they lead."""

    def __init__(
        self, host: str, port: int, certificate: Path, key: Path, *, protocol: Protocol = "h2", option: str = "--port"
    ) -> None:
        self._files = (certificate, key)
        self._loaded = self._changed_at()
        self._context, self.name = _checked(*self._files)
        self._context.set_alpn_protocols([protocol])
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._socket = socket.create_server((host, port), family=family)
        except OSError as error:
            raise DefinitionError(
                f"The server cannot listen on {host}, port {port}: {error.strerror}. "
                f"Name an address of this machine with --host, and a port that is free with {option}."
            ) from None
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)  # clients that are gone are noticed
        self.port: int = self._socket.getsockname()[1]

    @contextlib.asynccontextmanager
    async def passing_on_to(self, port: int) -> AsyncGenerator[None]:
        """Connections lead to this port of the machine for as long as the block runs."""
        under_way: set[asyncio.Task[None]] = set()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.get_running_loop().create_task(_joined(reader, writer, port))
            under_way.add(task)
            task.add_done_callback(under_way.discard)

        listening = await asyncio.start_server(
            connected,
            sock=self._socket,
            limit=PIECE_BYTES,
            ssl=self._context,
            ssl_handshake_timeout=HANDSHAKE_LIMIT_SECONDS,
        )
        try:
            yield
        finally:
            listening.close()
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)

    def is_renewed(self) -> bool:
        """The files have changed: new connections get the new certificate then, if it can be used."""
        changed_at = self._changed_at()
        if changed_at == self._loaded:
            return False
        self._loaded = changed_at
        _, self.name = _checked(*self._files)
        self._context.load_cert_chain(*self._files)
        return True

    def close(self) -> None:
        """Listen no more."""
        self._socket.close()

    def _changed_at(self) -> tuple[int, ...]:
        return tuple(file.stat().st_mtime_ns for file in self._files if file.exists())


async def _joined(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
    """One connection, until either side ends; an end of TLS ends both directions."""
    try:
        inner_reader, inner_writer = await asyncio.open_connection(LOOPBACK, port, limit=PIECE_BYTES)
    except OSError:  # the server is gone, and the client is told by its connection
        writer.transport.abort()
        return
    directions = [asyncio.ensure_future(_passed(*ends)) for ends in ((reader, inner_writer), (inner_reader, writer))]
    try:
        await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait(directions, timeout=LINGER_SECONDS)
    finally:
        for direction in directions:
            direction.cancel()
        await asyncio.gather(*directions, return_exceptions=True)
        await asyncio.gather(_closed(inner_writer), _closed(writer))


async def _passed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """The bytes of one direction, until its end, which is passed on after them."""
    with contextlib.suppress(OSError):  # either side is gone
        while piece := await reader.read(PIECE_BYTES):
            writer.write(piece)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
        else:
            writer.close()


async def _closed(writer: asyncio.StreamWriter) -> None:
    """Closes one end; what it still has is sent first, for a while."""
    writer.close()
    try:
        await asyncio.wait_for(writer.wait_closed(), LINGER_SECONDS)
    except (OSError, asyncio.TimeoutError):
        writer.transport.abort()


def _checked(certificate: Path, key: Path) -> tuple[ssl.SSLContext, str]:
    """The TLS context of a server, and the name that its certificate is for; errors say what is wrong."""
    for what, file in (("certificate", certificate), ("key", key)):
        try:
            file.read_bytes()
        except OSError as error:
            raise DefinitionError(
                f"The TLS {what} {str(file)!r} cannot be read: {error.strerror}. Name a file in PEM."
            ) from None

    def passphrase() -> NoReturn:
        raise DefinitionError(f"The TLS key {str(key)!r} has a passphrase. Name a key without, which only you read.")

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key, passphrase)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise DefinitionError(
                f"The TLS key {str(key)!r} does not belong to the certificate {str(certificate)!r}. "
                "Name both of a pair."
            ) from None
        raise DefinitionError(
            f"The TLS certificate {str(certificate)!r} and key {str(key)!r} are no pair in PEM "
            f"({error.reason or 'nothing of that kind is in them'}). Convert them, or name others."
        ) from None
    return context, _name_in(context, certificate)


def _name_in(context: ssl.SSLContext, certificate: Path) -> str:
    """The first name of a certificate, as a client sees it that trusts its authority and looks at nothing else."""
    client = ssl.create_default_context(cafile=certificate)
    client.check_hostname = False
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # the authority may not be in the file
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    asking = client.wrap_bio(to_client, to_server)
    answering = context.wrap_bio(to_server, to_client, server_side=True)
    try:
        for end in (asking, answering, asking):
            with contextlib.suppress(ssl.SSLWantReadError):
                end.do_handshake()
    except ssl.SSLCertVerificationError as error:
        raise DefinitionError(
            f"The TLS certificate {str(certificate)!r} would be refused by every client: {error.verify_message}. "
            "Name another one, or renew it."
        ) from None
    said = cast("dict[str, list[tuple[str, str]]]", asking.getpeercert() or {})
    names = [value for _, value in said.get("subjectAltName", [])]
    return next((name for name in names if not name.startswith("*")), platform.node())
