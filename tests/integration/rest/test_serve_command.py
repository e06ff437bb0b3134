"""`keylake serve --catalog-port`: what it prints opens the catalog, on this machine and by TLS."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme
from pyiceberg.catalog import load_catalog
from typer.testing import CliRunner

from keylake.cli.app import app

LISTED = "from pyiceberg.catalog import load_catalog; print(load_catalog('lake').list_namespaces())"


@contextmanager
def served(folder: Path, last: str, *words: object) -> Iterator[str]:
    """The command, on free ports; gives what it has printed up to a line that begins so."""
    command = [sys.executable, "-m", "keylake", "serve", "--lake", folder / "lake", "--memory", "900m"]
    ports = ["--port", "0", "--catalog-port", "0"]
    environment = {name: value for name, value in os.environ.items() if name != "KEYLAKE_TOKEN"}
    with subprocess.Popen([*command, *ports, *words], stdout=subprocess.PIPE, env=environment, text=True) as serving:
        try:
            assert serving.stdout is not None
            lines = [serving.stdout.readline()]
            while lines[-1] and not lines[-1].startswith(last):
                lines.append(serving.stdout.readline())
            yield "".join(lines)
        finally:
            serving.terminate()
    assert serving.returncode == 0


@pytest.mark.slow
def test_the_lines_that_serve_prints_open_the_catalog(tmp_path: Path) -> None:
    with served(tmp_path, "export PYICEBERG") as printed:
        assert printed.count("$(cat ") == 2, "the token itself is not printed"
        shell = subprocess.run(
            ["sh", "-c", f'{printed}\nexec "$@"', "sh", sys.executable, "-c", LISTED], capture_output=True, text=True
        )
    assert (shell.returncode, shell.stdout) == (0, "[]\n"), shell.stderr


@pytest.mark.slow
def test_the_catalog_is_served_by_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):  # which would win over the property
        monkeypatch.delenv(name, raising=False)
    authority = trustme.CA()
    issued = authority.issue_cert("localhost")
    chain, key, roots = tmp_path / "chain.pem", tmp_path / "key.pem", tmp_path / "roots.pem"
    chain.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    issued.private_key_pem.write_to_path(key)
    authority.cert_pem.write_to_path(roots)
    tls = ["--host", "0.0.0.0", "--tls-certificate", chain, "--tls-key", key]
    with served(tmp_path, "}", "--json", *tls) as printed:
        told = json.loads(printed)
        assert told["warehouse"] == "lake"
        assert told["catalog_uri"].startswith("https://localhost:")
        assert told["lake"].startswith("sc://localhost:")
        token = Path(told["token_file"]).read_text()
        properties: dict[str, Any] = {"uri": told["catalog_uri"], "warehouse": "lake", "token": token}
        catalog = load_catalog("secured", **properties, ssl={"cabundle": str(roots)})
        catalog.create_namespace("a")
        assert catalog.list_namespaces() == [("a",)]
        catalog.close()
        with pytest.raises(Exception, match="CERTIFICATE_VERIFY_FAILED"):
            load_catalog("stranger", **properties)


def test_what_serve_refuses_of_a_catalog(tmp_path: Path) -> None:
    def told(*words: str) -> str:
        done = CliRunner().invoke(app, ["serve", "--lake", str(tmp_path), *words], env={"COLUMNS": "400"})
        assert done.exit_code != 0
        return done.output + str(done.exception or "")

    assert "--catalog-port does not go with --policy" in told("--policy", "policy.yaml", "--catalog-port", "0")
    assert "--catalog-port" in told("--catalog-port", "65536")
