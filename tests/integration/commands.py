"""Commands of `keylake` in this process, on the server of the tests; its token is in the environment."""

from click.testing import Result
from typer.testing import CliRunner

import keylake as kl
from keylake.cli.app import app


def invoked(lake: kl.Lake, *words: str, catches: bool = False) -> Result:
    """What a command did; an error that nobody has told is raised, or is in the result."""
    assert lake._server is not None
    address, _, token = lake._server.url.partition(";token=")
    environment = {"KEYLAKE_LAKE": address, "KEYLAKE_TOKEN": token, "KEYLAKE_CATALOG": lake.catalog}
    return CliRunner().invoke(app, list(words), env=environment, catch_exceptions=catches)
