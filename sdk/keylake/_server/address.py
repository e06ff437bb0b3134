"""The address at which a server listens."""

from __future__ import annotations

import os
import socket
import ssl
import urllib.parse
from dataclasses import dataclass

from keylake.errors import DefinitionError

DEFAULT_PORT = 15002
TOKEN = "KEYLAKE_TOKEN"  # of the environment
LOOPBACK = ("localhost", "127.0.0.1", "::1")
ROOTS = "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"  # where gRPC finds authorities beside those that it knows
_NO_TLS = (
    "it does not speak TLS, which clients use where ';use_ssl=true' says so, and with a token to every host but "
    "this machine (localhost, 127.0.0.1). Leave it out, or use an address that has TLS."
)


def with_token(url: str) -> str:
    """The address with the token that the environment has, unless it has one of its own.

    >>> with_token("sc://spark.internal/;token=mine")
    'sc://spark.internal/;token=mine'
    """
    token = os.environ.get(TOKEN)
    if not token or ";token=" in url or not url.startswith("sc://"):
        return url
    return f"{url if '/' in url.removeprefix('sc://') else url + '/'};token={token}"


def without_token(url: str) -> str:
    """The address without its token and headers, which may be secrets: with what else a client needs to connect.

    >>> without_token("sc://spark.internal:443/;use_ssl=true;token=mine;x-key=mine")
    'sc://spark.internal:443/;use_ssl=true'
    """
    address, *words = url.split(";")
    return ";".join((address, *(word for word in words if word.partition("=")[0] in ("use_ssl", "user_id"))))


def by_name(url: str) -> tuple[str, str | None]:
    """The address with `localhost` for a number of this machine, and the number: pyspark takes a token there by name.

    >>> by_name("sc://127.0.0.1:15002/;token=mine")
    ('sc://localhost:15002/;token=mine', '127.0.0.1')
    """
    for host in ("127.0.0.1", "[::1]"):
        rest = url.removeprefix(f"sc://{host}")
        if rest != url and rest[:1] in ("", ":", "/") and "use_ssl=true" not in rest.lower():
            return f"sc://localhost{rest}", host
    return url, None


@dataclass(frozen=True)
class Address:
    """Host and port of a server, without the secrets that its connection string may hold.

    `is_tls` is whether clients speak TLS there: where they are told so, and with a token to any host but this one.

    >>> print(Address.of("sc://spark.internal/;token=secret"))
    sc://spark.internal:15002
    """

    host: str
    port: int
    is_tls: bool = False

    @classmethod
    def of(cls, url: str) -> Address:
        """The address in a connection string."""
        try:
            parts = urllib.parse.urlsplit("http" + url.removeprefix("sc"))
            host, port = parts.hostname, parts.port or DEFAULT_PORT
        except ValueError:
            host, port = None, DEFAULT_PORT
        if not url.startswith("sc://") or not host:
            raise DefinitionError(
                f"{url.partition(';')[0]!r} is no address of a server. Write 'sc://host:15002', "
                "with ';token=...' or ';use_ssl=true' behind a last '/' where the server wants them. "
                "The directory of a lake is warehouse=."
            )
        words = url.partition("/;")[2].split(";")
        has_token = any(word.startswith("token=") for word in words)
        return cls(host, port, "use_ssl=true" in map(str.lower, words) or (has_token and host not in LOOPBACK))

    def answers(self, seconds: float) -> bool:
        """Something accepts connections at the address, within that time.

        >>> Address("127.0.0.1", 1).answers(seconds=1.0)
        False
        """
        try:
            socket.create_connection((self.host, self.port), timeout=seconds).close()
        except OSError:
            return False
        return True

    def misunderstanding(self, seconds: float) -> str | None:
        """The reason why a client cannot speak with the server, and what to do; None where TLS is not the reason."""
        roots = os.environ.get(ROOTS) or None
        try:
            trusting = ssl.create_default_context(cafile=roots)
        except OSError as error:
            return f"{ROOTS}={roots!r} cannot be read ({error.strerror}). Let it name a file of certificates in PEM."
        trusting.set_alpn_protocols(["h2"])
        try:
            plain = socket.create_connection((self.host, self.port), timeout=seconds)
        except OSError:
            return None
        try:
            with plain, trusting.wrap_socket(plain, server_hostname=self.host):
                pass
        except ssl.SSLCertVerificationError as error:
            if self.is_tls:
                reason = error.verify_message.rstrip(".")
                return (
                    f"this machine does not trust its certificate ({reason}). Name the host as the certificate does, "
                    f"and let {ROOTS} name a file with the certificate of its authority."
                )
        except OSError:
            return _NO_TLS if self.is_tls else None
        return None if self.is_tls else "it speaks TLS. Add ';use_ssl=true' to the address, behind a last '/'."

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"sc://{host}:{self.port}"
