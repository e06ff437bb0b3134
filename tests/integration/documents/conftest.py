"""The lake of somebody who reads the documents."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import keylake as kl
from integration.documents.blocks import blocks
from integration.documents.preparations import modules_of

DOCUMENTS = Path(__file__).parents[3] / "sdk" / "docs"


@pytest.fixture(scope="package")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kl.Lake]:
    """The lake of somebody who reads: in ./lake, and what `kl.connect()` and `keylake` open."""
    folder = tmp_path_factory.mktemp("reader")
    for name, text in modules_of(blocks(DOCUMENTS / "guide.md")).items():
        (folder / f"{name}.py").write_text(text)
    settings = {
        "spark.keylake.reducers": "features.Range",
        "spark.sql.shuffle.partitions": "2",
        "spark.keylake.catalog.port": "0",
    }
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        patched.syspath_prepend(folder)
        patched.setenv("PYTHONPATH", os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]))
        with kl.connect(warehouse="lake", memory="1500m", settings=settings) as lake:
            url = lake._server.url  # type: ignore[union-attr]
            patched.setenv("SPARK_REMOTE", url)
            address, _, token = url.partition("/;token=")
            patched.setenv("KEYLAKE_LAKE", address)
            patched.setenv("KEYLAKE_TOKEN", token)
            yield lake
