"""The REST catalog of the server of the tests, as its clients open it and as requests are made by hand."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection
from typing import Any

from pyiceberg.catalog import Catalog, load_catalog

import keylake as kl


@dataclass(frozen=True)
class Reply:
    """An answer: its status, its headers in lower case, and what its body has."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def error(self) -> tuple[str, str]:
        """The type of an error, and its sentence."""
        error = self.json["error"]
        assert error["code"] == self.status
        assert set(error) == {"code", "type", "message"}, "no stack"
        assert "\n" not in error["message"]
        return error["type"], error["message"]


@dataclass(frozen=True)
class Endpoint:
    """Where the catalog listens, and the token that it wants."""

    port: int
    token: str = field(repr=False)

    @classmethod
    def of(cls, lake: kl.Lake) -> "Endpoint":
        assert lake._server is not None
        return cls(lake._server.catalog_port, lake._server.url.partition(";token=")[2])

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def properties(self, **more: str) -> dict[str, str]:
        """The properties by which a client opens the catalog."""
        return {"type": "rest", "uri": self.uri, "token": self.token, "warehouse": "lake"} | more

    def opened(self) -> Catalog:
        """The catalog as a client has it that does not know keyed tables."""
        return load_catalog("served", **self.properties())

    def ask(self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None) -> Reply:
        """The answer to a request with the token; bytes are sent as they are."""
        sent = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, sent, {"Authorization": f"Bearer {self.token}"} | dict(headers or {}))
            got = connection.getresponse()
            found = {name.lower(): value for name, value in got.getheaders()}
            return Reply(got.status, found, got.read().decode())
        finally:
            connection.close()
