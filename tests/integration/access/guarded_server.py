"""A server with an access policy, its principals, and the tables of a shop."""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import keylake as kl
from keylake._definition.names import Setting
from keylake._server.embedded import EmbeddedServer
from keylake._server.server import Setup

SECRET = "a secret of the tests, which signs tokens"
POLICY_TEXT = """
principals:
  owner: {token_sha256: OWNER}
  ana: {token_sha256: ANA}
  ben: {token_sha256: BEN}
  cleo: {token_sha256: CLEO}
  eve: {token_sha256: EVE}
  fay: {token_sha256: FAY}
  gus: {token_sha256: GUS}
  dan: {signed: true}
signed: {secret: secret.txt, issuer: tests}
groups:
  analysts: [ana, dan]
rules:
  - {who: owner, tables: "*", may: [read, write, create, alter, drop, publish, undo, maintain, register_code]}
  - {who: owner, may: [run_code, files]}
  - who: analysts
    tables: lake.shop.orders
    may: read
    rows: "region = 'north'"
    columns: {except: [secret], mask: {email: "concat('***', substr(email, 3))"}}
  - {who: ana, tables: lake.shop.notes, may: [read, write]}
  - {who: ben, tables: lake.shop.orders, may: write, columns: {only: [id, amount]}}
  - {who: ben, tables: lake.shop.orders, branches: "dev_*", may: [read, write, alter]}
  - who: [fay, gus]
    tables: ["lake.shop.orders", "lake.shop.dated"]
    may: read
    rows: "region = 'north'"
    columns: {except: [secret], mask: {email: "concat('***', substr(email, 3))"}}
  - {who: fay, tables: ["lake.shop.orders", "lake.shop.dated"], may: write}
  - {who: gus, tables: ["lake.shop.orders", "lake.shop.dated"], may: write, columns: {only: [id, amount]}}
  - {who: cleo, tables: "lake.sandbox.*", may: [read, write, create, alter, drop, undo, publish, maintain]}
"""


@dataclass
class Guarded:
    """A server with a policy, and a session for each principal who asks for one."""

    server: EmbeddedServer
    sessions: ExitStack
    _opened: dict[str, kl.Lake]

    @property
    def address(self) -> str:
        return self.server.url.partition(";token=")[0]

    def of(self, principal: str) -> kl.Lake:
        if principal not in self._opened:
            self._opened[principal] = self.with_token(f"{principal}-token")
        return self._opened[principal]

    def with_token(self, token: str) -> kl.Lake:
        return self.sessions.enter_context(kl.connect(f"{self.address};token={token}"))


def policy_text() -> str:
    """The policy with the digests of the tokens of its principals."""
    text = POLICY_TEXT
    for name in ("owner", "ana", "ben", "cleo", "eve", "fay", "gus"):
        text = text.replace(f"token_sha256: {name.upper()}", f"token_sha256: {digest(f'{name}-token')}")
    return text


@contextmanager
def guarded_server(folder: Path, more: Mapping[str, str] | None = None) -> Iterator[Guarded]:
    """Everybody's server, where nobody but `owner` has all rights."""
    (folder / "secret.txt").write_text(SECRET)
    policy = folder / "policy.yaml"
    policy.write_text(policy_text())
    settings = {Setting.ACCESS_POLICY: str(policy), "spark.keylake.maintenance.enabled": "false", **(more or {})}
    server = EmbeddedServer(Setup(folder / "lake", memory="1g", settings=tuple(settings.items())), "owner-token")
    try:
        with ExitStack() as sessions:
            guarded = Guarded(server, sessions, {})
            yield guarded
    finally:
        server.stop()


def signed(**claims: object) -> str:
    """A JSON web token, made as anybody would."""

    def part(value: object) -> str:
        text = value if isinstance(value, bytes) else json.dumps(value).encode()
        return base64.urlsafe_b64encode(text).rstrip(b"=").decode()

    head = f"{part({'alg': 'HS256', 'typ': 'JWT'})}.{part(claims)}"
    return f"{head}.{part(hmac.new(SECRET.encode(), head.encode(), hashlib.sha256).digest())}"


def digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def make_shop(lake: kl.Lake) -> None:
    """Makes anew a table that rules narrow, one that a rule gives, one that no rule names, and a plain one."""
    for name in ("orders", "dated", "notes", "hidden", "plain"):
        lake.sql(f"DROP TABLE IF EXISTS lake.shop.{name}")
    for name in ("t", "k", "d"):
        lake.sql(f"DROP TABLE IF EXISTS lake.sandbox.{name}")
    for name in ("orders", "notes", "hidden"):
        lake.create(
            [
                {"id": 1, "region": "north", "amount": 1.0, "email": "ab@x", "secret": "s1"},
                {"id": 2, "region": "south", "amount": 2.0, "email": "cd@x", "secret": "s2"},
            ],
            name=f"shop.{name}",
            key="id",
        )
        lake.sql(f"ALTER TABLE lake.shop.{name} CREATE BRANCH dev_1")
    make_orders(lake, "dated", ordering="at")
    lake.sql("CREATE TABLE lake.shop.plain USING iceberg AS SELECT 1 AS id, 'x' AS secret")
    lake.sql("CREATE NAMESPACE IF NOT EXISTS lake.sandbox")


def make_orders(lake: kl.Lake, name: str, ordering: str | None = None) -> None:
    """Makes an empty table of orders, whose versions are commits, or the times of a column."""
    columns = "id BIGINT PRIMARY KEY, region STRING, amount DOUBLE, email STRING, secret STRING"
    at, properties = (
        (f", {ordering} TIMESTAMP", f" TBLPROPERTIES ('ordering' = '{ordering}')") if ordering else ("", "")
    )
    lake.sql(f"CREATE TABLE lake.shop.{name} ({columns}{at}) USING keylake{properties}")
